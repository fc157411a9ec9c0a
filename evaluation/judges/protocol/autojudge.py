"""Shapes of TREC AutoJudge (auto-judge-base): leaderboards and nugget banks; its qrels are TREC's.

What cannot be read is named by its line; nothing is left out in silence.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any, Final

# The columns of a leaderboard's lines; of JSON lines the names of the fields.
SHAPES: Final[dict[str, tuple[str, ...]]] = {
    "ir_measures": ("run", "topic", "measure", "value"),
    "tot": ("run", "measure", "topic", "value"),
    "trec_eval": ("measure", "topic", "value"),
    "rag4reports": ("topic", "run", "measure", "value"),
    "jsonl": ("run_id", "topic_id", "measure", "value"),
}
JSONL: Final = "jsonl"
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
    """Scores in their order; `run` is the run of a file in the shape of trec_eval, until a line of
    it (`runid all NAME`, as trec_eval prints it) names that of the lines below.

    Raises BadFile with every line that has other columns or fields, no finite number, or a score
    again.
    """
    found, faults = dict[tuple[str, str, str], Score](), list[str]()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            given = _fields(line) if shape == JSONL else _columns(line, SHAPES[shape])
            if shape == "trec_eval" and (given["measure"], given["topic"]) == ("runid", ALL):
                run = given["value"]
                continue
            score = Score(given.get("run", run), given["topic"], given["measure"],
                          _number(given["value"]))  # fmt: skip
            key = (score.run, score.topic, score.measure)
            if key in found:
                raise ValueError(f"{' '.join(key)} has a value already")
            found[key] = score
        except ValueError as fault:
            faults.append(f"line {number}: {fault}.")
    if faults:
        raise BadFile(faults)
    return list(found.values())


def _columns(line: str, names: Sequence[str]) -> dict[str, str]:
    columns = line.split()
    if len(columns) != len(names):
        needed = f"{len(names)} columns are needed ({', '.join(names)})"
        raise ValueError(f"{needed}, here are {len(columns)}")
    return dict(zip(names, columns, strict=True))


def _fields(line: str) -> dict[str, Any]:
    """Of a line of JSON; ids of runs and topics may be numbers there."""
    given = _json(line)
    if not isinstance(given, dict):
        raise ValueError("this is no JSON object")
    for name in SHAPES[JSONL][:3]:
        kinds = str if name == "measure" else str | int
        value = given.get(name)
        is_name = isinstance(value, kinds) and not isinstance(value, bool)
        if not is_name or not str(value).strip() or not str(value).isprintable():
            raise ValueError(f"{name} is missing, or no name")
    if "value" not in given:
        raise ValueError("value is missing")
    return {name.removesuffix("_id"): given[name] if name == "value" else str(given[name])
            for name in SHAPES[JSONL]}  # fmt: skip


def _json(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as fault:
        raise ValueError(f"this is not JSON: {fault}") from None


def written_leaderboard(scores: Sequence[Score], shape: str = "ir_measures") -> Iterator[str]:
    """Lines by tabs, or of JSON; behind the topics of each run and measure their mean, topic `all`.

    Raises ValueError for a name with white space between tabs.
    """
    names = [name.removesuffix("_id") for name in SHAPES[shape]]
    for score in [*(each for each in scores if each.topic != ALL), *means_of(scores)]:
        values = [getattr(score, name) for name in names]
        columns = [str(value) for value in values]
        if shape == JSONL:
            yield json.dumps(dict(zip(SHAPES[shape], values, strict=True)), ensure_ascii=False)
            continue
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


def _number(given: Any) -> float:
    """Raises ValueError for what is no finite number, nor true or false."""
    try:
        value = float(_TRUTH.get(given, given) if isinstance(given, str) else given)
    except (TypeError, ValueError, OverflowError):
        value = inf
    if not isfinite(value):
        raise ValueError(f"{str(given)[:40]!r} is no finite number")
    return value


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
            bank = _json(line)
        except ValueError as fault:
            faults.append(f"line {number}: {fault}.")
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
