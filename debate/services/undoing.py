"""Undoing an adoption: its labels wait again, and what they had displaced stands again."""

from dataclasses import dataclass, replace

from django.contrib.auth.models import User
from django.db import transaction

from annotate.models import EscalationCase, Vote
from annotate.voting.cases import withdraw_cases
from corpus.judgments.services import hold_queries
from corpus.judgments.unadopting import unadopt_judgments
from debate.models import Debate, DebateRun
from debate.services.adoption import OPENED, groups_of
from kit import audit
from kit.errors import Refused
from kit.models import Event
from kit.runs import RunStatus


@dataclass(frozen=True)
class Undone:
    """Labels that wait again, how many of them stood, labels that stand again, cases withdrawn."""

    waiting: int = 0
    stood: int = 0
    restored: int = 0
    cases: int = 0


def undo_adoption(*, run: DebateRun, actor: User | None) -> Undone:
    """Take an adoption back, label by label, by the rules of corpus/judgments/unadopting.py.

    The cases that it opened are withdrawn first, all of them in one transaction, and nothing
    happens where somebody has voted on one. Labels follow in groups; what was cut short is
    finished by undoing again. People's labels stay whatever they displaced. Raises Refused with
    the reason (`why_not`).
    """
    if reason := why_not(run):
        raise Refused(reason)
    counts = Undone(cases=_withdraw(run, actor))
    adopted = run.debates.exclude(judgment=None)
    for group in groups_of(adopted):
        with transaction.atomic():
            hold_queries(debate.query_id for debate in group)
            labels = [debate.judgment for debate in group if debate.judgment]
            scope = run.benchmark.slug
            taken = unadopt_judgments(judgments=labels, actor=actor, scope=scope)
            changed = [each for each in group if each.judgment_id in taken.trials]
            for debate in changed:
                assert debate.judgment_id is not None  # it was looked up by it just now
                debate.judgment = taken.trials[debate.judgment_id]
            Debate.objects.bulk_update(changed, ["judgment"])
        counts = replace(
            counts,
            waiting=counts.waiting + len(taken.trials),
            stood=counts.stood + taken.superseded,
            restored=counts.restored + taken.restored,
        )
    _mark(run, actor, counts)
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
        hold_queries(EscalationCase.objects.filter(pk__in=keys).values_list("query", flat=True))
        run.debates.filter(case__in=keys).update(case=None)
        # Another run that left the pair to people found the case there: it stays for that one.
        shared = set(Debate.objects.filter(case__in=keys).values_list("case", flat=True))
        return withdraw_cases(keys=[key for key in keys if key not in shared], actor=actor)


def _mark(run: DebateRun, actor: User | None, counts: Undone) -> None:
    with transaction.atomic():
        rows = DebateRun.objects.filter(pk=run.pk).exclude(adopted_at=None)
        if rows.update(adopted_at=None, adopted_by=None):
            audit.record(
                actor=actor,
                verb="undo adoption of debate run",
                target=run,
                scope=run.benchmark.slug,
                data=vars(counts),
            )
    run.refresh_from_db()
