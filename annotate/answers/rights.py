"""Who may write, see and rate reference answers.

While a comparison is open, whoever may rate a query's answers does not see them outside of it, and
whoever still has to write one does not see the model's (docs/answers.md).
"""

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef, Q, QuerySet

from annotate.models import AnswerPair, Assignment, ReferenceAnswer
from annotate.rights import assignment_of, may_annotate
from corpus.access import Access
from corpus.judgments.services import hold_queries
from corpus.models import Membership, Query, Role

HIDDEN = (
    "You may be asked to rate the answers to this query without knowing whose they are, so they "
    "are kept from you until the comparison is closed."
)


def open_pairs() -> QuerySet[AnswerPair]:
    """Pairs of comparisons that still take ratings."""
    return AnswerPair.objects.filter(comparison__closed_at=None)


def wrote_answers(query: Query) -> set[int]:
    """Keys of everybody who wrote an answer to the query, or is assigned to write one."""
    written = ReferenceAnswer.objects.filter(query=query).by_people()
    found = set(written.values_list("created_by", flat=True))
    found |= set(Assignment.objects.standing().filter(query=query).values_list("holder", flat=True))
    return {pk for pk in found if pk is not None}


def hidden_queries(access: Access) -> QuerySet[Query]:
    """Queries whose answers are kept from this person: they may rate them in an open comparison."""
    if not access.is_reviewer:
        return Query.objects.none()
    mine = ReferenceAnswer.objects.by_people().filter(query=OuterRef("pk"), created_by=access.user)
    held = Assignment.objects.standing().filter(query=OuterRef("pk"), holder=access.user)
    return (
        Query.objects.in_benchmark(access.benchmark)
        .filter(domain_id__in=access.domain_ids)
        .filter(Exists(open_pairs().filter(query=OuterRef("pk"))))
        .exclude(Exists(mine) | Exists(held))
    )


def answers_are_hidden(access: Access, query: Query) -> bool:
    """Whether the query's answers are kept from this person."""
    return hidden_queries(access).filter(pk=query.pk).exists()


def model_is_hidden(access: Access, query: Query) -> bool:
    """Whether a model's answer is kept from this person, who is to write one without it.

    So from annotators of the domain while an open comparison lacks the query's own answer by a
    person.
    """
    if not access.is_annotator or query.domain_id not in access.domain_ids:
        return False
    written = ReferenceAnswer.objects.standing().independent().filter(query=OuterRef("query"))
    awaited = open_pairs().filter(query=query, human=None).exclude(Exists(written))
    return awaited.exists()


def why_not_answer(access: Access, query: Query) -> str:
    """Why this person may not write an answer here; "" if they may."""
    if not access.is_annotator or query.domain_id not in access.domain_ids:
        return "Annotators of this domain write answers. You can read them."
    if answers_are_hidden(access, query):
        return HIDDEN
    assignment = assignment_of(query)
    if assignment is not None and assignment.holder_id != access.user.pk:
        return f"{assignment.holder} works on this query. You can read its answers."
    return ""


def require_writer(access: Access, query: Query) -> None:
    """Raise PermissionDenied, with the reason, unless the person may write an answer here."""
    if reason := why_not_answer(access, query):
        raise PermissionDenied(reason)


def require_answer_reviewer(access: Access, query: Query) -> None:
    """Raise PermissionDenied unless the person may review the query's answers."""
    if not may_review_answers(access, query):
        raise PermissionDenied("Another reviewer of this domain has to look at this answer.")


def lock_for_answer(query: Query, actor: User) -> None:
    """Hold the query until the transaction ends, for somebody who may write an answer to it.

    Answers follow the work on aspects and passages, so they can be written whatever its state.
    Raises PermissionDenied with what stands in the way.
    """
    hold_queries([query.pk])
    if not may_annotate(query, actor):
        raise PermissionDenied("Only annotators of this domain may change this.")
    require_writer(access_of(query, actor), query)


def lock_for_choice(query: Query, actor: User) -> None:
    """The same for choosing what is published, which admins may do as well."""
    membership = Membership.objects.filter(user=actor, benchmark=query.domain.benchmark_id).first()
    if membership is not None and Role.ADMIN in membership.roles:
        hold_queries([query.pk])
        if answers_are_hidden(access_of(query, actor), query):
            raise PermissionDenied(HIDDEN)
        return
    lock_for_answer(query, actor)


def may_review_answers(access: Access, query: Query) -> bool:
    """Whether the person may say of this query's answers whether they are fine."""
    is_own = access.is_reviewer and query.domain_id in access.domain_ids
    return (
        is_own
        and access.user.pk not in wrote_answers(query)
        and not answers_are_hidden(access, query)
    )


def access_of(query: Query, actor: User) -> Access:
    """A member's place in the query's benchmark."""
    where = Q(user=actor, benchmark=query.domain.benchmark_id)
    found = Membership.objects.select_related("benchmark", "user").get(where)
    return Access(user=actor, benchmark=found.benchmark, membership=found)
