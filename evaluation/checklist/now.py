"""What goes on in a benchmark now: running work with its cost, and who waits for whom."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from django.db.models import Count, Q
from django.urls import reverse
from django.utils import timezone

from annotate.models import Assignment, Review, ReviewStatus, WorkState
from corpus.models import (
    Benchmark,
    CleaningRun,
    ExpansionRun,
    ImportRun,
    Membership,
    PoolBuild,
    RerankRun,
    RunComputation,
)
from debate.models import AnswerRun, DebateRun
from evaluation.models import (
    AgentRun,
    Chain,
    GradeRun,
    JudgeRun,
    PipelineRun,
    RagRun,
    Release,
    SupportRun,
    TrainingRun,
)
from kit.account.links import waiting_requests
from kit.runs.models import RunStatus, TrackedRun

# Kinds of long runs with a page of their own, by the name of its address.
_KINDS: Final[tuple[tuple[str, type[TrackedRun]], ...]] = (
    ("import-run", ImportRun),
    ("pool-build", PoolBuild),
    ("debate-run", DebateRun),
    ("cleaning", CleaningRun),
    ("answer-run", AnswerRun),
    ("run-computation", RunComputation),
    ("expansion", ExpansionRun),
    ("rerank-run", RerankRun),
    ("pipeline", PipelineRun),
    ("agent-run", AgentRun),
    ("judge-run", JudgeRun),
    ("rag-run", RagRun),
    ("grade-run", GradeRun),
    ("support-run", SupportRun),
    ("training-run", TrainingRun),
    ("release", Release),
    ("chain", Chain),
)
_NOW: Final = (RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.PAUSED)
_MOST_OF_A_KIND = 5


class Wait(NamedTuple):
    """Who ("Authors wait for"), for whom, and for what, which is at `url`."""

    who: str
    for_whom: str
    what: str
    url: str


def page_of(run: TrackedRun) -> str:
    """The address of a run's page; "" for a kind that has none."""
    found = next((name for name, kind in _KINDS if isinstance(run, kind)), "")
    return reverse(found, args=[run.scope, run.pk]) if found else ""


def running(benchmark: Benchmark) -> Iterator[tuple[TrackedRun, str]]:
    """Work that goes on, waits for a worker or was paused, each with its page."""
    for name, kind in _KINDS:
        asked: dict[str, Any] = {"benchmark": benchmark, "status__in": _NOW}
        for run in kind.objects.filter(**asked).order_by("-pk")[:_MOST_OF_A_KIND]:
            yield run, reverse(name, args=[benchmark.slug, run.pk])


def waits(benchmark: Benchmark) -> Iterator[Wait]:
    """Who waits for whom, from the admin's own part on."""

    def at(name: str, asked: str = "") -> str:
        return reverse(name, args=[benchmark.slug]) + asked

    members = Membership.objects.filter(benchmark=benchmark)
    for name in members.filter(user__link_request__in=waiting_requests()).values_list(
        "user__username", flat=True
    ):
        yield Wait(f"{name} waits for", "you", "a new sign-in link", at("people"))
    assigned = Assignment.objects.in_benchmark(benchmark).order_by("holder__username")
    back = Q(state=WorkState.CHANGES_REQUESTED)
    late = Q(pk__in=assigned.overdue(timezone.localdate()))
    rows = assigned.values_list("holder__username").annotate(
        back=Count("pk", filter=back), late=Count("pk", filter=late)
    )
    for name, changes, overdue in rows:
        if changes:
            yield Wait("Reviewers wait for", name, _of(changes, "query to change"), at("reviews"))
        if overdue:
            url = at("assignments", f"?person={name}&due=late")
            yield Wait("You wait for", name, _of(overdue, "overdue query"), url)
    reviews = Review.objects.in_benchmark(benchmark).open().order_by()
    people = reviews.values_list("status", "reviewer__username", "third__username")
    turns = Counter(
        third if status == ReviewStatus.THIRD else reviewer
        for status, reviewer, third in people
        if status != ReviewStatus.CHANGES
    )
    for name, count in sorted(turns.items()):
        yield Wait("Authors wait for", name, _of(count, "review"), at("reviews"))
    if unread := assigned.filter(state=WorkState.SUBMITTED).count():
        what = _of(unread, "submitted query")
        yield Wait("Authors wait for", "a reviewer", what, at("reviews"))


def _of(count: int, noun: str) -> str:
    if count == 1:
        return f"1 {noun}"
    first, _, rest = noun.partition(" to ")
    plural = f"{first[:-1]}ies" if first.endswith("query") else f"{first}s"
    return f"{count:,} {plural}{' to ' if rest else ''}{rest}"
