"""Who may judge what: conditions on places and cases, for one query each."""

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from annotate.models import BatchItem, BatchStatus, EscalationCase, GoldPassage, VoteSlot
from corpus.access import Access
from corpus.models import Domain, Membership


def own_domains(access: Access) -> QuerySet[Domain]:
    """The domains the person works in; every ready one where none was chosen."""
    chosen = Membership.domains.through.objects.filter(membership=access.membership.pk)
    everywhere = Q(~Exists(chosen), is_ready=True)
    domains = Domain.objects.filter(benchmark=access.benchmark).order_by()
    return domains.filter(everywhere | Q(pk__in=chosen.values("domain_id")))


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
    cases = EscalationCase.objects.open().filter(query__domain__in=own_domains(access))
    return cases.exclude(brought_in_by(voter)).exclude(judged_in_batch_of(voter))


def waiting_for(access: Access) -> QuerySet[EscalationCase]:
    """Those of them that have a place for this person."""
    voter = access.user.pk
    slots = VoteSlot.objects.filter(case=OuterRef("pk"))
    unseen = ~Exists(slots.filter(voter=voter)) & Exists(slots.free(timezone.now()))
    return judgeable_cases(access).filter(Exists(slots.held_by(voter)) | unseen)
