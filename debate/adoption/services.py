"""Adopting a run: its trial labels begin to count, and its open pairs come before people.

What that would change is told by one query, by the rules of corpus/judgments/services.py.

Undoing an adoption: its labels wait again, and what they had displaced stands again.

A stored debate read back as the verdict it was."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import (
    Case,
    Count,
    Exists,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.utils import timezone

from annotate.models import EscalationCase, Vote
from annotate.voting.cases import withdraw_cases
from corpus.judgments.models import PRECEDENCE
from corpus.judgments.services import adopt_judgments, lock_queries, unadopt_judgments
from corpus.models import Judgment, Status
from debate import dream
from debate.escalation import escalate, kinds_of, origin_of
from debate.models import Debate, DebateRun, RunKind, Turn
from kit import audit
from kit.errors import Refused
from kit.models import Event
from kit.runs.models import RunStatus


def verdict_of(debate: Debate) -> dream.Verdict:
    """The verdict with its turns, from the database's rows."""
    return dream.Verdict(
        status=debate.status,  # type: ignore[arg-type]
        label=debate.label,  # type: ignore[arg-type]
        round=debate.round,
        turns=tuple(_turn(row) for row in debate.turns.all()),
        detail=debate.error,
    )


def _turn(row: Turn) -> dream.Turn:
    return dream.Turn(
        round=row.round,
        agent=row.agent,
        stance=row.stance,  # type: ignore[arg-type]
        response=row.response or None,  # type: ignore[arg-type]
        reason=row.reason,
        references=tuple(dream.Quote(q["text"], q["start"], q["end"]) for q in row.references),
        rung=row.rung,
        flags=tuple(row.flags),
        score=row.score,
    )


_CHUNK = 500
# The event that names the cases which an adoption opened: what undoing it takes back.
OPENED = "open cases of adopted run"


def adopt_run(*, run: DebateRun, actor: User | None) -> Counter[str]:
    """Let a finished run's trial labels count, by the rules of corpus/judgments/services.py.

    Counts labels that are `standing` now, `weaker` ones that a weightier label kept out, and
    `cases` that were opened.

    Labels of the practice model stand only where no real one does, and stay marked. Written in
    groups, so that voters need not wait; one that was cut short is finished by adopting again,
    and adopting twice changes nothing. Raises Refused for a run that is not done, or of which
    nothing waits.
    """
    if run.status != RunStatus.DONE:
        raise Refused("Only a run that is done can be adopted.")
    if run.is_trial and (run.reheard_of_id or run.pool.of_aspects):
        raise Refused(
            "This run only compares: what agents say once people were heard, or on trial of an "
            "aspect, is no label."
        )
    counts = Counter(standing=0, weaker=0, cases=0)
    if not _waiting(run).exists():
        if run.adopted_at:
            return counts
        if not run.is_trial:
            raise Refused("The labels of this run are current already.")
    for group in groups_of(_waiting(run).filter(judgment__status=Status.TRIAL)):
        standing, weaker = _adopt(group, run, actor)
        counts.update(standing=standing, weaker=weaker)
    for group in groups_of(caseless(run)):
        counts.update(cases=_bring(group, run, actor))
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
    return run.debates.filter(status__in=kinds_of(run.config.get("on_refusal")), case=None)


def groups_of(rows: QuerySet[Debate]) -> Iterator[list[Debate]]:
    last = 0
    rows = rows.select_related("query__domain__benchmark", "passage", "run", "judgment")
    while group := list(rows.filter(pk__gt=last).order_by("pk")[:_CHUNK]):
        yield group
        last = group[-1].pk


def _adopt(group: list[Debate], run: DebateRun, actor: User | None) -> tuple[int, int]:
    with transaction.atomic():
        lock_queries(debate.query_id for debate in group)
        labels = [debate.judgment for debate in group if debate.judgment]
        return adopt_judgments(judgments=labels, actor=actor, scope=run.benchmark.slug)


def _bring(group: list[Debate], run: DebateRun, actor: User | None) -> int:
    """Give the pairs their cases; how many of them nobody had opened before."""
    with transaction.atomic():
        lock_queries(debate.query_id for debate in group)
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


def _mark(run: DebateRun, actor: User | None, counts: Counter[str]) -> None:
    with transaction.atomic():
        rows = DebateRun.objects.filter(pk=run.pk)
        changed = any(counts.values()) or run.adopted_at is None
        if changed and rows.update(adopted_at=timezone.now(), adopted_by=actor):
            data = dict(counts)
            scope = run.benchmark.slug
            audit.record(actor=actor, verb="adopt debate run", target=run, scope=scope, data=data)
    run.refresh_from_db()


def undo_adoption(*, run: DebateRun, actor: User | None) -> Counter[str]:
    """Take an adoption back, label by label, by the rules of corpus/judgments/services.py.

    Counts labels that are `waiting` again, how many of them `stood`, labels that are `restored`,
    and `cases` that were withdrawn.

    The cases that it opened are withdrawn first, all of them in one transaction, and nothing
    happens where somebody has voted on one. Labels follow in groups; what was cut short is
    finished by undoing again. People's labels stay whatever they displaced. Raises Refused with
    the reason (`why_not`).
    """
    if reason := why_not(run):
        raise Refused(reason)
    counts = Counter(waiting=0, stood=0, restored=0, cases=_withdraw(run, actor))
    adopted = run.debates.exclude(judgment=None)
    for group in groups_of(adopted):
        with transaction.atomic():
            lock_queries(debate.query_id for debate in group)
            labels = [debate.judgment for debate in group if debate.judgment]
            scope = run.benchmark.slug
            trials, stood, restored = unadopt_judgments(judgments=labels, actor=actor, scope=scope)
            changed = [each for each in group if each.judgment_id in trials]
            for debate in changed:
                assert debate.judgment_id is not None  # it was looked up by it just now
                debate.judgment = trials[debate.judgment_id]
            Debate.objects.bulk_update(changed, ["judgment"])
        counts.update(waiting=len(trials), stood=stood, restored=restored)
    _undoing_mark(run, actor, counts)
    return counts


