"""Signing in, with and without a password, and what is said when all else fails."""

import sys
import time
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView
from django.core.exceptions import PermissionDenied
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django.views.defaults import page_not_found

from kit import audit, htmx
from kit.account.entering import BY_LINK, begin, let_in, who_waits
from kit.account.forms import AskForm, CodeForm, PasswordForm, SignInForm, too_many_words
from kit.account.limits import LIMITS, LINKS, TooMany, lift
from kit.account.links import (
    AGREED_FOR,
    ask_for_link,
    choose_password,
    find_link,
    hand_link,
    is_first_way_in,
    is_mailed_to,
    link_by_other,
    use_link,
    waiting_requests,
)
from kit.errors import is_passing, is_too_long
from kit.models import Tries

# For so long after signing in by a link a person may choose a password without the old one.
_FORGOTTEN_SECONDS = 60 * 60

BY_OTHERS_LINK = (
    "The link that you signed in with was made by somebody else, who could have chosen this "
    "password. So what you decide counts in no release until you say that it is yours. To end "
    "that, sign in by a link that was mailed to you or that whoever runs this site makes "
    "(manage.py sign_in_link), and choose a password there."
)

# Seconds after which a script may ask again: longer than SQLite waits for a lock.
_RETRY_AFTER = 30


class SignIn(LoginView):
    """By user name and password, as often as limits let one."""

    template_name = "kit/sign_in.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True
    extra_context = {"has_provider": bool(settings.OIDC_ISSUER)}

    def form_valid(self, form: BaseForm) -> HttpResponse:
        """In, or asked for the code."""
        user = form.get_user()  # type: ignore[attr-defined]
        return redirect(begin(self.request, user, url=self.get_success_url()))

    def form_invalid(self, form: BaseForm) -> HttpResponse:
        """The form with what is wrong; 429 where nobody looked at the password."""
        response = super().form_invalid(form)  # type: ignore[arg-type]
        return _with_wait(response, form.too_many)  # type: ignore[attr-defined]


