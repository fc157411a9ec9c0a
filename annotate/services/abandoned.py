"""First judgments whose givers never came back: they count as they were given.

The vote says so (`abandoned`): nobody knows what its giver would have said after the positions.
Where it may not become a vote any more, its place goes back to others; the judgment stays in its
event.
"""

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone

from annotate.models import CaseStatus, Vote, VoteSlot, VotingPlan
from annotate.models.slots import VoteSlotQuerySet
from annotate.services.vote_events import note
from annotate.services.votes import cast_vote
from corpus.models import Benchmark
from kit.errors import Refused

_AT_ONCE = 50


def finish_abandoned(plan: VotingPlan) -> int:
    """Make votes of first judgments that were left for longer than the lease; how many."""
    left = _left().filter(benchmark=plan.benchmark_id).order_by("expires_at")
    related = left.select_related("case__query__domain__benchmark", "case__passage", "voter")
    return sum(_finish(slot, plan) for slot in related[:_AT_ONCE])


def sweep_abandoned() -> int:
    """The same in every benchmark; the worker does it every minute."""
    benchmarks = Benchmark.objects.filter(pk__in=_left().values("benchmark"))
    return sum(finish_abandoned(VotingPlan.objects.current(each)) for each in benchmarks)


def _left() -> VoteSlotQuerySet:
    return VoteSlot.objects.filter(
        vote=None,
        batch=None,
        committed_at__isnull=False,
        expires_at__lt=timezone.now(),
        case__status=CaseStatus.OPEN,
    )


def _finish(slot: VoteSlot, plan: VotingPlan) -> bool:
    try:
        with transaction.atomic():
            vote = cast_vote(
                case=slot.case,
                voter=slot.voter,  # type: ignore[arg-type]
                label=slot.first_label,
                elapsed_ms=slot.first_ms,
                # What needs marked words or a batch now did not when it was said.
                plan=VotingPlan(benchmark=plan.benchmark, reveal=plan.reveal),
            )
            Vote.objects.filter(pk=vote.pk).update(abandoned=True)
            note("count abandoned judgment", vote, None, slot.case, case=slot.case_id)
    except (Refused, PermissionDenied) as why:
        _let_go(slot, str(why))
        return False
    return True


def _let_go(slot: VoteSlot, why: str) -> None:
    with transaction.atomic():
        same = {"pk": slot.pk, "voter": slot.voter_id, "committed_at": slot.committed_at}
        if _left().filter(**same).give_back():
            data = {"case": slot.case_id, "person": slot.voter_id, "label": slot.first_label}
            note("let go of abandoned judgment", slot, None, slot.case, why=why, **data)
