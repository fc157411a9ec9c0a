"""The two tools of a search agent, and what they answer (docs/protocol.md 3.4)."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeAlias

from corpus.texts.tokens import CHARACTERS, cut
from llm.parsing import UNSTORABLE
from llm.requests import ToolCall, object_schema

SEARCH: Final = "search"
DOCUMENT: Final = "get_document"


@dataclass(frozen=True)
class ToolSettings:
    """How many documents a search returns, so many tokens of each; whether one may be read whole.

    The reference's code cuts at 2,048 tokens, its help text says 512.
    """

    k: int = 5
    snippet_tokens: int = 2_048
    tokenizer: str = CHARACTERS
    documents: bool = False


@dataclass(frozen=True)
class Hit:
    """A document that a search found; None for a list without scores."""

    docid: str
    score: float | None
    text: str


@dataclass(frozen=True)
class Lookup:
    """What a retriever is asked: a search in these words, or the document of that id."""

    tool: str
    text: str


@dataclass(frozen=True)
class ToolFault:
    """Why a retriever had no answer, in words for the model: it is the tool's output."""

    words: str


Found: TypeAlias = Sequence[Hit] | ToolFault
"""What a retriever answers: documents, the best first; of get_document one, or none."""


@dataclass(frozen=True)
class Use:
    """One use of a tool in a turn: what the model gets to read, and which documents it holds.

    `text` is the query or the id that was asked for. `snippets` are by document, as shown.
    """

    call_id: str
    tool: str
    arguments: str
    output: str
    text: str = ""
    docids: tuple[str, ...] = ()
    scores: tuple[float | None, ...] = ()
    fault: str = ""
    snippets: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)


def definitions(settings: ToolSettings) -> tuple[Mapping[str, Any], ...]:
    """The tools as a model is told of them."""
    search = {
        "name": SEARCH,
        "description": (
            f"Search the document collection. Returns the {settings.k} best documents as a JSON "
            "list of {docid, score, snippet}."
        ),
        "parameters": object_schema(query={"type": "string", "description": "what to search for"}),
    }
    if not settings.documents:
        return (search,)
    read = {
        "name": DOCUMENT,
        "description": "Read a document whole, by the docid that a search returned.",
        "parameters": object_schema(docid={"type": "string"}),
    }
    return search, read


def lookup_of(call: ToolCall, settings: ToolSettings) -> Lookup | ToolFault:
    """What a call of a tool asks for. Arguments that are no JSON object count as none."""
    named = {SEARCH: "query", DOCUMENT: "docid"}
    allowed = (SEARCH, DOCUMENT) if settings.documents else (SEARCH,)
    tool = call["name"]
    if tool not in allowed:
        return ToolFault(f"There is no tool {tool[:80]!r}. There is: {', '.join(allowed)}.")
    value = _arguments(call["arguments"]).get(named[tool])
    if not isinstance(value, str):
        return ToolFault(f"{tool} needs the argument {named[tool]}, a text.")
    if UNSTORABLE.search(value):
        return ToolFault(f"The {named[tool]} holds NUL or half of a surrogate pair.")
    return Lookup(tool, value.strip())


def is_answered_here(lookup: Lookup) -> bool:
    """Whether no retriever is asked: an empty query has an empty list."""
    return lookup.tool == SEARCH and not lookup.text


def use_of(
    call: ToolCall,
    lookup: Lookup | ToolFault,
    found: Found,
    settings: ToolSettings,
    excluded: Collection[str] = (),
) -> Use:
    """The use of a tool with what was found; ids that the query excludes are never shown.

    Errors are the tool's output and end nothing.
    """
    text = lookup.text if isinstance(lookup, Lookup) else ""
    use = partial(Use, call["id"], call["name"], call["arguments"], text=text)
    fault = next((each.words for each in (lookup, found) if isinstance(each, ToolFault)), "")
    hits = [] if isinstance(found, ToolFault) else [h for h in found if h.docid not in excluded]
    if not fault and call["name"] == DOCUMENT and not hits:
        fault = f"There is no document {text[:200]!r}."
    if fault:
        return use(_written({"error": fault}), fault=fault)
    if call["name"] == DOCUMENT:
        hit = hits[0]
        return use(_written({"docid": hit.docid, "text": hit.text}))
    hits = list({hit.docid: hit for hit in reversed(hits)}.values())[::-1][: settings.k]
    snippets = {h.docid: cut(h.text, settings.snippet_tokens, settings.tokenizer) for h in hits}
    shown = [
        {"docid": hit.docid}
        | ({} if hit.score is None else {"score": hit.score})
        | {"snippet": snippets[hit.docid]}
        for hit in hits
    ]
    return use(
        _written(shown),
        docids=tuple(snippets),
        scores=tuple(hit.score for hit in hits),
        snippets=snippets,
    )


def _arguments(text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
