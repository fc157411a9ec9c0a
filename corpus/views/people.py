"""Screens of the people in a benchmark."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from corpus.access import Access, enter
from corpus.forms import PersonForm, PlaceForm
from corpus.models import Membership, Role
from corpus.services import people as verbs
from kit import htmx
from kit.errors import Refused
from kit.tables import Column, Table

PEOPLE = Table(
    search=("user__username",),
    columns=(
        Column("person", "Person", order=("user__username",)),
        Column("roles", "Roles"),
        Column("domains", "Domains"),
        Column("seen", "Signed in last", order=("user__last_login",)),
        Column("actions", "Change"),
    ),
    order=("user__username",),
)


@require_http_methods(["GET", "POST"])
def people(request: HttpRequest, slug: str) -> HttpResponse:
    """The members, and adding one."""
    access = enter(request.user, slug, Role.ADMIN)
    form = PersonForm(
        request.POST if request.method == "POST" else None, benchmark=access.benchmark
    )
    if request.method == "POST" and form.is_valid():
        try:
            added, token = verbs.add_person(
                benchmark=access.benchmark, actor=access.user, **form.cleaned_data
            )
        except Refused as refusal:
            form.add_error(refusal.field or None, refusal.message)
        else:
            return _show_link(request, access, added, token)
    members = Membership.objects.filter(benchmark=access.benchmark).select_related("user")
    table = PEOPLE.read(members.prefetch_related("domains"), request.GET)
    context = {"access": access, "tab": "people", "form": form, "table": table}
    if form.is_bound:
        return htmx.invalid(request, "corpus/people.html", context)
    return htmx.render(request, "corpus/people.html", context, partial="results")


@require_http_methods(["GET", "POST"])
def person(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Change one member's roles and domains."""
    access = enter(request.user, slug, Role.ADMIN)
    membership = get_member(access, pk)
    form = PlaceForm(
        request.POST if request.method == "POST" else None,
        benchmark=access.benchmark,
        membership=membership,
    )
    if request.method == "POST" and form.is_valid():
        try:
            verbs.change_person(membership=membership, actor=access.user, **form.cleaned_data)
        except Refused as refusal:
            form.add_error(refusal.field or None, refusal.message)
        else:
            messages.success(request, f"Saved for {membership.user}.")
            return htmx.redirect(request, reverse("people", args=[slug]))
    context = {"access": access, "tab": "people", "form": form, "membership": membership}
    show = htmx.invalid if form.is_bound else htmx.render
    return show(request, "corpus/person.html", context)


@require_POST
def person_link(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """A new one-time link for one member."""
    access = enter(request.user, slug, Role.ADMIN)
    membership = get_member(access, pk)
    try:
        token = verbs.renew_link(membership=membership, actor=access.user)
    except Refused as refusal:
        messages.error(request, refusal.message)
        return htmx.redirect(request, reverse("people", args=[slug]))
    return _show_link(request, access, membership, token)


@require_POST
def person_remove(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """End one membership."""
    access = enter(request.user, slug, Role.ADMIN)
    membership = get_member(access, pk)
    try:
        verbs.remove_person(membership=membership, actor=access.user)
    except Refused as refusal:
        messages.error(request, refusal.message)
    else:
        messages.success(request, f"{membership.user} is no longer a member.")
    if membership.user_id == access.user.pk and not _is_member(access):
        return htmx.redirect(request, reverse("home"))
    return htmx.redirect(request, reverse("people", args=[slug]))


def get_member(access: Access, pk: int) -> Membership:
    """A member of this benchmark, or 404."""
    members = Membership.objects.select_related("user", "benchmark")
    return get_object_or_404(members, pk=pk, benchmark=access.benchmark)


def _is_member(access: Access) -> bool:
    return Membership.objects.filter(user=access.user, benchmark=access.benchmark).exists()


def _show_link(
    request: HttpRequest, access: Access, membership: Membership, token: str
) -> HttpResponse:
    """The link is on this one page only: its token is stored nowhere."""
    path = reverse("sign-in-link", args=[token]) if token else ""
    context: dict[str, Any] = {
        "access": access,
        "tab": "people",
        "membership": membership,
        "link": request.build_absolute_uri(path) if path else "",
    }
    response = htmx.render(request, "corpus/person_link.html", context)
    response["Cache-Control"] = "no-store"
    return response
