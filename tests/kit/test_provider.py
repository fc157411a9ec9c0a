"""Signing in through an identity provider: whose account it is, and what is refused."""

from urllib.parse import parse_qsl, urlsplit

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from django.urls import reverse

from config.safety import check_groups, check_provider
from corpus.benchmarks.services import add_person
from corpus.models import Membership
from kit.account.links import create_link
from kit.audit import BY_OTHER
from kit.models import ProviderIdentity
from kit.views import SignIn
from tests.factories import make_benchmark, make_member
from tests.kit.provider import CLIENT, SECRET, Provider, provider_on_loopback
from tests.markup import one_line

pytestmark = pytest.mark.django_db
ANN = {
    "sub": "248289761001",
    "preferred_username": "ann",
    "email": "ann@example.org",
    "email_verified": True,
}


@pytest.fixture
def provider(settings, monkeypatch):
    with provider_on_loopback() as found:
        settings.OIDC_ISSUER, settings.OIDC_CLIENT_ID = found.url, CLIENT
        settings.OIDC_CLIENT_SECRET = SECRET
        settings.ROOT_URLCONF = "tests.kit.provider_urls"
        settings.AUTHENTICATION_BACKENDS = [
            "django.contrib.auth.backends.ModelBackend",
            "kit.account.provider.ProviderBackend",
        ]
        monkeypatch.setattr(SignIn, "extra_context", {"has_provider": True})
        found.claims = dict(ANN)
        yield found


def come(provider: Provider, browser: Client | None = None) -> Client:
    """A browser that went to the provider and came back."""
    browser = browser or Client()
    sent = urlsplit(browser.get(reverse("provider")).headers["Location"])
    assert sent.path == "/go"
    back = urlsplit(provider.let_in(dict(parse_qsl(sent.query))))
    browser.page = one_line(browser.get(f"{back.path}?{back.query}", follow=True))
    return browser


def name_of(browser: Client) -> str:
    key = browser.session.get("_auth_user_id")
    return User.objects.get(pk=key).username if key else ""


def test_a_person_gets_one_account_and_keeps_it_whatever_their_address(provider) -> None:
    assert "Sign in with your institution" in one_line(Client().get(reverse("sign-in")))
    assert name_of(come(provider)) == "ann"
    provider.claims |= {"email": "ann@elsewhere.example", "preferred_username": "anna"}
    assert name_of(come(provider)) == "ann"
    user = User.objects.get()
    assert (user.email, user.has_usable_password()) == ("ann@example.org", False)
    assert ProviderIdentity.objects.get().subject == ANN["sub"]


@pytest.mark.parametrize(
    ("name", "given"),
    [("ann", "ann-2"), ("Ann", "Ann-2"), ("\u00e1nn", "\u00e1nn-2"), ("\u0430nn", "person")],
)
def test_a_name_that_is_taken_or_reads_so_is_not_theirs(provider, name, given) -> None:
    User.objects.create_user("ann", email="somebody@example.org")
    provider.claims["preferred_username"] = name
    assert name_of(come(provider)) == given


def test_an_account_with_the_same_address_is_linked_once_both_sides_verified_it(provider) -> None:
    mine = User.objects.create_user("a.smith", email="Ann@example.org", password="long-and-odd-77")
    provider.claims["email_verified"] = False
    refused = come(provider)
    assert name_of(refused) == ""
    assert "has not verified that it is yours" in refused.page
    provider.claims["email_verified"] = "true"  # a word is no yes
    assert name_of(come(provider)) == ""
    provider.claims["email_verified"] = True
    assert name_of(come(provider)) == "a.smith"
    assert User.objects.get() == mine
    # Somebody else whom the provider gives that address later does not get into it.
    provider.claims["sub"] = "another"
    other = come(provider)
    assert name_of(other) == ""
    assert "leads to another account" in other.page


def test_an_unverified_address_is_not_kept(provider) -> None:
    provider.claims["email_verified"] = False
    come(provider)
    assert User.objects.get().email == ""


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "changed",
    [
        {"aud": "another-client"},
        {"iss": "https://somebody.example"},
        {"nonce": "of another sign-in"},
        {"exp": 1},
        {"sub": "of another person"},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_a_token_that_is_not_for_this_sign_in_lets_nobody_in(provider, changed) -> None:
    provider.changed = changed
    refused = come(provider)
    assert name_of(refused) == ""
    assert "did not go through" in refused.page
    assert not User.objects.exists()


def test_a_way_back_that_nobody_began_lets_nobody_in(provider) -> None:
    asked = {"redirect_uri": "http://testserver/sign-in/provider/back/", "state": "s", "nonce": "n"}
    back = urlsplit(provider.let_in(asked))
    browser = Client()
    browser.get(f"{back.path}?{back.query}")
    assert name_of(browser) == ""


def test_who_is_deactivated_stays_out(provider) -> None:
    come(provider)
    User.objects.update(is_active=False)
    assert name_of(come(provider)) == ""


def test_groups_are_roles_and_domains_and_end_with_them(provider, settings) -> None:
    benchmark = make_benchmark(domains=("biology", "robotics"))
    make_member(benchmark, "boss", "admin")
    annotators = {"benchmark": "demo", "roles": ["annotator"], "domains": ["biology"]}
    settings.OIDC_GROUPS = {
        "annotators": annotators,
        "seniors": {"benchmark": "demo", "roles": ["reviewer"], "domains": ["robotics"]},
    }
    members = Membership.objects.filter(user__username="ann")
    provider.claims["groups"] = ["annotators", "of another service"]
    come(provider)
    ann = members.get()
    assert (ann.roles, [each.name for each in ann.domains.all()]) == (["annotator"], ["biology"])
    provider.claims["groups"] = ["annotators", "seniors"]
    come(provider)
    ann = members.get()
    assert (sorted(ann.roles), ann.domains.count()) == (["annotator", "reviewer"], 2)
    provider.claims["groups"] = []
    come(provider)
    assert not members.exists()


def test_an_admin_may_add_who_comes_through_the_provider_and_gets_no_link(provider) -> None:
    come(provider)
    benchmark = make_benchmark()
    invitation, token = add_person(
        benchmark=benchmark, username="ann", roles=["annotator"], actor=None
    )
    assert (invitation.user.username, token) == ("ann", "")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("https://id.example", "", ""), "needs OIDC_CLIENT_ID"),
        (("http://id.example", CLIENT, SECRET), "https://"),
    ],
)
def test_a_provider_by_halves_is_refused_at_the_start(given, words) -> None:
    with pytest.raises(ImproperlyConfigured, match=words):
        check_provider(*given)


@pytest.mark.parametrize("given", [[], {"group": {"roles": ["admin"]}}, {"group": "demo"}])
def test_groups_that_say_too_little_are_refused_at_the_start(given) -> None:
    with pytest.raises(ImproperlyConfigured, match="OIDC_GROUPS"):
        check_groups(given)


def test_links_by_others_are_told_at_this_sign_in_too(provider) -> None:
    """And what is decided after it is the person's own, whatever their session was before."""
    browser = come(provider)
    ann, boss = User.objects.get(), User.objects.create_user("boss")
    by_link = Client()
    by_link.post(reverse("sign-in-link", args=[create_link(user=ann, made_by=boss)]))
    assert by_link.session[BY_OTHER]
    assert "boss had made was used on" in come(provider).page
    assert "had made was used" not in come(provider).page
    come(provider, by_link)
    assert BY_OTHER not in by_link.session
    assert name_of(browser) == "ann"
