"""Who may settle what others left open: somebody who had no part in it.

Part in a pair has who voted on it or judged it from the passage alone, brought it in as gold,
gave a verdict on it, took one back, or reviewed it. Part in a weight has who wrote on the query,
scored its weights, or reviewed it.
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
    Vote,
    VoteSlot,
    WeightScore,
)
from annotate.review.authorship import authors_of
from annotate.voting.majority import ADJUDICATED
from corpus.access import Access
from corpus.models import Judgment, Query, Source
from corpus.services.judges import givers

PART = "You had a part in this. Somebody else settles it."


def parts_in_pair(query_id: int, passage_id: int) -> set[int]:
    """Keys of everybody who had a part in the pair."""
    pair = {"query": query_id, "passage": passage_id}
    # At most two: one before voters, one before a panel. A part in either is a part in the pair.
    cases = EscalationCase.objects.filter(**pair).values("pk")
    votes = Vote.objects.filter(case__in=cases)
    found: set[int | None] = set(votes.values_list("voter", flat=True))
    said = VoteSlot.objects.filter(case__in=cases, committed_at__isnull=False)
    found |= set(said.values_list("voter", flat=True))
    answered = BatchItem.objects.filter(_said(), case__in=cases)
    found |= set(answered.values_list("batch__voter", flat=True))
    found |= set(GoldPassage.objects.filter(**pair).values_list("created_by", flat=True))
    # A decision of a third person, and taking it back, is no part: a slip is put right so.
    verdicts = [
        each
        for each in Judgment.objects.filter(source=Source.EXPERT, **pair)
        if each.provenance.get("rule") != ADJUDICATED
    ]
    undone = Adjudication.objects.filter(**pair).values_list("undone_by", flat=True)
    for giver in givers(verdicts).values():
        found |= {giver.judge, *({giver.restored_by} - set(undone))}
    points = ReviewPoint.objects.filter(review__query=query_id, passage=passage_id)
    for reviewer, third in points.values_list("review__reviewer", "review__third"):
        found |= {reviewer, third}
    return {pk for pk in found if pk is not None}


def parts_in_weight(aspect: Aspect) -> set[int]:
    """Keys of everybody who had a part in the weight of the aspect."""
    scores = WeightScore.objects.filter(aspect__query=aspect.query_id)
    found: set[int | None] = {*authors_of(aspect.query), *scores.values_list("scorer", flat=True)}
    reviews = Review.objects.filter(query=aspect.query_id).values_list("reviewer", "third")
    found |= {person for pair in reviews for person in pair}
    found |= {aspect.created_by_id, aspect.updated_by_id}
    return {pk for pk in found if pk is not None}


def without_my_part(person: User) -> Q:
    """Condition on cases: nothing in the votes on their pair, or in its gold, is this person's.

    Parts that only events tell are asked when the person decides.
    """
    pair = {"query": OuterRef("query_id"), "passage": OuterRef("passage_id")}
    mine = {f"case__{name}": outer for name, outer in pair.items()}
    committed = VoteSlot.objects.filter(voter=person, committed_at__isnull=False, **mine)
    return ~(
        Exists(Vote.objects.filter(voter=person, **mine))
        | Exists(committed)
        | Exists(BatchItem.objects.filter(_said(), batch__voter=person, **mine))
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


def _said() -> Q:
    return Q(answered_at__isnull=False) | Q(committed_at__isnull=False)
