"""The probability of a yes, from the probabilities of an answer's tokens (docs/protocol.md 2.9)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

_QUOTES: Final = "\"'`“”‘’ \t\r\n"
_SPELLINGS: Final = {
    word: answer for answer in ("yes", "no") for word in (answer, answer.title(), answer.upper())
}


def probability_of_yes(tokens: Sequence[Mapping[str, Any]] | None) -> float | None:
    """P(yes) / (P(yes) + P(no)) at the first token that says either; None where none does.

    Of the spellings (lower, title and upper case, with or without a leading blank or quotation
    mark) the most probable counts, they are not added up. In a JSON answer the first such token
    is the value's. Both unmentioned, 0/0, is 0 as in the source: there that happens where the
    first token is neither; here only where both probabilities vanish.

    >>> probability_of_yes([{"token": "Yes", "logprob": math.log(0.6), "top_logprobs": [
    ...     {"token": " no", "logprob": math.log(0.2)}]}])
    0.75
    """
    for token in tokens or ():
        ranked = [token, *(token.get("top_logprobs") or ())]
        if _says(token) is not None:
            return _share(ranked)
    return None


def _share(ranked: Sequence[Mapping[str, Any]]) -> float:
    best = {"yes": 0.0, "no": 0.0}
    for each in ranked:
        answer = _says(each)
        if answer is not None:
            best[answer] = max(best[answer], _probability(each))
    total = best["yes"] + best["no"]
    return best["yes"] / total if total else 0.0


def _says(token: Mapping[str, Any]) -> str | None:
    return _SPELLINGS.get(str(token.get("token", "")).strip(_QUOTES))


def _probability(token: Mapping[str, Any]) -> float:
    logprob = token.get("logprob")
    if not isinstance(logprob, int | float) or math.isnan(logprob):
        return 0.0
    return math.exp(min(0.0, logprob))
