"""Who may settle what others left open: somebody who had no part in it.

People have a part in a pair who voted on it or gave a first judgment, added it as gold, gave a
verdict on it or undid one, refused it for an aspect, or reviewed it; in a weight, who wrote on the
query, scored its weights, or reviewed it.
"""

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef, Q

from annotate.models import (
    Adjudication,
    Aspect,
    BatchItem,
    EscalationCase,
    GoldPassage,
    Review,
    ReviewPoint,
    SupportLabel,
    Vote,
    VoteSlot,
    WeightScore,
)
from annotate.review.authorship import authors_of
from annotate.support.services import LABELLED
from annotate.voting.majority import ADJUDICATED
from corpus.access import Access
from corpus.judgments.services import assessors
from corpus.models import Judgment, Query, Source
from kit.models import Event

# Of an item of a batch.
_JUDGED = Q(answered_at__isnull=False) | Q(committed_at__isnull=False)
PART = "You had a part in this. Somebody else settles it."


def parts_in_pair(query_id: int, passage_id: int) -> set[int]:
    """Keys of everybody who had a part in the pair."""
    pair = {"query": query_id, "passage": passage_id}
    # One before voters, one before a panel, one an aspect. A part in any is a part in the pair.
    cases = EscalationCase.objects.filter(**pair).values("pk")
    slots = VoteSlot.objects.filter(case__in=cases, committed_at__isnull=False)
    found: set[int | None] = {
        *Vote.objects.filter(case__in=cases).values_list("voter", flat=True),
        *slots.values_list("voter", flat=True),
        *BatchItem.objects.filter(_JUDGED, case__in=cases).values_list("batch__voter", flat=True),
        *GoldPassage.objects.filter(**pair).values_list("created_by", flat=True),
    }
    # A decision of a third person, and undoing it, is no part: so a slip is corrected.
    verdicts = [
        each
        for each in Judgment.objects.filter(source=Source.EXPERT, **pair)
        if each.provenance.get("rule") != ADJUDICATED
    ]
    undone = Adjudication.objects.filter(**pair).values_list("undone_by", flat=True)
    for assessor in assessors(verdicts).values():
        found |= {assessor["person"], *({assessor["restored_by"]} - set(undone))}
    refused = SupportLabel.objects.filter(
        aspect__query=query_id, passage=passage_id, source=Source.EXPERT
    ).values_list("pk", "provenance")
    # What was restored is found as it was first given.
    own = [str(pk) for pk, given in refused
           if given.get("rule") != ADJUDICATED and "restored" not in given]  # fmt: skip
    kind = SupportLabel._meta.label_lower
    events = Event.objects.filter(target_type=kind, target_id__in=own, verb=LABELLED)
    found.update(events.values_list("actor", flat=True))
    points = ReviewPoint.objects.filter(review__query=query_id, passage=passage_id)
    found.update(*points.values_list("review__reviewer", "review__third"))
    return {pk for pk in found if pk is not None}


def parts_in_weight(aspect: Aspect) -> set[int]:
    """Keys of everybody who had a part in the weight of the aspect."""
    scores = WeightScore.objects.filter(aspect__query=aspect.query_id)
    reviews = Review.objects.filter(query=aspect.query_id).values_list("reviewer", "third")
    found: set[int | None] = {aspect.created_by_id, aspect.updated_by_id}
    found.update(authors_of(aspect.query), scores.values_list("scorer", flat=True), *reviews)
    return {pk for pk in found if pk is not None}


def without_my_part(person: User) -> Q:
    """Condition on cases: nothing in the votes on their pair, or in its gold, is this person's.

    Parts that only events record are looked up when the person decides.
    """
    pair = {"query": OuterRef("query_id"), "passage": OuterRef("passage_id")}
    mine = {f"case__{name}": outer for name, outer in pair.items()}
    committed = VoteSlot.objects.filter(voter=person, committed_at__isnull=False, **mine)
    return ~(
        Exists(Vote.objects.filter(voter=person, **mine))
        | Exists(committed)
        | Exists(BatchItem.objects.filter(_JUDGED, batch__voter=person, **mine))
        | Exists(GoldPassage.objects.filter(created_by=person, **pair))
    )


def require_third(access: Access, query: Query, parts: set[int]) -> None:
    """Raise PermissionDenied unless this person may settle it: an admin, or a reviewer of the
    domain, who is not one of `parts`."""
    is_theirs = access.is_reviewer and query.domain_id in access.domain_ids
    if not (access.is_admin or is_theirs):
        raise PermissionDenied("Admins and reviewers of this domain settle what stays open.")
    if access.user.pk in parts:
        raise PermissionDenied(PART)
