"""Whether an agreement lasts when the debate goes on (docs/protocol.md 6.10; DREAM, Table 12)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kit.stats.proportions import Proportion, proportion


@dataclass(frozen=True)
class Course:
    """One pair through its rounds: the label agreed on in each round played, None without one.

    `truth` is the reference's label, where there is one.
    """

    rounds: Mapping[int, int | None]
    truth: int | None = None


@dataclass(frozen=True)
class Lasting:
    """A round of the cohort that agreed in the first one.

    `persistence`: in agreement at this round, on whatever label; `same`: on that of round one;
    both of the pairs that were played so far. `spurious`: wrong agreements, of the agreements
    and of the cohort, among pairs with a reference: the paper leaves the divisor open.
    """

    round: int
    persistence: Proportion
    same: Proportion
    spurious_of_agreements: Proportion
    spurious_of_cohort: Proportion


def lasting(courses: Iterable[Course]) -> list[Lasting]:
    """One row a round, as far as any pair of the cohort was played."""
    cohort = [course for course in courses if course.rounds.get(1) is not None]
    rounds = sorted({number for course in cohort for number in course.rounds})
    return [_at(number, cohort) for number in rounds]


def _at(number: int, cohort: list[Course]) -> Lasting:
    played = [course for course in cohort if number in course.rounds]
    agreed = [course for course in played if course.rounds[number] is not None]
    same = sum(course.rounds[number] == course.rounds[1] for course in agreed)
    checked = [course for course in agreed if course.truth is not None]
    wrong = sum(course.rounds[number] != course.truth for course in checked)
    with_truth = sum(course.truth is not None for course in played)
    return Lasting(
        round=number,
        persistence=proportion(len(agreed), len(played)),
        same=proportion(same, len(played)),
        spurious_of_agreements=proportion(wrong, len(checked)),
        spurious_of_cohort=proportion(wrong, with_truth),
    )
