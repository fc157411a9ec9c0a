"""What the pairs of an experiment cost: models by role, round, task and retriever, and people."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, TypeAlias

from django.db.models import Count, Q, Sum

from annotate.models import Vote, VotingPlan
from corpus.models import Pool
from debate.models import DebateRun
from debate.runs.trajectories import Trajectory
from kit.lists.report_tables import Cell, ReportTable, text

Part: TypeAlias = tuple[str, str]
Systems: TypeAlias = Mapping[tuple[int, int], tuple[str, ...]]
Votes: TypeAlias = tuple[int, int, int, float]
KINDS: Final = ("role", "round", "task", "retriever")


@dataclass
class Cost:
    """What a part of some pairs costs; unknown where an answer has no price."""

    pairs: set[int] = field(default_factory=set)
    seconds: float = 0.0
    usd: Decimal = Decimal(0)
    unpriced: int = 0

    @property
    def known_usd(self) -> float | None:
        """The cost, where it is known."""
        return None if self.unpriced else float(self.usd)


class Parts:
    """Adds pairs of a run up by their parts."""

    def __init__(self, run: DebateRun, debates: set[int], systems: Systems) -> None:
        self.costs: dict[Part, Cost] = defaultdict(Cost)
        rows = run.debates.order_by().values_list("pk", "query_id", "passage_id")
        self._systems = systems
        self._places = {pk: (query, passage) for pk, query, passage in rows if pk in debates}
        named = run.debates.order_by().values_list("query_id", "query__domain__name").distinct()
        self._tasks: dict[int, str] = dict(named)

    def counted(self, pairs: Iterable[Trajectory]) -> Iterator[Trajectory]:
        """The same pairs, each counted as it passes."""
        for pair in pairs:
            query, passage = self._places[pair.debate]
            whole = [("task", self._tasks[query])]
            whole += [("retriever", each) for each in self._systems.get((query, passage), ())]
            for (number, agent), seconds in pair.seconds.items():
                for part in (("role", agent), ("round", str(number)), *whole):
                    cost = self.costs[part]
                    cost.pairs.add(pair.debate)
                    cost.seconds += seconds
                    cost.usd += pair.priced.get((number, agent), Decimal(0))
                    cost.unpriced += pair.unpriced.get((number, agent), 0)
            yield pair


def people(run: DebateRun, debates: set[int]) -> Votes:
    """What people gave to these pairs: cases, standing votes, those that were timed, and the
    seconds these took. A case that two runs share counts for each."""
    cases = {
        case
        for pk, case in run.debates.filter(case__isnull=False).values_list("pk", "case")
        if pk in debates
    }
    timed = Q(elapsed_ms__isnull=False, abandoned=False)
    found = Vote.objects.standing().filter(case__in=cases).order_by()
    sums = found.aggregate(
        votes=Count("pk"), timed=Count("pk", filter=timed), ms=Sum("elapsed_ms", filter=timed)
    )
    return len(cases), sums["votes"], sums["timed"], (sums["ms"] or 0) / 1000


def parts_table(runs: Sequence[tuple[str, dict[Part, Cost]]]) -> ReportTable:
    """What the models of each run took, part by part."""
    rows = [
        (
            text(name),
            *(text(kind.capitalize()), text(part)),
            *(Cell(len(cost.pairs)), Cell(round(cost.seconds, 3), "seconds")),
            Cell(cost.known_usd, "usd"),
            Cell(None if cost.known_usd is None else cost.known_usd / len(cost.pairs), "usd"),
        )
        for name, parts in runs
        for kind in KINDS
        for (of, part), cost in sorted(parts.items())
        if of == kind
    ]
    return ReportTable(
        name="parts",
        title="Cost of models by role, round, task and retriever",
        header=("Run", "By", "Part", "Pairs", "Seconds", "Cost", "Cost of a pair"),
        rows=tuple(rows),
        notes=(
            "Over the same pairs as above. Roles, rounds and tasks each add up to the whole; a "
            "pair that several retrievers proposed counts for each of them.",
        ),
        empty="No call stands behind these pairs.",
    )


def people_table(runs: Sequence[tuple[str, Votes, float | None]], plan: VotingPlan) -> ReportTable:
    """What people gave to each run's pairs and what it costs in addition to the models."""
    rate = None if plan.hourly_pay is None else float(plan.hourly_pay)
    rows = [
        (
            text(name),
            *map(Cell, counts),
            Cell(seconds, "seconds"),
            Cell(rate),
            Cell(None if rate is None else round(rate * seconds / 3600, 4)),
            Cell(usd, "usd"),
        )
        for name, (*counts, seconds), usd in runs
    ]
    return ReportTable(
        name="people",
        title="Cost of people",
        header=(
            *("Run", "Pairs before people", "Votes", "Timed", "Seconds of the timed"),
            *(f"An hour, {plan.currency}", f"People, {plan.currency}", "Models"),
        ),
        rows=tuple(rows),
        notes=(
            "Seconds are those in which the page of a case was open, until its vote; people cost "
            "these seconds at the hourly rate of the present voting plan. Votes that were not "
            "timed are not in it.",
        ),
        empty="No run is left in this experiment.",
    )


def systems_of(pool: Pool) -> Systems:
    """Which retrievers proposed each pair, (query, passage), of the pool."""
    rows = pool.entries.exclude(systems=[]).values_list("query_id", "passage_id", "systems")
    return {
        (query, passage): tuple({str(each["system"]) for each in systems})
        for query, passage, systems in rows.order_by().iterator()
    }
