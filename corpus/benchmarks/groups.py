"""Groups of the identity provider become roles and domains (`OIDC_GROUPS`)."""

import logging
from collections.abc import Collection

from django.conf import settings
from django.contrib.auth.models import User

from corpus.benchmarks.services import change_person, join, remove_person
from corpus.models import Benchmark, Domain, Membership
from kit.errors import Refused

logger = logging.getLogger(__name__)


def place_by_groups(user: User, groups: Collection[str]) -> None:
    """Give a person the places of their groups in every benchmark that `OIDC_GROUPS` names.

    There the provider decides: who is in none of its groups any more is no member any more. What
    cannot be (the last admin would go) stays as it is and is logged.
    """
    named = settings.OIDC_GROUPS
    places = [named[group] for group in groups if group in named]
    for slug in {place["benchmark"] for place in named.values()}:
        benchmark = Benchmark.objects.filter(slug=slug).first()
        if benchmark is None:
            logger.warning("OIDC_GROUPS: there is no benchmark %s", slug)
            continue
        if benchmark.archived_at is not None:
            continue
        try:
            _place(user, benchmark, [each for each in places if each["benchmark"] == slug])
        except Refused as error:
            logger.warning("OIDC_GROUPS: user %s in %s: %s", user.pk, slug, error)


def _place(user: User, benchmark: Benchmark, places: list[dict[str, list[str]]]) -> None:
    """As the places say, taken together: a place without domains is for every domain."""
    membership = Membership.objects.filter(user=user, benchmark=benchmark).first()
    if not places:
        if membership is not None:
            remove_person(membership=membership, actor=None)
        return
    roles = sorted({role for place in places for role in place["roles"]})
    names = {name for place in places for name in place.get("domains", ())}
    if any(not place.get("domains") for place in places):
        names = set()
    domains = list(Domain.objects.filter(benchmark=benchmark, name__in=names))
    if len(domains) < len(names):
        raise Refused(f"It has no domains {sorted(names - {each.name for each in domains})}.")
    if membership is None:
        join(benchmark=benchmark, user=user, roles=roles, domains=domains, actor=None)
    elif (sorted(membership.roles), {*membership.domains.all()}) != (roles, {*domains}):
        change_person(membership=membership, roles=roles, domains=domains, actor=None)
