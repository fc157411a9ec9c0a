"""Who may write, see and rate reference answers.

While a comparison is open, whoever may rate a query's answers does not see them outside of it, and
whoever still has to write one does not see the model's (docs/answers.md).
"""

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef, Q, QuerySet

from annotate.models import AnswerAuthor, AnswerPair, Assignment, ReferenceAnswer
from annotate.rights import assignment_of, require_annotator
from corpus.access import Access, enter
from corpus.judgments.services import lock_queries
from corpus.models import Query

HIDDEN = (
    "You may be asked to rate the answers to this query without knowing whose they are, so they "
    "are kept from you until the comparison is closed."
)


def answers_here(person: User, query: str = "pk") -> Q:
    """Of rows with a query: whether the person wrote an answer to it, or is assigned to."""
    written = ReferenceAnswer.objects.by_people().filter(query=OuterRef(query), created_by=person)
    assigned = Assignment.objects.standing().filter(query=OuterRef(query), holder=person)
    return Exists(written) | Exists(assigned)


def hidden_queries(access: Access) -> QuerySet[Query]:
    """Queries whose answers are kept from this person: they may rate them in an open comparison."""
    if not access.is_reviewer:
        return Query.objects.none()
    pairs = AnswerPair.objects.filter(query=OuterRef("pk"), comparison__closed_at=None)
    own = Query.objects.in_benchmark(access.benchmark).filter(domain_id__in=access.domain_ids)
    return own.filter(Exists(pairs)).exclude(answers_here(access.user))


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
    awaited = AnswerPair.objects.filter(query=query, comparison__closed_at=None, human=None)
    return awaited.exclude(Exists(written)).exists()


def refuse_unseen(answer: ReferenceAnswer, actor: User) -> None:
    """A model's answer that is kept from somebody is neither restored nor chosen by them."""
    if answer.author == AnswerAuthor.MODEL and model_is_hidden(
        _place_of(actor, answer.query), answer.query
    ):
        raise PermissionDenied("Write your own answer first: it is compared with the model's.")


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


def may_review_answers(access: Access, query: Query) -> bool:
    """Whether the person may say of this query's answers whether they are fine."""
    if not access.is_reviewer or query.domain_id not in access.domain_ids:
        return False
    is_own = Query.objects.filter(answers_here(access.user), pk=query.pk).exists()
    return not is_own and not answers_are_hidden(access, query)


def require_answer_reviewer(access: Access, query: Query) -> None:
    """Raise PermissionDenied unless the person may review the query's answers."""
    if not may_review_answers(access, query):
        raise PermissionDenied("Another reviewer of this domain has to look at this answer.")


def lock_for_answer(query: Query, actor: User) -> None:
    """Lock the query until the transaction ends, for somebody who may write an answer to it.

    Answers follow the work on aspects and passages, so they can be written whatever its state.
    Raises PermissionDenied with the reason.
    """
    lock_queries([query.pk])
    require_annotator(query, actor)
    require_writer(_place_of(actor, query), query)


def lock_for_choice(query: Query, actor: User) -> None:
    """The same for choosing what is published, which admins may do as well."""
    access = _place_of(actor, query)
    if not access.is_admin:
        lock_for_answer(query, actor)
        return
    lock_queries([query.pk])
    if answers_are_hidden(access, query):
        raise PermissionDenied(HIDDEN)


def _place_of(actor: User, query: Query) -> Access:
    return enter(actor, query.domain.benchmark.slug)
