"""The oracle of reranking: the first passages of a list, sorted by truth."""

from math import log2

import pytest

from evaluation.metrics.gold import Gold
from evaluation.metrics.names import read_metrics
from evaluation.metrics.profiles import STRICT, Family
from evaluation.metrics.ranking import Matched
from evaluation.metrics.run import Run
from evaluation.metrics.scoring import case_of, value_of

# As b and c are labelled; d stands behind the first three that count, x and y nobody judged, z is
# excluded and takes no place.
GOLD = Gold.of({"q": {"a": 0, "b": 1, "c": 3, "d": 2}}, excluded={"q": ["z"]})
RUN = Run.of({"q": ["z", "x", "b", "c", "d", "y"], "other": ["a"]})
IDEAL = 3 + 2 / log2(3) + 1 / log2(4)


@pytest.mark.parametrize(
    ("depth", "gained"),
    [
        (1, 0.0),  # x
        (2, 1.0),  # b
        (3, 3 + 1 / log2(3)),  # c, b
        (4, IDEAL),  # c, d, b
        (100, IDEAL),
    ],
)
def test_the_first_so_many_are_sorted_by_their_labels(depth, gained) -> None:
    case = case_of(Matched.of(RUN, GOLD), Family.TREC, STRICT)
    (metric,) = read_metrics("nDCG@10")
    (value,) = value_of(metric, case.sorted_by_truth(depth), STRICT).values
    assert value == pytest.approx(gained / IDEAL)
    # What the run itself has: b second, c third, d fourth.
    (own,) = value_of(metric, case, STRICT).values
    assert own == pytest.approx((1 / log2(3) + 3 / log2(4) + 2 / log2(5)) / IDEAL)
