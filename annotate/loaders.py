"""Fetch and authorise in one step what a screen or route of this room is about."""

from uuid import UUID

from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.http import Http404

from annotate.models import Aspect, EscalationCase
from annotate.review.authorship import weights_are_hidden
from corpus.access import Access, enter, first_or_404, get_own_query
from corpus.models import Passage, Query, Role
from kit.database.prepared import Prepared
from kit.errors import Refused
from kit.numbers import number

Person = User | AnonymousUser

# Asked with every vote; the text of the page is not.
_CASE = Prepared(
    lambda public_id, benchmark: (
        EscalationCase.objects.of_voters()
        .filter(public_id=public_id, query__domain__benchmark=benchmark)
        .select_related("query__domain__benchmark", "passage__document")
        .defer("passage__document__text")
    )
)


def get_case(access: Access, public_id: UUID) -> EscalationCase:
    """A case of this benchmark that voters are asked about, or 404."""
    found = _CASE.first(public_id=public_id, benchmark=access.benchmark.pk)
    if found is None:
        raise Http404("No such case.")
    return found


def get_own_case(access: Access, public_id: UUID) -> EscalationCase:
    """A case in one of the person's own domains: 404 outside the benchmark, 403 outside them."""
    case = get_case(access, public_id)
    if case.query.domain_id not in access.domain_ids:
        raise PermissionDenied("This case belongs to a domain that is not yours.")
    return case


def enter_query(person: Person, slug: str, pk: int) -> tuple[Access, Query]:
    """A query that the person may annotate, with their access: 403 for everybody else."""
    access = enter(person, slug, Role.ANNOTATOR)
    query = get_own_query(access, pk)
    _refuse_blind(access, query)
    return access, query


def enter_aspect(person: Person, slug: str, pk: int) -> tuple[Access, Aspect]:
    """An aspect that the person may edit, with their access."""
    access = enter(person, slug, Role.ANNOTATOR)
    aspects = Aspect.objects.filter(query__domain__benchmark=access.benchmark)
    rows = aspects.select_related("query__domain__benchmark").filter(pk=pk)
    found = first_or_404(rows, "aspect")
    get_own_query(access, found.query_id)
    _refuse_blind(access, found.query)
    return access, found


def enter_passage(
    person: Person, slug: str, pk: int, passage_pk: int
) -> tuple[Access, Query, Passage]:
    """As `enter_query`, with a passage of the query's domain."""
    access, query = enter_query(person, slug, pk)
    return access, query, get_domain_passage(query, passage_pk)


def may_write(access: Access, query: Query) -> bool:
    """Whether the person may annotate this query; everybody else reads."""
    is_own = access.is_annotator and query.domain_id in access.domain_ids
    return is_own and not is_blind(access, query)


def is_blind(access: Access, query: Query) -> bool:
    """Whether the query's weights are kept from this person, who may have to score them blind."""
    return access.is_reviewer and weights_are_hidden(query, access.user)


def _refuse_blind(access: Access, query: Query) -> None:
    if is_blind(access, query):
        raise PermissionDenied(
            "Others work on this query. As a reviewer you may be asked to score its weights "
            "without having seen them, so you cannot write on it."
        )


def get_domain_passage(query: Query, pk: int) -> Passage:
    """A visible passage of the query's own domain, or 404."""
    passages = Passage.objects.shown().filter(pk=pk, domain_id=query.domain_id)
    return first_or_404(passages.select_related("document", "domain"), "passage")


def present_aspect(query: Query, pk: str | int | None) -> Aspect:
    """An aspect of the query that was not removed, by its key as a form sends it; or Refused."""
    rows = Aspect.objects.filter(query=query, pk=number(str(pk)) or 0)
    found = rows.present().first()
    if found is None:
        raise Refused("This aspect is gone. Choose another one.", field="aspect")
    return found


def as_public_id(text: str) -> UUID | None:
    """The public id of a case from an address or a form; None for any other text."""
    try:
        return UUID(text)
    except ValueError:
        return None
