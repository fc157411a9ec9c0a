"""The pairs of a batch that nobody has labelled yet, and the least certain of them quickly.

A calibration is a monotone function, so the pair whose probability is nearest to one half stands
beside the place where the function crosses it: a search among sorted values, not a look at all.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Sequence

from .calibrations import Model, Vector


class Waiting:
    """Indices by value: different values in order, under each its indices, the first first."""

    def __init__(self, x: Vector, members: Sequence[int]) -> None:
        self._at: dict[float, deque[int]] = {}
        for index in members:
            self._at.setdefault(float(x[index]), deque()).append(index)
        self._values = sorted(self._at)

    def take(self, model: Model) -> int:
        """Take out the index with the least |p - 0.5|, of equals the first.

        Raises IndexError where none is left.
        """

        def distance(place: int) -> float:
            return abs(model.at(self._values[place]) - 0.5)

        places = self._nearest(model, distance)
        place = min(places, key=lambda each: self._at[self._values[each]][0])
        value = self._values[place]
        index = self._at[value].popleft()
        if not self._at[value]:
            del self._at[value], self._values[place]
        return index

    def _nearest(self, model: Model, distance: Callable[[int], float]) -> list[int]:
        """The places of the values whose distance is least."""
        if not self._values:
            raise IndexError("Every pair has its label.")
        if not model.direction:
            distances = [distance(place) for place in range(len(self._values))]
            return [place for place, each in enumerate(distances) if each == min(distances)]
        right = self._crossing(model)
        beside = [place for place in (right - 1, right) if 0 <= place < len(self._values)]
        least = min(map(distance, beside))
        found = []
        for place, step in ((right - 1, -1), (right, 1)):
            while 0 <= place < len(self._values) and distance(place) == least:
                found.append(place)
                place += step
        return found

    def _crossing(self, model: Model) -> int:
        """The first place from which p is at least 0.5, or at most where p falls."""
        sign = model.direction
        return bisect_left(self._values, sign * 0.5, key=lambda value: sign * model.at(value))
