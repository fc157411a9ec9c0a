"""Signing in by a proxy's header: from whom it counts, whose account it is, when it ends."""

import http.client
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from config.safety import check_header
from corpus.benchmarks.services import add_person
from kit.account.links import create_link, find_link
from kit.models import Event, ProviderIdentity
from tests.bench.server import running_assay
from tests.factories import make_benchmark, make_member
from tests.markup import one_line

WORDS = "a-long-and-odd-phrase-77"
PROXY = "192.0.2.7"


@pytest.fixture
def trusting(settings, db) -> None:
    settings.TRUSTED_HEADER = "X-Forwarded-User"
    settings.TRUSTED_PROXIES = ["192.0.2.0/28", "2001:db8::/64"]
    after = settings.MIDDLEWARE.index("django.contrib.messages.middleware.MessageMiddleware") + 1
    settings.MIDDLEWARE = [*settings.MIDDLEWARE]
    settings.MIDDLEWARE.insert(after, "kit.account.header.TrustedHeaderMiddleware")
    settings.AUTHENTICATION_BACKENDS = [
        "django.contrib.auth.backends.ModelBackend",
        "kit.account.header.HeaderBackend",
    ]


@pytest.fixture
def ann() -> User:
    """Somebody whom an admin added and who was never here."""
    return User.objects.create_user("ann")


def come(name: str | None, *, peer: str = PROXY, browser: Client | None = None) -> Client:
    browser = browser or Client()
    headers = {} if name is None else {"X-Forwarded-User": name}
    browser.page = browser.get(reverse("account"), headers=headers, REMOTE_ADDR=peer, follow=True)
    return browser


def name_of(browser: Client) -> str:
    key = browser.session.get("_auth_user_id")
    return User.objects.get(pk=key).username if key else ""


@pytest.mark.parametrize(
    ("peer", "name"),
    [
        (PROXY, "ann"),
        ("192.0.2.15", "ann"),
        ("192.0.2.16", ""),
        ("::ffff:192.0.2.7", "ann"),  # of a socket that takes both
        ("2001:db8::1", "ann"),
        ("2001:db8:0:1::1", ""),
        ("127.0.0.1", ""),
        ("", ""),  # a socket file, where this machine is no proxy
        ("nowhere", ""),
    ],
)
def test_the_header_counts_from_a_trusted_peer_alone(trusting, ann, peer, name) -> None:
    assert name_of(come("ann", peer=peer)) == name


def test_a_forged_header_is_taken_away_and_whom_proxies_name_is_no_peer(trusting, ann) -> None:
    browser = Client()
    headers = {"X-Forwarded-User": "ann", "X-Forwarded-For": PROXY}
    page = browser.get(reverse("sign-in"), headers=headers, REMOTE_ADDR="198.51.100.9")
    assert "HTTP_X_FORWARDED_USER" not in page.wsgi_request.META
    assert name_of(browser) == ""
    assert not ProviderIdentity.objects.exists()


@pytest.mark.parametrize("said", ["ann,ann", "ann, root", "", "  ", "a" * 256, "ann\t,"])
def test_two_names_or_none_let_nobody_in(trusting, ann, said) -> None:
    assert name_of(come(said)) == ""


def test_the_session_ends_with_the_header_and_when_it_names_somebody_else(trusting, ann) -> None:
    User.objects.create_user("bob")
    browser = come("ann")
    assert name_of(come("ann", browser=browser)) == "ann"
    assert name_of(come("bob", browser=browser)) == "bob"
    assert name_of(come("nobody-here", browser=browser)) == ""
    browser = come("ann")
    assert name_of(come(None, browser=browser)) == ""
    browser = come("ann")
    stolen = come("ann", peer="198.51.100.9", browser=browser)  # its cookie, past the proxy
    assert name_of(stolen) == ""


def test_a_session_by_a_password_does_not_end_with_the_header(trusting) -> None:
    User.objects.create_user("carl", password=WORDS)
    browser = Client()
    browser.post(reverse("sign-in"), {"username": "carl", "password": WORDS}, REMOTE_ADDR=PROXY)
    assert name_of(come(None, browser=browser)) == "carl"


def test_who_has_no_account_gets_none_unless_a_setting_says_so(trusting, settings) -> None:
    refused = come("dora")
    assert name_of(refused) == ""
    assert "You are known here as dora" in one_line(refused.page)
    assert not User.objects.exists()
    settings.TRUSTED_HEADER_NEW_PEOPLE = True
    assert name_of(come("dora@example.org")) == "dora"
    made = User.objects.get()
    assert (made.email, made.has_usable_password(), made.is_staff) == (
        "dora@example.org", False, False,
    )  # fmt: skip
    assert name_of(come("dora")) == "dora-2"  # another name is another person


def test_an_account_with_the_same_confirmed_address_is_linked_and_kept(trusting) -> None:
    mine = User.objects.create_user("a.smith", email="Ann@example.org", password=WORDS)
    assert name_of(come("ann@example.org")) == "a.smith"
    mine.email = "elsewhere@example.org"
    mine.username = "anna"
    mine.save()
    assert name_of(come("ann@example.org")) == "anna"
    assert Event.objects.get(verb="link identity").data == {"issuer": "proxy"}


