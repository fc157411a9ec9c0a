"""What goes on in a benchmark now: running work with its cost, and who waits for whom."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from django.db.models import Count, Q
from django.urls import reverse
from django.utils import timezone

from annotate.assignments.models import unassigned
from annotate.models import Assignment, EscalationCase, Review, ReviewStatus, WorkState
from corpus.models import (
    Benchmark,
    CleaningRun,
    ExpansionRun,
    ImportRun,
    Membership,
    PoolBuild,
    Query,
    RerankRun,
    RunComputation,
)
from corpus.run_pages import page_of
from debate.models import AnswerRun, DebateRun, HintRun, Trial
from evaluation.models import (
    AgentRun,
    Chain,
    GradeRun,
    JudgeRun,
    NoiseCheck,
    PipelineRun,
    RagRun,
    Release,
    ReleasePush,
    ScoreSheet,
    SupportRun,
    TrainingRun,
    Transfer,
)
from kit.account.links import waiting_requests
from kit.runs.models import RunStatus, TrackedRun


class Kind(NamedTuple):
    """A kind of long run: its model, what its runs are called, the page of the navigation whose
    readers may open them, and the field that people know one by."""

    model: type[TrackedRun]
    label: str
    beside: str
    name: str = "name"


KINDS: Final = (
    Kind(ImportRun, "Imports", "imports", "label"),
    Kind(PoolBuild, "Builds of pools", "pool-new"),
    Kind(DebateRun, "Debate runs", "debate-runs"),
    Kind(Trial, "Trials", "prompts", "run__name"),
    Kind(CleaningRun, "Cleanings", "versions"),
    Kind(AnswerRun, "Answer runs", "answer-runs", "model"),
    Kind(HintRun, "Hint runs", "panel-new", "panel__name"),
    Kind(RunComputation, "Computed runs", "run-computations"),
    Kind(ExpansionRun, "Expansions", "expansions"),
    Kind(RerankRun, "Rerankings", "rerank-runs"),
    Kind(PipelineRun, "Pipelines", "pipelines"),
    Kind(AgentRun, "Agent runs", "agent-runs"),
    Kind(JudgeRun, "Judge runs", "agent-runs", "agent_run__name"),
    Kind(RagRun, "RAG runs", "rag-runs"),
    Kind(GradeRun, "Grade runs", "rag-runs", "rag_run__name"),
    Kind(SupportRun, "Support runs", "support-sets", "support_set__name"),
    Kind(TrainingRun, "Training data", "training-runs"),
    Kind(ScoreSheet, "Scores of the leaderboard", "leaderboard", "profile"),
    Kind(NoiseCheck, "Checks of label noise", "noise-checks", "metric"),
    Kind(Release, "Releases", "releases", "version"),
    Kind(ReleasePush, "Pushes to a hub", "releases", "repository"),
    Kind(Transfer, "Files and merging", "transfers", "kind"),
    Kind(Chain, "Chains", "chains"),
)
_NOW: Final = (RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.PAUSED)
_MOST_OF_A_KIND = 5


class Wait(NamedTuple):
    """Who ("Authors wait for"), for whom, and for what, which is at `url`."""

    who: str
    for_whom: str
    what: str
    url: str


def running(benchmark: Benchmark) -> Iterator[tuple[TrackedRun, str]]:
    """Work that goes on, waits for a worker or was paused, each with its page."""
    for kind in KINDS:
        of = kind.model.of_benchmark
        asked: dict[str, Any] = {of: benchmark, "status__in": _NOW}
        rows = kind.model.objects.filter(**asked).select_related(of)
        for run in rows.order_by("-pk")[:_MOST_OF_A_KIND]:
            yield run, page_of(run)


def waits(benchmark: Benchmark) -> Iterator[Wait]:
    """Who waits for whom, from the admin's own part on."""

    def at(name: str, asked: str = "") -> str:
        return reverse(name, args=[benchmark.slug]) + asked

    members = Membership.objects.filter(benchmark=benchmark)
    for name in members.filter(user__link_request__in=waiting_requests()).values_list(
        "user__username", flat=True
    ):
        yield Wait(f"{name} waits for", "you", "a new sign-in link", at("people"))
    if disputes := EscalationCase.objects.in_benchmark(benchmark).open().of_voters().count():
        url = at("disputes", "?status=open")
        yield Wait("Debates wait for", "voters", _of(disputes, "dispute"), url)
    queries = Query.objects.in_benchmark(benchmark).filter(domain__is_ready=True)
    if free := unassigned(queries).count():
        yield Wait("Queries wait for", "you", _of(free, "unassigned query"), at("assignments"))
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
    if new := assigned.filter(state=WorkState.SUBMITTED).count():
        yield Wait("Authors wait for", "a reviewer", _of(new, "submitted query"), at("reviews"))


def _of(count: int, noun: str) -> str:
    if count == 1:
        return f"1 {noun}"
    first, _, rest = noun.partition(" to ")
    plural = f"{first[:-1]}ies" if first.endswith("query") else f"{first}s"
    return f"{count:,} {plural}{' to ' if rest else ''}{rest}"
