from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from kit.account.links import choose_password, create_link, find_link, use_link
from kit.models import SignInLink
from tests.factories import make_token, used_by
from tests.markup import one_line

pytestmark = pytest.mark.django_db
WORDS, NEW_WORDS = "a-long-and-odd-phrase-77", "another-odd-phrase-78"


@pytest.fixture
def user() -> User:
    return User.objects.create_user("annotator-1")


def test_link_works_once(user: User) -> None:
    token = create_link(user=user)
    assert used_by(token) == user
    assert use_link(token) is None


def test_expired_link_is_refused(user: User) -> None:
    token = create_link(user=user)
    SignInLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert use_link(token) is None


def test_newer_link_ends_older_one(user: User) -> None:
    first, second = create_link(user=user), create_link(user=user)
    assert find_link(first) is None
    assert used_by(second) == user


def test_token_itself_is_not_stored(user: User) -> None:
    token = create_link(user=user)
    assert token not in str(SignInLink.objects.values().get())


def test_link_of_inactive_person_is_refused(user: User) -> None:
    token = create_link(user=user)
    User.objects.update(is_active=False)
    assert use_link(token) is None


def test_looking_at_the_link_does_not_use_it_up(user: User, client: Client) -> None:
    url = reverse("sign-in-link", args=[create_link(user=user)])
    assert b"Sign in as annotator-1" in client.get(url).content
    assert "_auth_user_id" not in client.session
    client.post(url)
    assert client.session["_auth_user_id"] == str(user.pk)


def test_used_link_says_what_to_do(user: User, client: Client) -> None:
    url = reverse("sign-in-link", args=[create_link(user=user)])
    client.post(url)
    response = Client().post(url)
    assert response.status_code == 404
    assert b"Ask an admin" in response.content
    assert reverse("sign-in-ask") in one_line(response)


def test_sign_in_link_needs_csrf_token(user: User) -> None:
    url = reverse("sign-in-link", args=[create_link(user=user)])
    assert Client(enforce_csrf_checks=True).post(url).status_code == 403


def test_person_chooses_password_and_comes_back_with_it(user: User, client: Client) -> None:
    client.force_login(user)
    client.post(reverse("account"), {"new_password1": WORDS, "new_password2": WORDS})
    assert Client().login(username="annotator-1", password=WORDS)


def test_first_password_ends_links_token_and_other_sessions(user: User, client: Client) -> None:
    """Whoever made the account could have come in by any of them before."""
    other = Client()
    other.post(reverse("sign-in-link", args=[create_link(user=user)]))
    token = make_token(user)
    left = create_link(user=user)
    client.force_login(user)
    posted = {"new_password1": WORDS, "new_password2": WORDS, "keep_tokens": "on"}
    client.post(reverse("account"), posted)
    assert client.get(reverse("home")).status_code == 200
    assert find_link(left) is None
    assert other.get(reverse("home")).status_code == 302
    headers = {"authorization": f"Token {token}"}
    assert Client().get(reverse("api-benchmarks"), headers=headers).status_code == 401


@pytest.fixture
def settled(user: User) -> User:
    choose_password(user=user, password=WORDS)
    return user


@pytest.mark.parametrize(("old", "status"), [(None, 422), ("wrong", 422), (WORDS, 302)])
def test_change_of_a_password_needs_the_old_one(
    settled: User, client: Client, old: str | None, status: int
) -> None:
    client.force_login(settled)
    posted = {"new_password1": NEW_WORDS, "new_password2": NEW_WORDS}
    posted |= {} if old is None else {"old_password": old}
    assert client.post(reverse("account"), posted).status_code == status
    chosen = NEW_WORDS if status == 302 else WORDS
    assert Client().login(username="annotator-1", password=chosen)


@pytest.mark.parametrize("is_kept", [False, True])
def test_change_of_a_password_ends_links_and_tokens_that_are_not_kept(
    settled: User, client: Client, is_kept: bool
) -> None:
    token = make_token(settled)
    left = create_link(user=settled)
    client.force_login(settled)
    assert "Keep my API tokens (1)" in one_line(client.get(reverse("account")))
    posted = {"old_password": WORDS, "new_password1": NEW_WORDS, "new_password2": NEW_WORDS}
    posted |= {"keep_tokens": "on"} if is_kept else {}
    said = client.post(reverse("account"), posted, follow=True)
    assert find_link(left) is None
    assert ("Your API tokens (1) still work" in one_line(said)) is is_kept
    headers = {"authorization": f"Token {token}"}
    status = Client().get(reverse("api-benchmarks"), headers=headers).status_code
    assert status == (200 if is_kept else 401)


