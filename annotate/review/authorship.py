"""Who wrote on a query, and who therefore may not review it.

Reviewers change weights and passages too; they are no authors by that.
"""

from collections import Counter

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q

from annotate.models import Aspect, Assignment, GoldPassage, Review, WeightScore
from annotate.rights import assignment_of
from corpus.models import Judgment, Membership, Query, Role, Source
from kit.models import Event


def authors_of(query: Query) -> set[int]:
    """Keys of everybody who wrote aspects or gave verdicts on the query, other than in reviews."""
    aspects = Aspect.objects.filter(query=query).values_list("created_by", "updated_by")
    found = {person for pair in aspects for person in pair}
    found |= set(GoldPassage.objects.filter(query=query).values_list("created_by", flat=True))
    verdicts = Judgment.objects.filter(query=query, source=Source.EXPERT)
    keys = [str(pk) for pk in verdicts.values_list("pk", flat=True)]
    events = Event.objects.filter(
        target_type=Judgment._meta.label_lower, target_id__in=keys, verb="discard passage"
    )
    found |= set(events.values_list("actor", flat=True))
    found |= set(Assignment.objects.filter(query=query).values_list("holder", flat=True))
    parts = Review.objects.filter(query=query).values_list("reviewer", "third")
    return {pk for pk in found if pk is not None} - {pk for pair in parts for pk in pair}


def is_written_by(person: User, query: str = "pk") -> Q:
    """Of rows with a query: whether the person made an aspect or a gold passage of it."""
    mine = {"query": OuterRef(query), "created_by": person}
    return Exists(Aspect.objects.filter(**mine)) | Exists(GoldPassage.objects.filter(**mine))


def author_of(query: Query) -> User | None:
    """Who answers for the query: its assignee, else who made most of its aspects or verdicts."""
    if assignment := assignment_of(query):
        return assignment.holder
    made = Aspect.objects.filter(query=query, removed_at=None).values_list("created_by", flat=True)
    given = GoldPassage.objects.standing().filter(query=query)
    for keys in (made, given.values_list("created_by", flat=True)):
        counted = Counter(pk for pk in keys if pk is not None)
        if counted:
            most = max(counted, key=lambda pk: (counted[pk], -pk))
            return User.objects.get(pk=most)
    return None


def may_review(query: Query, person: User) -> bool:
    """Whether the person is a reviewer of the query's domain who did not write on it."""
    return _is(Role.REVIEWER, query, person) and person.pk not in authors_of(query)


def weights_are_hidden(query: Query, person: User) -> bool:
    """Whether the person may still be asked to score these weights blind.

    So from every reviewer of the domain who neither wrote on the query, nor scored all its
    aspects, nor settled a review of it. An annotator keeps seeing weights that nobody wrote here
    (an import's): who works on them cannot score them blind any more (`may_score_blind`).
    """
    if not _is(Role.REVIEWER, query, person):
        return False
    authors = authors_of(query)
    if person.pk in authors or (not authors and _is(Role.ANNOTATOR, query, person)):
        return False
    if Review.objects.filter(query=query, third=person).exists():
        return False  # settled a review of it, with both weights before their eyes
    present = Aspect.objects.filter(query=query, removed_at=None)
    scored = WeightScore.objects.standing().by(person).values("aspect")
    return present.exclude(pk__in=scored).exists()


def may_score_blind(query: Query, person: User) -> bool:
    """Whether a score of this person would be blind: the weights were kept from them."""
    return may_review(query, person) and (
        weights_are_hidden(query, person)
        or WeightScore.objects.standing().by(person).filter(aspect__query=query).exists()
    )


def _is(role: str, query: Query, person: User) -> bool:
    members = Membership.objects.filter(user=person, benchmark=query.domain.benchmark_id)
    found = members.with_domains().first()
    return found is not None and role in found.roles and query.domain_id in found.domain_ids()
