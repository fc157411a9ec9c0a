"""Commit, then reveal: what a voter says from the passage alone, before they see the positions."""

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from annotate.models import Reveal, VoteSlot
from annotate.services.vote_events import note
from annotate.services.votes import need_exam
from kit.errors import Refused


def commit_judgment(
    *, slot: VoteSlot, voter: User, label: int, elapsed_ms: int | None = None
) -> None:
    """Keep what the person says from the passage alone; from now on they see the positions.

    Never changed afterwards. Raises Refused where it was given already or the place is lost.
    """
    if label not in (0, 1):
        raise Refused("Choose relevant or not relevant.", field="label")
    if slot.arm != Reveal.AFTER:
        raise Refused("There is nothing to show after a first judgment here.")
    need_exam(slot.case, voter)
    now = timezone.now()
    with transaction.atomic():
        held = VoteSlot.objects.held_by(voter.pk).filter(pk=slot.pk, committed_at=None)
        rows = held.update(committed_at=now, first_label=label, first_ms=elapsed_ms)
        if not rows:
            raise Refused("Your first judgment was given already, or your place is taken.")
        note("first judgment", slot, voter, slot.case, case=slot.case_id, label=label)
    slot.committed_at, slot.first_label, slot.first_ms = now, label, elapsed_ms
