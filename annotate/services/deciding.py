"""What the votes on a case come to: closing it, another voter, or an expert."""

from collections.abc import Sequence

from django.db.models import Max
from django.utils import timezone

from annotate.models import CaseStatus, EscalationCase, Vote, VoteSlot
from annotate.services.majority import CAP, QUOTA, RULE, Decision, decide
from annotate.services.tie_breaks import named
from annotate.services.vote_events import note
from corpus.models import Judgment, Source
from corpus.services.judgments import record_judgment


def settle(
    case: EscalationCase, *, votes: Sequence[Vote] | None = None, places: int | None = None
) -> None:
    """Close an open case, draw another voter, or send it to an expert, as its votes say.

    `votes` (the standing ones, oldest first) and the number of `places` are read where the caller
    does not know them. For a caller that holds the query, in the transaction that changed them.
    """
    if votes is None:
        votes = list(Vote.objects.standing().filter(case=case).order_by("pk"))
    decision = decide([each.label for each in votes])
    if decision.state == "open":
        if len(votes) >= QUOTA:
            _draw_another(case, len(votes), places)
        return
    judgment = _record(case, decision, [each.pk for each in votes])
    status = CaseStatus.CLOSED if decision.state == "closed" else CaseStatus.EXPERT
    EscalationCase.objects.open().filter(pk=case.pk).update(
        status=status, label=decision.label, judgment=judgment, closed_at=timezone.now()
    )
    note("close case", case, None, case, state=decision.state, label=decision.label)


def take_back_spare_places(case: EscalationCase) -> None:
    """Remove places beyond the quota that no vote asks for any more and nobody holds."""
    filled = VoteSlot.objects.filter(case=case).exclude(vote=None).count()
    if filled < QUOTA:
        free = VoteSlot.objects.free(timezone.now()).filter(case=case, place__gt=QUOTA)
        free.delete()


def _draw_another(case: EscalationCase, votes: int, places: int | None) -> None:
    if places is None:
        places = VoteSlot.objects.filter(case=case).count()
    if votes < places or places >= CAP:
        return
    highest = VoteSlot.objects.filter(case=case).aggregate(highest=Max("place"))["highest"] or 0
    case.new_slot(highest + 1).save()


def _record(case: EscalationCase, decision: Decision, vote_ids: list[int]) -> Judgment | None:
    if decision.label is None:
        return None
    return record_judgment(
        query=case.query,
        passage=case.passage,
        label=decision.label,
        source=Source.HUMAN,
        provenance={
            **named(RULE),
            "case": case.pk,
            "votes": vote_ids,
            "origin": case.origin,
        },
        held=True,
    )
