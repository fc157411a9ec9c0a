"""What voting really takes, beside what the plan promises (docs/protocol.md 2.4, D16)."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from statistics import median

from annotate.models import CaseKind, Vote, VotingPlan
from corpus.models import Benchmark
from kit.sheets import Cell, Sheet, text


@dataclass(frozen=True)
class Timed:
    """The seconds that one standing vote took in its voter's browser."""

    person: int
    domain: str
    seconds: float


@dataclass(frozen=True)
class Pace:
    """`n` timed votes of `people` people: the median, and who is slower than the plan supposes.

    `pay` is what an hour earns at the median time; None where nobody is paid.
    """

    n: int
    people: int
    slower: int
    seconds: float
    pay: float | None


def pace_of(votes: Sequence[Timed], plan: VotingPlan) -> Pace:
    """How long these votes took; at least one. A person's pace is the median of their own."""
    by_person: defaultdict[int, list[float]] = defaultdict(list)
    for each in votes:
        by_person[each.person].append(each.seconds)
    seconds = median(each.seconds for each in votes)
    pay = None
    if plan.hourly_pay is not None and seconds:
        pay = float(plan.hourly_pay) * plan.seconds_per_item / seconds
    return Pace(
        n=len(votes),
        people=len(by_person),
        slower=sum(median(own) > plan.seconds_per_item for own in by_person.values()),
        seconds=seconds,
        pay=pay,
    )


def pay_sheet(benchmark: Benchmark, plan: VotingPlan) -> Sheet:
    """Measured seconds an item and what they earn an hour: all votes, then by domain."""
    votes = _votes(benchmark)
    domains: defaultdict[str, list[Timed]] = defaultdict(list)
    for each in votes:
        domains[each.domain].append(each)
    parts = [("All", votes), *sorted(domains.items())] if len(domains) > 1 else [("All", votes)]
    paces = [(name, pace_of(part, plan)) for name, part in parts if part]
    return Sheet(
        name="pay",
        title="Time and pay",
        header=(
            *("Votes", "Timed", "Median", "The plan supposes", "People"),
            *("Slower than the plan", f"Pay an hour, {plan.currency}"),
        ),
        rows=tuple(_row(name, pace, plan) for name, pace in paces),
        notes=(*_alarm(paces[0][1] if paces else None, plan), _NOTE),
        empty="No vote was timed yet.",
    )


_NOTE = (
    "Seconds are those in which the page of an item was open, until its vote. Half of all votes "
    "took longer than the median; of each person, their own median counts."
)


def _row(name: str, pace: Pace, plan: VotingPlan) -> tuple[Cell, ...]:
    return (
        text(name),
        Cell(pace.n),
        Cell(pace.seconds, "seconds"),
        Cell(plan.seconds_per_item, "seconds"),
        Cell(pace.people),
        Cell(pace.slower),
        text("nobody is paid" if pace.pay is None else f"{pace.pay:.2f}"),
    )


def _alarm(pace: Pace | None, plan: VotingPlan) -> tuple[str, ...]:
    """In words that people earn less than they were promised, where they do."""
    if pace is None or pace.pay is None or plan.hourly_pay is None:
        return ()
    if pace.seconds <= plan.seconds_per_item:
        return ()
    needed = ceil(pace.seconds)
    return (
        f"At the median time an hour earns {pace.pay:.2f} {plan.currency}, less than the "
        f"{plan.hourly_pay:.2f} that people agreed to. Let the plan suppose {needed} seconds "
        "an item, or more.",
    )


def _votes(benchmark: Benchmark) -> list[Timed]:
    rows = Vote.objects.standing().filter(
        case__query__domain__benchmark=benchmark, elapsed_ms__isnull=False, abandoned=False
    )
    rows = rows.exclude(case__kind=CaseKind.REFERENCE)  # experts are not voters
    given = rows.order_by("pk").values_list("voter", "case__query__domain__name", "elapsed_ms")
    return [Timed(person, domain, (ms or 0) / 1000) for person, domain, ms in given.iterator()]
