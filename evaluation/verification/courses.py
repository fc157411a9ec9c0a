"""LARA's labels anew: people's answers to the pairs it picked, in their order, and every score."""

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from debate.baselines.calibrations import MODELS, Model, Vector
from debate.baselines.lara import (
    Trajectory,
    balanced_groups,
    budget_for,
    label_batch,
    probabilities,
    smooth_normalize,
)
from evaluation.verification.rows import NotDerived

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
