"""Who may judge what: conditions on places and cases, for one query each."""

from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from annotate.models import BatchItem, BatchStatus, EscalationCase, GoldPassage, VoteSlot
from corpus.access import Access


def brought_in_by(voter_id: int) -> Exists:
    """Of a case: whether the person made its pair gold, now or before."""
    pair = {"query": OuterRef("query_id"), "passage": OuterRef("passage_id")}
    return Exists(GoldPassage.objects.filter(created_by=voter_id, **pair))


def judged_in_batch_of(voter_id: int, case: str = "pk") -> Exists:
    """Whether a batch of the person that was handed in, accepted or not, held the case."""
    items = BatchItem.objects.filter(case=OuterRef(case), batch__voter=voter_id)
    ended = (BatchStatus.ACCEPTED, BatchStatus.REJECTED)
    return Exists(items.filter(batch__status__in=ended))


def judgeable_cases(access: Access) -> QuerySet[EscalationCase]:
    """Open cases of the person's domains that they neither brought in nor judged in a batch."""
    voter = access.user.pk
    cases = EscalationCase.objects.open().filter(query__domain__in=access.domain_ids)
    return cases.exclude(brought_in_by(voter)).exclude(judged_in_batch_of(voter))


def waiting_for(access: Access) -> QuerySet[EscalationCase]:
    """Those of them that have a place for this person."""
    voter = access.user.pk
    slots = VoteSlot.objects.filter(case=OuterRef("pk"))
    unseen = ~Exists(slots.filter(voter=voter)) & Exists(slots.free(timezone.now()))
    return judgeable_cases(access).filter(Exists(slots.held_by(voter)) | unseen)
