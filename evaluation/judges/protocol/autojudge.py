"""Shapes of TREC AutoJudge (auto-judge-base): leaderboards and nugget banks; its qrels are TREC's.

What cannot be read is named by its line; nothing is left out in silence.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final

# The columns of a leaderboard's lines.
SHAPES: Final[dict[str, tuple[str, ...]]] = {
    "ir_measures": ("run", "topic", "measure", "value"),
    "tot": ("run", "measure", "topic", "value"),
    "trec_eval": ("measure", "topic", "value"),
}
ALL: Final = "all"
_TRUTH: Final = {"True": 1.0, "False": 0.0}


class BadFile(ValueError):
    """A file that cannot be read; `faults` name its lines."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = list(faults)


@dataclass(frozen=True)
class Score:
    """What a judge gives a run: for one topic, or for all of them (`all`)."""

    run: str
    topic: str
    measure: str
    value: float


def read_leaderboard(
    lines: Iterable[str], shape: str = "ir_measures", *, run: str = ""
) -> list[Score]:
    """Scores in their order; `run` is the run of a file in the shape of trec_eval.

    Raises BadFile with every line that has other columns, no finite number, or a score again.
    """
    names, found, faults = SHAPES[shape], dict[tuple[str, str, str], Score](), list[str]()
    for number, line in enumerate(lines, start=1):
        columns = line.split()
        if not columns:
            continue
        if len(columns) != len(names):
            needed = f"{len(names)} columns are needed ({', '.join(names)})"
            faults.append(f"line {number}: {needed}, here are {len(columns)}.")
            continue
        given = dict(zip(names, columns, strict=True))
        value = _number(given["value"])
        score = Score(given.get("run", run), given["topic"], given["measure"], value or 0.0)
        key = (score.run, score.topic, score.measure)
        if value is None:
            faults.append(f"line {number}: {given['value'][:40]!r} is no finite number.")
        elif key in found:
            faults.append(f"line {number}: {' '.join(key)} has a value already.")
        else:
            found[key] = score
    if faults:
        raise BadFile(faults)
    return list(found.values())


def written_leaderboard(scores: Sequence[Score], shape: str = "ir_measures") -> Iterator[str]:
    """Lines by tabs; behind the topics of each run and measure their mean, topic `all`.

    Raises ValueError for a name with white space.
    """
    names = SHAPES[shape]
    for score in [*(each for each in scores if each.topic != ALL), *means_of(scores)]:
        columns = [str(getattr(score, name)) for name in names]
        if any(not each or each.split() != [each] for each in columns):
            raise ValueError(f"White space has no place in {columns!r}.")
        yield "\t".join(columns)


def means_of(scores: Iterable[Score]) -> list[Score]:
    """Over topics, by run and measure in the order in which they come."""
    found: dict[tuple[str, str], list[float]] = {}
    for each in scores:
        if each.topic != ALL:
            found.setdefault((each.run, each.measure), []).append(each.value)
    return [
        Score(run, ALL, measure, sum(values) / len(values))
        for (run, measure), values in found.items()
    ]


def _number(text: str) -> float | None:
    try:
        value = _TRUTH[text] if text in _TRUTH else float(text)
    except ValueError:
        return None
    return value if isfinite(value) else None


@dataclass(frozen=True)
class Nugget:
    """One thing an answer should say: a question, or a claim (`is_claim`), with the documents that
    support it; importance is a number or a word ("vital"), empty where none is given; `by_people`
    where it is known to be made by people."""

    topic: str
    text: str
    key: str = ""
    importance: float | str = ""
    references: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    is_claim: bool = False
    by_people: bool = False


_BANKS: Final = {"nugget_bank": ("question", "question_id"), "claim_bank": ("claim", "claim_id")}


