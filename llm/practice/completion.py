"""The practice model's side of the API: decoded request bodies in, response bodies out."""

import json
import math
import re
import struct
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from hashlib import blake2b, sha256
from typing import Any, TypeAlias

from llm.practice import writing
from llm.practice.blocks import Material, find_material, read_blocks, read_named
from llm.practice.rules import CHECK, ROLES, Answer
from llm.profiles import likely_tokens

MODEL = "practice-1"
DIMENSIONS = 256
_TOKEN = re.compile(r"\s*\w+|\s*[^\w\s]|\s+")
_Messages: TypeAlias = Sequence[Mapping[str, Any]]
_OPPOSITE = {"yes": "no", "no": "yes", "true": "false", "false": "true"}
_MAX_DIMENSIONS = 4096
_LONGEST_TEXT = 500
# Ends of the prompts of corpus/prompts that ask for a query in other words.
_EXPANDS = "Reply with that passage and nothing else."
_REWRITES = "Draft an answer with as many thoughts as you have."
# What stands in a prompt where nothing was found.
_NOTHING = "(no document was found)"


class Refusal(Exception):
    """A request that the practice model does not take; the message says what it would take."""

    def __init__(self, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class _Prompt:
    """The messages of a request, and what stands in them."""

    def __init__(self, messages: _Messages) -> None:
        self.messages = messages
        self.last = str(messages[-1].get("content") or "") if messages else ""
        # What searches returned.
        self.outputs = [str(m.get("content") or "") for m in messages if m.get("role") == "tool"]

    @cached_property
    def question(self) -> str:
        """The fenced question of whoever searches; "" where there is none."""
        users = (m.get("content") for m in self.messages if m.get("role") == "user")
        first = next((text for text in users if isinstance(text, str)), "")
        return read_blocks(first).get("query", "")

    @cached_property
    def documents(self) -> list[str]:
        """The documents that a reranker is shown."""
        return [text for tag, _, text in read_named(self.last) if tag == "document"]


def models(body: Mapping[str, Any]) -> dict[str, Any]:
    """The list of models; there is nothing to ask for it, so the body is empty."""
    entry = {"id": MODEL, "object": "model", "created": 0, "owned_by": "assay"}
    return {"object": "list", "data": [entry]}


def chat_completion(body: Mapping[str, Any]) -> dict[str, Any]:
    """Answer one chat completion. `n` is ignored: one choice always. Raises Refusal."""
    _check_model(body)
    if body.get("stream"):
        raise Refusal("The practice model does not stream. Send the request without stream.")
    messages = body.get("messages")
    if not isinstance(messages, list) or not all(isinstance(m, dict) for m in messages):
        raise Refusal("messages must be a list of chat messages.")
    calls = _tool_calls(body, _Prompt(messages))
    answer = Answer("") if calls else _answer(body, messages)
    text = _text(answer)
    message = {"role": "assistant", "content": text or None, "refusal": None}
    has_logprobs = body.get("logprobs") and not calls
    choice = {
        "index": 0,
        "finish_reason": "tool_calls" if calls else "stop",
        "message": message | ({"tool_calls": calls} if calls else {}),
        "logprobs": _logprobs(text, answer, body) if has_logprobs else None,
    }
    return {
        "id": "chatcmpl-" + sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:24],
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
        "choices": [choice],
        "usage": _usage("".join(str(m.get("content") or "") for m in messages), text),
    }


def predicted(role: str, messages: _Messages) -> str:
    """What the practice model would answer in that role; "" where it has nothing to work on."""
    material = find_material(messages)
    return _text(ROLES[role](material)) if material and role in ROLES else ""


