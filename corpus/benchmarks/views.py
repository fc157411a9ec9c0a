"""Screens of benchmarks and of their people."""

import re
from collections.abc import Sequence
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from corpus.access import Access, enter, finder
from corpus.benchmarks import archive as archive_verbs
from corpus.benchmarks import services as verbs
from corpus.benchmarks.overview import domain_counts
from corpus.models import Benchmark, CorpusVersion, Invitation, Layer, Licence, Membership, Role
from kit import htmx
from kit.account.decisions import doubtful_decisions
from kit.account.links import waiting_requests
from kit.health.checks import failing
from kit.lists.tables import Column, Table
from kit.models import Event

MOST_PEOPLE, LONGEST_NAME = 100, 150


class BenchmarkForm(forms.Form):
    """A new benchmark."""

    name = forms.CharField(label="Name", max_length=120)
    slug = forms.SlugField(
        label="Short name", max_length=60, help_text="Used in addresses: letters, digits, hyphens."
    )
    description = forms.CharField(
        label="Description", required=False, widget=forms.Textarea(attrs={"rows": 3})
    )
    licence = forms.CharField(
        label="Licence", max_length=120, required=False, help_text="For example CC BY 4.0."
    )


class LicenceForm(forms.Form):
    """The licence of a layer."""

    domain: forms.Field = forms.ModelChoiceField(
        None, label="Domain", required=False, empty_label="Every domain"
    )
    layer = forms.ChoiceField(label="Of", choices=Layer.choices)
    licence = forms.CharField(label="Licence", max_length=120, help_text="For example CC BY 4.0.")
    url = forms.CharField(label="Licence URL", max_length=2000, required=False)
    attribution = forms.CharField(
        label="Attribution", required=False, widget=forms.Textarea(attrs={"rows": 2})
    )
    text = forms.CharField(
        label="Full text of the licence",
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text="Printed in LICENCE.md of every release.",
    )

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["domain"].queryset = benchmark.domains.ready()  # type: ignore[attr-defined]


class PlaceForm(forms.Form):
    """Roles and domains of a member."""

    roles = forms.MultipleChoiceField(
        label="Roles", choices=Role.choices, widget=forms.CheckboxSelectMultiple
    )
    domains: forms.Field = forms.ModelMultipleChoiceField(
        None,
        label="Domains",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Choose none for every domain.",
    )

    def __init__(
        self, *args: Any, benchmark: Benchmark, membership: Membership | None = None, **kwargs: Any
    ) -> None:
        if membership is not None:
            kwargs["initial"] = {
                "roles": membership.roles,
                "domains": membership.domains.all(),
            }
        super().__init__(*args, **kwargs)
        self.fields["domains"].queryset = benchmark.domains.ready()  # type: ignore[attr-defined]


class PersonForm(PlaceForm):
    """New members, with the same roles and domains."""

    username = forms.CharField(
        label="User names",
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="One on a line, or with commas between: a pasted list. A new person gets an "
        "account and a one-time sign-in link.",
    )
    field_order = ["username", "roles", "domains"]

    def clean_username(self) -> list[str]:
        """The names, each once."""
        names = [each.strip() for each in re.split(r"[\n,;]", self.cleaned_data["username"])]
        found = list(dict.fromkeys(filter(None, names)))
        if not found:
            raise forms.ValidationError("Write at least one name.")
        if len(found) > MOST_PEOPLE:
            raise forms.ValidationError(f"Add at most {MOST_PEOPLE} people at once.")
        for each in found:
            if len(each) > LONGEST_NAME:
                raise forms.ValidationError(f"A name has at most {LONGEST_NAME} characters.")
        return found


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """My work: fragments that each room serves, named by URL in the template. Whose one benchmark
    it is finds its sections here, too."""
    assert isinstance(request.user, User)
    is_staff = request.user.is_staff
    places = Membership.objects.live().filter(user=request.user).select_related("benchmark", "user")
    own = [Access(request.user, each.benchmark, each) for each in places[:2]]
    context = {
        "access": own[0] if len(own) == 1 else None,
        "waiting": waiting_requests().count() if is_staff else 0,
        "failing": failing() if is_staff else [],
        "doubtful": sum(each["total"] for each in doubtful_decisions(request.user)),
    }
    return htmx.render(request, "home.html", context)


