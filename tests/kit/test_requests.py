"""The way back for who cannot sign in: by mail, or through an admin."""

import re
from smtplib import SMTPRecipientsRefused

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from config.safety import read_mail_server
from corpus.benchmarks.services import add_person, change_person, remove_person, renew_link
from corpus.models import Benchmark, Membership
from kit import audit
from kit.account.identities import link_identity
from kit.account.links import AGREED_FOR, choose_password, create_link, mail_links
from kit.models import Event, LinkRequest, SignInLink
from kit.runs.periodic import PeriodicTasks
from tests.factories import make_benchmark, make_member, make_user, used_by
from tests.markup import one_line

pytestmark = pytest.mark.django_db
WORDS, NEW_WORDS = "a-long-and-odd-phrase-77", "another-odd-phrase-78"


@pytest.fixture
def person() -> User:
    return User.objects.create_user("ann", email="ann@example.org", password=WORDS)


def ask(name: str = "ann") -> str:
    response = Client().post(reverse("sign-in-ask"), {"name": name})
    assert response.status_code == 200
    return one_line(response)


def of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def root(**more: bool) -> User:
    return User.objects.create_user("root", **{"is_staff": True, "is_superuser": True} | more)


# --- By mail ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ann", "ann@example.org", "Ann@Example.org"])
def test_forgotten_password_is_replaced_by_a_mailed_link(person, with_mail, name) -> None:
    ask(name)
    assert not mail.outbox  # sending takes time, which would tell who exists
    mail_links()
    [sent] = mail.outbox
    assert sent.to == ["ann@example.org"]
    [link] = re.findall(r"http://testserver(\S+)", sent.body)
    client = Client()
    assert client.post(link).url == reverse("choose-password")
    posted = {"new_password1": NEW_WORDS, "new_password2": NEW_WORDS}
    client.post(reverse("choose-password"), posted)
    assert Client().login(username="ann", password=NEW_WORDS)
    assert not LinkRequest.objects.exists()


def test_a_request_is_mailed_once_and_again_when_asked_again(person, with_mail) -> None:
    ask()
    mail_links()
    mail_links()
    assert len(mail.outbox) == 1
    ask()
    mail_links()
    assert len(mail.outbox) == 2


def test_what_cannot_be_mailed_waits_and_is_tried_again(person, with_mail, settings) -> None:
    ask()
    backend = settings.EMAIL_BACKEND
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    mail_links()
    assert of(root()).get(reverse("sign-in-requests")).context["requests"].count() == 1
    settings.EMAIL_BACKEND = backend
    mail_links()
    assert len(mail.outbox) == 1


def test_the_log_says_why_a_mail_was_not_taken_and_not_to_whom(
    person, with_mail, monkeypatch, caplog
) -> None:
    """The server's own words are {'ann@example.org': (550, b'no ann@example.org here')}."""
    ask()

    def refusing(*_: object, **__: object) -> None:
        raise SMTPRecipientsRefused({"ann@example.org": (550, b"no ann@example.org here")})

    backend = "django.core.mail.backends.locmem.EmailBackend.send_messages"
    monkeypatch.setattr(backend, refusing)
    mail_links()
    assert f"user {person.pk}: not mailed: SMTPRecipientsRefused 550" in caplog.text
    assert "example.org" not in caplog.text


def test_without_a_mail_server_nothing_is_mailed(person) -> None:
    ask()
    mail_links()
    assert not mail.outbox
    assert LinkRequest.objects.filter(mailed_at=None).exists()


def test_workers_mail_what_was_asked_for(person, with_mail) -> None:
    ask()
    PeriodicTasks().do_due(0.0)
    assert len(mail.outbox) == 1


def test_account_that_was_closed_since_gets_nothing(person, with_mail) -> None:
    ask()
    User.objects.update(is_active=False)
    mail_links()
    assert not mail.outbox


@pytest.mark.parametrize("url", ["mail.example.org", "http://mail.example.org", "smtp://", "x"])
def test_address_of_no_mail_server_stops_the_start(url) -> None:
    with pytest.raises(ImproperlyConfigured, match="EMAIL_URL is no address of a mail server"):
        read_mail_server(url)


def test_address_of_a_mail_server_is_taken_apart() -> None:
    found = read_mail_server("smtp+tls://ann:a%40b@mail.example.org:587")
    assert (found["EMAIL_HOST"], found["EMAIL_PORT"]) == ("mail.example.org", 587)
    assert (found["EMAIL_HOST_PASSWORD"], found["EMAIL_USE_TLS"]) == ("a@b", True)
    assert read_mail_server("") == {}


def test_account_that_was_closed_gets_nothing(person, with_mail) -> None:
    User.objects.update(is_active=False)
    ask()
    mail_links()
    assert not mail.outbox


# --- Through whoever runs the site -----------------------------------------------------------


