"""What a load counted, found odd, and found wrong."""

from collections import defaultdict
from typing import Any

from corpus.importers.rows import Place, Problem

KINDS = ("queries", "passages", "documents", "judgments", "aspects", "pairs", "rankings")
MOST_PROBLEMS = 100
EXAMPLES = 5


class Broken(Exception):
    """The files have problems; nothing of them may be kept."""


class Tally:
    """Counts by kind, oddities with examples, and problems up to MOST_PROBLEMS."""

    def __init__(self) -> None:
        self.counts: dict[str, dict[str, int]] = {
            kind: {"added": 0, "present": 0} for kind in KINDS
        }
        for kind in ("queries", "passages"):
            self.counts[kind]["filled"] = 0
        self.gold: list[dict[str, Any]] = []
        self.runs: list[dict[str, Any]] = []
        self.problems: list[Problem] = []
        self._odd: dict[str, list[str]] = defaultdict(list)
        self._odd_count: dict[str, int] = defaultdict(int)

    def add(self, kind: str, **counts: int) -> None:
        """Count rows of a kind as added, present or filled."""
        for name, count in counts.items():
            self.counts[kind][name] += count

    @property
    def added(self) -> int:
        """New rows of every kind."""
        return sum(each["added"] for each in self.counts.values())

    def odd(self, what: str, example: str = "") -> None:
        """Count something unusual; the first few examples are kept."""
        self._odd_count[what] += 1
        if example and len(self._odd[what]) < EXAMPLES:
            self._odd[what].append(example)

    def fail(self, place: Place, message: str) -> None:
        """Note a problem; raises Broken once there are MOST_PROBLEMS."""
        self.problems.append(Problem(place, message))
        if len(self.problems) >= MOST_PROBLEMS:
            raise Broken

    def summary(self) -> dict[str, Any]:
        """What ImportRun.summary keeps."""
        oddities = [
            {"what": what, "count": count, "examples": self._odd[what]}
            for what, count in self._odd_count.items()
        ]
        return {**self.counts, "gold": self.gold, "runs": self.runs, "oddities": oddities}

    def problem_rows(self) -> list[dict[str, Any]]:
        """What ImportRun.problems keeps."""
        return [
            {
                "file": each.place.file,
                "line": each.place.line,
                "field": each.place.field,
                "message": each.message,
            }
            for each in self.problems
        ]
