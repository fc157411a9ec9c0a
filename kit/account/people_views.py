"""The accounts of the site: a list for staff, and what superusers do with one."""

from typing import Final

from django import forms
from django.contrib import messages
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from kit import htmx
from kit.account import people as verbs
from kit.account.factor import has_factor
from kit.account.names import ERASED
from kit.lists.tables import Column, Filter, Table

_STATES: Final = {"active": "Active", "deactivated": "Deactivated", "erased": "Erased"}
_WAYS: Final = {
    "password": "A password",
    "provider": "The identity provider",
    "links": "One-time links alone",
}
_ERASED: Final = Q(is_active=False, username__startswith=ERASED)
_NO_PASSWORD: Final = {"password__startswith": UNUSABLE_PASSWORD_PREFIX}


def _in_state(people: QuerySet[User], value: str) -> QuerySet[User]:
    if value == "active":
        return people.filter(is_active=True)
    if value == "erased":
        return people.filter(_ERASED)
    return people.filter(is_active=False).exclude(_ERASED)


def _by_way(people: QuerySet[User], value: str) -> QuerySet[User]:
    if value == "password":
        return people.exclude(**_NO_PASSWORD)
    if value == "provider":
        return people.filter(identity__isnull=False)
    return people.filter(**_NO_PASSWORD, identity=None)


def _by_factor(people: QuerySet[User], value: str) -> QuerySet[User]:
    return people.filter(second_factor__isnull=value == "no")


PEOPLE = Table(
    search=("username", "email"),
    filters=(
        Filter("state", "State", list(_STATES.items()), apply=_in_state),
        Filter("factor", "Second factor", [("yes", "Set up"), ("no", "None")], apply=_by_factor),
        Filter("way", "Signs in by", list(_WAYS.items()), apply=_by_way),
    ),
    columns=(
        Column("person", "Person", order=("username",)),
        Column("state", "State"),
        Column("joined", "Account made", order=("date_joined",)),
        Column("seen", "Signed in last", order=("last_login",)),
    ),
    order=("username",),
)


def state_of(person: User) -> str:
    """Its word in the list."""
    if person.is_active:
        return "active"
    return "erased" if person.username.startswith(ERASED) else "deactivated"


class RenameForm(forms.Form):
    """Another user name."""

    username = forms.CharField(label="User name", max_length=150)


@require_GET
def people(request: HttpRequest) -> HttpResponse:
    """Every account, for staff."""
    _staff(request)
    table = PEOPLE.read(User.objects.all(), request.GET)
    for person in table.rows:
        person.state = _STATES[state_of(person)]  # type: ignore[attr-defined]
    return htmx.render(request, "kit/people.html", {"table": table}, partial="results")


@require_http_methods(["GET", "POST"])
def person(request: HttpRequest, pk: int) -> HttpResponse:
    """One account, and giving it another name."""
    actor = _staff(request)
    found = get_object_or_404(User, pk=pk)
    shown = found.username
    form = RenameForm(
        request.POST if request.method == "POST" else None, initial={"username": shown}
    )
    htmx.submit(form, verbs.rename, person=found, actor=actor)
    if form.is_bound and form.is_valid():
        messages.success(request, f"{shown} is {found.username} from now on.")
        return htmx.redirect(request, reverse("site-person", args=[pk]))
    context = {
        "person": found,
        "shown": shown,
        "state": state_of(found),
        "has_factor": has_factor(found),
    }
    return htmx.render(request, "kit/site_person.html", context, form=form)


@require_http_methods(["POST"])
def person_verb(request: HttpRequest, pk: int, verb: str) -> HttpResponse:
    """Deactivate, reactivate, take the second factor; or erase, for the user name, typed."""
    actor = _staff(request)
    found = get_object_or_404(User, pk=pk)
    with htmx.refusal_shown(request):
        if verb == "erase":
            if request.POST.get("username") != found.username:
                messages.error(request, "Type the user name as it stands here to erase it.")
                return htmx.redirect(request, reverse("site-person", args=[pk]))
            pseudonym = verbs.erase(person=found, actor=actor)
            messages.success(request, f"The account was erased; its decisions are {pseudonym}'s.")
        elif verb in ("deactivate", "reactivate"):
            getattr(verbs, verb)(person=found, actor=actor)
            messages.success(request, f"{found.username} is {verb}d.")
        elif verb == "take-factor":
            verbs.take_factor(person=found, actor=actor)
            messages.success(request, f"{found.username} signs in without a code from now on.")
        else:
            raise Http404("No such verb.")
    return htmx.redirect(request, reverse("site-person", args=[pk]))


def _staff(request: HttpRequest) -> User:
    if not (isinstance(request.user, User) and request.user.is_staff):
        raise PermissionDenied("Only staff see the accounts of the site.")
    return request.user
