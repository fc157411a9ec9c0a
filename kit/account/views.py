"""The account page: password, mail address, API tokens, and where one is signed in."""

import smtplib
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from kit import audit, htmx
from kit.account.decisions import doubtful_decisions, say_whose
from kit.account.factor import has_factor
from kit.account.forms import AddressForm, NewPasswordForm, PasswordForm, TokenForm
from kit.account.links import (
    ask_for_address,
    confirmed_address,
    is_first_way_in,
    link_by_other,
    set_address,
)
from kit.account.sessions import end_sessions, sessions_of
from kit.account.tokens import create_token, revoke_token
from kit.errors import Refused
from kit.models import SignInLink
from kit.views import keep_password, needs_old_password

_NOT_BY_LINK = (
    "You are signed in by a link that somebody else made, or by a password that was chosen after "
    "one: links mailed to a new address would go to whoever that was. Choose a password first, at "
    "your very first visit; else ask whoever runs this site for a link."
)


@never_cache
@require_http_methods(["GET", "POST"])
def account(request: HttpRequest) -> HttpResponse:
    """See the account; choose or change the password, so that one comes back without a link."""
    form = _password_form(request, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        keep_password(request, form.cleaned_data)
        return htmx.redirect(request, reverse("account"))
    return _page(request, form=form)


@never_cache
@require_POST
def account_token(request: HttpRequest) -> HttpResponse:
    """Make an API token. It is on this one page only: it is stored nowhere."""
    form = TokenForm(request.POST)
    made = htmx.submit(form, create_token, user=_person(request), link=audit.link_of(request))
    if made is None:
        return _page(request, token_form=form)
    return _page(request, token=made)


@require_POST
def account_token_revoke(request: HttpRequest, pk: int) -> HttpResponse:
    """End one of my tokens."""
    person = _person(request)
    token = get_object_or_404(person.api_tokens, pk=pk)
    revoke_token(token=token, actor=person)
    messages.success(request, f"The token {token.name} no longer works.")
    return htmx.redirect(request, reverse("account"))


@require_POST
def account_decisions(request: HttpRequest, pk: int) -> HttpResponse:
    """Say whether what was done after signing in with somebody else's link is mine."""
    links = SignInLink.objects.select_related("user")
    link = get_object_or_404(links, pk=pk, user=_person(request))
    with htmx.refusal_shown(request):
        is_theirs = request.POST.get("whose") == "mine"
        count = say_whose(link=link, is_theirs=is_theirs, request=request)
        messages.success(
            request,
            f"Decisions confirmed: {count}. They count in releases from now on."
            if is_theirs
            else f"Decisions disowned: {count}. They count in no release, and sessions and tokens "
            "that came of the link have ended.",
        )
    return htmx.redirect(request, reverse("account"))


@require_POST
def account_session_end(request: HttpRequest) -> HttpResponse:
    """End one of my other sessions, or all of them."""
    others = [each for each in sessions_of(request, _person(request)) if not each["is_this"]]
    wanted = request.POST.get("session")
    ended = end_sessions(each for each in others if wanted in ("others", each["ident"]))
    messages.success(request, f"Sessions ended: {ended}.")
    return htmx.redirect(request, reverse("account"))


@never_cache
@require_POST
def account_address_ask(request: HttpRequest) -> HttpResponse:
    """Say a mail address; it counts once the link that goes there was followed."""
    form = AddressForm(request, _person(request), request.POST)
    if form.is_valid() and audit.link_of(request) is not None:
        form.add_error("address", _NOT_BY_LINK)
    if not form.is_valid():
        return _page(request, address_form=form)
    address, site = form.cleaned_data["address"], request.build_absolute_uri("/").rstrip("/")
    try:
        ask_for_address(user=_person(request), address=address, site=site)
        messages.success(request, f"Open the link that was mailed to {address} within a day.")
    except (OSError, smtplib.SMTPException):
        messages.error(request, "The mail could not be sent. Try again later.")
    return htmx.redirect(request, reverse("account"))


@never_cache
@require_http_methods(["GET", "POST"])
def account_address(request: HttpRequest, said: str) -> HttpResponse:
    """Follow the link: looking at it changes nothing, the button does."""
    person = _person(request)
    with htmx.refusal_shown(request):
        address = confirmed_address(user=person, said=said)
        if audit.link_of(request) is not None:
            raise Refused(_NOT_BY_LINK)
        if request.method == "GET":
            return htmx.render(request, "kit/address.html", {"address": address})
        set_address(user=person, address=address)
        messages.success(request, f"Sign-in links are mailed to {address} from now on.")
    return htmx.redirect(request, reverse("account"))


def _page(request: HttpRequest, **shown: Any) -> HttpResponse:
    """The whole page around the form that was sent; 422 where that is wrong."""
    person = _person(request)
    by_link = link_by_other(request)
    bound = [form for form in shown.values() if getattr(form, "errors", None)]
    context = {
        "form": _password_form(request, None),
        "token_form": TokenForm(),
        "address_form": AddressForm(request, person),
        "has_mail": bool(settings.EMAIL_URL),
        "has_factor": has_factor(person),
        "tokens": person.api_tokens.all(),
        "doubtful": doubtful_decisions(person),
        "by_link": by_link is not None,
        "password_helps": by_link is not None and is_first_way_in(by_link),
        "sessions": sessions_of(request, person),
        **shown,
    }
    show = htmx.invalid if bound else htmx.render
    return show(request, "kit/account.html", context)


def _password_form(request: HttpRequest, data: Any) -> PasswordForm:
    if needs_old_password(request):
        return NewPasswordForm(request, _person(request), data)
    return PasswordForm(_person(request), data)


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user