@require_GET
def home_fragment(request: HttpRequest) -> HttpResponse:
    """The corpus room's part of the home page: the person's benchmarks."""
    mine = Membership.objects.filter(benchmark=OuterRef("pk"), user=request.user.pk)
    is_archived = "archived" in request.GET
    own = Benchmark.objects.for_user(request.user).annotate(
        domain_count=Count("domains", filter=Q(domains__is_ready=True), distinct=True),
        my_roles=Subquery(mine.values("roles")),
    )
    shown = [each for each in own if (each.archived_at is not None) == is_archived]
    # Members of this person's benchmarks who wait for a new sign-in link.
    mine = Membership.objects.filter(benchmark=OuterRef("benchmark"), user=request.user.pk)
    waiting = Membership.objects.filter(user__link_request__in=waiting_requests())
    waiting = waiting.select_related("user", "benchmark")
    asking = waiting.annotate(my_roles=Subquery(mine.values("roles")))
    invitations = list(
        Invitation.objects.filter(user=request.user.pk, benchmark__archived_at=None).select_related(
            "benchmark", "invited_by"
        )
    )
    context = {
        "benchmarks": shown,
        "only": shown[0] if len(shown) == 1 and not is_archived else None,
        "is_archived": is_archived,
        "has_archived": any(each.archived_at is not None for each in own),
        "may_create": _is_staff(request),
        "may_join": bool(invitations) and verbs.is_held(cast(User, request.user)),
        "asking": [each for each in asking if Role.ADMIN in (each.my_roles or ())],
        "invitations": invitations,
    }
    return htmx.render(request, "corpus/benchmarks/home.html", context)


@require_http_methods(["GET", "POST"])
def benchmark_new(request: HttpRequest) -> HttpResponse:
    """Staff make a benchmark and become its admin."""
    if not _is_staff(request):
        raise PermissionDenied("Only staff may create benchmarks.")
    form = BenchmarkForm(request.POST if request.method == "POST" else None)
    if made := htmx.submit(form, verbs.create_benchmark, actor=request.user):
        # Asked once, before anybody has voted.
        return htmx.redirect(request, reverse("label-checks", args=[made.slug]))
    return htmx.render(request, "corpus/benchmarks/benchmark_new.html", form=form)


@require_GET
def benchmark(request: HttpRequest, slug: str) -> HttpResponse:
    """What the benchmark holds, by domain, and what happened last."""
    access = enter(request.user, slug)
    context = {
        "access": access,
        "domains": domain_counts(access),
        "version": CorpusVersion.objects.current(access.benchmark),
        "events": _what_people_did(slug) if access.is_admin else [],
    }
    return htmx.render(request, "corpus/benchmarks/benchmark.html", context)


@require_http_methods(["GET", "POST"])
def archive(request: HttpRequest, slug: str) -> HttpResponse:
    """Archive and unarchive; superusers delete here, by the slug, typed."""
    access = enter(request.user, slug, Role.ADMIN, even_archived=True)
    benchmark, here = access.benchmark, reverse("archive", args=[slug])
    if request.method == "GET":
        return htmx.render(request, "corpus/benchmarks/archive.html", {"access": access})
    verb = request.POST.get("verb")
    who: dict[str, Any] = {"benchmark": benchmark, "actor": access.user}
    if verb == "archive":
        said = "The benchmark is archived."
        return htmx.attempt(request, lambda: archive_verbs.archive(**who), here, said)
    if verb == "unarchive":
        said = "The benchmark is worked on again."
        return htmx.attempt(request, lambda: archive_verbs.unarchive(**who), here, said)
    if verb != "delete":
        raise Http404("No such verb.")
    with htmx.refusal_shown(request):
        path = archive_verbs.delete(typed=request.POST.get("typed", ""), **who)
        messages.success(request, f"{benchmark} is deleted. The backup before it: {path}")
        return htmx.redirect(request, reverse("home"))
    return htmx.redirect(request, here)


@require_http_methods(["GET", "POST"])
def licences(request: HttpRequest, slug: str) -> HttpResponse:
    """The licences of every layer, and stating one for admins."""
    is_posted = request.method == "POST"
    access = enter(request.user, slug, Role.ADMIN) if is_posted else enter(request.user, slug)
    benchmark = access.benchmark
    form = LicenceForm(request.POST if is_posted else None, benchmark=benchmark)
    changed = htmx.submit(form, verbs.state_licence, benchmark=benchmark, actor=access.user)
    if changed is not None:
        messages.success(request, "The licence was stated.")
        return htmx.redirect(request, reverse("licences", args=[slug]))
    ready = benchmark.domains.ready()
    context = {
        "access": access,
        "licences": Licence.objects.filter(domain__in=ready).select_related("domain"),
    }
    return htmx.render(request, "corpus/benchmarks/licences.html", context, form=form)


