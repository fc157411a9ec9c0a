"""Who may see and do what in a benchmark: every view and route comes through here.

Strangers get 404 (a benchmark they have nothing to do with does not exist for them); members
without the needed role get 403. The object is fetched and the right is checked in one step, so
neither can be forgotten.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import Http404

from corpus.benchmarks.archive import refuse_archived
from corpus.models import Benchmark, Membership, Passage, Query, Role
from kit.account.factor import NeedsFactor, lacks_factor
from kit.account.tokens import may_administer
from kit.database.prepared import Prepared
from kit.health.logs import request_now

_Row = TypeVar("_Row", bound=Model)


@dataclass
class Access:
    """One person's place in one benchmark; templates read it as `access`."""

    user: User
    benchmark: Benchmark
    membership: Membership
    # An admin of the benchmark whose token leaves that role aside.
    is_admin_otherwise: bool = False

    @property
    def is_admin(self) -> bool:
        """May load, assign, run, release."""
        return Role.ADMIN in self.membership.roles

    @property
    def is_reviewer(self) -> bool:
        """May review others' work."""
        return Role.REVIEWER in self.membership.roles

    @property
    def is_annotator(self) -> bool:
        """May annotate and vote."""
        return Role.ANNOTATOR in self.membership.roles

    @property
    def is_voter(self) -> bool:
        """May be asked to judge a pair blind. Admins see everything, and know that their votes
        are not blind."""
        return self.is_annotator and not self.is_admin

    @property
    def is_unblinded(self) -> bool:
        """May read what machines said of any pair, here or without this token: judges no audit."""
        return self.is_admin or self.is_admin_otherwise

    @cached_property
    def domain_ids(self) -> set[int]:
        """Domains the person works in."""
        return self.membership.domain_ids()


# Asked with every page.
_MEMBERSHIP = Prepared(
    lambda slug, user: (
        Membership.objects.with_domains()
        .filter(benchmark__slug=slug, user=user)
        .select_related("benchmark", "user")
        .order_by()
    )
)


_LOOKS = frozenset({"GET", "HEAD", "OPTIONS"})


def enter(
    user: User | AnonymousUser, slug: str, *roles: str, even_archived: bool = False
) -> Access:
    """Fetch the benchmark for this person; with roles, require one of them.

    Raises Http404 for strangers, PermissionDenied for members without any of the roles and for
    admins without the second factor that the site asks for, and
    Refused for a request that would write into an archived benchmark, unless `even_archived`.
    """
    if not isinstance(user, User):
        raise Http404("No such benchmark.")
    found = _MEMBERSHIP.first(slug=slug, user=user.pk)
    if found is None:
        raise Http404("No such benchmark.")
    is_otherwise = Role.ADMIN in found.roles and not may_administer(user)
    if is_otherwise:
        found.roles = [role for role in found.roles if role != Role.ADMIN]
    if roles and not set(roles) & set(found.roles):
        raise PermissionDenied(f"This needs the role {' or '.join(roles)}.")
    request = request_now.get()
    if Role.ADMIN in found.roles and lacks_factor(request):
        raise NeedsFactor
    if request is not None and request.method not in _LOOKS and not even_archived:
        refuse_archived(found.benchmark)
    access = Access(user, found.benchmark, found, is_otherwise)
    if request is not None:
        request.entered = access  # type: ignore[attr-defined]
    return access


def enter_unblinded(user: User | AnonymousUser, slug: str, *roles: str) -> Access:
    """As `enter`, for what tells how machines judged pairs: PermissionDenied for who votes."""
    access = enter(user, slug, *roles)
    refuse_voter(access)
    return access


def refuse_voter(access: Access) -> None:
    """Raise PermissionDenied for who votes: to them what machines said is kept back."""
    if access.is_voter:
        raise PermissionDenied(
            "You vote here, so what machines said of the pairs is kept from you. Admins may read "
            "it, and reviewers who are no annotators."
        )


def get_query(access: Access, pk: int) -> Query:
    """A query of this benchmark, or 404."""
    return first_or_404(Query.objects.in_benchmark(access.benchmark).filter(pk=pk), "query")


def get_own_query(access: Access, pk: int) -> Query:
    """A query in one of the person's own domains: 404 outside the benchmark, 403 outside them."""
    query = get_query(access, pk)
    if query.domain_id not in access.domain_ids:
        raise PermissionDenied("This query belongs to a domain that is not yours.")
    return query


def get_passage(access: Access, pk: int) -> Passage:
    """A visible passage of this benchmark, or 404."""
    passages = Passage.objects.shown().filter(pk=pk, domain__benchmark=access.benchmark)
    return first_or_404(passages.select_related("domain", "document"), "passage")


def finder(
    model: type[_Row], *related: str, at: str = "benchmark", unblinded: bool = False
) -> Callable[[Access, int], _Row]:
    """What fetches a row of the model by its key, with the benchmark, which it names `at` a field
    or further on, and with what it is `related` to; or Http404.

    With `unblinded` it is kept from who votes: PermissionDenied.
    """

    def find(access: Access, pk: int) -> _Row:
        if unblinded:
            refuse_voter(access)
        rows = model._default_manager.filter(**{at: access.benchmark}, pk=pk)
        return first_or_404(rows.select_related(at, *related), str(model._meta.verbose_name))

    return find


def first_or_404(rows: QuerySet[_Row], noun: str) -> _Row:
    """The row, or Http404 in words."""
    found = rows.first()
    if found is None:
        raise Http404(f"No such {noun}.")
    return found