def test_session_key_changes_at_sign_in_by_link(user: User, client: Client) -> None:
    """A session that somebody else planted in the browser does not become the person's."""
    session = client.session
    session["planted"] = True
    session.save()
    client.post(reverse("sign-in-link", args=[create_link(user=user)]))
    assert client.session["_auth_user_id"] == str(user.pk)
    assert client.session.session_key != session.session_key
    assert not client.session.exists(session.session_key)


def test_link_of_another_person_leaves_nothing_of_the_session_before(
    user: User, client: Client
) -> None:
    client.force_login(User.objects.create_user("annotator-2"))
    session = client.session
    session["theirs"] = True
    session.save()
    client.post(reverse("sign-in-link", args=[create_link(user=user)]))
    assert client.session["_auth_user_id"] == str(user.pk)
    assert "theirs" not in client.session


@pytest.mark.parametrize(
    ("asked", "led"),
    [
        ("/account/", "/account/"),
        ("https://elsewhere.example/", "/"),
        ("//elsewhere.example/", "/"),
        ("/\\elsewhere.example/", "/"),
        ("javascript:alert(1)", "/"),
        ("http://testserver@elsewhere.example/", "/"),
    ],
)
def test_sign_in_leads_to_this_host_only(
    settled: User, client: Client, asked: str, led: str
) -> None:
    posted = {"username": "annotator-1", "password": WORDS, "next": asked}
    response = client.post(reverse("sign-in"), posted)
    assert (response.status_code, response["Location"]) == (302, led)
    again = client.get(reverse("sign-in"), {"next": asked})  # signed in already
    assert (again.status_code, again["Location"]) == (302, led)


@pytest.mark.parametrize(
    ("asked", "led"), [("/account/", "/account/"), ("//x.example/", "/sign-in/")]
)
def test_sign_out_leads_to_this_host_only(user: User, client: Client, asked: str, led: str) -> None:
    client.force_login(user)
    assert client.post(reverse("sign-out"), {"next": asked})["Location"] == led


def test_sign_out_is_no_link(user: User, client: Client) -> None:
    """Otherwise a picture on any page could sign people out."""
    client.force_login(user)
    assert client.get(reverse("sign-out")).status_code == 405
    assert "_auth_user_id" in client.session
    checked = Client(enforce_csrf_checks=True)
    checked.force_login(user)
    assert checked.post(reverse("sign-out")).status_code == 403
    client.post(reverse("sign-out"))
    assert "_auth_user_id" not in client.session


# --- The first visit -------------------------------------------------------------------------


def test_first_visit_asks_for_a_password_and_says_what_follows(user: User, client: Client) -> None:
    first = client.post(reverse("sign-in-link", args=[create_link(user=user)]), follow=True)
    assert first.redirect_chain == [(reverse("choose-password"), 302)]
    page = one_line(first)
    assert "If you skip this, you stay signed in on this browser for two weeks" in page
    assert "Skip for now" in page
    posted = {"new_password1": WORDS, "new_password2": WORDS}
    assert client.post(reverse("choose-password"), posted).url == reverse("home")
    assert Client().login(username="annotator-1", password=WORDS)


def test_who_skipped_it_is_not_asked_again(user: User, client: Client) -> None:
    client.post(reverse("sign-in-link", args=[create_link(user=user)]))
    again = client.post(reverse("sign-in-link", args=[create_link(user=user)]))
    assert again.url == reverse("home")


def test_weak_first_password_is_refused_with_the_reason(user: User, client: Client) -> None:
    client.force_login(user)
    posted = {"new_password1": "annotator-1", "new_password2": "annotator-1"}
    response = client.post(reverse("choose-password"), posted)
    assert response.status_code == 422
    assert "too similar to the username" in one_line(response)


def test_forgotten_password_is_replaced_right_after_a_link(settled: User, client: Client) -> None:
    User.objects.update(last_login=timezone.now())
    led = client.post(reverse("sign-in-link", args=[create_link(user=settled)]))
    assert led.url == reverse("choose-password")
    posted = {"new_password1": NEW_WORDS, "new_password2": NEW_WORDS}
    client.post(reverse("choose-password"), posted)
    assert Client().login(username="annotator-1", password=NEW_WORDS)
    # Once: from then on the old one is asked for.
    assert client.get(reverse("choose-password")).url == reverse("account")
    assert client.post(reverse("account"), posted).status_code == 422


def test_an_hour_after_a_link_the_old_password_is_asked_for(settled: User, client: Client) -> None:
    client.post(reverse("sign-in-link", args=[create_link(user=settled)]))
    session = client.session
    session["by_link_at"] -= 60 * 60
    session.save()
    assert client.get(reverse("choose-password")).url == reverse("account")
