"""What waits for a person, by mail, for who wants it."""

from datetime import timedelta
from smtplib import SMTPDataError

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client
from django.utils import timezone

from annotate.digest.services import send_digests
from annotate.models import Assignment, Digest
from kit.models import Event
from tests.factories import make_benchmark, make_member, make_query

pytestmark = pytest.mark.django_db
JSON = {"content_type": "application/json"}


@pytest.fixture(autouse=True)
def _with_mail(settings) -> None:
    settings.EMAIL_URL = "smtp://mail.example"


@pytest.fixture
def person() -> User:
    """Somebody whom two queries wait for."""
    benchmark = make_benchmark()
    user = make_member(benchmark, "marie", "annotator")
    User.objects.filter(pk=user.pk).update(email="marie@example.org")
    for number in range(2):
        query = make_query(benchmark, f"q{number}", text="Why do moths circle lamps?")
        Assignment.objects.create(query=query, holder=user)
    return User.objects.get(pk=user.pk)


@pytest.fixture
def browser(person) -> Client:
    browser = Client()
    browser.force_login(person)
    return browser


def days_later(days: int) -> None:
    for digest in Digest.objects.all():
        Digest.objects.update(sent_on=digest.sent_on - timedelta(days=days))


def test_nobody_gets_one_who_did_not_choose_it(person, browser) -> None:
    assert browser.get("/api/digest/").json() == {"every": "never"}
    assert (send_digests(), mail.outbox) == (0, [])


@pytest.mark.parametrize(("every", "days"), [("daily", 1), ("weekly", 7)])
def test_it_comes_once_in_its_time_and_names_no_query(person, browser, every, days) -> None:
    assert b"Every week" in browser.get("/account/digest/").content
    assert browser.post("/account/digest/", {"every": every}).status_code == 302
    assert browser.get("/api/digest/").json() == {"every": every}
    assert send_digests() == 0  # the first comes in its time
    days_later(days - 1)
    assert send_digests() == 0
    days_later(1)
    assert (send_digests(), send_digests()) == (1, 0)
    [sent] = mail.outbox
    assert sent.to == ["marie@example.org"]
    assert sent.subject == "Waiting for you in Assay"
    assert "2 x Queries to annotate (Demo)" in sent.body
    assert "http://testserver/\n" in sent.body
    assert "moths" not in sent.body
    assert Event.objects.get(verb="choose digest").data == {"every": every}
    assert browser.put("/api/digest/", {"every": "never"}, **JSON).json() == {"every": "never"}
    days_later(days)
    assert send_digests() == 0


def test_none_comes_while_nothing_waits_or_who_is_gone(person, browser) -> None:
    browser.put("/api/digest/", {"every": "daily"}, **JSON)
    days_later(1)
    User.objects.update(is_active=False)
    assert send_digests() == 0
    User.objects.update(is_active=True)
    waiting = Assignment.objects.all()
    kept = list(waiting)
    waiting.delete()
    assert (send_digests(), mail.outbox) == (0, [])
    Assignment.objects.bulk_create(kept)
    assert send_digests() == 0  # not before tomorrow
    days_later(1)
    assert send_digests() == 1


def test_what_the_server_does_not_take_is_tried_again(person, browser, monkeypatch, caplog) -> None:
    browser.put("/api/digest/", {"every": "daily"}, **JSON)
    days_later(1)

    def broken(*_: object, **__: object) -> None:
        raise SMTPDataError(552, b"marie@example.org is full")

    with monkeypatch.context() as patch:
        patch.setattr("django.core.mail.backends.locmem.EmailBackend.send_messages", broken)
        assert send_digests() == 0
    assert "not mailed: SMTPDataError 552" in caplog.text
    assert "marie" not in caplog.text
    assert send_digests() == 1
    assert Digest.objects.get().sent_on == timezone.now().date()


def test_it_takes_an_address(person, browser, settings) -> None:
    User.objects.update(email="")
    assert browser.put("/api/digest/", {"every": "daily"}, **JSON).status_code == 409
    assert b"Save a mail address first" in browser.get("/account/digest/").content
    assert browser.put("/api/digest/", {"every": "hourly"}, **JSON).status_code == 400
    assert not Digest.objects.exists()
