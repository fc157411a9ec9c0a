"""The page of one's second factor: set up, recovery codes, turned off."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.safestring import mark_safe
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from kit import htmx
from kit.account import factor
from kit.account.forms import NewFactorForm, own_factor_form
from kit.account.sessions import end_sessions, sessions_of
from kit.models import SecondFactor

# In a session: the salt of a secret that was shown and not confirmed yet.
_SHOWN = "second_factor_shown"


@never_cache
@require_http_methods(["GET", "POST"])
def second_factor(request: HttpRequest) -> HttpResponse:
    """Set it up, confirmed by a code; or see what there is."""
    person = _person(request)
    if factor.has_factor(person):
        return _page(request, form=own_factor_form(request, person))
    salt = request.session.setdefault(_SHOWN, factor.new_salt())
    form = NewFactorForm(request.POST if request.method == "POST" else None)
    codes = htmx.submit(form, factor.set_up, user=person, salt=salt)
    if codes is None:
        secret, link = factor.app_secret(salt), factor.app_link(salt, person, request.get_host())
        import segno  # slow to load, and seldom asked for

        # Four pixels a square, on white: an app on a phone reads it off a dark page, too.
        drawn = segno.make(link, micro=False).svg_inline(scale=4, light="#fff")
        picture = mark_safe(drawn)  # noqa: S308 (squares, and nothing of what the link says)
        return _page(request, form=form, secret=secret, link=link, picture=picture)
    del request.session[_SHOWN]
    request.session[factor.PASSED] = True
    _end_others(request)
    return _page(request, form=own_factor_form(request, person), codes=codes)


@never_cache
@require_POST
def second_factor_change(request: HttpRequest) -> HttpResponse:
    """New recovery codes, or none of it any more; asks for the password, or who has none a code."""
    person = _person(request)
    get_object_or_404(SecondFactor, user=person)
    form = own_factor_form(request, person, request.POST)
    if not form.is_valid():
        return _page(request, form=form)
    if request.POST.get("change") == "codes":
        codes = factor.renew_codes(user=person)
        return _page(request, form=own_factor_form(request, person), codes=codes)
    factor.turn_off(user=person)
    request.session.pop(factor.PASSED, None)
    _end_others(request)
    messages.success(
        request, "You sign in without a code from now on. You are signed out elsewhere."
    )
    return htmx.redirect(request, reverse("account"))


def _end_others(request: HttpRequest) -> None:
    """Sessions that began under other rules end."""
    end_sessions(each for each in sessions_of(request, _person(request)) if not each["is_this"])


def _page(request: HttpRequest, **shown: Any) -> HttpResponse:
    held = SecondFactor.objects.filter(user=_person(request)).first()
    show = htmx.invalid if shown["form"].errors else htmx.render
    needed = factor.lacks_factor(request)
    return show(request, "kit/second_factor.html", {"held": held, "needed": needed, **shown})


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user
