"""How far the work of a benchmark is: by domain and by person, with a forecast. Reads only."""

import datetime
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, DurationField, F, Q, Sum
from django.db.models.functions import TruncDate
from django.utils import timezone

from annotate.assignments.burn_down import (
    days_before,
    pile_of_queries,
    pile_of_votes,
)
from annotate.assignments.models import HANDED_IN
from annotate.models import ActiveSpan, Assignment, WorkState
from corpus.models import Benchmark, Query

SHOWN_DAYS = 14
MAX_OVERDUE = 50


@dataclass
class Line:
    """The states of one domain's or person's queries."""

    name: str
    total: int = 0
    # The number of every state, 0 included.
    states: Counter[str] = field(
        default_factory=lambda: Counter(dict.fromkeys(WorkState.values, 0))
    )
    overdue: int = 0
    seconds: float = 0.0
    # Submitted for the first time, by day.
    days: Counter[datetime.date] = field(default_factory=Counter)

    @property
    def unassigned(self) -> int:
        """Queries that nobody works on."""
        return self.total - self.states.total()

    @property
    def handed_in(self) -> int:
        """Queries whose author's part is over."""
        return sum(self.states[state] for state in HANDED_IN)

    @property
    def remaining(self) -> int:
        """Queries still to be submitted."""
        return self.total - self.handed_in

    @property
    def cells(self) -> list[tuple[str, str, int]]:
        """Every state with its words and number, for a table and its links."""
        return [(value, label, self.states[value]) for value, label in WorkState.choices]

    @property
    def seconds_a_query(self) -> float | None:
        """Time on task over queries that were begun."""
        begun = self.states.total() - self.states[WorkState.NOT_STARTED]
        return self.seconds / begun if begun else None


def read_progress(benchmark: Benchmark, *, today: datetime.date | None = None) -> dict[str, Any]:
    """The whole page, counted in a handful of queries, whatever the size of the benchmark.

    `days` are those on which queries were submitted for the first time; `piles` what is left of
    queries and of votes, day by day.
    """
    today = today or timezone.localdate()
    assigned = Assignment.objects.in_benchmark(benchmark)
    total, domains, people = _count(benchmark, today)
    queries = pile_of_queries(total.days, total.total, total.remaining, today)
    overdue = assigned.overdue(today).select_related("query__domain", "holder").order_by("due_on")
    days = days_before(today, SHOWN_DAYS)
    return {
        "domains": domains,
        "people": sorted(people, key=lambda line: line.name),
        "total": total,
        "days": [{"day": day, "submitted": total.days[day]} for day in days],
        "outlook": queries.outlook,
        "overdue": list(overdue[:MAX_OVERDUE]),
        "piles": [queries, pile_of_votes(benchmark, today)],
    }


def _count(benchmark: Benchmark, today: datetime.date) -> tuple[Line, list[Line], list[Line]]:
    """The lines of everything, of each domain and of each person."""
    total = Line("all")
    domains = {each.pk: Line(each.name) for each in benchmark.domains.ready()}
    people: dict[int, Line] = {}
    queries = Query.objects.in_benchmark(benchmark).order_by().values("domain_id")
    for row in queries.annotate(n=Count("pk")):
        for line in (total, domains[row["domain_id"]]):
            line.total += row["n"]
    # Of standing ones: a query that was passed on took its first day along, and counts once.
    assigned = Assignment.objects.in_benchmark(benchmark).order_by()
    groups = assigned.values(
        "query__domain_id", "holder_id", "holder__username", "state",
        day=TruncDate("first_submitted_at"),
    )  # fmt: skip
    late = Q(due_on__lt=today) & ~Q(state__in=HANDED_IN)
    for group in groups.annotate(n=Count("pk"), late=Count("pk", filter=late)):
        person = people.setdefault(group["holder_id"], Line(group["holder__username"]))
        person.total += group["n"]
        for line in (total, domains[group["query__domain_id"]], person):
            line.states[group["state"]] += group["n"]
            line.overdue += group["late"]
            if group["day"] is not None:
                line.days[group["day"]] += group["n"]
    spans = ActiveSpan.objects.filter(
        query__domain__benchmark=benchmark, query__domain__is_ready=True
    )
    length = Sum(F("end") - F("start"), output_field=DurationField())
    by_person = spans.order_by().values("query__domain_id", "user_id", "user__username")
    for each in by_person.annotate(length=length):
        person = people.setdefault(each["user_id"], Line(each["user__username"]))
        for line in (total, domains[each["query__domain_id"]], person):
            line.seconds += each["length"].total_seconds()
    return total, list(domains.values()), list(people.values())