def test_a_name_alone_leads_to_an_account_that_nobody_was_ever_in(trusting, ann) -> None:
    """Whoever made an account could have used it, chosen its password, and waited."""
    User.objects.create_user("carl", password=WORDS)
    used = User.objects.create_user("used")
    Client().post(reverse("sign-in-link", args=[create_link(user=used)]))
    left = create_link(user=ann)
    assert name_of(come("carl")) == ""
    assert name_of(come("used")) == ""
    assert name_of(come("ann")) == "ann"
    assert find_link(left) is None


def test_a_person_whom_an_admin_added_by_name_comes_in_by_the_header(trusting) -> None:
    benchmark = make_benchmark()
    add_person(
        benchmark=benchmark,
        actor=make_member(benchmark, "boss", "admin"),
        username="ann",
        roles=["annotator"],
        domains=[],
    )
    headers, url = {"X-Forwarded-User": "ann"}, reverse("benchmark", args=[benchmark.slug])
    assert come("ann").get(url, headers=headers, REMOTE_ADDR=PROXY).status_code == 200


def test_the_terminal_links_an_account_in_use_and_puts_a_wrong_link_right(trusting) -> None:
    User.objects.create_user("carl", password=WORDS)
    User.objects.create_user("eve", password=WORDS)
    call_command("person", "carl", "--header-name", "karl")
    wrong = come("karl")
    assert name_of(wrong) == "carl"
    call_command("person", "carl", "--header-name", "carl")
    assert name_of(come("karl", browser=wrong)) == ""
    assert name_of(come("carl")) == "carl"
    with pytest.raises(CommandError, match="linked to another"):
        call_command("person", "eve", "--header-name", "carl")


def test_a_deactivated_or_erased_person_does_not_come_in(trusting, ann) -> None:
    browser = come("ann")
    call_command("person", "ann", "--deactivate")
    assert name_of(come("ann", browser=browser)) == ""
    call_command("person", "ann", "--reactivate")
    assert name_of(come("ann")) == "ann"
    call_command("person", "ann", "--erase")
    assert name_of(come("ann")) == ""


def test_of_who_comes_by_the_header_no_code_is_asked(trusting, settings, ann) -> None:
    settings.REQUIRE_SECOND_FACTOR = "staff"
    User.objects.update(is_staff=True)
    headers = {"X-Forwarded-User": "ann"}
    page = come("ann").get(reverse("site-people"), headers=headers, REMOTE_ADDR=PROXY)
    assert page.status_code == 200


def test_the_api_takes_the_header_and_writes_only_with_a_token_of_forms(trusting, ann) -> None:
    script = Client(enforce_csrf_checks=True)
    script.defaults["REMOTE_ADDR"] = PROXY
    headers = {"X-Forwarded-User": "ann"}
    assert script.get(reverse("api-benchmarks"), headers=headers).status_code == 200
    assert script.post(reverse("account-token"), headers=headers).status_code == 403


@pytest.mark.parametrize(
    ("name", "proxies", "words"),
    [
        ("X_Forwarded_User", ["127.0.0.1"], "must be a header"),
        ("X-Forwarded-User:", ["127.0.0.1"], "must be a header"),
        ("X-Forwarded-User", [], "needs TRUSTED_PROXIES"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(name, proxies, words) -> None:
    with pytest.raises(ImproperlyConfigured, match=words):
        check_header(name, proxies)
    check_header("", [])


@pytest.mark.slow
def test_over_http_the_other_spelling_and_a_second_line_let_nobody_in(tmp_path) -> None:
    """A proxy that sets X-Forwarded-User may pass on what the sender wrote with underscores."""
    trusting = {"TRUSTED_HEADER": "X-Forwarded-User", "TRUSTED_PROXIES": "127.0.0.1"}
    with running_assay(tmp_path, demo=False, **trusting) as assay:
        say = "from django.contrib.auth.models import User as U; [U.objects.create_user(n) for n in"
        assay.manage("shell", "-c", f"{say} ('ann', 'root', 'eve')]")

        def who(*lines: tuple[str, str]) -> str:
            link = http.client.HTTPConnection(urlsplit(assay.url).netloc)
            link.putrequest("GET", "/account/")
            for line in lines:
                link.putheader(*line)
            link.endheaders()
            page = link.getresponse().read().decode()
            return page.partition("<h1>Account of ")[2].partition("<")[0]

        assert who(("X-Forwarded-User", "ann")) == "ann"
        assert who(("X_Forwarded_User", "root")) == ""
        assert who(("X-Forwarded_User", "root")) == ""
        assert who(("X-Forwarded-User", "ann"), ("X_Forwarded_User", "root")) == "ann"
        assert who(("X_Forwarded_User", "root"), ("X-Forwarded-User", "ann")) == "ann"
        assert who(("X-Forwarded-User", "ann"), ("X-Forwarded-User", "root")) == ""
        assert who() == ""
