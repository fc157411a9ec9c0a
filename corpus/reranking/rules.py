"""What replies of rerankers say, and the rankings that follow (docs/protocol.md 5.4, 5.5). Pure.

`reference` reads as the released scripts do, `strict` never makes a score up: what it cannot read
is None.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from statistics import mean, stdev
from typing import Any, Final

REFERENCE: Final = "reference"
STRICT: Final = "strict"
PARSERS: Final = (STRICT, REFERENCE)
BEST: Final = 10
_POINT: Final = re.compile(r"Relevance\s*score[:\s]*(10|0?\d(\.\d+)?)", re.IGNORECASE)
_STRICT_POINT: Final = re.compile(
    r"Relevance\s*score\s*(?:is|of|[:=])?\s*(-?\d{1,9}(?:\.\d{1,9})?)(?![\d.]*\d)", re.IGNORECASE
)
_MARKUP: Final = re.compile(r"[*_`#]+")
_FENCED: Final = re.compile(r"```json\s*(.*?)```", re.DOTALL | re.IGNORECASE)
_ANSWER: Final = re.compile(r"<answer>(.*?)</answer>", re.DOTALL | re.IGNORECASE)
_FENCE: Final = re.compile(r"\A\s*```\w*\s*|\s*```\s*\Z")
_THOUGHT_END: Final = "</think>"

# How two rankings are merged; what is added to each rank by reciprocal rank fusion.
LOGARITHM, RRF = FUSIONS = ("log-rank", "rrf")
_RRF: Final = 60


def read_point(text: str, parser: str) -> float | None:
    """The score of one document, from 0 to 1; None where none can be read.

    `strict` takes "is", "of" and Markdown, and refuses numbers out of 0 to 10 and a reply that
    names several.
    """
    if parser == REFERENCE:
        found = _POINT.search(text)
        return float(found[1]) / BEST if found else None
    said = _MARKUP.sub("", text.rpartition(_THOUGHT_END)[2])
    scores = {float(each) for each in _STRICT_POINT.findall(said)}
    score = scores.pop() if len(scores) == 1 else -1.0
    return score / BEST if 0 <= score <= BEST else None


def read_list(text: str, count: int, parser: str) -> list[int] | None:
    """The order of documents in the last fenced list, counted from 0; None where there is none.

    In `reference` one number out of range makes the whole reply unreadable, and who is left out
    vanishes; `strict` drops such numbers and repeated ones, and appends who was left out.
    """
    blocks = _FENCED.findall(text.rpartition(_THOUGHT_END)[2])
    listed = _json(blocks[-1]) if blocks else None
    if not isinstance(listed, list) or not listed or any(type(each) is not int for each in listed):
        return None
    inside = [each - 1 for each in dict.fromkeys(listed) if 1 <= each <= count]
    if not inside or (parser == REFERENCE and len(inside) < len(dict.fromkeys(listed))):
        return None
    if parser == REFERENCE:
        return inside
    return inside + [each for each in range(count) if each not in set(inside)]


def read_group(text: str, size: int, parser: str) -> dict[int, float] | None:
    """The scores of a group's documents, counted from 0, each from 0 to 1; None for no scores.

    A number out of 0 to 10 makes the reply unreadable; who was left out has no score, 0 in
    `reference`.
    """
    answers = _ANSWER.findall(text.rpartition(_THOUGHT_END)[2])
    given = _json(_FENCE.sub("", answers[-1])) if answers else None
    if not isinstance(given, dict):
        return None
    found: dict[int, float] = {}
    for name, score in given.items():
        number = re.fullmatch(r"\s*\[?(\d{1,4})\]?\s*", name)
        if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= BEST:
            return None
        if number and 1 <= int(number[1]) <= size:
            found[int(number[1]) - 1] = score / BEST
    if not found:
        return None
    return dict.fromkeys(range(size), 0.0) | found if parser == REFERENCE else found


def groups(order: Sequence[int], size: int) -> list[list[int]]:
    """A shuffled order cut into groups of so many, the last one perhaps smaller."""
    return [list(order[start : start + size]) for start in range(0, len(order), size)]


def averaged(values: Sequence[float]) -> tuple[float | None, float | None]:
    """The mean over repeats and their standard deviation; None of none, and of a single one."""
    return mean(values) if values else None, stdev(values) if len(values) > 1 else None


def interpolated(
    rerank: Sequence[float | None], retriever: Sequence[float], weight: float
) -> list[float]:
    """weight * S_rerank + (1 - weight) * S_retriever; who has no score keeps the retriever's."""
    return [
        mine if score is None else weight * score + (1 - weight) * mine
        for score, mine in zip(rerank, retriever, strict=True)
    ]


def tie_broken(
    rerank: Sequence[float | None], retriever: Sequence[float], raw: Sequence[float]
) -> list[float]:
    """100 * S_rerank + the retriever's own score, such as BM25; `retriever` stands in for S."""
    filled = interpolated(rerank, retriever, 1)
    return [100 * score + each for score, each in zip(filled, raw, strict=True)]


def by_place(order: Sequence[int]) -> dict[int, float]:
    """K - position: the score of a listed document."""
    return {each: float(len(order) - place) for place, each in enumerate(order)}


def merged(
    point: Sequence[str], listed: Sequence[str], weight: float = 0.6, fusion: str = LOGARITHM
) -> dict[str, float]:
    """weight * -ln(rank) in the first + (1 - weight) * -ln(rank) in the second.

    Who is missing from one of them stands there behind its last (the reference crashes). By `rrf`
    1 / (60 + rank) is in the place of the logarithm, and 0 for who is missing (Cormack et al.
    2009).
    """

    def valued(ranking: Sequence[str]) -> dict[str, float]:
        ranks = {pid: rank for rank, pid in enumerate(dict.fromkeys(ranking), start=1)}
        everybody = (*point, *listed)
        if fusion == RRF:
            return {pid: 1 / (_RRF + ranks[pid]) if pid in ranks else 0.0 for pid in everybody}
        last = len(ranks) + 1
        return {pid: -math.log(ranks.get(pid, last)) for pid in everybody}

    first, second = valued(point), valued(listed)
    return {pid: weight * first[pid] + (1 - weight) * second[pid] for pid in first}


def oracle(pids: Sequence[str], relevant: Iterable[str]) -> list[int]:
    """The relevant first, each part as the retriever had it: what no reranker can exceed."""
    known = set(relevant)
    return sorted(range(len(pids)), key=lambda each: pids[each] not in known)


def ranked(scores: Mapping[str, float]) -> list[tuple[str, float]]:
    """The best first, equal ones in the order of their ids (docs/protocol.md 1.5, strict)."""
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))


def auc(relevant: Sequence[float], others: Sequence[float]) -> float:
    """The share of pairs in which the relevant one has the higher score, a tie being half."""
    wins = [(one > other) + (one == other) / 2 for one in relevant for other in others]
    return sum(wins) / len(wins)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
