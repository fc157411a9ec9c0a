"""How far the work of a benchmark is: by domain and by person, with a forecast. Reads only."""

import datetime
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, DurationField, F, Q, QuerySet, Sum
from django.db.models.functions import TruncDate
from django.utils import timezone

from annotate.assignments.models import HANDED_IN
from annotate.models import ActiveSpan, Assignment, CaseKind, CaseStatus, Vote, VoteSlot, WorkState
from corpus.models import Benchmark, Query
from kit.charts.drawing import Drawing
from kit.charts.plots import burn_down
from kit.lists.report_tables import Cell, ReportTable, text
from kit.stats.forecast import Forecast, forecast

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
    # Queries by the day of their first submission; a query that was taken back is left now, and
    # counts as left before.
    came = Counter({datetime.date.min: total.remaining + total.days.total()})
    queries = _pile("queries", came, total.days, total.total, today)
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


# The days that a forecast looks back on: whole weeks, so that weekends have their share.
WINDOW = 28
Days = Counter[datetime.date]


def outlook_of(done: Days, remaining: int, today: datetime.date) -> dict[str, Any]:
    """When `remaining` will be done, by what was done on each day: from the first on, at most four
    weeks back; today is not over and left out. The forecast is `found`, its days `end_low`, `end`
    and `end_high`, None while nothing can be said."""
    window = min(WINDOW, (today - min(done, default=today)).days)
    found = forecast([done[day] for day in days_before(today, window)], remaining)
    ends = {"end_low": found.low, "end": found.days, "end_high": found.high}
    return {"found": found} | {
        name: today + datetime.timedelta(days=days) if days else None for name, days in ends.items()
    }


def days_before(today: datetime.date, count: int) -> list[datetime.date]:
    """So many days up to yesterday."""
    return [today - datetime.timedelta(days=n) for n in range(count, 0, -1)]


@dataclass(frozen=True)
class Pile:
    """Work of one kind: (day, done on it, left at its end), today as it is by now."""

    what: str
    total: int
    days: list[tuple[datetime.date, int, int]]
    outlook: dict[str, Any]

    @property
    def remaining(self) -> int:
        """What is left now."""
        return self.days[-1][2]

    def picture(self) -> Drawing | None:
        """What is left day by day, with the forecast; None before anything was done."""
        found: Forecast = self.outlook["found"]
        ends = None
        if found.low and found.days and found.high:
            ends = found.low, found.days, found.high
        left = [(day, left) for day, _, left in self.days]
        return burn_down(self.what, f"{self.what.capitalize()} left", self.what, left, ends)

    def table(self) -> ReportTable:
        """The numbers of the picture."""
        ends = self.outlook
        said = f"Left as of now: {self.remaining:,} of {self.total:,}."
        if ends["end"]:
            said += (
                " Forecast of the end: {end}, between {end_low} and {end_high} "
                "({found.confidence:.0%} interval).".format(**ends)
            )
        rows = tuple(
            (text(day.isoformat()), Cell(done), Cell(left)) for day, done, left in self.days
        )
        title = f"{self.what.capitalize()} by day"
        return ReportTable(self.what, title, ("day", "done", "left"), rows, (said,))


def pile_of_votes(benchmark: Benchmark, today: datetime.date) -> Pile:
    """Votes by the day on which they were given, of the cases that voters are asked about."""
    votes = Vote.objects.of_voters(benchmark)
    slots = VoteSlot.objects.filter(benchmark=benchmark, case__status=CaseStatus.OPEN)
    # An open case needs as many votes as it has slots, a decided one needed those it got.
    came = _by_day(slots.exclude(case__kind=CaseKind.REFERENCE), "case__created_at")
    came += _by_day(votes.exclude(case__status=CaseStatus.OPEN), "case__created_at")
    done = _by_day(votes, "created_at")
    return _pile("votes", came, done, came.total(), today)


def _by_day(rows: QuerySet[Any], moment: str) -> Days:
    found = rows.order_by().values_list(TruncDate(moment)).annotate(n=Count("pk"))
    return Counter(dict(found))


def _pile(what: str, came: Days, done: Days, total: int, today: datetime.date) -> Pile:
    """From the day before the first thing was done, at most four weeks back."""
    first = min(done, default=today) - datetime.timedelta(days=1)
    count = min(WINDOW, (today - first).days)
    days = [*days_before(today, count), today]
    rows = [(day, done[day], _until(came, day) - _until(done, day)) for day in days]
    return Pile(what, total, rows, outlook_of(done, came.total() - done.total(), today))


def _until(counts: Days, day: datetime.date) -> int:
    return sum(count for each, count in counts.items() if each <= day)
