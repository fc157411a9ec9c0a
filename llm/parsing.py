"""Reading a JSON object out of what a model wrote: the ladder of docs/protocol.md 1.3, `strict`.

Whatever the text is, reading it raises nothing and takes time in proportion to its length. A
wrong reading would become a label, an unread answer goes to a person; so every doubt is a
ParseFailure. In particular an object that is broken, or a second one with the required key,
leaves the whole answer unread: an injected verdict must not win.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Never, TypeAlias

STRIPPED_FENCE: Final = 1
WHOLE: Final = 2
FENCED_BLOCK: Final = 3
EMBEDDED: Final = 4

MAX_CHARS: Final = 2_000_000
MAX_DEPTH: Final = 50

_THOUGHT_END: Final = "</think>"
_THOUGHT_START: Final = "<think>"
_FENCE: Final = "```"
_FENCE_OPENING: Final = re.compile(r"```[ \t]*[\w-]*\s*")
_OBJECT_START: Final = re.compile(r'\{\s*"')
# NUL and halves of surrogate pairs.
UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_JSONObject: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Parsed:
    """The object, and the rung of the ladder that read it: one of the constants above."""

    value: dict[str, Any]
    rung: int


@dataclass(frozen=True, slots=True)
class ParseFailure:
    """An answer that cannot be read: a value, because it is a result and not an accident.

    `raw` is the answer as it came; `reason` is for the person who has to decide instead.
    """

    reason: str
    raw: str


class _Unreadable(ValueError):
    """Why the text is not read; caught in `read_object`."""


def read_object(text: str, required_key: str) -> Parsed | ParseFailure:
    """The one JSON object with `required_key` in a model's answer.

    Characters that no database stores (NUL, lone surrogates) come back as U+FFFD.
    """
    try:
        if len(text) > MAX_CHARS:
            raise _Unreadable("The answer is far too long.")
        for tail in _tails(text):
            parsed = _whole(tail, required_key)
            if parsed:
                return parsed
        return _embedded(_without_thought(text), required_key)
    except _Unreadable as fault:
        return ParseFailure(reason=str(fault), raw=text)
    except RecursionError:
        return ParseFailure(reason="The answer is nested too deeply.", raw=text)
    except ValueError as fault:  # such as an integer of thousands of digits
        return ParseFailure(reason=f"The answer is not usable JSON: {fault}", raw=text)


def _tails(text: str) -> Iterator[str]:
    """The answer without the thoughts before it, in the ways they may be set apart.

    A `</think>` inside an answer that is wholly JSON is quoted text and marks nothing.
    """
    yield text.strip("\ufeff \t\r\n")
    if _THOUGHT_END in text:
        yield text.partition(_THOUGHT_END)[2].strip()
        yield _without_thought(text)


def _without_thought(text: str) -> str:
    return text.rpartition(_THOUGHT_END)[2].strip()


def _whole(text: str, key: str) -> Parsed | None:
    """Rungs 1 and 2: nothing but the object, in a fence or bare."""
    bare = _strip_fence(text)
    try:
        value = storable(_decoder(key).decode(bare))
    except json.JSONDecodeError:
        return None
    if not isinstance(value, dict) or key not in value:
        return None
    if len(_keyed(value, key)) > 1:
        raise _Unreadable(f'The answer holds more than one object with "{key}".')
    return Parsed(value, WHOLE if bare is text else STRIPPED_FENCE)


def _strip_fence(text: str) -> str:
    opening = _FENCE_OPENING.match(text)
    if not opening or not text.endswith(_FENCE) or len(text) < opening.end() + len(_FENCE):
        return text
    return text[opening.end() : -len(_FENCE)]


def _embedded(text: str, key: str) -> Parsed:
    """Rungs 3 and 4: one object among prose, in a fenced block or not."""
    if _THOUGHT_START in text:
        raise _Unreadable("The answer breaks off in the middle of a thought.")
    found = [(span, keyed) for span, value in _objects(text, key) for keyed in _keyed(value, key)]
    if not found:
        raise _Unreadable(f'The answer holds no JSON object with "{key}".')
    (start, end), value = found[0]
    if len(found) > 1 or _mentioned(text[:start] + text[end:], key):
        raise _Unreadable(f'The answer holds more than one object with "{key}".')
    return Parsed(value, FENCED_BLOCK if _is_fenced(text, start, end) else EMBEDDED)


def _objects(text: str, key: str) -> Iterator[tuple[tuple[int, int], _JSONObject]]:
    """The JSON objects side by side in the text, with their spans. A broken one ends the reading.

    To look for objects inside a broken one would find verdicts in its unescaped quotations.
    """
    position = 0
    while start := _OBJECT_START.search(text, position):
        try:
            value, position = _decoder(key).raw_decode(text, start.start())
        except json.JSONDecodeError:
            raise _Unreadable("The answer holds a broken or unfinished JSON object.") from None
        yield (start.start(), position), storable(value)


def _keyed(value: Any, key: str) -> list[_JSONObject]:
    """The objects with the key in a decoded value, at any depth."""
    if isinstance(value, list):
        return [found for item in value for found in _keyed(item, key)]
    if not isinstance(value, dict):
        return []
    inner = [found for item in value.values() for found in _keyed(item, key)]
    return [value, *inner] if key in value else inner


def _mentioned(text: str, key: str) -> bool:
    """Whether the key is written as a key, also in quotes that JSON does not know."""
    return re.search(rf"""["'“`]{re.escape(key)}["'”`]\s*:""", text) is not None


def _is_fenced(text: str, start: int, end: int) -> bool:
    before = text[:start].rstrip().rpartition(_FENCE)
    language = before[2].strip()
    opened = bool(before[1]) and (not language or language.isidentifier())
    return opened and text[end:].lstrip().startswith(_FENCE)


def _decoder(key: str) -> json.JSONDecoder:
    def build(pairs: list[tuple[str, Any]]) -> _JSONObject:
        if sum(name == key for name, _ in pairs) > 1:
            raise _Unreadable(f'The answer gives "{key}" twice in one object.')
        return dict(pairs)

    def refuse(name: str) -> Never:
        raise _Unreadable(f"The answer holds {name}, which is not JSON.")

    return json.JSONDecoder(object_pairs_hook=build, parse_constant=refuse)


def storable(value: Any, depth: int = 0) -> Any:
    """The value with characters replaced that no database stores. Raises ValueError where it is
    nested deeply.
    """
    if depth > MAX_DEPTH:
        raise _Unreadable("The answer is nested too deeply.")
    if isinstance(value, str):
        return UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, list):
        return [storable(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {storable(k): storable(item, depth + 1) for k, item in value.items()}
    return value
