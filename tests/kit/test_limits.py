"""Passwords can be guessed so often and no more, whoever is guessed and whoever guesses."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.hashers import MD5PasswordHasher
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from config.safety import check_networks
from kit.account.limits import LINKS, PASSWORDS, TooMany, client_address
from kit.models import Event, LinkRequest, Tries
from tests.factories import make_user
from tests.markup import one_line

WORDS = "a-long-and-odd-phrase-77"


class CountingHasher(MD5PasswordHasher):
    """Counts what takes the time of a sign-in."""

    hashed = 0

    def encode(self, password: str, salt: str) -> str:
        type(self).hashed += 1
        return super().encode(password, salt)


@pytest.fixture
def hashed(settings) -> type[CountingHasher]:
    settings.PASSWORD_HASHERS = [f"{__name__}.CountingHasher"]
    return CountingHasher


@pytest.fixture
def person(db: None) -> User:
    return User.objects.create_user("ann", password=WORDS)


def sign_in(client: Client, name: str = "ann", password: str = "wrong", **more: Any) -> Any:
    return client.post(reverse("sign-in"), {"username": name, "password": password}, **more)


def use_up(name: str = "ann", **more: Any) -> None:
    for _ in range(PASSWORDS.person):
        sign_in(Client(), name, **more)


# --- A person --------------------------------------------------------------------------------


def test_right_password_is_not_looked_at_once_the_tries_are_used_up(person, hashed) -> None:
    use_up()
    before = hashed.hashed
    refused = sign_in(Client(), password=WORDS)
    assert (refused.status_code, hashed.hashed) == (429, before)
    assert 0 < int(refused["Retry-After"]) <= 15 * 60
    ends_at = Tries.objects.get(key=PASSWORDS.person_key("ann")).ends_at
    assert re.search(rf"Try again in 1\d minutes, at {ends_at:%H:%M} UTC", one_line(refused))


def test_after_its_time_a_person_may_try_again(person) -> None:
    use_up()
    Tries.objects.update(ends_at=timezone.now() - timedelta(seconds=1))
    assert sign_in(Client(), password=WORDS).status_code == 302


def test_right_password_gives_all_tries_back(person) -> None:
    for _ in range(2):
        for _ in range(PASSWORDS.person - 1):
            assert sign_in(Client()).status_code == 200
        assert sign_in(Client(), password=WORDS).status_code == 302


def test_limits_of_one_person_are_nobody_elses(person) -> None:
    use_up("bob")
    assert sign_in(Client(), password=WORDS).status_code == 302


def test_old_password_cannot_be_guessed_under_account_either(person, client) -> None:
    client.force_login(person)
    posted = {"new_password1": "another-phrase-78", "new_password2": "another-phrase-78"}
    for _ in range(PASSWORDS.person):
        client.post(reverse("account"), posted | {"old_password": "wrong"})
    refused = client.post(reverse("account"), posted | {"old_password": WORDS})
    assert refused.status_code == 422
    assert "Too many tries" in one_line(refused)


def test_names_that_are_typed_are_not_kept(db) -> None:
    sign_in(Client(), "a-password-in-the-wrong-field")
    assert "wrong-field" not in str(Tries.objects.values())


# --- Nothing tells who exists ----------------------------------------------------------------


def read(response: Any, name: str) -> tuple[int, str, str]:
    page = re.sub(r'"[\w]{64}"|nonce="[^"]*"', "", response.content.decode())
    return response.status_code, response.get("Retry-After", ""), page.replace(name, "NAME")


def stop_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refusal says when it ends."""
    now = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: now)


def no_password() -> User:
    return User.objects.create_user("zoe")


def left() -> User:
    return User.objects.create_user("zoe", password=WORDS, is_active=False)


@pytest.mark.few
@pytest.mark.parametrize("known", [None, no_password, left])
def test_every_answer_and_all_work_are_the_same_for_whoever_is_named(
    person, hashed, known, monkeypatch
) -> None:
    """From the first try to the one that is refused."""
    stop_the_clock(monkeypatch)
    if known:
        known()
    seen = {}
    for name in ("ann", "zoe"):
        before, answers = hashed.hashed, []
        for _ in range(PASSWORDS.person + 2):
            answers.append(read(sign_in(Client(), name), name))
        seen[name] = (answers, hashed.hashed - before)
    assert seen["ann"] == seen["zoe"]
    assert seen["ann"][1] == PASSWORDS.person


# --- An address ------------------------------------------------------------------------------


def use_up_address(left: int = 0) -> None:
    """As whoever guesses names would, at 127.0.0.1."""
    Tries.objects.create(
        key="password:address:127.0.0.1",
        count=PASSWORDS.address - left,
        ends_at=timezone.now() + timedelta(minutes=5),
    )


@pytest.mark.slow
def test_address_that_tries_many_names_is_refused(person) -> None:
    for n in range(PASSWORDS.address):
        assert sign_in(Client(), f"name-{n}").status_code == 200
    assert sign_in(Client(), password=WORDS).status_code == 429
    assert sign_in(Client(), password=WORDS, REMOTE_ADDR="203.0.113.9").status_code == 302


def test_address_without_tries_uses_up_nobodys(person) -> None:
    use_up_address()
    use_up()
    assert sign_in(Client(), password=WORDS, REMOTE_ADDR="203.0.113.9").status_code == 302


def test_right_password_gives_an_address_one_try_back_and_no_more(person) -> None:
    """Else who has an account could guess others' for ever."""
    sign_in(Client(), "bob")
    sign_in(Client(), password=WORDS)
    assert Tries.objects.get(key="password:address:127.0.0.1").count == 1


