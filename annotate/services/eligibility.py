"""Who may judge what: conditions on places and cases, for one query each."""

from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from annotate.models import BatchItem, BatchStatus, EscalationCase, GoldPassage, VoteSlot
from annotate.services.qualification import rule_of, standing_of
from corpus.access import Access
from corpus.models import Domain


def brought_in_by(voter_id: int) -> Exists:
    """Of a case: whether the person made its pair gold, now or before."""
    pair = {"query": OuterRef("query_id"), "passage": OuterRef("passage_id")}
    return Exists(GoldPassage.objects.filter(created_by=voter_id, **pair))


def judged_in_batch_of(voter_id: int, case: str = "pk") -> Exists:
    """Whether a batch of the person that was handed in, accepted or not, held the case."""
    items = BatchItem.objects.filter(case=OuterRef(case), batch__voter=voter_id)
    ended = (BatchStatus.ACCEPTED, BatchStatus.REJECTED)
    return Exists(items.filter(batch__status__in=ended))


def voting_domains(access: Access) -> set[int]:
    """Keys of the person's domains in which they may vote: all, unless an exam is required."""
    rule = rule_of(access.benchmark)
    if not rule.required:
        return set(access.domain_ids)
    domains = Domain.objects.filter(pk__in=access.domain_ids)
    return {each.pk for each in domains if standing_of(access.user, each, rule)}


def unqualified_domains(access: Access) -> list[str]:
    """Names of the person's domains in which an exam stands before the first vote."""
    missing = set(access.domain_ids) - voting_domains(access)
    names = Domain.objects.filter(pk__in=missing).order_by("name") if missing else ()
    return [each.name for each in names]


def judgeable_cases(access: Access) -> QuerySet[EscalationCase]:
    """Open cases of domains they may vote in, neither brought in nor judged in a batch by them."""
    voter = access.user.pk
    cases = EscalationCase.objects.open().filter(query__domain__in=voting_domains(access))
    return cases.exclude(brought_in_by(voter)).exclude(judged_in_batch_of(voter))


def waiting_for(access: Access) -> QuerySet[EscalationCase]:
    """Those of them that have a place for this person."""
    voter = access.user.pk
    slots = VoteSlot.objects.filter(case=OuterRef("pk"))
    unseen = ~Exists(slots.filter(voter=voter)) & Exists(slots.free(timezone.now()))
    return judgeable_cases(access).filter(Exists(slots.held_by(voter)) | unseen)
