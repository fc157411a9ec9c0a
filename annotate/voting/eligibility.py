"""Who may judge which case, and who may not read yet what machines said of it."""

from collections.abc import Collection

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from annotate.exams.qualification import rule_of, standings
from annotate.models import (
    BatchItem,
    BatchStatus,
    CaseKind,
    EscalationCase,
    GoldPassage,
    SentenceGrade,
    Vote,
    VoteSlot,
    VotingPlan,
)
from corpus.access import Access
from corpus.models import Domain


def knows_pair(voter_id: int) -> Q:
    """Of a case: whether the person made its pair gold, now or before, or was shown how far
    machines say that the passage supports sentences about the query."""
    pair = {"query": OuterRef("query_id"), "passage": OuterRef("passage_id")}
    shown = {f"item__{name}": value for name, value in pair.items()}
    return Q(Exists(GoldPassage.objects.filter(created_by=voter_id, **pair))) | Q(
        Exists(SentenceGrade.objects.filter(grader=voter_id, **shown))
    )


def judged_in_batch_of(voter_id: int, case: str = "pk") -> Exists:
    """Whether a batch that the person submitted, accepted or not, contained the case."""
    items = BatchItem.objects.filter(case=OuterRef(case), batch__voter=voter_id)
    ended = (BatchStatus.ACCEPTED, BatchStatus.REJECTED)
    return Exists(items.filter(batch__status__in=ended))


def labelled_in_panel_by(voter_id: int) -> Exists:
    """Of a case: whether the person labelled its pair for a reference panel."""
    pair = {"case__query": OuterRef("query_id"), "case__passage": OuterRef("passage_id")}
    votes = Vote.objects.standing().filter(voter=voter_id, case__kind=CaseKind.REFERENCE)
    return Exists(votes.filter(**pair))


def voting_domains(access: Access, plan: VotingPlan | None = None) -> set[int]:
    """Keys of the person's domains in which they may vote: all, unless an exam is required.

    `plan`, where the caller has the current one, says without a query that none is.
    """
    rule = None if plan is not None and not plan.asks_exam else rule_of(access.benchmark)
    if rule is None or not rule.required:
        return set(access.domain_ids)
    found = standings([access.user.pk], access.domain_ids, rule)
    return {domain for (_, domain), standing in found.items() if standing}


def unqualified_domains(access: Access, plan: VotingPlan | None = None) -> list[str]:
    """Names of the person's domains in which they must pass an exam before they vote."""
    missing = set(access.domain_ids) - voting_domains(access, plan)
    rows = Domain.objects.filter(pk__in=missing).order_by("name") if missing else ()
    return [each.name for each in rows]


def kinds_for(access: Access) -> list[str]:
    """The kinds of cases that this person may judge. Admins may read what machines said of any
    pair: their word on an audited one would bound nothing."""
    kept_out = {CaseKind.REFERENCE, *([CaseKind.AUDIT] if access.is_unblinded else [])}
    return [kind for kind in CaseKind if kind not in kept_out]


def judgeable_by(
    voter_id: int, domains: Collection[int], kinds: Collection[str]
) -> QuerySet[EscalationCase]:
    """Open cases of these domains and kinds whose pair this person neither made gold, labelled in
    a panel nor judged in a batch; none of an aspect that was removed, until it is restored."""
    cases = EscalationCase.objects.open().filter(kind__in=kinds, query__domain__id__in=domains)
    cases = cases.filter(aspect__removed_at=None)
    cases = cases.exclude(knows_pair(voter_id)).exclude(labelled_in_panel_by(voter_id))
    return cases.exclude(judged_in_batch_of(voter_id))


def waiting_for(access: Access, plan: VotingPlan | None = None) -> QuerySet[EscalationCase]:
    """Open cases that this person may judge and that have a vote slot for them."""
    voter = access.user.pk
    slots = VoteSlot.objects.filter(case=OuterRef("pk"))
    unseen = ~Exists(slots.filter(voter=voter)) & Exists(slots.free(timezone.now()))
    cases = judgeable_by(voter, voting_domains(access, plan), kinds_for(access))
    return cases.filter(Exists(slots.held_by(voter)) | unseen)


def must_judge_first(
    access: Access, *, query_id: int, passage_id: int, domain_id: int
) -> EscalationCase | None:
    """The open case of the pair that this person may still vote on and has not judged.

    Until they did, they may not read the debate: not the transcript, not the positions. None for
    everybody else. Admins see everything, and know that their votes are not blind.
    """
    if not access.is_annotator or access.is_admin or domain_id not in access.domain_ids:
        return None
    open_cases = EscalationCase.objects.open().filter(query=query_id, passage=passage_id)
    voter = access.user.pk
    # One before voters, one before a panel, and those about aspects of the same query: who reads
    # what was said of one learns about the others.
    for case in open_cases.exclude(knows_pair(voter)).exclude(judged_in_batch_of(voter)):
        slots = VoteSlot.objects.filter(case=case, voter=voter)
        if not slots.exclude(vote=None, committed_at=None).exists():
            return case
    return None