def embeddings(body: Mapping[str, Any]) -> dict[str, Any]:
    """Vectors for a text or a list of texts, as floats or base64. Raises Refusal."""
    _check_model(body)
    texts = [body["input"]] if isinstance(body.get("input"), str) else body.get("input")
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise Refusal("input must be a text or a list of texts.")
    dimensions = body.get("dimensions") or DIMENSIONS
    if not isinstance(dimensions, int) or not 1 <= dimensions <= _MAX_DIMENSIONS:
        raise Refusal(f"dimensions must be a number from 1 to {_MAX_DIMENSIONS}.")
    found: list[Any] = [embed(text, dimensions) for text in texts]
    if body.get("encoding_format") == "base64":  # little-endian 32-bit floats
        packed = (struct.pack(f"<{dimensions}f", *vector) for vector in found)
        found = [b64encode(each).decode("ascii") for each in packed]
    data = [{"object": "embedding", "index": i, "embedding": v} for i, v in enumerate(found)]
    usage = _usage("".join(texts), "")
    return {"object": "list", "model": MODEL, "data": data, "usage": usage}


def rerank(body: Mapping[str, Any]) -> dict[str, Any]:
    """Scores of documents for a query, in Jina's shape. Raises Refusal."""
    _check_model(body)
    query, documents = body.get("query"), body.get("documents")
    if not isinstance(query, str) or not isinstance(documents, list) or not documents:
        raise Refusal("query must be a text and documents a list of texts.")
    if not all(isinstance(each, str) for each in documents):
        raise Refusal("documents are texts.")
    if not isinstance(most := body.get("top_n"), int | None):
        raise Refusal("top_n is a number.")
    scores = [round(writing.overlap(query, each), 4) for each in documents]
    order = sorted(range(len(scores)), key=lambda n: -scores[n])[:most]
    used = sum(len(each) for each in (query, *documents)) // 4
    return {
        "model": MODEL,
        "object": "list",
        "usage": {"total_tokens": used, "prompt_tokens": used},
        "results": [{"index": n, "relevance_score": scores[n]} for n in order],
    }


def embed(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """A vector of length 1, or of zeros for a text without words; the same on every machine."""
    vector = [0.0] * dimensions
    for word in re.findall(r"\w+", text.casefold()):
        digest = int.from_bytes(blake2b(word.encode("utf-8", "replace"), digest_size=8).digest())
        vector[(digest >> 1) % dimensions] += 1.0 if digest & 1 else -1.0
    length = math.sqrt(sum(value * value for value in vector))
    return [value / length for value in vector] if length else vector


def _text(answer: Answer) -> str:
    said = answer.value
    return said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)


def _check_model(body: Mapping[str, Any]) -> None:
    if body.get("model") != MODEL:
        raise Refusal(f"There is one model here: {MODEL}.", status=404)


def _answer(body: Mapping[str, Any], messages: _Messages) -> Answer:
    try:
        name = str(body["response_format"]["json_schema"]["name"])
    except (KeyError, TypeError):
        name = ""
    if messages and messages[-1].get("role") == "assistant":
        messages = messages[:-1]  # the beginning of its answer, with no thoughts
    prompt = _Prompt(messages)
    if not name and (written := _free(body, prompt)) is not None:
        return Answer(written)
    if name in writing.SCHEMAS and (made := _training(name, prompt)) is not None:
        return Answer(made)
    if name == CHECK:
        return Answer({"ok": True})
    role, material = ROLES.get(name), find_material(messages)
    if role is None:
        known = ", ".join([*ROLES, *writing.SCHEMAS, CHECK])
        raise Refusal(f"The practice model answers by these JSON schemas only: {known}.")
    if material is None and name == "rag_answer":  # who answers without a passage
        material = Material(prompt.question, (), "", "")
    if material is None:
        raise Refusal(
            "No user message has a block <chunk-...> to judge, <page-...> or <passage-...>."
        )
    return role(replace(material, misread=_misread(body, messages)))


