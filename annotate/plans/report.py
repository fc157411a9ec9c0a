"""Reports of voting: votes by condition, and time and pay (docs/protocol.md 2.4, D25 and D16)."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import ceil
from statistics import median
from uuid import UUID

from django.db.models import OuterRef, Q, Subquery

from annotate.models import (
    CONDITIONS,
    BatchItem,
    CaseStatus,
    Condition,
    EscalationCase,
    Vote,
    VotingPlan,
)
from annotate.plans.services import first_response, order_seed, order_seed_in_batch
from corpus.access import Access
from corpus.models import Benchmark, Source
from kit.lists.report_tables import Cell, ReportTable, measured, percent, text
from kit.stats.clusters import Clustered, clustered_mean, clustered_share

NAMES = {
    Condition.NONE: "No debate shown",
    Condition.AFTER: "After a first judgment",
    Condition.START: "From the start",
}


@dataclass(frozen=True)
class Judged:
    """One standing vote: its labels, time, what an expert says of the pair, the first position."""

    arm: str
    label: int | None
    first_label: int | None
    saw_positions: bool
    seconds: float | None
    truth: int | None
    shown_first: str
    item: int
    case: UUID
    person: int
    abandoned: bool

    @property
    def is_known(self) -> bool:
        """Whether it can be right or wrong."""
        return self.label is not None and self.truth is not None

    @property
    def is_led(self) -> bool:
        """Whether the position that came first was wrong."""
        is_wrong = (self.shown_first == "yes") != bool(self.truth)
        return self.is_known and bool(self.shown_first) and is_wrong

    @property
    def is_comparable(self) -> bool:
        """Whether the debate could change it from right to wrong, or from wrong to right."""
        saw_after = self.arm == Condition.AFTER and self.saw_positions and not self.abandoned
        return saw_after and self.is_known and self.first_label is not None


# Which votes each number of the table is of, and in words what they have in common.
SHOWS: dict[str, tuple[str, Callable[[Judged], bool]]] = {
    "all": ("Every vote", lambda vote: True),
    "unjudged": ("Votes that said “cannot be judged”", lambda vote: vote.label is None),
    "known": ("Votes on pairs that an expert labelled", lambda vote: vote.is_known),
    "timed": ("Votes whose time is known", lambda vote: vote.seconds is not None),
    "led": ("Votes where a wrong agent stood first", lambda vote: vote.is_led),
    "right_first": (
        "Votes whose first judgment was right",
        lambda vote: vote.is_comparable and vote.first_label == vote.truth,
    ),
    "wrong_first": (
        "Votes whose first judgment was wrong",
        lambda vote: vote.is_comparable and vote.first_label != vote.truth,
    ),
}


def votes_behind(access: Access, arm: str, show: str) -> tuple[list[Judged], int]:
    """The votes that a number of the table counts, the oldest first, and how many are kept back.

    Votes on open cases are shown to nobody. Who votes too sees only those on cases that votes
    have closed: one that an expert closed may open again.
    """
    counts = SHOWS[show][1]
    found = [vote for vote in _votes(access.benchmark) if vote.arm == arm and counts(vote)]
    closed = EscalationCase.objects.in_benchmark(access.benchmark).filter(status=CaseStatus.CLOSED)
    if access.is_annotator:
        of_people = Q(judgment__source=Source.HUMAN) | Q(support__source=Source.HUMAN)
        closed = closed.filter(of_people)
    over = set(closed.values_list("pk", flat=True))
    shown = [vote for vote in found if vote.item in over]
    return shown, len(found) - len(shown)


def conditions_sheet(benchmark: Benchmark, items: str = "") -> ReportTable:
    """Accuracy, time and over-reliance per condition, each with its 95 % interval.

    `items` is the address of the votes behind its numbers; without it they have no links.
    """
    votes = _votes(benchmark)
    by_condition = {arm: [each for each in votes if each.arm == arm] for arm in CONDITIONS}
    return ReportTable(
        name="arms",
        title="What seeing the debate does to votes",
        header=(
            *("Condition", "Votes", "Cannot be judged", "With an expert’s label", "Right"),
            *("Seconds", "Followed a wrong agent shown first"),
            *("Right to wrong after debate", "Wrong to right after debate"),
        ),
        rows=tuple(_row(arm, by_condition[arm], items) for arm in CONDITIONS if by_condition[arm]),
        notes=(
            "Right: of the votes on pairs that an expert labelled too, those that agree. Followed "
            "a wrong agent: where the position that stood first was wrong, votes that agree with "
            "it; where no debate was shown, the order it would have had, as a base rate. Right "
            "to wrong after debate: of first judgments that were right, those changed to a wrong "
            "one after the positions; wrong to right: of wrong ones, those changed to the right "
            "one. Whoever left after the first judgment decided nothing there and is left out of "
            "both.",
            "Votes of one case hang together, and so do those of one person: the intervals draw "
            "whole cases and whole people again (cluster bootstrap). There is none where all votes "
            "are of one case or one person.",
        ),
        empty="No vote was given on a case with positions yet.",
    )


def _row(arm: str, votes: Sequence[Judged], items: str) -> tuple[Cell, ...]:
    behind = {
        show: [each for each in votes if is_behind(each)] for show, (_, is_behind) in SHOWS.items()
    }

    def url(show: str) -> str:
        return f"{items}?arm={arm}&show={show}" if items and behind[show] else ""

    def changed(show: str) -> Clustered:
        begun = behind[show]
        return _share(begun, [each.label != each.first_label for each in begun])

    known, led, timed = behind["known"], behind["led"], behind["timed"]
    seconds = clustered_mean(
        [each.seconds or 0.0 for each in timed],
        [each.item for each in timed],
        [each.person for each in timed],
    )
    return (
        text(NAMES[Condition(arm)]),
        Cell(len(votes), url=url("all")),
        Cell(len(behind["unjudged"]), url=url("unjudged")),
        Cell(len(known), url=url("known")),
        percent(_share(known, [each.label == each.truth for each in known]), url("known")),
        replace(measured(seconds, "seconds"), url=url("timed")),
        percent(_share(led, [each.label != each.truth for each in led]), url("led")),
        *(percent(changed(show), url(show)) for show in ("right_first", "wrong_first")),
    )


def _share(of: Sequence[Judged], hits: Sequence[bool]) -> Clustered:
    return clustered_share(hits, [each.item for each in of], [each.person for each in of])


def _votes(benchmark: Benchmark) -> list[Judged]:
    items = BatchItem.objects.filter(batch=OuterRef("batch"), case=OuterRef("case"))
    rows = (
        Vote.objects.of_voters(benchmark)
        .filter(arm__in=CONDITIONS)
        .with_expert()
        .annotate(place=Subquery(items.values("place")))
        .select_related("case")
        .order_by("pk")
    )
    return [
        Judged(
            arm=vote.arm,
            label=vote.label,
            first_label=vote.first_label,
            saw_positions=vote.saw_positions,
            seconds=None if vote.elapsed_ms is None else vote.elapsed_ms / 1000,
            # Graded labels of experts count as relevant from 1 on.
            truth=None if vote.expert is None else int(vote.expert > 0),  # type: ignore[attr-defined]
            shown_first=first_response(vote.case.snapshot, seed=_seed(vote)),
            item=vote.case_id,
            case=vote.case.public_id,
            person=vote.voter_id,
            abandoned=vote.abandoned,
        )
        for vote in rows.iterator(chunk_size=500)
    ]


def _seed(vote: Vote) -> int:
    """The seed of the order in which this voter saw the positions."""
    if vote.batch_id is None:
        return order_seed(vote.voter_id, vote.case_id)
    return order_seed_in_batch(vote.voter_id, vote.batch_id, vote.place)  # type: ignore[attr-defined]


def pay_sheet(benchmark: Benchmark, plan: VotingPlan) -> ReportTable:
    """Measured seconds an item and what they earn an hour: all votes, then by domain."""
    rows = Vote.objects.of_voters(benchmark).filter(elapsed_ms__isnull=False, abandoned=False)
    timed: dict[str, list[tuple[int, float]]] = {}
    for person, domain, ms in rows.values_list("voter", "case__query__domain__name", "elapsed_ms"):
        timed.setdefault(domain, []).append((person, (ms or 0) / 1000))
    everything = list(chain.from_iterable(timed.values()))
    parts = [("All", everything)] if everything else []
    if len(timed) > 1:
        parts += sorted(timed.items())
    return ReportTable(
        name="pay",
        title="Time and pay",
        header=(
            *("Votes", "Timed", "Median", "The plan supposes", "People"),
            *("Slower than the plan", f"Pay an hour, {plan.currency}"),
        ),
        rows=tuple(_pay_row(name, votes, plan) for name, votes in parts),
        notes=(
            *_pay_warning(everything, plan),
            "Seconds are those in which the page of an item was open, until its vote. Half of all "
            "votes took longer than the median; of each person, their own median counts.",
        ),
        empty="No vote was timed yet.",
    )


def _pay_row(name: str, votes: Sequence[tuple[int, float]], plan: VotingPlan) -> tuple[Cell, ...]:
    """One row for these (voter, seconds) of votes."""
    by_person: defaultdict[int, list[float]] = defaultdict(list)
    for person, seconds in votes:
        by_person[person].append(seconds)
    pay = _hourly(votes, plan)
    return (
        text(name),
        Cell(len(votes)),
        Cell(median(seconds for _, seconds in votes), "seconds"),
        Cell(plan.seconds_per_item, "seconds"),
        Cell(len(by_person)),
        Cell(sum(median(own) > plan.seconds_per_item for own in by_person.values())),
        text("nobody is paid" if pay is None else f"{pay:.2f}"),
    )


def _hourly(votes: Sequence[tuple[int, float]], plan: VotingPlan) -> float | None:
    """What an hour earns at the median time of the votes; None where nobody is paid."""
    seconds = median(each for _, each in votes)
    if plan.hourly_pay is None or not seconds:
        return None
    return float(plan.hourly_pay) * plan.seconds_per_item / seconds


def _pay_warning(votes: Sequence[tuple[int, float]], plan: VotingPlan) -> tuple[str, ...]:
    """A warning where people earn less than they were promised."""
    pay = _hourly(votes, plan) if votes else None
    needed = ceil(median(seconds for _, seconds in votes)) if votes else 0
    if pay is None or plan.hourly_pay is None or needed <= plan.seconds_per_item:
        return ()
    return (
        f"At the median time an hour earns {pay:.2f} {plan.currency}, less than the "
        f"{plan.hourly_pay:.2f} that people agreed to. Let the plan suppose {needed} seconds "
        "an item, or more.",
    )
