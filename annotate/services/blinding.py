"""Keeping what machines said of a pair from those who still judge it."""

from annotate.models import EscalationCase, VoteSlot
from annotate.services.eligibility import brought_in_by, judged_in_batch_of
from corpus.access import Access


def must_judge_first(
    access: Access, *, query_id: int, passage_id: int, domain_id: int
) -> EscalationCase | None:
    """The open case of the pair that this person may still vote on and has said nothing of.

    Until they did, they may not read the debate: not the transcript, not the positions. None for
    everybody else. Admins see everything, and know that their votes are not blind.
    """
    if not access.is_annotator or access.is_admin or domain_id not in access.domain_ids:
        return None
    open_cases = EscalationCase.objects.open().filter(query=query_id, passage=passage_id)
    voter = access.user.pk
    # At most two: one before voters, one before a panel.
    for case in open_cases.exclude(brought_in_by(voter)).exclude(judged_in_batch_of(voter)):
        slot = VoteSlot.objects.filter(case=case, voter=voter).first()
        said = slot is not None and (slot.vote_id is not None or slot.is_committed)
        if not said:
            return case
    return None