def test_superuser_sees_who_asks_and_hands_a_link_over(person) -> None:
    ask()
    client = of(root())
    assert "1 person asks for a sign-in link" in one_line(client.get(reverse("home")))
    assert "ann" in one_line(client.get(reverse("sign-in-requests")))
    response = client.post(reverse("sign-in-hand", args=[LinkRequest.objects.get().pk]))
    link = response.context["link"]
    assert link in one_line(response)
    assert "no-store" in response["Cache-Control"]
    assert not LinkRequest.objects.exists()
    event = Event.objects.get(verb="renew sign-in link")
    assert (event.actor.username, event.target_id) == ("root", str(person.pk))
    assert Client().post(link).url == reverse("choose-password")


def test_a_link_to_somebody_with_decisions_takes_two_superusers(person) -> None:
    with transaction.atomic():
        audit.record(actor=person, verb="vote", target=person)
    ask()
    url = reverse("sign-in-hand", args=[LinkRequest.objects.get().pk])
    first = of(root())
    for _ in range(2):  # twice by one is once
        said = one_line(first.post(url, follow=True))
        assert "let another superuser make the link within 7 days" in said
        assert "manage.py sign_in_link ann" in said
    assert not SignInLink.objects.exists()
    second = of(User.objects.create_superuser("root-2"))
    assert "root agreed" in one_line(second.get(reverse("sign-in-requests")))
    assert Client().post(second.post(url).context["link"]).status_code == 302
    verbs = Event.objects.filter(verb__endswith="sign-in link").order_by("pk")
    assert list(verbs.values_list("verb", "actor__username")) == [
        *[("agree to sign-in link", "root")] * 2,
        ("renew sign-in link", "root-2"),
    ]


def test_of_who_has_an_address_superusers_get_no_link_either(person, with_mail) -> None:
    with transaction.atomic():
        audit.record(actor=person, verb="vote", target=person)
    ask()
    url = reverse("sign-in-hand", args=[LinkRequest.objects.get().pk])
    assert "mailed to ann" in one_line(of(root()).post(url, follow=True))
    mail_links()
    assert [sent.to for sent in mail.outbox] == [["ann@example.org"]]


def test_staff_see_requests_and_make_no_link(person) -> None:
    ask()
    client = of(root(is_superuser=False))
    page = one_line(client.get(reverse("sign-in-requests")))
    assert "ann" in page
    assert "Make a link" not in page
    url = reverse("sign-in-hand", args=[LinkRequest.objects.get().pk])
    assert "Only a superuser" in one_line(client.post(url, follow=True))
    assert LinkRequest.objects.exists()


def test_nobody_else_is_told_who_asks(person) -> None:
    ask()
    client = of(make_member(make_benchmark(), "boss", "admin"))
    assert "asks for" not in one_line(client.get(reverse("home")))
    assert client.get(reverse("sign-in-requests")).status_code == 403


def test_whoever_signed_in_asks_no_more(person) -> None:
    ask()
    Client().post(reverse("sign-in"), {"username": "ann", "password": WORDS})
    assert not LinkRequest.objects.exists()


def test_link_that_was_used_ends_the_request(person, with_mail) -> None:
    ask()
    mail_links()
    assert used_by(create_link(user=person)) == person
    assert not LinkRequest.objects.exists()


# --- Through an admin of the benchmark -------------------------------------------------------


def test_admin_of_the_benchmark_sees_who_asks_and_makes_a_new_link() -> None:
    benchmark = make_benchmark()
    admin = make_member(benchmark, "boss", "admin")
    member, _ = add_person(benchmark=benchmark, username="ann", roles=["annotator"], actor=admin)
    people, client = reverse("people", args=["demo"]), of(admin)
    assert "asks for a new link" not in one_line(client.get(people))
    ask()
    assert "asks for a new link" in one_line(client.get(people))
    home = reverse("corpus-home")
    assert "ann of Demo</a> asks for a new sign-in link" in one_line(client.get(home))
    bob = of(make_member(benchmark, "bob", "annotator"))
    assert "asks for" not in one_line(bob.get(home))
    renew_link(membership=member, actor=admin, site="")
    assert "asks for a new link" not in one_line(client.get(people))


def test_request_that_was_mailed_waits_for_no_admin(person, with_mail) -> None:
    benchmark = make_benchmark()
    admin = make_member(benchmark, "boss", "admin")
    make_member(benchmark, "ann", "annotator")
    ask()
    mail_links()
    assert "asks for a new link" not in one_line(of(admin).get(reverse("people", args=["demo"])))
    assert make_user("ann") == person


# --- Links by others -------------------------------------------------------------------------


def make_admin(benchmark: Benchmark, name: str) -> User:
    """An admin by means of their own, whose account no admin made."""
    made = make_member(benchmark, name, "admin")
    choose_password(user=made, password=WORDS)
    return made


