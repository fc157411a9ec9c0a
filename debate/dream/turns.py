"""Reading what an agent answered: text in, a Turn or a ParseFailure out, never an exception."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from llm.parsing import ParseFailure, read_object
from llm.requests import object_schema

from .closing import closing_verdict
from .quotes import locate_all
from .types import Agent, Pair, Quote, Response, Turn

SCHEMA_NAME: Final = "debate_turn"
ADJUDICATION: Final = "adjudication"  # answered in the keys of a turn
# The same about an aspect.
ASPECT_TURN: Final = "aspect_turn"
ASPECT_ADJUDICATION: Final = "aspect_adjudication"
SCHEMA: Final = object_schema(
    reference={"type": "array", "items": {"type": "string"}},
    reason={"type": "string"},
    response={"type": "string", "enum": ["yes", "no"]},
)
MAX_REASON_WORDS: Final = 100
# People read every turn, and pages mark every quote: an answer beyond these bounds is cut where
# it is read. The ledger keeps the raw text.
MAX_REASON_CHARACTERS: Final = 5_000
MAX_QUOTES: Final = 20

LONG_REASON: Final = "long_reason"
CUT_REASON: Final = "cut_reason"  # longer than is shown
MANY_QUOTES: Final = "many_quotes"  # more than are kept
CUT_QUOTE: Final = "cut_quote"  # stands nowhere, and is longer than is shown
NO_REASON: Final = "no_reason"
NO_QUOTE: Final = "no_quote"  # a yes without any evidence
QUOTE_NOT_FOUND: Final = "quote_not_found"
SELF_CONTRADICTING: Final = "self_contradicting"  # the reason closes with the other verdict
REPAIRED: Final = "repaired"
UNREADABLE: Final = "unreadable"
FAILED: Final = "failed"

RESPONSES: Final[dict[object, Response]] = {"yes": "yes", "no": "no"}


def read_turn(
    text: str, pair: Pair, *, agent: Agent, round: int, repaired: bool = False
) -> Turn | ParseFailure:
    """One agent's answer as a turn.

    Only the response decides whether an answer can be read (docs/protocol.md 1.3 and 2.3); what is
    wrong with the reason or the quotes is flagged for the people who read them.
    """
    parsed = read_object(text, "response")
    if isinstance(parsed, ParseFailure):
        return parsed
    response = read_response(parsed.value["response"])
    if response is None:
        return ParseFailure(reason="The response is neither yes nor no.", raw=text)
    full_reason = _reason(parsed.value.get("reason"))
    given = _references(parsed.value.get("reference"))
    found = locate_all(given[:MAX_QUOTES], pair.passage)
    reason, quotes = full_reason[:MAX_REASON_CHARACTERS], tuple(_shown(quote) for quote in found)
    flags = (*_flags(response, full_reason, found), *_cuts(full_reason, given, found))
    return Turn(
        round=round,
        agent=agent.name,
        stance=agent.stance,
        response=response,
        reason=reason,
        references=quotes,
        rung=parsed.rung,
        flags=(*flags, REPAIRED) if repaired else flags,
    )


def argument_of(given: Mapping[str, Any], passage: str) -> tuple[str, tuple[Quote, ...]]:
    """The reason and the located quotes of an answer, at a length that people can read."""
    quotes = locate_all(_references(given.get("reference"))[:MAX_QUOTES], passage)
    reason = _reason(given.get("reason"))[:MAX_REASON_CHARACTERS]
    return reason, tuple(_shown(quote) for quote in quotes)


def read_response(value: object) -> Response | None:
    """Yes or no in any case, with punctuation around it, or as a boolean; else None."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, str):
        return None
    # The word without the punctuation and blanks around it; other signs are part of it.
    start, end = 0, len(value)
    while start < end and _surrounds(value[start]):
        start += 1
    while end > start and _surrounds(value[end - 1]):
        end -= 1
    return RESPONSES.get(value[start:end].lower())


def _surrounds(sign: str) -> bool:
    return sign.isspace() or sign == "`" or unicodedata.category(sign).startswith("P")


def _reason(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _references(value: object) -> list[str]:
    """The quotes that say something, also where a model sends a single one without its list."""
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, str) and item.strip()]


def _shown(quote: Quote) -> Quote:
    """A quote at a length that people can read; one of the passage keeps all its words."""
    if len(quote.text) <= MAX_REASON_CHARACTERS:
        return quote
    words = " ".join(quote.text.split())
    return replace(quote, text=words if quote.found else words[:MAX_REASON_CHARACTERS])


def _cuts(reason: str, given: list[str], quotes: tuple[Quote, ...]) -> tuple[str, ...]:
    cut = {
        CUT_REASON: len(reason) > MAX_REASON_CHARACTERS,
        MANY_QUOTES: len(given) > MAX_QUOTES,
        CUT_QUOTE: any(not q.found and len(q.text) > MAX_REASON_CHARACTERS for q in quotes),
    }
    return tuple(flag for flag, present in cut.items() if present)


def _flags(response: Response, reason: str, quotes: tuple[Quote, ...]) -> tuple[str, ...]:
    found = {
        LONG_REASON: len(reason.split()) > MAX_REASON_WORDS,
        NO_REASON: not reason,
        NO_QUOTE: response == "yes" and not quotes,
        QUOTE_NOT_FOUND: any(not quote.found for quote in quotes),
        SELF_CONTRADICTING: closing_verdict(reason) not in (None, response),
    }
    return tuple(flag for flag, present in found.items() if present)
