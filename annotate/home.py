"""The annotate room's part of the home page: what waits for this person, and what comes next."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Max
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from annotate.adjudication.queue import quick_count
from annotate.answers.comparing import to_rate
from annotate.assignments.models import HANDED_IN, unassigned
from annotate.batches.services import open_batch
from annotate.feedback.services import new_messages
from annotate.grading.sentences import to_judge
from annotate.grading.services import to_grade
from annotate.models import (
    Assignment,
    Batch,
    BatchStatus,
    Draft,
    EscalationCase,
    Guideline,
    PanelStatus,
    ReferencePanel,
    Review,
    ReviewStatus,
    Vote,
    VotingPlan,
    WorkState,
)
from annotate.panels.labels import waiting_labels
from annotate.panels.settling import waiting_checks
from annotate.review.rescoring import waiting_tasks
from annotate.review.services import my_turn, waiting_for_review
from annotate.voting.eligibility import waiting_for
from annotate.worked import COUNTED, last_days, seconds_a_query, seconds_a_vote
from corpus.access import Access
from corpus.models import Benchmark, Membership, Query
from kit import htmx

MOST_PANELS = 5


@dataclass(frozen=True)
class Work:
    """One kind of work in one benchmark: `left` items, `done` of `total` where that is known.

    `url` is where all of it is. Where it comes first, the one primary button says `act` and leads
    to `go`, else there too.
    """

    name: str
    key: str
    benchmark: Benchmark
    url: str
    left: int
    act: str
    note: str = ""
    done: int = 0
    total: int = 0
    seconds_an_item: float | None = None
    due_on: date | None = None
    is_begun: bool = False
    go: str = ""

    @property
    def seconds(self) -> float | None:
        """How long what is left will take this person, a minute at least; None if unknown."""
        return None if self.seconds_an_item is None else max(60, self.left * self.seconds_an_item)

    def seconds_a_day(self, today: date) -> float | None:
        """What of it falls on a day until it is due."""
        if self.seconds is None or self.due_on is None or self.due_on <= today:
            return None
        return self.seconds / ((self.due_on - today).days + 1)


@require_GET
def annotate_home(request: HttpRequest) -> HttpResponse:
    """One button that goes on, the queue by kind, today and the week; what admins must know."""
    assert isinstance(request.user, User)
    today = timezone.localdate()
    places = _places(request.user)
    queue = waiting_work(request.user)
    works_here = any(each.is_annotator or each.is_reviewer for each in places)
    asides = [_aside(access, today) for access in places]
    context = {
        "queue": queue,
        "next": queue[0] if queue else None,
        "rows": [(work, work.seconds_a_day(today)) for work in queue],
        "seconds": _sum(work.seconds for work in queue),
        "left": sum(work.left for work in queue),
        "week": _week(request.user, today) if works_here else None,
        "asides": asides,
        # Where nothing waits: a query to take, and what a reviewer can do.
        "to_take": next((a for a in asides if a.get("free")), None) if not queue else None,
        "reviewed": [a.benchmark for a in places if a.is_reviewer] if not queue else [],
        "drafts": Draft.objects.of(request.user).count(),
        "today": today,
    }
    return htmx.render(request, "annotate/home.html", context)


def _new_guidelines(access: Access) -> Guideline | None:
    """The newest guidelines, where the person has voted by older ones and not by these."""
    own = Vote.objects.filter(case__query__domain__benchmark=access.benchmark, voter=access.user)
    last = own.aggregate(Max("guideline"))["guideline__max"]
    if last is None:
        return None
    return Guideline.objects.filter(benchmark=access.benchmark, version__gt=last).first()


def _week(user: User, today: date) -> dict[str, Any]:
    """The last seven days, today first, and their sums."""
    days = last_days(user, today)
    return {"days": days} | {name: sum(each[name] for each in days) for name in COUNTED}


def waiting_work(user: User) -> list[Work]:
    """What waits for the person in all their benchmarks, as at their home, in its order."""
    return _in_turn(work for access in _places(user) for work in _works(access) if work.left)


def _places(user: User) -> list[Access]:
    memberships = Membership.objects.live().filter(user=user).select_related("benchmark", "user")
    return [Access(user, each.benchmark, each) for each in memberships]


def _sum(seconds: Iterable[float | None]) -> float | None:
    """Unknown as soon as one of them is."""
    known = list(seconds)
    return None if None in known else sum(each or 0 for each in known)


def _in_turn(works: Iterable[Work]) -> list[Work]:
    """What was begun first, then by due date; a key is that of the first kind with it."""
    ordered = sorted(works, key=lambda each: (not each.is_begun, each.due_on or date.max))
    keys: set[str] = set()
    found = []
    for work in ordered:
        found.append(work if work.key not in keys else replace(work, key=""))
        keys.add(work.key)
    return found


def _works(access: Access) -> Iterator[Work]:
    if not (access.is_annotator or access.is_reviewer or access.is_admin):
        return
    if access.is_annotator:
        yield _votes(access)
        yield _own_queries(access)
    yield from _reviews(access)
    yield from _panels(access)
    # In which the person gives a judgment of their own, some of them blind.
    for name, key, url, left, act in (
        ("Queries to review", "W", "reviews", waiting_for_review(access).count(), "Review"),
        ("Weights to score blind", "B", "rescoring", waiting_tasks(access).count(), "Score"),
        ("Pairs of answers to rate", "A", "answer-rate", _to_rate(access), "Rate answers"),
        ("Answers to score blind", "K", "answer-grade", to_grade(access).count(), "Score answers"),
        ("Citations to check", "I", "sentence-judge", to_judge(access).count(), "Check them"),
        ("Reference answers to write", "E", "answers", _to_write(access), "Write"),
        ("Open questions to settle", "S", "adjudication", quick_count(access), "Settle"),
    ):
        yield Work(name, key, access.benchmark, _at(access, url), left, act)


def _at(access: Access, name: str, *args: object) -> str:
    return reverse(name, args=[access.benchmark.slug, *args])


def _to_write(access: Access) -> int:
    """The person's accepted queries whose reference answer is not chosen yet."""
    own = Assignment.objects.in_benchmark(access.benchmark).standing().filter(holder=access.user)
    return own.filter(state=WorkState.ACCEPTED).count() if access.is_annotator else 0