@login_not_required
@never_cache
@require_http_methods(["GET", "POST"])
def sign_in_code(request: HttpRequest) -> HttpResponse:
    """The code of who has a second factor and said their password, or came by a link."""
    waiting = who_waits(request)
    if waiting is None:
        messages.warning(request, "Sign in again: a code is asked for within ten minutes.")
        return redirect("sign-in")
    form = CodeForm(request, waiting.user, request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        return redirect(let_in(request, waiting, by_code=True))
    page = htmx.render(request, "kit/sign_in_code.html", form=form)
    return _with_wait(page, form.too_many)


def _with_wait(response: HttpResponse, error: TooMany | None) -> HttpResponse:
    if error is not None:
        response.status_code, response["Retry-After"] = 429, str(error.seconds)
    return response


@login_not_required
@never_cache
@require_http_methods(["GET", "POST"])
def sign_in_ask(request: HttpRequest) -> HttpResponse:
    """Ask for a one-time link; the answer is the same whoever was named."""
    form = AskForm(request.POST if request.method == "POST" else None)
    status, is_asked = 200, False
    if request.method == "POST" and form.is_valid():
        name = form.cleaned_data["name"]
        try:
            LINKS.take(request, name)
            ask_for_link(name=name, site=request.build_absolute_uri("/").rstrip("/"))
            is_asked = True
        except TooMany as error:
            form.add_error(None, too_many_words(error))
            status = 429
    context = {"form": form, "is_asked": is_asked}
    return htmx.render(request, "kit/sign_in_ask.html", context, status=status)


@login_not_required
@never_cache
@require_http_methods(["GET", "POST"])
def sign_in_link(request: HttpRequest, token: str) -> HttpResponse:
    """Sign a person in once; the first time, or who forgot theirs, chooses a password next.

    Looking at the link does not use it up (mail programs look at links); the button does.
    """
    if request.method == "POST":
        used = use_link(token)
        if used is not None:
            user = used.user
            asks = user.last_login is None or user.has_usable_password()
            url = reverse("choose-password" if asks else "home")
            return redirect(begin(request, user, url=url, link=used))
    link = find_link(token)
    status = 200 if link else 404
    return htmx.render(request, "kit/sign_in_link.html", {"link": link}, status=status)


def needs_old_password(request: HttpRequest) -> bool:
    """Whether the person must say the old password to choose another: not right after a link."""
    assert isinstance(request.user, User)
    came_at = request.session.get(BY_LINK, 0)
    is_fresh = time.time() - came_at < _FORGOTTEN_SECONDS
    return request.user.has_usable_password() and not is_fresh


@never_cache
@require_http_methods(["GET", "POST"])
def choose_password_page(request: HttpRequest) -> HttpResponse:
    """A password for who came by a link; it can be skipped."""
    assert isinstance(request.user, User)
    if needs_old_password(request):
        return redirect("account")
    form = PasswordForm(request.user, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        keep_password(request, form.cleaned_data)
        return redirect("home")
    return htmx.render(request, "kit/choose_password.html", form=form)


def keep_password(request: HttpRequest, said: dict[str, Any]) -> None:
    """Set the password of a PasswordForm, stay signed in, and say what else that changed."""
    assert isinstance(request.user, User)
    was_first = not request.user.has_usable_password()
    by_other = link_by_other(request)
    if by_other is not None and is_first_way_in(by_other):
        # Nobody else has a way in any more: what is done from here on is the person's own.
        del request.session[audit.BY_OTHER]
        by_other = None
    tokens = choose_password(
        user=request.user,
        password=said["new_password1"],
        link=by_other,
        keeps_tokens=said.get("keep_tokens", False),
    )
    update_session_auth_hash(request, request.user)
    request.session.pop(BY_LINK, None)
    words = "Your password is set. Use it to sign in from now on. You are signed out elsewhere."
    if by_other is not None:
        messages.warning(request, BY_OTHERS_LINK)
    if was_first:
        words += " API tokens and links made before it no longer work."
    elif tokens:
        words += f" Your API tokens ({tokens}) still work: revoke those that others may know."
    messages.success(request, words)


@require_GET
def sign_in_requests(request: HttpRequest) -> HttpResponse:
    """For staff: who waits for a link, and who has no tries left."""
    _staff(request)
    context = {"requests": waiting_requests(), "locked": _locked()}
    return htmx.render(request, "kit/sign_in_requests.html", context)


@require_POST
def sign_in_lift(request: HttpRequest, pk: int) -> HttpResponse:
    """Staff give a person or an address all tries again."""
    actor = _staff(request)
    locked = {row.pk: (row, who) for row, who in _locked()}
    if pk in locked:
        row, who = locked[pk]
        lift(row=row, who=who, actor=actor)
        messages.success(request, f"{who} may try again.")
    return htmx.redirect(request, reverse("sign-in-requests"))


@never_cache
@require_POST
def sign_in_hand(request: HttpRequest, pk: int) -> HttpResponse:
    """A link for who asked for one. It is on this one page only: its token is stored nowhere."""
    actor = _staff(request)
    asked = get_object_or_404(waiting_requests(), pk=pk)
    with htmx.refusal_shown(request):
        site = request.build_absolute_uri("/").rstrip("/")
        token = hand_link(user=asked.user, actor=actor, site=site)
        if not token:
            messages.info(request, _why_no_link(asked.user))
            return htmx.redirect(request, reverse("sign-in-requests"))
        path = reverse("sign-in-link", args=[token])
        context = {"person": asked.user, "link": request.build_absolute_uri(path)}
        return htmx.render(request, "kit/sign_in_hand.html", context)
    return htmx.redirect(request, reverse("sign-in-requests"))


def _why_no_link(user: User) -> str:
    if is_mailed_to(user):
        return f"The link is mailed to {user.username}'s own address."
    return (
        f"{user.username} has decided things already, and whoever holds the link could decide in "
        f"their name. So it takes two: let another superuser make the link within "
        f"{AGREED_FOR.days} days, or whoever runs the server: "
        f"manage.py sign_in_link {user.username}."
    )


def _locked() -> list[tuple[Tries, str]]:
    return [each for limit in LIMITS for each in limit.locked()]


def _staff(request: HttpRequest) -> User:
    if not (isinstance(request.user, User) and request.user.is_staff):
        raise PermissionDenied("Only staff may help others to sign in.")
    return request.user


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """An address that leads nowhere, in JSON to scripts."""
    if not request.path_info.startswith("/api/"):
        return page_not_found(request, exception)
    words = f"The API has no address {request.path_info[:200]}; {reverse('api-docs')} lists them."
    return JsonResponse({"detail": words}, status=404)


@login_not_required
def server_error(request: HttpRequest) -> HttpResponse:
    """An error that nobody caught: 503 where it passes by itself, JSON to scripts.

    Looks nothing up: the database may be what is missing.
    """
    error = sys.exc_info()[1]
    too_long = is_too_long(error)
    passes = is_passing(error) and not too_long
    status = 503 if passes or too_long else 500
    if request.path_info.startswith("/api/"):
        words = "Something went wrong on our side; the log says what."
        if too_long:
            words = (
                "This asks for too much at once and was stopped. Narrow the filter or the search, "
                "or do it in parts."
            )
        elif passes:
            words = (
                "The database or the disk is busy or full; nothing was changed. Try again later."
            )
        answer: HttpResponse = JsonResponse({"detail": words}, status=status)
    else:
        answer = HttpResponse(render_to_string("500.html", {"too_long": too_long}), status=status)
    if passes:
        answer["Retry-After"] = str(_RETRY_AFTER)
    return answer
