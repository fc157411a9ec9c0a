"""Accounts deactivated, renamed and erased: on the screen, by the API and from the terminal."""

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from corpus.benchmarks.services import add_people
from corpus.models import Membership
from kit import audit
from kit.account.links import create_link, find_link
from kit.account.people import ERASED, erase
from kit.errors import Refused
from kit.models import ApiToken, Event, ProviderIdentity
from tests.factories import make_benchmark, make_member, make_token, make_user
from tests.markup import one_line

pytestmark = pytest.mark.django_db
WORDS = "a-long-and-odd-phrase-77"


@pytest.fixture
def ann() -> User:
    return User.objects.create_user("ann", email="ann@example.org", password=WORDS)


@pytest.fixture
def root(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("root"))
    return client


def signed_in(name: str) -> Client:
    browser = Client()
    browser.post(reverse("sign-in"), {"username": name, "password": WORDS})
    return browser


def is_in(browser: Client) -> bool:
    return browser.get(reverse("account")).status_code == 200


def test_a_deactivated_person_gets_in_by_no_way_until_reactivated(ann, root) -> None:
    browser, link = signed_in("ann"), create_link(user=ann)
    script = Client(headers={"Authorization": f"Token {make_token(ann)}"})
    assert is_in(browser)
    root.post(reverse("site-person-verb", args=[ann.pk, "deactivate"]))
    assert not is_in(browser)
    assert not is_in(signed_in("ann"))
    assert find_link(link) is None
    assert script.get(reverse("api-benchmarks")).status_code == 401
    root.post(reverse("api-account-reactivate", args=[ann.pk]))
    assert not is_in(browser)  # that session has ended
    assert is_in(signed_in("ann"))
    assert script.get(reverse("api-benchmarks")).status_code == 200
    said = Event.objects.filter(target_id=ann.pk, target_type="auth.user").order_by("pk")
    assert list(said.values_list("verb", "actor__username")) == [
        ("deactivate account", "root"),
        ("reactivate account", "root"),
    ]


def test_a_new_name_is_nobody_elses_and_stands_in_no_event(ann, root) -> None:
    make_user("b0b")
    url = reverse("site-person", args=[ann.pk])
    assert "reads like b0b" in one_line(root.post(url, {"username": "bob"}))
    assert "letters, digits" in one_line(root.post(url, {"username": "a b"}))
    root.post(url, {"username": "Ann"})  # her own in other letters
    assert User.objects.get(pk=ann.pk).username == "Ann"
    root.put(
        reverse("api-one-account", args=[ann.pk]),
        {"username": "anna"},
        content_type="application/json",
    )
    assert User.objects.get(pk=ann.pk).username == "anna"
    assert not [each for each in Event.objects.all() if "ann" in str(each.data).lower()]


def test_erased_nothing_says_who_it_was_and_decisions_stay(ann, root) -> None:
    benchmark = make_benchmark("garden")
    make_member(benchmark, "boss", "admin")
    Membership.objects.create(user=ann, benchmark=benchmark, roles=["annotator"])
    ProviderIdentity.objects.create(user=ann, issuer="https://idp.example", subject="ann-77")
    make_token(ann)
    event = audit.record(actor=ann, verb="vote", target=benchmark, scope="garden")
    browser = signed_in("ann")
    url = reverse("site-person-verb", args=[ann.pk, "erase"])
    root.post(url, {"username": "anne"})
    assert is_in(browser)
    root.post(url, {"username": "ann"})
    assert not is_in(browser)
    gone = User.objects.get(pk=ann.pk)
    assert gone.username.startswith(ERASED)
    assert (gone.email, gone.is_active, gone.has_usable_password()) == ("", False, False)
    assert not ApiToken.objects.filter(user=ann)
    assert not ProviderIdentity.objects.exists()
    assert not Membership.objects.filter(user=ann)
    assert Event.objects.get(pk=event.pk).actor == gone
    for again in (url, reverse("site-person-verb", args=[ann.pk, "reactivate"])):
        root.post(again, {"username": gone.username})
    assert User.objects.get(pk=ann.pk).username == gone.username
    assert not User.objects.get(pk=ann.pk).is_active


def test_the_last_admin_of_a_benchmark_is_not_erased(ann) -> None:
    benchmark = make_benchmark("garden")
    Membership.objects.create(user=ann, benchmark=benchmark, roles=["admin"])
    with pytest.raises(Refused, match="at least one admin"):
        erase(person=ann, actor=None)
    assert User.objects.get(pk=ann.pk).username == "ann"


def test_staff_look_superusers_act_and_nobody_on_themselves(ann, root) -> None:
    helper = User.objects.create_user("helper", password=WORDS, is_staff=True)
    browser = signed_in("helper")
    assert "ann" in one_line(browser.get(reverse("site-people")))
    for verb in ("deactivate", "erase"):
        browser.post(reverse("site-person-verb", args=[ann.pk, verb]), {"username": "ann"})
    browser.post(reverse("site-person", args=[ann.pk]), {"username": "other"})
    assert browser.delete(reverse("api-one-account", args=[ann.pk])).status_code == 403
    assert User.objects.filter(username="ann", is_active=True).exists()
    me = User.objects.get(username="root")
    root.post(reverse("site-person-verb", args=[me.pk, "deactivate"]))
    assert User.objects.get(pk=me.pk).is_active
    narrow = Client(headers={"Authorization": f"Token {make_token(me, 'annotate')}"})
    assert narrow.delete(reverse("api-one-account", args=[helper.pk])).status_code == 403


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, {"ann", "bob", "root"}),
        ({"state": "active"}, {"ann", "root"}),
        ({"state": "deactivated"}, {"bob"}),
        ({"state": "erased"}, set()),
        ({"way": "password"}, {"ann"}),
        ({"way": "links"}, {"bob", "root"}),
        ({"q": "an"}, {"ann"}),
    ],
)
def test_the_list_has_filters(ann, root, asked, found) -> None:
    User.objects.filter(pk=make_user("bob").pk).update(is_active=False)
    rows = root.get(reverse("api-accounts"), asked).json()["results"]
    assert {row["username"] for row in rows} == found


def test_from_the_terminal(ann, capsys) -> None:
    call_command("person", "ann", "--rename", "anna")
    call_command("person", "anna", "--deactivate")
    call_command("person", "anna", "--erase")
    assert User.objects.get(pk=ann.pk).username == capsys.readouterr().out.strip()
    with pytest.raises(CommandError, match="no person named"):
        call_command("person", "ann", "--erase")


def test_a_pasted_list_asks_for_all_names_once() -> None:
    """And finds those that read alike inside the list itself."""
    benchmark = make_benchmark("garden")
    boss = make_member(benchmark, "boss", "admin")
    place = {"benchmark": benchmark, "roles": ["annotator"], "actor": boss}
    with pytest.raises(Refused, match="reads like"):
        add_people(username=["anna", "bob", "b0b"], **place)
    assert not User.objects.filter(username="anna")
    with CaptureQueriesContext(connection) as asked:
        add_people(username=[f"person-{word}" for word in ("a", "b", "c", "d")], **place)
    names = 'SELECT "auth_user"."username"'
    assert sum(each["sql"].startswith(names) for each in asked) == 1
