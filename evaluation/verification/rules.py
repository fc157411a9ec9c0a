"""The label that stored answers and votes give, by the rule that made it."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from annotate.services.majority import RULE, decide
from debate.dream.turns import read_response
from llm.errors import ParseFailure
from llm.parsing import read_object

# Rules whose label needs more than a release keeps: LARA's model of all pairs, graded samples.
UNVERIFIABLE = frozenset({"lara", "graded", ""})
_TRUE = {"true": 1, "yes": 1, "false": 0, "no": 0}


class Fails(ValueError):  # noqa: N818
    """The row's own evidence gives no label, or contradicts itself; the words say why."""


def derive(row: dict[str, Any], supporting: bool) -> int | None:
    """The label that an evidence row comes to; None where its rule cannot be followed here.

    `supporting` says whether the release's aspects list the passage. Raises Fails.
    """
    rule = row.get("rule", "")
    if row["source"] == "expert":
        return _expert(rule, row, supporting)
    if row["source"] == "human":
        return _votes(rule, row)
    if rule in UNVERIFIABLE or (rule == "debate" and not row.get("turns")):
        return None
    turns = row["turns"]
    for turn in turns:
        _check_answer(turn)
    if rule == "debate":
        return _agreed([turn for turn in turns if turn["round"] == row["round"]])
    if rule == "adjudicated":
        return _agreed([turn for turn in turns if turn["agent"] == "adjudicator"])
    if rule == "vote":
        return _majority(turns)
    if rule in ("filter", "llmjudge"):
        return _agreed(turns)
    return None


def _expert(rule: str, row: dict[str, Any], supporting: bool) -> int | None:
    if rule == "discarded":
        if supporting:
            raise Fails("an expert discarded it, and an aspect lists it")
        return 0
    if rule == "assigned":
        if not supporting:
            raise Fails("an expert assigned it, and no aspect lists it")
        return max(1, int(row["label"]))
    return None


def _votes(rule: str, row: dict[str, Any]) -> int | None:
    if rule != RULE:
        return None
    votes = row.get("votes", [])
    people = [vote["person"] for vote in votes]
    if len(set(people)) < len(people):
        raise Fails("one person voted twice")
    decision = decide([vote["label"] for vote in votes])
    if decision.label is None:
        raise Fails(f"its {len(votes)} votes decide nothing")
    return decision.label


def _check_answer(turn: dict[str, Any]) -> None:
    """The answer as it came, read again, says what the turn says."""
    text, said = turn.get("answer"), turn.get("label")
    if text is None or said is None:
        return
    read = _read(text)
    if read is not None and read != said:
        raise Fails(f"{turn['agent']}'s answer in round {turn['round']} reads {read}, not {said}")


def _read(text: str) -> int | None:
    response = read_object(text, "response")
    if not isinstance(response, ParseFailure):
        word = read_response(response.value["response"])
        return None if word is None else int(word == "yes")
    support = read_object(text, "is_supported")
    if isinstance(support, ParseFailure):
        return None
    value = support.value["is_supported"]
    return int(value) if isinstance(value, bool) else _TRUE.get(str(value).strip().lower())


def _agreed(turns: Sequence[dict[str, Any]]) -> int:
    labels = {turn.get("label") for turn in turns}
    if len(labels) != 1 or None in labels:
        raise Fails("its answers do not agree on a label")
    return int(labels.pop() or 0)


def _majority(turns: Sequence[dict[str, Any]]) -> int:
    counts = Counter(turn["label"] for turn in turns if turn.get("label") is not None)
    if not counts or 2 * max(counts.values()) <= len(turns):
        raise Fails("its votes have no majority")
    return int(counts.most_common(1)[0][0])