def _to_rate(access: Access) -> int:
    return to_rate(access).count() if access.is_reviewer else 0


def _votes(access: Access) -> Work:
    """The open batch, or what waits; how many of a batch are checks shows nowhere."""
    plan = VotingPlan.objects.current(access.benchmark)
    pace = seconds_a_vote(access.user, plan)
    common = ("Votes", "V", access.benchmark, _at(access, "vote"))
    batch = open_batch(access) if plan.has_batches else None
    if batch is not None:
        done = batch.items.exclude(answered_at=None).count()
        left = batch.size - done
        act = f"Vote {done + 1} of {batch.size}" if left else "Submit the batch"
        note = f"batch of {batch.size}"
        return Work(*common, left or 1, act, note, done, batch.size, pace, is_begun=True)
    left = waiting_for(access, plan).count()
    if plan.has_batches:
        return Work(*common, left, "Take a batch", f"in batches of {plan.batch_size}", 0, 0, pace)
    mine = Vote.objects.of_voters(access.benchmark).filter(voter=access.user).count()
    act = f"Vote {mine + 1} of {mine + left}"
    return Work(*common, left, act, "", mine, mine + left, pace)


def _own_queries(access: Access) -> Work:
    """The person's queue, what was begun first; what a reviewer sent back is among the reviews."""
    mine = Assignment.objects.in_benchmark(access.benchmark).filter(holder=access.user)
    rows = mine.open().exclude(state=WorkState.CHANGES_REQUESTED).in_turn()
    waiting = list(rows.select_related("query__domain"))
    begun = [each for each in waiting if each.state == WorkState.IN_PROGRESS]
    first = next(iter(begun or waiting), None)
    done = mine.filter(state__in=HANDED_IN).count()
    return Work(
        "Queries to annotate",
        "Q",
        access.benchmark,
        _at(access, "queue"),
        len(waiting),
        act=f"Open {first.query}" if first else "",
        note=str(first.query) if first else "",
        done=done,
        total=done + len(waiting),
        seconds_an_item=seconds_a_query(access.user, access.benchmark),
        due_on=min((each.due_on for each in waiting if each.due_on), default=None),
        is_begun=bool(begun),
        go=_at(access, "query", first.query_id) if first else "",
    )


def _reviews(access: Access) -> Iterator[Work]:
    """Reviews that wait for this person: as author first, then as reviewer or third person."""
    mine = Review.objects.in_benchmark(access.benchmark).filter(reviewer=access.user)
    accepted = mine.filter(status=ReviewStatus.ACCEPTED).count()
    turns = list(my_turn(access).order_by("pk"))
    back = [each for each in turns if each.status == ReviewStatus.CHANGES]
    others = [each for each in turns if each.status != ReviewStatus.CHANGES]
    url = _at(access, "reviews")
    for name, key, rows, done in (
        ("Changes requested", "H", back, 0),
        ("Reviews in which it is your turn", "R", others, accepted),
    ):
        if rows:
            query, go = str(rows[0].query), _at(access, "review", rows[0].pk)
            work = Work(name, key, access.benchmark, url, len(rows), f"Open {query}", query, go=go)
            yield replace(work, done=done, total=done and done + len(rows), is_begun=True)


def _panels(access: Access) -> Iterator[Work]:
    rows = ReferencePanel.objects.filter(benchmark=access.benchmark)
    rows = rows.exclude(status=PanelStatus.PREPARING).select_related("benchmark")
    for panel in rows[:MOST_PANELS]:
        for words, key, name, count in (
            ("Labels", "P", "panel-label", waiting_labels(access, panel).count()),
            ("Labels to look at", "L", "spot-checks", waiting_checks(access, panel).count()),
        ):
            url = _at(access, name, panel.pk)
            yield Work(words, key, access.benchmark, url, count, words, panel.name)


def _aside(access: Access, today: date) -> dict[str, Any]:
    """What is no queue of this person's, by benchmark; None where their roles do not ask it."""
    benchmark = access.benchmark
    found: dict[str, Any] = {"benchmark": benchmark}
    if access.is_annotator:
        queries = Query.objects.in_benchmark(benchmark).in_domains(access.domain_ids)
        found |= {"free": unassigned(queries).count(), "new_messages": new_messages(access)}
        found["guidelines"] = _new_guidelines(access)
    if access.is_reviewer:
        cases = EscalationCase.objects.in_benchmark(benchmark)
        found["open_disputes"] = cases.open().of_voters().count()
    if access.is_admin:
        since = timezone.now() - timedelta(days=7)
        ended = Batch.objects.filter(plan__benchmark=benchmark, ended_at__gt=since)
        standing = Assignment.objects.in_benchmark(benchmark)
        found |= {
            "overdue": standing.overdue(today).count(),
            "rejected_batches": ended.filter(status=BatchStatus.REJECTED).count(),
        }
    return found if any(found[name] for name in found if name != "benchmark") else {}
