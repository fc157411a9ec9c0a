"""Questions to the three agents, and what their replies say."""

import re
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

from corpus.marcus.settings import FAST_CLEAN, SAFE_CLEAN, SCHEMA, SPLITTER, Settings
from llm.parsing import ParseFailure, read_object
from llm.profiles import likely_thoughts, likely_tokens
from llm.prompts import PromptTemplate, fence
from llm.requests import Request

Ask: TypeAlias = Callable[[Request, str], Awaitable[str]]
"""Send a request about a place ("p0w1"); the reply's text. Raises LLMError."""

PROMPTS: Final = Path(__file__).resolve().parent.parent / "prompts"
PLACEHOLDERS: Final = {
    SAFE_CLEAN: {"site", "page"},
    FAST_CLEAN: {"page"},
    SPLITTER: {"page"},
}
_NOTHING: Final = re.compile(
    r"(?:\W*(?:there is |the page has |i found )?(?:no|empty) (?:main )?(?:content|text|article)"
    r"(?: (?:found|here|available|to extract))?|\W*n/?a|\W*none|\W*empty(?: line| string)?)\W*",
    re.IGNORECASE,
)


@cache
def prompt(role: str) -> PromptTemplate:
    """The prompt of an agent that comes with the app."""
    return PromptTemplate.load(PROMPTS / f"{role}.txt", placeholders=PLACEHOLDERS[role])


def request(role: str, text: str, settings: Settings, key: bytes, *, again: int = 0) -> Request:
    """What an agent is asked about a text; `again` counts the tries.

    The text is fenced: it comes from the web. An answer is about as long as its text, and a bound
    on it is what a budget is kept by.
    """
    values = {"page": fence("page", text, key)}
    if role == SAFE_CLEAN:
        values["site"] = settings.site
    endpoint, model = settings.asked_of(role)
    thoughts = likely_thoughts(model, settings.reasoning_effort)
    return Request(
        endpoint=endpoint,
        role=role,
        model=model,
        messages=settings.prompts[role].render(**values),
        schema_name=role,
        schema=SCHEMA,
        temperature=settings.temperature,
        max_tokens=2 * likely_tokens(text) + 500 + thoughts,
        reasoning_effort=settings.reasoning_effort,
        replicate=again,
    )


def read_reply(reply: str) -> str:
    """The text that an agent gave back.

    A reply that is no JSON is taken as it stands: it is compared with the source anyway.
    """
    found = read_object(reply, "text")
    if isinstance(found, ParseFailure):
        return _unfenced(reply)
    value = found.value["text"]
    return value if isinstance(value, str) else ""


def says_nothing(text: str) -> bool:
    """Whether the reply means that the page has no main content."""
    return not text.strip() or (len(text) < 80 and _NOTHING.fullmatch(text.strip()) is not None)


def _unfenced(text: str) -> str:
    found = re.fullmatch(r"\s*```\w*\n(.*?)\n?```\s*", text, re.DOTALL)
    return found[1] if found else text.strip()
