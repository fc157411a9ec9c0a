"""Whether an agreement lasts when the debate goes on (docs/protocol.md 6.10; DREAM, Table 12)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from kit.stats.proportions import Proportion, proportion


@dataclass(frozen=True)
class Persistence:
    """A round of the cohort that agreed in the first one.

    `persistence`: in agreement at this round, on whatever label; `same`: on that of round one;
    both of the pairs that were debated so far. `spurious`: wrong agreements, of the agreements
    and of the cohort, among pairs with a reference: the paper leaves the divisor open.
    """

    round: int
    persistence: Proportion
    same: Proportion
    spurious_of_agreements: Proportion
    spurious_of_cohort: Proportion


Trajectory: TypeAlias = tuple[Mapping[int, int | None], int | None]
"""The label agreed on in each round of a pair, None without one; and the reference's label."""


def persistence(trajectories: Iterable[Trajectory]) -> list[Persistence]:
    """One row a round, as far as any pair of the cohort was debated."""
    cohort = [each for each in trajectories if each[0].get(1) is not None]
    rounds = sorted({number for labels, _ in cohort for number in labels})
    return [_at(number, cohort) for number in rounds]


def _at(number: int, cohort: list[Trajectory]) -> Persistence:
    debated = [(labels, truth) for labels, truth in cohort if number in labels]
    agreed = [(labels, truth) for labels, truth in debated if labels[number] is not None]
    same = sum(labels[number] == labels[1] for labels, _ in agreed)
    checked = [labels[number] == truth for labels, truth in agreed if truth is not None]
    wrong = checked.count(False)
    with_truth = sum(truth is not None for _, truth in debated)
    return Persistence(
        round=number,
        persistence=proportion(len(agreed), len(debated)),
        same=proportion(same, len(debated)),
        spurious_of_agreements=proportion(wrong, len(checked)),
        spurious_of_cohort=proportion(wrong, with_truth),
    )
