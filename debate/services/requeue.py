"""Debating again what failed: one pair, or one kind of failure.

Only pairs without an outcome of the debate can be tried again. An answer that was paid for comes
from the ledger, so a pair that was agreed, disputed or unreadable would end in the same way.
"""

from typing import Final

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from debate.models import Debate, DebateFlag, DebateRun, DebateStatus, Turn
from kit import audit
from kit.errors import Refused
from kit.runs import RunStatus, wake

_AGAIN: Final = (DebateStatus.FAILED, DebateStatus.SKIPPED_NO_ANSWER)
# A run that is over goes back into the queue; in these the pairs only wait with the others.
_WAITS: Final = (RunStatus.QUEUED, RunStatus.PAUSED)
_OVER: Final = (RunStatus.DONE, RunStatus.FAILED)


def requeue_pair(*, run: DebateRun, debate: Debate, actor: User | None) -> None:
    """Debate one pair of the run again.

    What was said in it so far is dropped from the run; the ledger keeps it, and answers that were
    paid for are not paid again. Raises Refused for a pair that has an outcome, and while the run
    is at work or cancelled.
    """
    with transaction.atomic():
        pairs = run.debates.filter(pk=debate.pk, status__in=_AGAIN)
        if not _requeue(run, pairs, actor, {"debate": debate.pk}):
            raise Refused(
                "Only a pair that failed or had no answers can be debated again: "
                "the paid answers of any other would lead to the same end."
            )


def requeue_failures(*, run: DebateRun, error_class: str, actor: User | None) -> int:
    """Debate all pairs again that failed in this way (llm.errors.ErrorClass); how many.

    Raises Refused where there is none, and while the run is at work or cancelled.
    """
    with transaction.atomic():
        pairs = run.debates.filter(status=DebateStatus.FAILED, error_class=error_class)
        count = _requeue(run, pairs, actor, {"error_class": error_class})
        if not count:
            raise Refused("No pair of this run failed in this way.", field="error_class")
    return count


def _requeue(
    run: DebateRun, pairs: QuerySet[Debate], actor: User | None, what: dict[str, object]
) -> int:
    """Set the pairs waiting and wake the run, inside the caller's transaction."""
    # Held until the end: a worker that claims the run meanwhile sees the pairs waiting.
    DebateRun.objects.select_for_update().get(pk=run.pk)
    run.refresh_from_db()
    if run.status == RunStatus.RUNNING:
        raise Refused("This run is at work. Pause it first, or wait until it is done.")
    if run.status not in (*_WAITS, *_OVER):
        raise Refused(f"This run is {run.get_status_display().lower()}.")
    keys = list(pairs.values_list("pk", flat=True))
    if not keys:
        return 0
    Turn.objects.filter(debate__in=keys).delete()
    DebateFlag.objects.filter(debate__in=keys).delete()
    Debate.objects.filter(pk__in=keys).update(
        status=DebateStatus.WAITING, round=None, error="", error_class="", ended_at=None
    )
    done = run.debates.exclude(status=DebateStatus.WAITING).count()
    if run.status in _OVER:
        run.move(RunStatus.QUEUED, sources=_OVER, done=done)
        wake(run)
    else:
        run.done = done
        run.save(update_fields=["done"])
    audit.record(
        actor=actor,
        verb="requeue debates",
        target=run,
        scope=run.benchmark.slug,
        data={**what, "pairs": len(keys)},
    )
    return len(keys)
