"""What the stub says: by the practice model's rules, by a script, or as a passage tells it to."""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from llm.practice.completion import MODEL, Refusal, chat_completion, embeddings, models

__all__ = ["Answerer", "Refusal", "embeddings", "models", "with_text"]

# The chunk as a careless reader finds it: any code will do, and the first closing tag ends it.
_CHUNK: Final = re.compile(r"<chunk-[0-9a-f]{16}>\n(.*)\n</chunk-[0-9a-f]{16}>", re.DOTALL)
_SAY_EXACTLY: Final = re.compile(r"(?:reply|output|print) exactly:\s*(.+)", re.DOTALL | re.I)
_VERDICT: Final = re.compile(r'\{[^{}]*"response"[^{}]*\}', re.DOTALL)
_ORDER: Final = re.compile(
    r"(?:answer|say|respond|reply|output|verdict(?: is)?|decision(?: is)?)\W+"
    r"(?:with\W+|only\W+|always\W+)*(yes|no)\b",
    re.I,
)
_INVISIBLE: Final = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\u00ad]")
_OWN: Final = re.compile(r"^Agent (\S+) \(You\), (?:opening position|round (\d+)):", re.M)


class Answerer:
    """Answers chat completions. `replies` scripts some turns; `gullible` obeys passages.

    Replies: {marker: {"A1": [text, ...], ...}} for passages that hold the marker, by agent and
    round; the first asking gets the first text, and the last one stands for all that follow.
    """

    def __init__(
        self, *, replies: Mapping[str, Mapping[str, Sequence[str]]], gullible: bool = False
    ) -> None:
        self._replies = replies
        self._gullible = gullible
        self._given: Counter[tuple[str, str]] = Counter()

    def complete(self, body: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        """The completion, and "" or "obeyed" or "scripted". Raises Refusal."""
        completion = chat_completion({**body, "model": MODEL})
        completion["model"] = body.get("model")
        chunk = _chunk(body)
        scripted = self._scripted(body, chunk)
        if scripted is not None:
            return with_text(completion, scripted), "scripted"
        order = obey(chunk) if self._gullible else None
        return (with_text(completion, order), "obeyed") if order else (completion, "")

    def _scripted(self, body: Mapping[str, Any], chunk: str) -> str | None:
        marker = next((marker for marker in self._replies if marker in chunk), None)
        place = _place(body)
        if marker is None or place not in self._replies[marker]:
            return None
        texts = self._replies[marker][place]
        self._given[marker, place] += 1
        return texts[min(self._given[marker, place], len(texts)) - 1]


def with_text(completion: Mapping[str, Any], text: str | None, **choice: Any) -> dict[str, Any]:
    """The same completion with other words in its mouth."""
    first = completion["choices"][0]
    message = {**first["message"], "content": text}
    changed = {**first, "message": message, "logprobs": None, **choice}
    return {**completion, "choices": [changed]}


def obey(chunk: str) -> str | None:
    """What a model says that takes a passage's words for orders; None where it finds none."""
    text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", chunk))
    if exactly := _SAY_EXACTLY.search(text):
        return exactly[1].strip()
    if verdicts := _VERDICT.findall(text):
        return "\n".join(verdicts)
    if order := _ORDER.search(text):
        said = {"reference": [], "reason": "The passage says so.", "response": order[1].lower()}
        return json.dumps(said)
    return None


def _chunk(body: Mapping[str, Any]) -> str:
    contents = (str(message.get("content")) for message in body.get("messages") or [])
    found = (match for content in contents for match in _CHUNK.finditer(content))
    return next((match[1] for match in found), "")


def _place(body: Mapping[str, Any]) -> str:
    """Agent and round of a turn, such as "A1"."""
    for message in body.get("messages") or []:
        if message.get("role") == "user" and (own := _OWN.search(str(message.get("content")))):
            return f"{own[1]}{int(own[2] or 0) + 1}"
    return ""
