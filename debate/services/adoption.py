"""Adopting a run: its trial labels begin to count, and its open pairs come before people."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from corpus.judgments.services import adopt_judgments, hold_queries
from corpus.models import Status
from debate.escalation import escalate, kinds_of, origin_of
from debate.models import Debate, DebateRun, RunKind
from debate.services.verdicts import verdict_of
from kit import audit
from kit.errors import Refused
from kit.runs import RunStatus

_CHUNK = 500
# The event that names the cases which an adoption opened: what undoing it takes back.
OPENED = "open cases of adopted run"


@dataclass(frozen=True)
class Adopted:
    """Labels that stand now, labels that a weightier one kept out, cases that were opened."""

    standing: int = 0
    weaker: int = 0
    cases: int = 0


def adopt_run(*, run: DebateRun, actor: User | None) -> Adopted:
    """Let a finished run's trial labels count, by the rules of corpus/judgments/services.py.

    Labels of the practice model stand only where no real one does, and stay marked. Written in
    groups, so that voters need not wait; one that was cut short is finished by adopting again,
    and adopting twice changes nothing. Raises Refused for a run that is not done, or of which
    nothing waits.
    """
    if run.status != RunStatus.DONE:
        raise Refused("Only a run that is done can be adopted.")
    if run.adopted_at and not _waiting(run).exists():
        return Adopted()
    if not run.is_trial and not _waiting(run).exists():
        raise Refused("The labels of this run stand already.")
    counts = Adopted()
    for group in groups_of(_waiting(run).filter(judgment__status=Status.TRIAL)):
        standing, weaker = _adopt(group, run, actor)
        counts = replace(counts, standing=counts.standing + standing, weaker=counts.weaker + weaker)
    for group in groups_of(caseless(run)):
        counts = replace(counts, cases=counts.cases + _bring(group, run, actor))
    _mark(run, actor, counts)
    return counts


def _waiting(run: DebateRun) -> QuerySet[Debate]:
    """Pairs that adoption changes something for."""
    trial = Q(judgment__status=Status.TRIAL)
    return run.debates.filter(trial | Q(pk__in=caseless(run).values("pk")))


def caseless(run: DebateRun) -> QuerySet[Debate]:
    """Pairs that people have to decide and do not know of. A filter leaves nothing to people."""
    if run.kind == RunKind.FILTER:
        return run.debates.none()
    return run.debates.filter(status__in=kinds_of(run), case=None)


def groups_of(rows: QuerySet[Debate]) -> Iterator[list[Debate]]:
    last = 0
    rows = rows.select_related("query__domain__benchmark", "passage", "run", "judgment")
    while group := list(rows.filter(pk__gt=last).order_by("pk")[:_CHUNK]):
        yield group
        last = group[-1].pk


def _adopt(group: list[Debate], run: DebateRun, actor: User | None) -> tuple[int, int]:
    with transaction.atomic():
        hold_queries(debate.query_id for debate in group)
        labels = [debate.judgment for debate in group if debate.judgment]
        return adopt_judgments(judgments=labels, actor=actor, scope=run.benchmark.slug)


def _bring(group: list[Debate], run: DebateRun, actor: User | None) -> int:
    """Give the pairs their cases; how many of them nobody had opened before."""
    with transaction.atomic():
        hold_queries(debate.query_id for debate in group)
        opened = []
        for debate in group:
            debate.case = escalate(debate, verdict_of(debate))
            if debate.case.origin == origin_of(debate):
                opened.append(debate.case.pk)
        Debate.objects.bulk_update(group, ["case"])
        if opened:
            data = {"cases": opened}
            scope = run.benchmark.slug
            audit.record(actor=actor, verb=OPENED, target=run, scope=scope, data=data)
    return len(opened)


def _mark(run: DebateRun, actor: User | None, counts: Adopted) -> None:
    with transaction.atomic():
        rows = DebateRun.objects.filter(pk=run.pk)
        changed = any(vars(counts).values()) or run.adopted_at is None
        if changed and rows.update(adopted_at=timezone.now(), adopted_by=actor):
            data = vars(counts)
            scope = run.benchmark.slug
            audit.record(actor=actor, verb="adopt debate run", target=run, scope=scope, data=data)
    run.refresh_from_db()