def test_forged_header_changes_nothing(person) -> None:
    use_up_address(left=3)
    for n in range(3):
        sign_in(Client(), f"name-{n}", headers={"X-Forwarded-For": f"198.51.100.{n}"})
    refused = sign_in(Client(), password=WORDS, headers={"X-Forwarded-For": "192.0.2.1"})
    assert refused.status_code == 429


@pytest.mark.parametrize(
    ("peer", "said", "found"),
    [
        ("203.0.113.9", "192.0.2.1", "203.0.113.9"),
        ("10.0.0.1", "192.0.2.1", "192.0.2.1"),
        ("10.0.0.1", "forged, 198.51.100.1, 192.0.2.1", "192.0.2.1"),
        ("10.0.0.1", "198.51.100.1, 192.0.2.1, 10.0.0.2", "192.0.2.1"),
        ("10.0.0.1", "10.9.9.9, 192.0.2.1", "192.0.2.1"),
        ("10.0.0.1", "198.51.100.1, rubbish", "10.0.0.1"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("", "192.0.2.1", "127.0.0.1"),  # a socket file, and no proxy is trusted at 127.0.0.1
        ("::ffff:10.0.0.1", "192.0.2.1", "192.0.2.1"),
        ("10.0.0.1", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "", "fe80::/64"),
        ("rubbish", "192.0.2.1", "unknown"),
    ],
)
def test_address_is_what_trusted_proxies_say_and_nobody_else(settings, peer, said, found) -> None:
    settings.TRUSTED_PROXIES = ["10.0.0.0/8"]
    headers = {"X-Forwarded-For": said} if said else {}
    request = RequestFactory().get("/", REMOTE_ADDR=peer, headers=headers)
    assert client_address(request) == found


def test_proxy_that_is_no_address_stops_the_start() -> None:
    check_networks(["127.0.0.1", "::1", "10.0.0.0/8"])
    with pytest.raises(ImproperlyConfigured, match=r"'proxy\.local' is no address or network"):
        check_networks(["proxy.local"])


# --- All at once -----------------------------------------------------------------------------


def at_once(do: Any, times: int) -> list[Any]:
    def once(number: int) -> Any:
        try:
            return do(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(16) as threads:
        return list(threads.map(once, range(times)))


def count_try(number: int) -> bool:
    request = RequestFactory().get("/", REMOTE_ADDR=f"203.0.113.{number % 250}")
    try:
        PASSWORDS.take(request, "ann")
    except TooMany:
        return False
    return True


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_tries_at_once_let_exactly_the_limit_through() -> None:
    assert sum(at_once(count_try, 200)) == PASSWORDS.person


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_thousand_sign_ins_at_once_hash_exactly_so_many_passwords(hashed) -> None:
    User.objects.create_user("ann", password=WORDS)
    before = hashed.hashed
    answers = at_once(
        lambda n: sign_in(Client(REMOTE_ADDR=f"203.0.113.{n % 250}")).status_code, 1000
    )
    assert answers.count(200) == hashed.hashed - before == PASSWORDS.person
    assert answers.count(429) == 1000 - PASSWORDS.person


# --- Links that are asked for ----------------------------------------------------------------


def ask(name: str, **more: Any) -> Any:
    return Client().post(reverse("sign-in-ask"), {"name": name}, **more)


def test_links_are_asked_for_so_often_and_alike_for_everybody(person, monkeypatch) -> None:
    stop_the_clock(monkeypatch)
    seen, work = {}, {}
    for name in ("ann", "zoe"):
        Tries.objects.filter(key__contains="address").delete()  # the first has to make that row
        with CaptureQueriesContext(connection) as statements:
            seen[name] = [read(ask(name), name) for _ in range(LINKS.person + 1)]
        work[name] = [each["sql"].split()[0] for each in statements]
    assert seen["ann"] == seen["zoe"]
    assert work["ann"] == work["zoe"]  # reads, writes and transactions
    assert work["ann"].count("INSERT") == 3  # of the address, of the name, of who asks
    assert [status for status, _, _ in seen["ann"]] == [200] * LINKS.person + [429]
    assert [each.user for each in LinkRequest.objects.all()] == [person]


# --- Staff lift it ---------------------------------------------------------------------------


@pytest.fixture
def staff(db: None) -> Client:
    user = make_user("chief")
    user.is_staff = True
    user.save()
    client = Client()
    client.force_login(user)
    return client


def test_staff_see_who_has_to_wait_and_lift_it(person, staff) -> None:
    use_up(REMOTE_ADDR="203.0.113.9")
    use_up("no such name")
    page = staff.get(reverse("sign-in-requests"))
    [(row, who)] = page.context["locked"]
    assert who == "ann"
    staff.post(reverse("sign-in-lift", args=[row.pk]))
    assert sign_in(Client(), password=WORDS).status_code == 302
    event = Event.objects.get(verb="lift limit")
    assert (event.actor.username, event.data) == ("chief", {"of": "ann"})


def test_staff_lift_the_limit_of_an_address(person, staff) -> None:
    use_up_address()
    [(row, who)] = staff.get(reverse("sign-in-requests")).context["locked"]
    assert who == "127.0.0.1"
    staff.post(reverse("sign-in-lift", args=[row.pk]))
    assert sign_in(Client(), password=WORDS).status_code == 302


def test_limit_that_is_over_by_now_is_lifted_without_a_fault(staff) -> None:
    assert staff.post(reverse("sign-in-lift", args=[0])).status_code == 302
