"""How far the work of a benchmark is: by domain and by person, with a forecast. Reads only."""

import datetime
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, DurationField, F, Q, QuerySet, Sum
from django.db.models.functions import TruncDate
from django.utils import timezone

from annotate.assignments.models import HANDED_IN
from annotate.models import ActiveSpan, Assignment, WorkState
from corpus.models import Benchmark, Query
from kit.stats.forecast import Forecast, forecast

# The days that a forecast looks back on: whole weeks, so that weekends have their share.
WINDOW = 28
SHOWN_DAYS = 14


@dataclass
class Line:
    """The states of one domain's or person's queries."""

    name: str
    total: int = 0
    states: Counter[str] = field(default_factory=Counter)
    overdue: int = 0
    seconds: float = 0.0
    # Submitted for the first time, by day.
    days: Counter[datetime.date] = field(default_factory=Counter)

    @property
    def unassigned(self) -> int:
        """Queries that nobody works on."""
        return self.total - sum(self.states.values())

    @property
    def handed_in(self) -> int:
        """Queries whose author's part is over."""
        return sum(self.states[state] for state in HANDED_IN)

    @property
    def remaining(self) -> int:
        """Queries still to be submitted."""
        return self.total - self.handed_in

    @property
    def by_state(self) -> dict[str, int]:
        """The number of every state, 0 included."""
        return {each.value: self.states[each.value] for each in WorkState}

    @property
    def cells(self) -> list[tuple[str, str, int]]:
        """Every state with its words and number, for a table and its links."""
        return [(each.value, each.label, self.states[each.value]) for each in WorkState]

    @property
    def seconds_a_query(self) -> float | None:
        """Time on task over queries that were begun."""
        begun = sum(self.states.values()) - self.states[WorkState.NOT_STARTED]
        return self.seconds / begun if begun else None


@dataclass(frozen=True)
class Progress:
    """The whole page."""

    domains: list[Line]
    people: list[Line]
    total: Line
    days: list[tuple[datetime.date, int]]
    outlook: Forecast
    end: tuple[datetime.date, datetime.date, datetime.date] | None
    overdue: list[Assignment]


def read_progress(
    benchmark: Benchmark, *, today: datetime.date | None = None, most_overdue: int = 50
) -> Progress:
    """Count everything in a handful of queries, whatever the size of the benchmark."""
    today = today or timezone.localdate()
    domains = {d.pk: Line(d.name) for d in benchmark.domains.ready()}
    people: dict[int, Line] = {}
    counts = Query.objects.in_benchmark(benchmark).order_by().values("domain_id")
    for row in counts.annotate(n=Count("pk")):
        domains[row["domain_id"]].total = row["n"]
    assigned = Assignment.objects.in_benchmark(benchmark)
    for group in _by_domain_and_person(assigned, today):
        person = people.setdefault(group["holder_id"], Line(group["holder__username"]))
        person.total += group["n"]
        for line in (domains[group["query__domain_id"]], person):
            line.states[group["state"]] += group["n"]
            line.overdue += group["late"]
    _add_days(benchmark, domains, people)
    _add_time(benchmark, domains, people)
    total = _sum_up(domains.values())
    outlook = _outlook(total, today)
    overdue = assigned.overdue(today).select_related("query__domain", "holder").order_by("due_on")
    return Progress(
        domains=list(domains.values()),
        people=sorted(people.values(), key=lambda line: line.name),
        total=total,
        days=[(day, total.days[day]) for day in _days_before(today, SHOWN_DAYS)],
        outlook=outlook,
        end=_dates(outlook, today),
        overdue=list(overdue[:most_overdue]),
    )


def _by_domain_and_person(
    assigned: QuerySet[Assignment], today: datetime.date
) -> list[dict[str, Any]]:
    rows = assigned.order_by().values("query__domain_id", "holder_id", "holder__username", "state")
    late = Q(due_on__lt=today) & ~Q(state__in=HANDED_IN)
    counted: QuerySet[Any, Any] = rows.annotate(n=Count("pk"), late=Count("pk", filter=late))
    return list(counted)


def _add_days(benchmark: Benchmark, domains: dict[int, Line], people: dict[int, Line]) -> None:
    # Of standing ones: a query that was passed on took its day along, and counts once.
    rows = Assignment.objects.in_benchmark(benchmark).exclude(first_submitted_at=None)
    by_day = rows.order_by().values(
        "query__domain_id", "holder_id", day=TruncDate("first_submitted_at")
    )
    for row in by_day.annotate(n=Count("pk")):
        domains[row["query__domain_id"]].days[row["day"]] += row["n"]
        if row["holder_id"] in people:
            people[row["holder_id"]].days[row["day"]] += row["n"]


def _add_time(benchmark: Benchmark, domains: dict[int, Line], people: dict[int, Line]) -> None:
    spans = ActiveSpan.objects.filter(
        query__domain__benchmark=benchmark, query__domain__is_ready=True
    )
    length = Sum(F("end") - F("start"), output_field=DurationField())
    rows = spans.order_by().values("query__domain_id", "user_id", "user__username")
    for row in rows.annotate(length=length):
        person = people.setdefault(row["user_id"], Line(row["user__username"]))
        for line in (domains[row["query__domain_id"]], person):
            line.seconds += row["length"].total_seconds()


def _sum_up(lines: Iterable[Line]) -> Line:
    total = Line("all")
    for line in lines:
        total.total += line.total
        total.overdue += line.overdue
        total.seconds += line.seconds
        total.states.update(line.states)
        total.days.update(line.days)
    return total


def _outlook(total: Line, today: datetime.date) -> Forecast:
    """From the first submission on, at most four weeks back; today is not over and left out."""
    first = min(total.days, default=today)
    window = min(WINDOW, (today - first).days)
    done = [total.days[day] for day in _days_before(today, window)]
    return forecast(done, total.remaining)


def _days_before(today: datetime.date, count: int) -> list[datetime.date]:
    return [today - datetime.timedelta(days=n) for n in range(count, 0, -1)]


def _dates(
    outlook: Forecast, today: datetime.date
) -> tuple[datetime.date, datetime.date, datetime.date] | None:
    if outlook.days is None or outlook.low is None or outlook.high is None or not outlook.days:
        return None
    low, middle, high = (
        today + datetime.timedelta(days=n) for n in (outlook.low, outlook.days, outlook.high)
    )
    return low, middle, high