def _free(body: Mapping[str, Any], prompt: _Prompt) -> str | None:
    """What is written where no schema is asked for; None where nothing here is known."""
    last, question, documents = prompt.last, prompt.question, prompt.documents
    if (grade := writing.free_grade(last)) is not None:
        return grade
    if (page := _training("", prompt)) is not None:
        return str(page)
    if last.endswith(_REWRITES):
        return writing.rewriting(question)
    if last.endswith(_EXPANDS):
        return writing.expansion(question, documents, read_blocks(last).get("answer", ""))
    if documents:
        return writing.reranking(last, question, documents)
    passages = [(line, text) for tag, line, text in read_named(last) if tag == "passage"]
    if question and (body.get("tools") or passages or _NOTHING in last):
        found = [hit for output in prompt.outputs for hit in writing.read_hits(output)]
        found += [(line.strip().strip("[]"), text) for line, text in passages]
        evidence = dict[str, str]()
        for docid, text in found:
            evidence.setdefault(docid, text)
        said = writing.quoted_answer(question, evidence)
        asks = any("Confidence:" in str(m.get("content")) for m in prompt.messages)
        return said if asks else said.removeprefix("Answer: ").rpartition("\n")[0]
    return prompt.outputs[-1][:_LONGEST_TEXT] if prompt.outputs else None


def _training(name: str, prompt: _Prompt) -> Any:
    asked = _Prompt(prompt.messages[:2])  # a repair has no block
    text = "\n".join(str(each.get("content")) for each in asked.messages)
    return writing.training(name, text, prompt.question, asked.documents)


def _misread(body: Mapping[str, Any], messages: _Messages) -> float:
    """At temperature 0 nothing; else up to a fifth of it, drawn from the request itself."""
    temperature = body.get("temperature")
    if not isinstance(temperature, int | float) or temperature <= 0:
        return 0.0
    asked = json.dumps([messages, body.get("seed")], sort_keys=True)
    drawn = int.from_bytes(blake2b(asked.encode("utf-8", "replace"), digest_size=4).digest())
    return float(0.2 * temperature * (drawn / 2**31 - 1))


def _tool_calls(body: Mapping[str, Any], prompt: _Prompt) -> list[dict[str, Any]]:
    """A call of the first tool as long as none was answered, with the question as its words; of a
    search agent, whose question stands in a block, as long as its rule says (writing.py)."""
    tools = body.get("tools")
    if not isinstance(tools, list):
        return []
    question = prompt.question
    searched = writing.next_query(question, prompt.outputs) if question else None
    if searched is None and (question or prompt.outputs):
        return []
    try:
        function = tools[0]["function"]
        properties = function["parameters"].get("properties", {})
        name = str(function["name"])
    except (LookupError, TypeError, AttributeError):
        raise Refusal("tools must be a list of functions with parameters.") from None
    material = find_material(prompt.messages)
    asked = searched or (material.query if material else prompt.last)
    arguments = {
        key: 5 if shape.get("type") == "integer" else asked
        for key, shape in properties.items()
        if shape.get("type") in ("string", "integer")
    }
    call_id = "call_" + sha256(asked.encode("utf-8", "replace")).hexdigest()[:24]
    called = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
    return [{"id": call_id, "type": "function", "function": called}]


def _usage(asked: str, answered: str) -> dict[str, Any]:
    prompt, completion = likely_tokens(asked), likely_tokens(answered)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }


def _logprobs(text: str, answer: Answer, body: Mapping[str, Any]) -> dict[str, Any]:
    """Certainty for every token but the verdict, the last word that is one."""
    pieces = _TOKEN.findall(text)
    verdict = max((i for i, piece in enumerate(pieces) if piece.strip() in _OPPOSITE), default=-1)
    top = int(body.get("top_logprobs") or 0)
    content = []
    for index, piece in enumerate(pieces):
        ranked = [_logprob(piece, answer.confidence if index == verdict else 1.0)]
        if index == verdict:
            other = piece.replace(piece.strip(), _OPPOSITE[piece.strip()])
            ranked.append(_logprob(other, 1 - answer.confidence))
        content.append({**ranked[0], "top_logprobs": ranked[:top]})
    return {"content": content, "refusal": None}


def _logprob(token: str, probability: float) -> dict[str, Any]:
    encoded = list(token.encode("utf-8", "replace"))
    return {"token": token, "logprob": math.log(probability), "bytes": encoded}