def read_nuggets(lines: Iterable[str]) -> list[Nugget]:
    """Nuggets of a JSONL file with one bank a topic, those inside others behind them.

    Raises BadFile with every line that is no bank, and each entry in it that is no nugget.
    """
    found, faults, topics = list[Nugget](), list[str](), set[str]()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            bank = json.loads(line)
        except (ValueError, RecursionError) as fault:
            faults.append(f"line {number}: this is not JSON: {fault}.")
            continue
        topic = bank.get("query_id") if isinstance(bank, dict) else None
        if topic is None and isinstance(bank, dict) and isinstance(bank.get("metadata"), dict):
            topic = bank["metadata"].get("topic_id")  # as banks are submitted to RAGTIME 2026
        if not isinstance(topic, str) or not topic:
            faults.append(f"line {number}: query_id (or metadata.topic_id) is missing.")
        elif topic in topics:
            faults.append(f"line {number}: topic {topic} has a bank already.")
        else:
            topics.add(topic)
            for name in _BANKS:
                for place, entry in _entries(bank.get(name)):
                    found += _nuggets(topic, name, entry, f"line {number}: {name}{place}", faults)
    if faults:
        raise BadFile(faults)
    return found


def written_nuggets(nuggets: Iterable[Nugget], titles: Mapping[str, str]) -> Iterator[str]:
    """A bank (v3) a topic with a title, as lines of JSON; topics without a nugget have none."""
    banks: dict[str, dict[str, Any]] = {}
    for each in nuggets:
        name = "claim_bank" if each.is_claim else "nugget_bank"
        text, key = _BANKS[name]
        entry: dict[str, Any] = {text: each.text, key: each.key, "query_id": each.topic}
        if each.importance != "":
            entry["importance"] = each.importance
        entry["references"] = [{"doc_id": pid} for pid in each.references]
        if not each.is_claim and each.answers:
            entry["answers"] = {answer: {"answer": answer} for answer in each.answers}
        if each.by_people:
            entry["creator"] = [{"is_human": True}]
        bank = banks.setdefault(
            each.topic,
            {
                "query_id": each.topic,
                "title_query": titles.get(each.topic, ""),
                "format_version": "v3",
            },
        )
        bank.setdefault(name, {})[each.text] = entry
    for bank in banks.values():
        yield json.dumps(bank, ensure_ascii=False)


def _entries(given: Any) -> Iterator[tuple[str, Any]]:
    """(place in words, entry) of a bank, which is an object by text or a list."""
    if isinstance(given, Mapping):
        yield from ((f", {key[:40]!r}", value) for key, value in given.items())
    elif isinstance(given, list):
        yield from ((f", entry {place}", value) for place, value in enumerate(given, start=1))
    elif given is not None:
        yield "", given


def _nuggets(topic: str, bank: str, entry: Any, where: str, faults: list[str]) -> Iterator[Nugget]:
    name, key = _BANKS[bank]
    if not isinstance(entry, dict) or not isinstance(entry.get(name), str) or not entry[name]:
        faults.append(f"{where}: a {name} is missing.")
        return
    importance = entry.get("importance")
    if importance is None:
        importance = ""
    if isinstance(importance, bool) or not isinstance(importance, int | float | str):
        faults.append(f"{where}: importance is neither a number nor a word.")
        return
    answers = entry.get("answers") or []
    texts = _texts(answers, "answer")
    # Documents stand beside the nugget, or each beside the answer that it supports.
    given = answers.values() if isinstance(answers, dict) else answers
    cited = (
        [entry, *(each for each in given if isinstance(each, dict))] if texts is not None else []
    )
    found = [_texts(each.get("references") or [], "doc_id") for each in cited]
    ids = tuple(dict.fromkeys(pid for each in found for pid in each or ()))
    if texts is None or None in found:
        faults.append(f"{where}: references need a doc_id each, answers a text.")
        return
    yield Nugget(
        topic,
        entry[name],
        str(entry.get(key) or ""),
        importance,
        ids,
        texts,
        is_claim=name == "claim",
    )
    for place, inner in _entries(entry.get("sub_nuggets")):
        is_claim = isinstance(inner, dict) and "claim" in inner
        inside = "claim_bank" if is_claim else "nugget_bank"
        yield from _nuggets(topic, inside, inner, f"{where}, sub_nuggets{place}", faults)


def _texts(given: Any, name: str) -> tuple[str, ...] | None:
    """The texts of a list or object of texts, or of objects with one of this name; None where one
    is missing."""
    if not isinstance(given, list | dict):
        return None
    entries = given.values() if isinstance(given, dict) else given
    found = [each.get(name) if isinstance(each, dict) else each for each in entries]
    texts = tuple(each for each in found if isinstance(each, str) and each)
    return texts if len(texts) == len(found) else None
