"""First judgments whose givers never came back: they count as they were given."""

from django.core.exceptions import PermissionDenied
from django.utils import timezone

from annotate.models import CaseStatus, VoteSlot, VotingPlan
from annotate.services.votes import cast_vote
from kit.errors import Refused

_AT_ONCE = 50


def finish_abandoned(plan: VotingPlan) -> int:
    """Make votes of first judgments that were left for longer than the lease; how many."""
    left = VoteSlot.objects.filter(
        benchmark=plan.benchmark_id,
        vote=None,
        batch=None,
        committed_at__isnull=False,
        expires_at__lt=timezone.now(),
        case__status=CaseStatus.OPEN,
    )
    done = 0
    for slot in left.select_related("case__query__domain__benchmark", "case__passage", "voter")[
        :_AT_ONCE
    ]:
        try:
            cast_vote(
                case=slot.case,
                voter=slot.voter,  # type: ignore[arg-type]
                label=slot.first_label,
                elapsed_ms=slot.first_ms,
                # What needs marked words or a batch now did not when it was said.
                plan=VotingPlan(benchmark=plan.benchmark, reveal=plan.reveal),
            )
            done += 1
        except (Refused, PermissionDenied):  # said meanwhile, or no annotator any more
            continue
    return done
