"""The label that stored answers and votes give, by the rule that made it."""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from annotate.voting.majority import RULE, decide
from debate.baselines.calibrations import MODELS, Model, Vector
from debate.baselines.graded import GRADES, mode, read_reference, read_strict
from debate.baselines.lara import (
    Trajectory,
    balanced_groups,
    budget_for,
    label_batch,
    probabilities,
    smooth_normalize,
)
from debate.baselines.relevance import confidence_of, probability_of_yes
from debate.dream.turns import read_response
from evaluation.verification.rows import NotDerived
from llm.parsing import ParseFailure, read_object

Place = tuple[str, str, str]
_MISSING = "the course of its run is not in the release"


class Replayed:
    """One run of LARA as a release records it, followed again from its scores."""

    def __init__(self, course: dict[str, Any]) -> None:
        self._course = course
        self._pairs = [dict(zip(course["columns"], row, strict=True)) for row in course["pairs"]]
        self._index = {
            (pair["split"], pair["query_id"], pair["passage_id"]): n
            for n, pair in enumerate(self._pairs)
        }

    def label(self, place: Place, score: float | None) -> int | None:
        """The label of one pair; None where the run was opened again and had another course.

        Raises NotDerived where the pair is not of this run, has another score than its answer, or
        where the picks do not follow from the scores.
        """
        at = self._index.get(place)
        if at is None:
            raise NotDerived("it is no pair of its run's course")
        pair = self._pairs[at]
        if pair["pick"]:
            raise NotDerived("its run left it to people")
        if pair["score"] != score:
            raise NotDerived(f"its answer scores {score}, its run's course says {pair['score']}")
        if pair["ended"] != len(self._pairs):
            return None
        labels = self._labels
        if isinstance(labels, NotDerived):
            raise labels
        return int(labels[at])

    @cached_property
    def _labels(self) -> Vector | NotDerived:
        try:
            return self._follow()
        except NotDerived as why:
            return why

    def _follow(self) -> Any:
        numbered = sorted((pair["pick"], n) for n, pair in enumerate(self._pairs) if pair["pick"])
        picks = [n for _, n in numbered]
        given = [self._pairs[n]["given"] for n in picks]
        if [number for number, _ in numbered] != list(range(1, len(picks) + 1)):
            raise NotDerived("the numbers of the pairs that people were asked for have gaps")
        if any(label not in (0, 1) for label in given):
            raise NotDerived("a pair that people were asked for has no label")
        scores = np.array([pair["score"] for pair in self._pairs], np.float64)
        pi = smooth_normalize(scores) if self._course["smooth"] else scores
        model = MODELS[self._course["variant"]](pi)
        if self._course["simulated"]:
            return self._replay(model, picks, given).labels
        for n, label in zip(picks, given, strict=True):
            model.learn(n, label)
        return (probabilities(model) >= 0.5).astype(np.int64)

    def _replay(self, model: Model, picks: list[int], given: list[int]) -> Trajectory:
        topics = [(pair["split"], pair["query_id"]) for pair in self._pairs]
        count, seed = self._course["groups"], self._course["seed"]
        groups = balanced_groups(topics, count, seed=seed) if count > 1 else []
        budget = budget_for(self._course["budget"], len(topics))
        labelling = label_batch(model, budget, groups=groups)
        try:
            expected = next(labelling)
            for number, (pick, label) in enumerate(zip(picks, given, strict=True), start=1):
                if pick != expected:
                    raise NotDerived(f"pick {number} of its run does not follow from the scores")
                expected = labelling.send(label)
        except StopIteration as end:
            course: Trajectory = end.value
            if len(course.picks) == len(picks):
                return course
        raise NotDerived(f"its run has {len(picks)} picks, its budget another number")


class Courses:
    """The courses of a release, read when they are asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "evidence" / "courses"
        self._known: dict[int, Replayed] = {}

    def __getitem__(self, run: object) -> Replayed:
        """The course of a run; raises NotDerived where the release has none."""
        if not isinstance(run, int):
            raise NotDerived(_MISSING)
        if run not in self._known:
            path = self._folder / f"{run}.json"
            if not path.is_file():
                raise NotDerived(_MISSING)
            self._known[run] = Replayed(orjson.loads(path.read_bytes()))
        return self._known[run]


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
