"""What was left of queries and of votes on each day, and when nothing will be. Reads only."""

import datetime
from collections import Counter
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, QuerySet
from django.db.models.functions import TruncDate

from annotate.models import CaseKind, CaseStatus, Vote, VoteSlot
from corpus.models import Benchmark
from kit.charts.drawing import Drawing
from kit.charts.plots import burn_down
from kit.lists.report_tables import Cell, ReportTable, text
from kit.stats.forecast import Forecast, forecast

# The days that a forecast looks back on: whole weeks, so that weekends have their share.
WINDOW = 28
Days = Counter[datetime.date]


@dataclass(frozen=True)
class Outlook:
    """A forecast, and its three days; these are None while nothing can be said."""

    found: Forecast
    end_low: datetime.date | None
    end: datetime.date | None
    end_high: datetime.date | None


def outlook_of(done: Days, remaining: int, today: datetime.date) -> Outlook:
    """When `remaining` will be done, by what was done on each day: from the first on, at most four
    weeks back; today is not over and left out."""
    window = min(WINDOW, (today - min(done, default=today)).days)
    found = forecast([done[day] for day in days_before(today, window)], remaining)
    ends = (
        today + datetime.timedelta(days=days) if days else None
        for days in (found.low, found.days, found.high)
    )
    return Outlook(found, *ends)


def days_before(today: datetime.date, count: int) -> list[datetime.date]:
    """So many days up to yesterday."""
    return [today - datetime.timedelta(days=n) for n in range(count, 0, -1)]


@dataclass(frozen=True)
class Pile:
    """Work of one kind: (day, done on it, left at its end), today as it is by now."""

    what: str
    total: int
    days: list[tuple[datetime.date, int, int]]
    outlook: Outlook

    @property
    def remaining(self) -> int:
        """What is left now."""
        return self.days[-1][2]

    def picture(self) -> Drawing | None:
        """What is left day by day, with the forecast; None before anything was done."""
        found = self.outlook.found
        ends = None
        if found.low and found.days and found.high:
            ends = found.low, found.days, found.high
        left = [(day, left) for day, _, left in self.days]
        return burn_down(self.what, f"{self.what.capitalize()} left", self.what, left, ends)

    def table(self) -> ReportTable:
        """The numbers of the picture."""
        ends = self.outlook
        said = f"Left as of now: {self.remaining:,} of {self.total:,}."
        if ends.end:
            said += (
                f" Forecast of the end: {ends.end}, between {ends.end_low} and {ends.end_high} "
                f"({ends.found.confidence:.0%} interval)."
            )
        rows = tuple(
            (text(day.isoformat()), Cell(done), Cell(left)) for day, done, left in self.days
        )
        title = f"{self.what.capitalize()} by day"
        return ReportTable(self.what, title, ("day", "done", "left"), rows, (said,))


def pile_of_queries(done: Days, total: int, remaining: int, today: datetime.date) -> Pile:
    """Queries by the day of their first submission; a query that was taken back is left now, and
    counts as left before."""
    came = Counter({datetime.date.min: remaining + done.total()})
    return _pile("queries", came, done, total, today)


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
