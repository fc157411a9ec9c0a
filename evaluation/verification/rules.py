"""The label that stored answers and votes give, by the rule that made it."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from annotate.voting.majority import RULE, decide
from debate.baselines.graded import GRADES, mode, read_reference, read_strict
from debate.baselines.relevance import confidence_of, probability_of_yes
from debate.dream.turns import read_response
from evaluation.verification.courses import Courses
from evaluation.verification.rows import NotDerived
from llm.parsing import ParseFailure, read_object

# Rules of reference panels, with the number of labels of each item.
PANEL = {"reference-1": 1, "reference-2": 2}
# Between two readings of one probability.
_CLOSE = 1e-9
_TRUE = {"true": 1, "yes": 1, "false": 0, "no": 0}


def derive(
    row: dict[str, Any], supporting: bool, courses: Courses | None = None, split: str = ""
) -> int | None:
    """The label that an evidence row comes to; None where its rule cannot be followed here.

    `supporting` says whether the release's aspects list the passage; `courses` are those of the
    release's LARA runs, in which `split` is the pair's own. Raises NotDerived.
    """
    rule = row.get("rule", "")
    if row["source"] == "expert":
        return _expert(rule, row, supporting)
    if row["source"] == "human":
        return _votes(rule, row)
    turns = row.get("turns", [])
    if not turns:
        return None
    if rule == "graded":
        return _graded(row, turns)
    if rule == "lara":
        return _calibrated(row, turns, courses, split)
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


def _graded(row: dict[str, Any], turns: Sequence[dict[str, Any]]) -> int | None:
    """The mode of the samples' grades, each read again, is relevant from the threshold on."""
    if "threshold" not in row:
        return None
    for turn in turns:
        if (text := turn.get("answer")) is not None:
            read = _grade(text, row.get("parser", ""))
            if read != turn.get("score"):
                raise NotDerived(
                    f"{turn['agent']}'s answer reads grade {read}, not {turn.get('score')}"
                )
    grades = [GRADES[int(turn["score"])] for turn in turns if turn.get("score") is not None]
    if not grades:
        raise NotDerived("none of its answers gives a grade")
    return int(mode(grades) >= row["threshold"])


def _grade(text: str, parser: str) -> int | None:
    if parser == "reference":
        return read_reference(text)[0]
    read = read_strict(text)
    return None if isinstance(read, ParseFailure) else read[0]


def _calibrated(
    row: dict[str, Any], turns: Sequence[dict[str, Any]], courses: Courses | None, split: str
) -> int | None:
    """What the run's course comes to for a pair whose probability is that of its answer."""
    if courses is None or "course" not in row:
        return None
    turn = turns[-1]
    score = turn.get("score")
    read = _probability(turn)
    if read is not None and (score is None or abs(read - score) > _CLOSE):
        raise NotDerived(f"{turn['agent']}'s answer gives probability {read}, not {score}")
    return courses[row["course"]].label((split, row["query_id"], row["passage_id"]), score)


def _probability(turn: dict[str, Any]) -> float | None:
    """Of relevance: by the tokens of the answer, else as the answer puts it into words."""
    found = probability_of_yes(turn.get("logprobs"))
    if found is not None or turn.get("answer") is None:
        return found
    read = confidence_of(turn["answer"])
    return None if isinstance(read, ParseFailure) else read[0]


def _expert(rule: str, row: dict[str, Any], supporting: bool) -> int | None:
    if rule == "discarded":
        if supporting:
            raise NotDerived("an expert discarded it, and an aspect lists it")
        return 0
    if rule == "assigned":
        if not supporting:
            raise NotDerived("an expert assigned it, and no aspect lists it")
        return max(1, int(row["label"]))
    if rule == "adjudicated":
        return _settled(row, supporting)
    if rule in PANEL:
        return _panel(row.get("votes", []), PANEL[rule])
    return None


def _settled(row: dict[str, Any], supporting: bool) -> int | None:
    """A third person's label is what they decided, and they had no vote in it."""
    if row.get("person") in {vote["person"] for vote in row.get("votes", [])}:
        raise NotDerived("who settled it voted on it")
    decision = row.get("decision")
    if decision == 0 and supporting:
        raise NotDerived("a third person found it not relevant, and an aspect lists it")
    return decision


def _panel(votes: list[dict[str, Any]], size: int) -> int:
    """The label of a reference panel: so many experts, and all of one mind."""
    labels = {vote["label"] for vote in votes}
    if len({vote["person"] for vote in votes}) != size or len(votes) != size:
        raise NotDerived(f"its panel wanted {size} experts, and {len(votes)} labels are there")
    if len(labels) != 1 or None in labels:
        raise NotDerived("its experts do not agree on a label")
    return int(labels.pop())


def _votes(rule: str, row: dict[str, Any]) -> int | None:
    if rule != RULE:
        return None
    votes = row.get("votes", [])
    people = [vote["person"] for vote in votes]
    if len(set(people)) < len(people):
        raise NotDerived("one person voted twice")
    decision = decide([vote["label"] for vote in votes])
    if decision.label is None:
        raise NotDerived(f"its {len(votes)} votes decide nothing")
    return decision.label


def _check_answer(turn: dict[str, Any]) -> None:
    """The answer as it came, read again, says what the turn says."""
    text, label = turn.get("answer"), turn.get("label")
    if text is None or label is None:
        return
    read = _read(text)
    if read is not None and read != label:
        raise NotDerived(
            f"{turn['agent']}'s answer in round {turn['round']} reads {read}, not {label}"
        )


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
        raise NotDerived("its answers do not agree on a label")
    return int(labels.pop() or 0)


def _majority(turns: Sequence[dict[str, Any]]) -> int:
    counts = Counter(turn["label"] for turn in turns if turn.get("label") is not None)
    if not counts or 2 * max(counts.values()) <= len(turns):
        raise NotDerived("its votes have no majority")
    return int(counts.most_common(1)[0][0])
