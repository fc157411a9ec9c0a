"""Tokens let in whom they were given to, for what they may do, as long as they are good."""

from datetime import date, timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from kit.account.tokens import create_token
from kit.models import ApiToken, Event
from tests.factories import make_benchmark, make_member, make_user
from tests.markup import one_line

pytestmark = pytest.mark.django_db


@pytest.fixture
def person() -> User:
    return make_member(make_benchmark("garden"), "ann", "annotator")


@pytest.fixture
def token(person) -> str:
    return create_token(user=person, name="nightly", scope="annotate", days=30)


@pytest.fixture
def browser(person) -> Client:
    client = Client()
    client.force_login(person)
    return client


def ask(key: str) -> tuple[int, str]:
    answer = Client(headers={"Authorization": f"Token {key}"}).get("/api/b/garden/")
    return answer.status_code, answer.json().get("detail", "")


def test_token_lets_its_person_in(token) -> None:
    assert ask(token) == (200, "")


@pytest.mark.parametrize("wrong", ["nobodys", "", "two words"])
def test_other_words_let_nobody_in(token, wrong) -> None:
    status, detail = ask(wrong)
    assert status == 401
    assert detail.startswith("Invalid token")


def test_what_is_kept_of_a_token_lets_nobody_in(token) -> None:
    kept = ApiToken.objects.get()
    assert token not in str(ApiToken.objects.values())
    assert ask(kept.token_hash)[0] == 401


def test_token_of_somebody_who_left_lets_nobody_in(token) -> None:
    User.objects.update(is_active=False)
    assert ask(token) == (401, "User inactive or deleted.")


def test_token_expires(token) -> None:
    ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert ask(token) == (401, "This token has expired. Make a new one under Account.")
    ApiToken.objects.update(expires_at=None)  # of before tokens had an end
    assert ask(token)[0] == 200


def test_day_of_use_is_noted_once_a_day(token) -> None:
    ask(token)
    assert ApiToken.objects.get().used_on == timezone.now().date()
    with CaptureQueriesContext(
        connection,
    ) as queries:
        ask(token)
    assert not [each for each in queries if "UPDATE" in each["sql"] and "apitoken" in each["sql"]]
    ApiToken.objects.update(used_on=date(2020, 1, 1))
    ask(token)
    assert ApiToken.objects.get().used_on == timezone.now().date()


# --- Under Account ---------------------------------------------------------------------------


def test_token_is_made_named_and_shown_once(browser, person) -> None:
    posted = {"token-name": "nightly", "token-scope": "read", "token-days": "30"}
    made = browser.post(reverse("account-token"), posted)
    token = made.context["token"]
    assert token in one_line(made)
    assert "no-store" in made["Cache-Control"]
    again = browser.get(reverse("account"))
    assert token not in again.content.decode()
    assert "nightly" in one_line(again)
    kept = ApiToken.objects.get(user=person)
    assert (kept.name, kept.scope) == ("nightly", "read")
    assert (kept.expires_at - kept.created_at).days in (29, 30)
    assert ask(token)[0] == 200
    event = Event.objects.get(verb="make API token")
    assert (event.actor, token in str(event.data)) == (person, False)


@pytest.mark.parametrize(
    "wrong", [{"token-name": ""}, {"token-scope": "all"}, {"token-days": "9999"}]
)
def test_token_needs_a_name_a_scope_and_an_end(browser, wrong) -> None:
    posted = {"token-name": "nightly", "token-scope": "read", "token-days": "30"} | wrong
    assert browser.post(reverse("account-token"), posted).status_code == 422
    assert not ApiToken.objects.exists()


def test_revoked_token_lets_nobody_in_and_others_go_on(browser, person, token) -> None:
    other = create_token(user=person, name="other", scope="read", days=30)
    pk = ApiToken.objects.get(name="nightly").pk
    browser.post(reverse("account-token-revoke", args=[pk]))
    assert ask(token) == (401, "Invalid token.")
    assert ask(other)[0] == 200
    assert Event.objects.filter(verb="revoke API token", actor=person).count() == 1


def test_token_of_somebody_else_cannot_be_revoked(browser) -> None:
    create_token(user=make_user("bob"), name="his", scope="read", days=30)
    url = reverse("account-token-revoke", args=[ApiToken.objects.get().pk])
    assert browser.post(url).status_code == 404
    assert ApiToken.objects.exists()
