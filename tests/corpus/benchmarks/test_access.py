"""Fetching and authorising in one step: strangers get 404, members without the right 403."""

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.http import Http404

from corpus.access import enter, get_own_query, get_passage, get_query
from corpus.models import CorpusVersion, Membership, Role, VersionState
from tests.factories import make_benchmark, make_member, make_passage, make_query, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def benchmark():
    return make_benchmark(domains=("biology", "robotics"))


def test_member_enters_with_every_role_they_have(benchmark) -> None:
    access = enter(make_member(benchmark, "both", "annotator", "reviewer"), "demo")
    assert (access.is_annotator, access.is_reviewer, access.is_admin) == (True, True, False)
    assert access.benchmark == benchmark


@pytest.mark.parametrize("slug", ["demo", "nowhere", "", "DEMO"])
def test_for_strangers_a_benchmark_does_not_exist(benchmark, slug) -> None:
    make_member(benchmark, "member", "admin")
    for person in (make_user("stranger"), AnonymousUser()):
        with pytest.raises(Http404):
            enter(person, slug)
        with pytest.raises(Http404):
            enter(person, slug, Role.ADMIN)


def test_staff_and_superusers_are_strangers_too(benchmark) -> None:
    user = make_user("staff")
    user.is_staff = user.is_superuser = True
    user.save()
    with pytest.raises(Http404):
        enter(user, "demo")


def test_member_of_another_benchmark_is_a_stranger(benchmark) -> None:
    with pytest.raises(Http404):
        enter(make_member(make_benchmark("other"), "x", "admin"), "demo")


@pytest.mark.parametrize("role", Role.values)
def test_member_without_the_role_is_refused(benchmark, role) -> None:
    user = make_member(benchmark, "member", role)
    assert enter(user, "demo", role).user == user
    assert enter(user, "demo", *Role.values).user == user
    others = [other for other in Role.values if other != role]
    with pytest.raises(PermissionDenied, match=" or ".join(others)):
        enter(user, "demo", *others)


def test_membership_without_any_role_reads_and_does_nothing_else(benchmark) -> None:
    user = make_member(benchmark, "member")
    assert enter(user, "demo").membership.roles == []
    with pytest.raises(PermissionDenied):
        enter(user, "demo", *Role.values)


def test_right_that_was_taken_away_is_gone_at_once(benchmark) -> None:
    user = make_member(benchmark, "member", "admin")
    Membership.objects.update(roles=["annotator"])
    with pytest.raises(PermissionDenied):
        enter(user, "demo", Role.ADMIN)
    Membership.objects.all().delete()
    with pytest.raises(Http404):
        enter(user, "demo")


def test_query_is_reached_through_its_own_benchmark_only(benchmark) -> None:
    access = enter(make_member(benchmark, "member", "annotator"), "demo")
    mine, foreign = make_query(benchmark), make_query(make_benchmark("other"))
    assert get_query(access, mine.pk) == mine
    for pk in (foreign.pk, 0, 10**30):
        with pytest.raises(Http404):
            get_query(access, pk)


def test_query_of_another_domain_is_seen_but_not_ones_own(benchmark) -> None:
    user = make_member(benchmark, "member", "annotator", domains=("robotics",))
    access = enter(user, "demo")
    own = make_query(benchmark, "r", "robotics")
    other = make_query(benchmark, "b", "biology")
    assert get_own_query(access, own.pk) == own
    assert get_query(access, other.pk) == other
    with pytest.raises(PermissionDenied):
        get_own_query(access, other.pk)


def test_passage_is_reached_when_its_version_is_ready(benchmark) -> None:
    access = enter(make_member(benchmark, "member", "annotator"), "demo")
    passage, foreign = make_passage(benchmark), make_passage(make_benchmark("other"))
    assert get_passage(access, passage.pk) == passage
    with pytest.raises(Http404):
        get_passage(access, foreign.pk)
    CorpusVersion.objects.update(state=VersionState.LOADING)
    with pytest.raises(Http404):
        get_passage(access, passage.pk)