def _what_people_did(slug: str) -> QuerySet[Event]:
    """The latest events that have a person; the machine's are many and have pages of their own."""
    return (
        Event.objects.filter(scope=slug, actor__isnull=False, once=None).select_related("actor")
    )[:12]


def _is_staff(request: HttpRequest) -> bool:
    return isinstance(request.user, User) and request.user.is_staff


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
    added = htmx.submit(form, verbs.add_people, benchmark=access.benchmark, actor=access.user)
    if added:
        joined = [(place, token) for place, token in added if isinstance(place, Membership)]
        for place, _ in added:
            if not isinstance(place, Membership):
                words = f"{place.user} was asked to join, and answers at their home."
                messages.success(request, words)
        if joined:
            return _show_links(request, access, joined)
        return htmx.redirect(request, reverse("people", args=[slug]))
    members = Membership.objects.filter(benchmark=access.benchmark)
    members = members.select_related("user__link_request__agreed_by")
    table = PEOPLE.read(members.prefetch_related("domains"), request.GET)
    invited = access.benchmark.invitations.select_related("user", "invited_by")
    context = {"access": access, "form": form, "table": table, "invited": invited}
    if form.is_bound:
        return htmx.invalid(request, "corpus/benchmarks/people.html", context)
    return htmx.render(request, "corpus/benchmarks/people.html", context, partial="results")


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
    if htmx.submit(form, verbs.change_person, membership=membership, actor=access.user):
        messages.success(request, f"Saved for {membership.user}.")
        return htmx.redirect(request, reverse("people", args=[slug]))
    context = {"access": access, "membership": membership}
    return htmx.render(request, "corpus/benchmarks/person.html", context, form=form)


@require_POST
def person_link(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """A new one-time link for one member."""
    access = enter(request.user, slug, Role.ADMIN)
    membership = get_member(access, pk)
    with htmx.refusal_shown(request):
        site = request.build_absolute_uri("/").rstrip("/")
        token = verbs.renew_link(membership=membership, actor=access.user, site=site)
        if not token:
            messages.info(request, verbs.why_no_link(membership.user))
            return htmx.redirect(request, reverse("people", args=[slug]))
        return _show_links(request, access, [(membership, token)])
    return htmx.redirect(request, reverse("people", args=[slug]))


@require_POST
def invitation_answer(request: HttpRequest, pk: int, verb: str) -> HttpResponse:
    """Take the place that one was offered, or decline it."""
    person = request.user
    assert isinstance(person, User)
    invitation = get_object_or_404(person.invitations.select_related("benchmark"), pk=pk)
    with htmx.refusal_shown(request):
        if verb == "accept":
            verbs.accept_invitation(invitation=invitation, actor=person)
            return htmx.redirect(request, reverse("benchmark", args=[invitation.benchmark.slug]))
        verbs.end_invitation(invitation=invitation, actor=person)
    return htmx.redirect(request, reverse("home"))


@require_POST
def invitation_withdraw(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Take back what somebody was offered and has not answered."""
    access = enter(request.user, slug, Role.ADMIN)
    invitation = get_object_or_404(access.benchmark.invitations.all(), pk=pk)
    verbs.end_invitation(invitation=invitation, actor=access.user)
    messages.success(request, f"The invitation of {invitation.user} was withdrawn.")
    return htmx.redirect(request, reverse("people", args=[slug]))


@require_POST
def person_remove(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """End one membership."""
    access = enter(request.user, slug, Role.ADMIN)
    membership = get_member(access, pk)
    with htmx.refusal_shown(request):
        verbs.remove_person(membership=membership, actor=access.user)
        messages.success(request, f"{membership.user} is no longer a member.")
        if membership.user_id == access.user.pk:
            return htmx.redirect(request, reverse("home"))
    return htmx.redirect(request, reverse("people", args=[slug]))


get_member = finder(Membership, "user")


def _show_links(
    request: HttpRequest, access: Access, joined: Sequence[tuple[Membership, str]]
) -> HttpResponse:
    """The links are on this one page only: their tokens are stored nowhere."""
    names = {membership.user.username: token for membership, token in joined}
    links = {
        name: request.build_absolute_uri(reverse("sign-in-link", args=[token]))
        for name, token in names.items()
        if token
    }
    context = {
        "access": access,
        "names": list(names),
        "links": links,
        "link": next(iter(links.values()), ""),
        "without": [name for name in names if name not in links],
    }
    response = htmx.render(request, "corpus/benchmarks/person_link.html", context)
    response["Cache-Control"] = "no-store"
    return response