@pytest.fixture
def decided() -> tuple[Membership, Client]:
    """Somebody without a password who decided something, and an admin of their benchmark."""
    benchmark = make_benchmark()
    admin = make_admin(benchmark, "boss")
    member, token = add_person(
        benchmark=benchmark, username="ann", roles=["annotator"], actor=admin
    )
    Client().post(reverse("sign-in-link", args=[token]))
    with transaction.atomic():
        audit.record(actor=member.user, verb="vote", target=member, scope="demo")
    return member, of(admin)


def asked_of(client: Client, member: Membership) -> str:
    return one_line(client.post(reverse("person-link", args=["demo", member.pk]), follow=True))


def test_a_link_to_somebody_with_decisions_takes_two_admins(decided) -> None:
    member, boss = decided
    for _ in range(2):  # twice by one is once
        assert "let another admin make the link within 7 days" in asked_of(boss, member)
    assert not SignInLink.objects.filter(used_at=None).exists()
    other = of(make_admin(member.benchmark, "vice"))
    assert "waits for a second admin" in one_line(other.get(reverse("people", args=["demo"])))
    assert "/sign-in/" in asked_of(other, member)
    verbs = Event.objects.filter(verb__endswith="sign-in link").values_list(
        "verb", "actor__username"
    )
    assert list(verbs.order_by("pk")) == [
        *[("agree to sign-in link", "boss")] * 2,
        ("renew sign-in link", "vice"),
    ]


def test_a_second_account_of_the_first_admin_is_no_second_admin(decided) -> None:
    """Nor one that such an account made, whichever of them is first."""
    member, boss = decided
    admin, place = User.objects.get(username="boss"), {"benchmark": member.benchmark}
    puppets = []
    for name in ("puppet", "puppet-2"):  # the second is made by the first
        made, token = add_person(**place, username=name, roles=["admin"], actor=admin)
        puppet = Client()
        puppet.post(reverse("sign-in-link", args=[token]))
        assert "choose a password under Account first" in asked_of(puppet, member)
        puppet.post(reverse("choose-password"), {"new_password1": WORDS, "new_password2": WORDS})
        puppets.append(puppet)
        admin = made.user
    for first, others in ((boss, puppets), (puppets[1], [puppets[0], boss])):
        LinkRequest.objects.all().delete()
        asked_of(first, member)
        for other in others:
            said = asked_of(other, member)
            assert "one of you added the other" in said
            assert "manage.py sign_in_link ann" in said
    assert not SignInLink.objects.filter(used_at=None).exists()
    assert "/sign-in/" in asked_of(of(make_admin(member.benchmark, "vice")), member)


def test_who_was_made_an_admin_since_is_no_second_admin(decided) -> None:
    member, boss = decided
    helper = make_admin(member.benchmark, "helper")
    place = Membership.objects.get(user=helper)
    change_person(membership=place, roles=["annotator"], domains=[], actor=None)
    asked_of(boss, member)
    change_person(membership=place, roles=["admin"], domains=[], actor=None)
    assert "you were made an admin since" in asked_of(of(helper), member)


def test_an_admin_whom_the_identity_provider_knows_is_a_second_admin(decided) -> None:
    member, boss = decided
    admin = User.objects.get(username="boss")
    place = {"benchmark": member.benchmark, "roles": ["admin"], "actor": admin}
    vice = add_person(username="vice", **place)[0].user
    link_identity(user=vice, issuer="https://idp.example", subject="7", actor=None)
    asked_of(boss, member)
    assert "/sign-in/" in asked_of(of(vice), member)


def test_who_is_taken_out_and_added_again_gets_no_link_by_that(decided) -> None:
    member, _ = decided
    remove_person(membership=member, actor=None)
    again, token = add_person(
        benchmark=member.benchmark, username="ann", roles=["annotator"], actor=None
    )
    assert (again.user, token) == (member.user, "")


def test_what_the_first_admin_wanted_a_week_ago_is_over(decided) -> None:
    member, boss = decided
    asked_of(boss, member)
    LinkRequest.objects.update(agreed_at=timezone.now() - AGREED_FOR)
    other = of(make_admin(member.benchmark, "vice"))
    assert "let another admin" in asked_of(other, member)


def test_with_an_address_the_link_goes_there_and_to_no_admin(decided, with_mail) -> None:
    member, boss = decided
    User.objects.filter(pk=member.user_id).update(email="ann@example.org")
    other = of(make_admin(member.benchmark, "vice"))
    for client in (boss, other):
        said = asked_of(client, member)
        assert "mailed to ann" in said
        assert "/sign-in/" not in said
    mail_links()
    assert [sent.to for sent in mail.outbox] == [["ann@example.org"]]


def test_a_link_that_others_made_and_used_is_told_at_the_next_sign_in(decided) -> None:
    member, _ = decided
    theirs = create_link(user=member.user, made_by=User.objects.get(username="boss"))
    Client().post(reverse("sign-in-link", args=[theirs]))
    told = "that boss had made was used on"
    for is_told in (True, False):
        mine = Client()
        page = mine.post(reverse("sign-in-link", args=[create_link(user=member.user)]), follow=True)
        assert (told in one_line(page)) is is_told
