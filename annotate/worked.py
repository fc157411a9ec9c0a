"""What a person did on each of the last seven days, and how long an item takes them.

Everything here is of the person's own answers. An item of a batch counts whatever it is, when it
was answered: counts of what became of it would tell cases from checks.
"""

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from itertools import pairwise
from statistics import fmean, median
from typing import Any

from django.contrib.auth.models import User
from django.core.cache import cache
from django.db.models import Exists, F, OuterRef, QuerySet
from django.utils import timezone

from annotate.models import (
    ActiveSpan,
    Assignment,
    BatchItem,
    Review,
    ReviewStatus,
    Vote,
    VotingPlan,
)
from corpus.models import Benchmark, Query

DAYS = 7
# An item that a page was left open on counts as this many seconds at most.
LONGEST = 600
# The latest answers that say how quick somebody is; fewer than the least say nothing.
RECENT, LEAST = 50, 3
# The same of everybody's together.
RECENT_HERE, LEAST_HERE = 1_000, 20


COUNTED = ("votes", "queries", "reviews", "seconds")


def last_days(person: User, today: date) -> list[dict[str, Any]]:
    """What the person did on the last seven days, today first: `day`, and what is COUNTED."""
    dates = [today - timedelta(days=n) for n in range(DAYS)]
    days: dict[date, dict[str, Any]] = {day: dict.fromkeys(COUNTED, 0) for day in dates}
    begin = timezone.make_aware(datetime.combine(min(days), time()))
    for kind, moment, seconds in _done(person, begin):
        # A clock that runs ahead a little is still in today.
        day = days[min(timezone.localdate(moment), today)]
        day["seconds"] += seconds
        if kind:
            day[kind] += 1
    return [{"day": day, **counted} for day, counted in days.items()]


def _done(person: User, begin: datetime) -> Iterator[tuple[str, datetime | None, float]]:
    """What was done since then and how long it took, by the name of what counts it."""
    votes = Vote.objects.standing().filter(voter=person, batch=None, abandoned=False)
    votes = votes.filter(created_at__gte=begin)
    items = BatchItem.objects.filter(batch__voter=person, answered_at__gte=begin)
    for rows in (votes.values_list("created_at", "elapsed_ms"),
                 items.values_list("answered_at", "elapsed_ms")):  # fmt: skip
        for moment, ms in rows:
            yield "votes", moment, min(LONGEST, (ms or 0) / 1000)
    submitted = Assignment.objects.filter(holder=person, submitted_at__gte=begin)
    for moment in submitted.values_list("submitted_at", flat=True):
        yield "queries", moment, 0
    accepted = Review.objects.filter(reviewer=person, status=ReviewStatus.ACCEPTED)
    for moment in accepted.filter(ended_at__gte=begin).values_list("ended_at", flat=True):
        yield "reviews", moment, 0
    for span in ActiveSpan.objects.filter(user=person, end__gte=begin):
        yield "", span.end, (span.end - span.start).total_seconds()


def seconds_a_vote(person: User, plan: VotingPlan) -> float:
    """The median of the person's latest answers; the plan's number where there are too few."""
    benchmark = plan.benchmark_id
    votes = Vote.objects.standing().filter(voter=person, batch=None, abandoned=False)
    votes = votes.filter(case__query__domain__benchmark=benchmark).order_by("-pk")
    items = BatchItem.objects.filter(batch__voter=person, batch__plan__benchmark=benchmark)
    items = items.exclude(answered_at=None).order_by("-answered_at")
    rows = items if plan.has_batches else votes
    times = rows.values_list("elapsed_ms", flat=True)[:RECENT]
    known = [ms / 1000 for ms in times if ms is not None]
    return median(known) if len(known) >= LEAST else plan.seconds_per_item


def seconds_a_vote_here(plan: VotingPlan) -> tuple[float, int]:
    """The mean of the benchmark's latest votes, whoever gave them, with how many these are: what
    many votes take. The plan's number, of 0 votes, where there are too few."""
    votes = Vote.objects.of_voters(plan.benchmark).filter(abandoned=False, elapsed_ms__isnull=False)
    times = votes.order_by("-pk").values_list("elapsed_ms", flat=True)[:RECENT_HERE]
    known = [min(LONGEST, ms / 1000) for ms in times if ms is not None]
    if len(known) < LEAST_HERE:
        return float(plan.seconds_per_item), 0
    return fmean(known), len(known)


def about_seconds_a_vote(person: User, plan: VotingPlan) -> float:
    """The same, a minute old at most: it is asked for with every vote."""
    key = f"pace:{person.pk}:{plan.benchmark_id}:{plan.has_batches}"
    kept: float | None = cache.get_or_set(key, lambda: seconds_a_vote(person, plan), 60)
    return plan.seconds_per_item if kept is None else kept


def seconds_a_query(person: User, benchmark: Benchmark) -> float | None:
    """The person's time at work over the queries that they submitted; None before the first."""
    mine = Assignment.objects.in_benchmark(benchmark).filter(holder=person)
    submitted = mine.exclude(submitted_at=None).values("query")
    spans = ActiveSpan.objects.filter(user=person, query__in=submitted)
    queries = spans.order_by().values(of=F("query")).distinct().count()
    return spans.seconds() / queries if queries else None


def seconds_a_query_here(benchmark: Benchmark, *, of_reviewers: bool = False) -> float | None:
    """The mean time at work of everybody on each query that they submitted, or as reviewers
    accepted; None before the first that was timed."""
    accepted = Review.objects.filter(status=ReviewStatus.ACCEPTED, reviewer=OuterRef("user"))
    submitted = Assignment.objects.filter(holder=OuterRef("user")).exclude(submitted_at=None)
    rows = (accepted if of_reviewers else submitted).filter(query=OuterRef("query"))
    spans = ActiveSpan.objects.filter(Exists(rows), query__domain__benchmark=benchmark)
    worked = spans.order_by().values("user", "query").distinct().count()
    return spans.seconds() / worked if worked else None


def progress(done: int, waiting: int, own: QuerySet[Any], at: str = "created_at") -> dict[str, Any]:
    """How far the person is in a queue, for annotate/progress.html: "12 of 40", and how long the
    rest takes by the gaps between `own` latest answers; 0 where these are too few."""
    latest = own.order_by(f"-{at}").values_list(at, flat=True)[:RECENT]
    gaps = [(later - earlier).total_seconds() for later, earlier in pairwise(latest)]
    known = [gap for gap in gaps if 0 < gap <= LONGEST]
    pace = median(known) if len(known) >= LEAST else 0
    return {
        "place": min(done + 1, done + waiting),
        "done": done,
        "total": done + waiting,
        "seconds_left": max(60, waiting * pace) if pace and waiting else 0,
    }


def seconds_left(person: User, query: Query) -> float | None:
    """What a query takes this person, less what they spent on this one, a minute at least."""
    pace = seconds_a_query(person, query.domain.benchmark)
    spent = ActiveSpan.objects.filter(user=person, query=query).seconds()
    return None if pace is None else max(60.0, pace - spent)
