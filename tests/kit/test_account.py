"""What stands under Account: where one is signed in, and where links are mailed to."""

import re

import pytest
from django.conf import settings as configured
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core import mail
from django.test import Client
from django.urls import reverse

from kit.account.links import choose_password, create_link
from kit.models import Event
from tests.factories import make_user
from tests.markup import one_line

pytestmark = pytest.mark.django_db
WORDS, NEW_WORDS = "a-long-and-odd-phrase-77", "another-odd-phrase-78"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
EDGE = "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0"


@pytest.fixture
def person() -> User:
    return User.objects.create_user("ann", password=WORDS)


def signed_in(agent: str = FIREFOX, **more: str) -> Client:
    client = Client(headers={"User-Agent": agent}, **more)
    posted = {"username": "ann", "password": WORDS}
    assert client.post(reverse("sign-in"), posted).status_code == 302
    return client


def sessions(client: Client) -> list:
    return client.get(reverse("account")).context["sessions"]


def is_in(client: Client) -> bool:
    return client.get(reverse("home")).status_code == 200


# --- Sessions --------------------------------------------------------------------------------


def test_sessions_of_the_person_are_listed_and_of_nobody_else(person) -> None:
    here, there = signed_in(), signed_in(EDGE, REMOTE_ADDR="203.0.113.9")
    Client().force_login(make_user("bob"))
    found = [(each["browser"], each["address"], each["is_this"]) for each in sessions(here)]
    assert found == [
        ("Firefox on Linux", "127.0.0.1", True),
        ("Edge on Windows", "203.0.113.9", False),
    ]
    page = one_line(here.get(reverse("account")))
    assert "Edge on Windows" in page
    for client in (here, there):
        assert client.session.session_key not in page


def test_one_other_session_is_ended(person) -> None:
    here, second, third = signed_in(), signed_in(EDGE), signed_in("curl/8")
    [wanted] = [each for each in sessions(here) if each["browser"] == "Edge on Windows"]
    here.post(reverse("account-session-end"), {"session": wanted["ident"]})
    assert [is_in(client) for client in (here, second, third)] == [True, False, True]


def test_all_others_are_ended_and_this_one_stays(person) -> None:
    here, others = signed_in(), [signed_in(), signed_in()]
    bob = Client()
    bob.force_login(make_user("bob"))
    here.post(reverse("account-session-end"), {"session": "others"})
    assert is_in(here)
    assert is_in(bob)
    assert not any(is_in(client) for client in others)


def test_session_of_somebody_else_cannot_be_ended(person) -> None:
    bob = Client()
    bob.force_login(make_user("bob"))
    here = signed_in()
    [his] = sessions(bob)
    here.post(reverse("account-session-end"), {"session": his["ident"]})
    here.post(reverse("account-session-end"), {"session": his["key"]})
    here.post(reverse("account-session-end"))
    assert is_in(bob)


def test_session_that_a_new_password_ended_is_not_listed(person) -> None:
    here, _ = signed_in(), signed_in()
    posted = {"old_password": WORDS, "new_password1": NEW_WORDS, "new_password2": NEW_WORDS}
    here.post(reverse("account"), posted)
    assert [each["is_this"] for each in sessions(here)] == [True]
    assert Session.objects.count() == 2


def test_session_that_nobody_noted_is_listed_without_words(person) -> None:
    """As of before sessions remembered where they began."""
    here, other = signed_in(), signed_in()
    kept = other.session
    del kept["signed_in"]
    kept.save()
    assert (sessions(here)[1]["browser"], sessions(here)[1]["since"]) == ("", None)
    assert "not known" in one_line(here.get(reverse("account")))


# --- Mail address ----------------------------------------------------------------------------


def say(client: Client, address: str, **more: str) -> str:
    """The link in the mail that confirms the address."""
    posted = {"mail-address": address, "mail-password": WORDS} | more
    assert client.post(reverse("account-address-ask"), posted).status_code == 302
    [found] = re.findall(r"http://testserver(\S+)", mail.outbox[-1].body)
    return found


def test_without_mail_nobody_is_asked_for_an_address(person) -> None:
    assert not configured.EMAIL_URL
    assert "Mail address" not in one_line(signed_in().get(reverse("account")))


def test_address_counts_once_its_mail_was_answered(person, with_mail) -> None:
    client = signed_in()
    link = say(client, "ann@example.org")
    assert mail.outbox[0].to == ["ann@example.org"]
    client.get(link)
    person.refresh_from_db()
    assert person.email == ""
    client.post(link)
    person.refresh_from_db()
    assert person.email == "ann@example.org"
    assert Event.objects.filter(verb="change mail address", actor=person).count() == 1
    assert "ann@example.org" not in str(Event.objects.values())


def test_address_before_is_told_of_the_change(person, with_mail) -> None:
    client = signed_in()
    client.post(say(client, "ann@example.org"))
    client.post(say(client, "ann@example.net"))
    assert mail.outbox[-1].to == ["ann@example.org"]
    assert "was changed" in mail.outbox[-1].subject


def test_address_needs_the_password(person, with_mail) -> None:
    posted = {"mail-address": "mallory@example.org", "mail-password": "wrong"}
    response = signed_in().post(reverse("account-address-ask"), posted)
    assert response.status_code == 422
    assert "This is not your password." in one_line(response)
    assert not mail.outbox


def test_address_of_who_has_no_password_needs_none(with_mail, client) -> None:
    client.force_login(make_user("zoe"))
    assert "mail-password" not in one_line(client.get(reverse("account")))
    client.post(say(client, "zoe@example.org"))
    assert User.objects.get(username="zoe").email == "zoe@example.org"


def test_link_of_somebody_else_or_a_changed_one_confirms_nothing(person, with_mail) -> None:
    link = say(signed_in(), "ann@example.org")
    other = Client()
    other.force_login(make_user("bob"))
    for each in (link, f"{link[:-2]}x/"):
        assert "belongs to another account" in one_line(other.post(each, follow=True))
    assert not User.objects.exclude(email="").exists()


def test_mail_that_cannot_be_sent_is_said(person, with_mail, settings) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    posted = {"mail-address": "ann@example.org", "mail-password": WORDS}
    response = signed_in().post(reverse("account-address-ask"), posted, follow=True)
    assert "could not be sent" in one_line(response)


# --- Asking for a link -----------------------------------------------------------------------


def test_new_password_ends_links_that_wait(person) -> None:
    token = create_link(user=person)
    choose_password(user=person, password=NEW_WORDS)
    assert Client().get(reverse("sign-in-link", args=[token])).status_code == 404
