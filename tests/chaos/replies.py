"""Two grammars of model answers, by docs/protocol.md 1.3 (strict) and 2.3: readable and not.

Each answer is built to be one or the other, so a test knows what must come of it without asking
the code under test. Where the protocol leaves room, an answer is in neither grammar.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, Final

_SENTENCES: Final = (
    "The passage is about moths and lamps.",
    "My answer is yes.",
    "No, it does not say so.",
    "I cannot help with that request.",
    "Response: yes",
    "Ja, das steht so im Text.",
    "答案是肯定的。",
    "Ответ: нет.",
    "The set {x : x > 0} is beside the point.",
    "As an AI language model, I would rather say no.",
    "Yes or no? Both could be argued.",
    "relevant = true; label: 1",
)
_REASONS: Final = (
    "The chunk says it in so many words.",
    "Only a part of the answer is there.",
    'It quotes "response": "yes", which is no verdict.',
    "It holds {braces} and [brackets], and one } too many.",
    "Il s'agit d'un autre sujet; 別の話題。",
    "Line one.\nLine two.\tAnd a tab.",
    'The words {"response": "no"} stand in the passage.',
)
_NEITHER: Final[tuple[Any, ...]] = (
    "maybe", "yes and no", "yes/no", "yes or no", "y", "n", "t", "1", "0", "", " ", "...",
    "relevant", "irrelevant", "not yes", "no way", "oui", "да", "nope", "yeah", "true", "false",
    "none", "null", "ｙｅｓ", "yes\u200b", "ye s", "yes no", 1, 0, 2.5, None, [], {}, ["yes"],
    ["yes", "no"], {"value": "yes"}, {"yes": True},
)  # fmt: skip
_WRONG_KEYS: Final = (
    "Response", "RESPONSE", "answer", "verdict", "label", "respons", "response ", "is_supported",
    "réponse", "response_", "",
)  # fmt: skip
_YES: Final = ("yes", "Yes", "YES", "yes.", " yes ", "**yes**", '"yes"', "Yes!", "(yes)", True)
_NO: Final = ("no", "No", "NO", "no.", "\nno", "**No**", "'no'", "No;", "[no]", False)
_LANGUAGES: Final = ("", "json", "JSON", "javascript")


@dataclass(frozen=True)
class Readable:
    """An answer, and the turn that it must be read as."""

    text: str
    response: str
    reason: str


def readable(rng: Random) -> Readable:
    """One well-formed verdict: bare, in a fence, in prose, after thoughts, or several of these."""
    response = rng.choice(("yes", "no"))
    verdict = _verdict(rng, rng.choice(_YES if response == "yes" else _NO))
    body = json.dumps(verdict, indent=rng.choice((None, None, 2)), ensure_ascii=rng.random() < 0.5)
    return Readable(_thoughts(rng) + _wrapped(rng, body), response, verdict["reason"].strip())


def unreadable(rng: Random) -> str:
    """An answer without a verdict, or with none that may count."""
    return rng.choice(_UNREADABLE)(rng)


def _verdict(rng: Random, response: Any, key: str = "response") -> dict[str, Any]:
    quotes = rng.sample(("Moths roll.", "their backs", "fly loops"), rng.randrange(3))
    fields = [("reference", quotes), ("reason", rng.choice(_REASONS)), (key, response)]
    if rng.random() < 0.2:
        fields.append(("confidence", rng.random()))
    if rng.random() < 0.3:
        rng.shuffle(fields)
    return dict(fields)


def _good(rng: Random) -> str:
    return json.dumps(_verdict(rng, rng.choice((*_YES, *_NO))))


def _prose(rng: Random) -> str:
    return " ".join(rng.choices(_SENTENCES, k=rng.randint(1, 4)))


def _fenced(rng: Random, body: str) -> str:
    return f"```{rng.choice(_LANGUAGES)}\n{body}\n```"


def _wrapped(rng: Random, body: str) -> str:
    ways: tuple[Callable[[], str], ...] = (
        lambda: body,
        lambda: f"\ufeff \n{body}\n\n",
        lambda: _fenced(rng, body),
        lambda: f"{_prose(rng)}\n\n{_fenced(rng, body)}",
        lambda: f"{_prose(rng)}\n{_fenced(rng, body)}\n{_prose(rng)}",
        lambda: f"{_prose(rng)} {body}",
        lambda: f"{body}\n{_prose(rng)}",
        lambda: f"{_prose(rng)}\n{body}\n{_prose(rng)}",
        lambda: f'Notes: {{"steps": {rng.randint(1, 9)}}}. So: {body}',
    )
    return rng.choice(ways)()


def _thoughts(rng: Random) -> str:
    """Nothing mostly; else thoughts that may hold drafts, which do not count."""
    if rng.random() < 0.7:
        return ""
    draft = _good(rng) if rng.random() < 0.5 else _prose(rng)
    return f"{rng.choice(('<think>', ''))}{_prose(rng)} {draft}</think>{rng.choice(('', chr(10)))}"


def _without_verdict(rng: Random) -> str:
    return rng.choice(("", " \n", "null", "true", "yes", "no.", '"yes"', "[]", "{}", "0", "```"))


def _noise(rng: Random) -> str:
    """Characters from all over, but no braces, which could make an object by chance."""
    codes = (
        rng.choice((rng.randint(1, 122), rng.randint(160, 0xD7FF), 0x1F600)) for _ in range(40)
    )
    return "".join(map(chr, codes))


def _cut(rng: Random) -> str:
    body = _good(rng)
    return _maybe_dressed(rng, body[: rng.randrange(1, len(body))])


def _maybe_dressed(rng: Random, body: str) -> str:
    ways = (body, f"```json\n{body}", f"{_prose(rng)}\n{body}", f"```json\n{body}\n```")
    return rng.choice(ways)


def _doubled(rng: Random) -> str:
    one, two = _good(rng), _good(rng)
    ways = (
        f"{one}\n{two}",
        f"{one}{one}",
        f"[{one}, {two}]",
        f"{_fenced(rng, one)}\n{_prose(rng)}\n{_fenced(rng, two)}",
        f"First I thought {one}. {_prose(rng)} {two}",
        _fenced(rng, f"{one}\n{two}"),
        one[:-1] + f', "draft": {two}}}',
        json.dumps({"verdicts": [json.loads(one), json.loads(two)]}),
    )
    return rng.choice(ways)


def _key_twice(rng: Random) -> str:
    first, second = rng.sample(("yes", "no"), 2)
    body = f'{{"response": "{first}", "reason": "So.", "response": "{second}"}}'
    return _wrapped(rng, body)


def _wrong_key(rng: Random) -> str:
    return _wrapped(rng, json.dumps(_verdict(rng, "yes", rng.choice(_WRONG_KEYS))))


def _wrong_value(rng: Random) -> str:
    return _wrapped(rng, json.dumps(_verdict(rng, rng.choice(_NEITHER))))


def _broken(rng: Random) -> str:
    """Nearly JSON."""
    answer = rng.choice(("yes", "no"))
    ways = (
        f"{{'reason': 'So.', 'response': '{answer}'}}",
        f"{{reason: 'So.', response: '{answer}'}}",
        f'{{"reason": "So.", "response": {answer}}}',
        f'{{"reason": "So.", "response": "{answer}",}}',
        f'{{"reason": "So." "response": "{answer}"}}',
        f'{{"reason": "So.", "response" "{answer}"}}',
        f'"reason": "So.", "response": "{answer}"}}',
        f'{{"reason": "So.", // sure\n"response": "{answer}"}}',
        f'{{"reason": "a\nb", "response": "{answer}"}}',
        f'{{"score": NaN, "response": "{answer}"}}',
        f'{{"reason": "he said "so"", "response": "{answer}"}}',
        f"<response>{answer}</response>",
        f"response: {answer}\nreason: So.",
    )
    return _maybe_dressed(rng, rng.choice(ways))


def _as_a_string(rng: Random) -> str:
    return json.dumps(_good(rng))


def _page(rng: Random) -> str:
    return f"<html><body><h1>502 Bad Gateway</h1><p>{_prose(rng)}</p></body></html>"


def _only_thoughts(rng: Random) -> str:
    ways = (f"<think>{_prose(rng)} {_good(rng)}", f"{_good(rng)}</think> {_prose(rng)}")
    return rng.choice(ways)


def _inside_a_broken_one(rng: Random) -> str:
    """A quotation without escapes holds a verdict, and the verdict of its own is lost."""
    ways = (
        f'{{"reference": ["it says {_good(rng)} here"], "response": "no"}}',
        f'{{"reason": "it says {_good(rng)} but',
        f'{{"reference": [{_good(rng)}], "reason": "cut',
    )
    return rng.choice(ways)


_UNREADABLE: Final[tuple[Callable[[Random], str], ...]] = (
    _prose, _without_verdict, _noise, _cut, _doubled, _key_twice, _wrong_key, _wrong_value,
    _broken, _as_a_string, _page, _only_thoughts, _inside_a_broken_one,
)  # fmt: skip


def stream(make: Callable[[Random], Any], *, seed: int, count: int) -> Iterator[Any]:
    """So many answers of a grammar, the same for the same seed."""
    rng = Random(seed)
    return (make(rng) for _ in range(count))