def why_not(run: DebateRun) -> str:
    """Why the run's adoption cannot be undone, for people; empty where it can."""
    if run.adopted_at is None:
        return "This run is not adopted."
    if run.status != RunStatus.DONE:
        return "This run goes on. Undo its adoption when it is done."
    voted = Vote.objects.filter(case__in=opened_cases(run)).values("case").distinct().count()
    if voted:
        return (
            f"People have voted since on {voted:,} of the cases that the adoption opened, and "
            "their work is not thrown away. Their labels weigh more than the run's."
        )
    return ""


def opened_cases(run: DebateRun) -> list[int]:
    """Keys of the cases that the run's adoption opened and that are still there."""
    events = Event.objects.filter(
        verb=OPENED, target_type=run._meta.label_lower, target_id=str(run.pk)
    )
    keys = [key for data in events.values_list("data", flat=True) for key in data["cases"]]
    return list(EscalationCase.objects.filter(pk__in=keys).values_list("pk", flat=True))


def _withdraw(run: DebateRun, actor: User | None) -> int:
    with transaction.atomic():
        keys = opened_cases(run)
        lock_queries(EscalationCase.objects.filter(pk__in=keys).values_list("query", flat=True))
        run.debates.filter(case__in=keys).update(case=None)
        # Another run that left the pair to people found the case there: it stays for that one.
        shared = set(Debate.objects.filter(case__in=keys).values_list("case", flat=True))
        return withdraw_cases(keys=[key for key in keys if key not in shared], actor=actor)


def _undoing_mark(run: DebateRun, actor: User | None, counts: Counter[str]) -> None:
    with transaction.atomic():
        rows = DebateRun.objects.filter(pk=run.pk).exclude(adopted_at=None)
        if rows.update(adopted_at=None, adopted_by=None):
            audit.record(
                actor, "undo adoption of debate run", run, run.benchmark.slug, dict(counts)
            )
    run.refresh_from_db()


# What becomes of a trial label; of a pair without one, whether it comes before people.
STANDS, REPLACES, WEAKER, CASES = "stands", "replaces", "weaker", "cases"
EFFECTS: Final = {
    STANDS: "will count where there is no label",
    REPLACES: "will take the place of a label",
    WEAKER: "will be history current a weightier label",
    CASES: "will come before people",
}
# More than any source weighs: what is real weighs more than all of the practice model's.
_REAL: Final = 100


def preview_adoption(run: DebateRun) -> dict[str, Any]:
    """What becomes of the trial labels, as `adopt_run` would find them now.

    `stands`, `replaces` and `weaker` count labels that say `relevant`, `irrelevant` and in
    `total`. Of the pairs that come before people, the `cases`, `joined` have one already, which
    an earlier run opened: it is not opened again.
    """
    counted = _weighed(run.debates.all()).order_by().values_list("effect", "label")
    found: dict[str, Any] = {
        name: {"relevant": 0, "irrelevant": 0, "total": 0} for name in (STANDS, REPLACES, WEAKER)
    }
    for effect, label, count in counted.annotate(count=Count("pk")):
        found[effect]["relevant" if label == 1 else "irrelevant"] += count
        found[effect]["total"] += count
    waiting = caseless(run)
    cases = EscalationCase.objects.about_pairs()
    known = cases.filter(query=OuterRef("query"), passage=OuterRef("passage"))
    return found | {CASES: waiting.count(), "joined": waiting.filter(Exists(known)).count()}


def with_effect(run: DebateRun, debates: QuerySet[Debate], effect: str) -> QuerySet[Debate]:
    """The pairs that one of the preview's numbers counts."""
    if effect == CASES:
        return debates.filter(pk__in=caseless(run).values("pk"))
    trial = debates.filter(judgment__status=Status.TRIAL)
    standing = _current_label()
    if effect == STANDS:
        return trial.exclude(Exists(standing))
    own = OuterRef("own")
    wins = Q(weight__lte=own) if effect == REPLACES else Q(weight__gt=own)
    current = standing.annotate(weight=_weight("")).filter(wins)
    return trial.annotate(own=_weight("judgment__")).filter(Exists(current))


def _current_label() -> QuerySet[Judgment]:
    """The label that stands on an outer pair."""
    rows = Judgment.objects.standing().filter(query=OuterRef("query"), passage=OuterRef("passage"))
    return rows.order_by()


def _weighed(debates: QuerySet[Debate]) -> QuerySet[Any]:
    """Pairs with a trial label, and its `effect`."""
    current = _current_label().annotate(weight=_weight("")).values("weight")[:1]
    return (
        debates.filter(judgment__status=Status.TRIAL)
        .annotate(own=_weight("judgment__"), current=Subquery(current, output_field=IntegerField()))
        .annotate(
            effect=Case(
                When(current=None, then=Value(STANDS)),
                When(own__gte=F("current"), then=Value(REPLACES)),
                default=Value(WEAKER),
            )
        )
    )


def _weight(prefix: str) -> Case:
    """`corpus.judgments.services.weigh` as a number that orders in the same way."""
    sources = [
        When(**{f"{prefix}source": source, f"{prefix}practice": practice}, then=Value(weight))
        for source, rank in PRECEDENCE.items()
        for practice, weight in ((True, rank), (False, rank + _REAL))
    ]
    return Case(*sources, default=Value(-1), output_field=IntegerField())
