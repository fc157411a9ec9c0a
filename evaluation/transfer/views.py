"""Screens of files of whole benchmarks: the list with both forms, one file, what a merge leaves."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from corpus.access import Access, enter, finder
from corpus.models import Role
from corpus.run_pages import RunPages
from evaluation.transfer import services as verbs
from evaluation.transfer.claims import claim, strangers
from evaluation.transfer.conflicts import choose
from evaluation.transfer.merging.run import open_conflicts
from evaluation.transfer.models import MergeConflict, Transfer, TransferKind
from evaluation.transfer.writing import pseudonyms
from kit import htmx, storage
from kit.lists.tables import Column, Table
from kit.runs.models import RunStatus

TRANSFERS = Table(
    columns=(
        Column("kind", "File"),
        Column("digest", "Digest"),
        Column("size", "Size", numeric=True),
        Column("status", "Status"),
        Column("rows", "Rows or queries", numeric=True),
        Column("at", "Started", order=("created_at",)),
    ),
    order=("-pk",),
)


class MergeForm(forms.Form):
    """A file of this benchmark from another installation."""

    upload = forms.FileField(
        label="File",
        help_text="As this page wrote it there. First you are shown what would come of it.",
    )


class ImportForm(forms.Form):
    """A file of any benchmark from another installation."""

    slug = forms.SlugField(
        label="Short name",
        max_length=60,
        required=False,
        help_text="Of the new benchmark, in addresses. Without one it is called as there.",
    )
    upload = forms.FileField(label="File of a benchmark")


class ClaimForm(forms.Form):
    """Who a pseudonym is."""

    pseudonym = forms.ChoiceField(label="Pseudonym")
    person: forms.Field = forms.ModelChoiceField(None, label="Is")

    def __init__(self, *args: Any, access: Access, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [
            (each.username, f"{each.username} (in {count:,} rows)")
            for each, count in strangers(access.benchmark).items()
        ]
        self.fields["pseudonym"].choices = choices  # type: ignore[attr-defined]
        self.fields["person"].queryset = members(access)  # type: ignore[attr-defined]


@require_http_methods(["GET", "POST"])
def transfers(request: HttpRequest, slug: str) -> HttpResponse:
    """Every file that was written or merged, and the conflicts that are open."""
    access = enter(request.user, slug, Role.ADMIN)
    if request.method == "POST":
        with htmx.refusal_shown(request):
            run = verbs.start_export(benchmark=access.benchmark, actor=access.user)
            return htmx.redirect(request, RUNS.url(run))
        return htmx.redirect(request, reverse("transfers", args=[slug]))
    return _page(request, access)


@require_POST
def transfer_merge(request: HttpRequest, slug: str) -> HttpResponse:
    """Send a file, to see what merging it would do."""
    access = enter(request.user, slug, Role.ADMIN)
    form = MergeForm(request.POST, request.FILES)
    return _take_in(request, access, verbs.start_merge, form=form)


@require_POST
def transfer_import(request: HttpRequest, slug: str) -> HttpResponse:
    """Send a file, to make a new benchmark of it."""
    access = enter_as_staff(request.user, slug)
    form = ImportForm(request.POST, request.FILES, auto_id="import_%s")
    return _take_in(request, access, verbs.start_import, import_form=form)


@require_POST
def transfer_claim(request: HttpRequest, slug: str) -> HttpResponse:
    """Say who a pseudonym is."""
    access = enter_as_staff(request.user, slug)
    form = ClaimForm(request.POST, access=access)
    if rows := htmx.submit(form, claim, benchmark=access.benchmark, actor=access.user):
        messages.success(request, f"{rows:,} rows name {form.cleaned_data['person']} now.")
        return htmx.redirect(request, reverse("transfers", args=[slug]))
    return _page(request, access, claim_form=form)


def _take_in(
    request: HttpRequest, access: Access, verb: Callable[..., Transfer], **named: forms.Form
) -> HttpResponse:
    (form,) = named.values()
    if run := htmx.submit(form, verb, benchmark=access.benchmark, actor=access.user):
        return htmx.redirect(request, RUNS.url(run))
    return _page(request, access, **named)


def _page(request: HttpRequest, access: Access, **form: forms.Form) -> HttpResponse:
    rows = access.benchmark.transfers.exclude(kind=TransferKind.IMPORT)
    conflicts, name = open_conflicts(access.benchmark), pseudonyms(access.benchmark)
    context = {
        "access": access,
        "form": MergeForm(),
        "import_form": ImportForm(auto_id="import_%s") if access.user.is_staff else None,
        "claim_form": ClaimForm(access=access) if access.user.is_staff else None,
        "names": [(each, name(each.pk)) for each in members(access)],
        "table": TRANSFERS.read(rows, request.GET),
        "conflicts": conflicts[:200],
        "conflict_count": conflicts.count(),
    } | form
    show = htmx.invalid if form else htmx.render
    return show(
        request, "evaluation/transfer/transfers.html", context, partial="results", target="results"
    )


def members(access: Access) -> QuerySet[User]:
    """Who works in the benchmark, by name."""
    places = access.benchmark.memberships.all()
    return User.objects.filter(memberships__in=places, is_active=True).order_by("username")


def enter_as_staff(user: User | AnonymousUser, slug: str) -> Access:
    """An admin who is staff of the site; raises PermissionDenied for others."""
    access = enter(user, slug, Role.ADMIN)
    if not (isinstance(user, User) and user.is_staff):
        raise PermissionDenied("This is for staff of the site.")
    return access


@require_GET
def transfer(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One file: how far it is, and what came of it."""
    access = enter(request.user, slug, Role.ADMIN)
    run = get_transfer(access, pk)
    context = RUNS.context(access, run) | {
        "report": run.report,
        "is_there": is_there(run),
        "can_apply": can_apply(run),
        "is_applied": "apply" in run.made,
        "apply_url": reverse("transfer-apply", args=[slug, pk]),
    }
    return RUNS.show(request, "evaluation/transfer/transfer.html", context)


@require_GET
def transfer_file(request: HttpRequest, slug: str, pk: int) -> FileResponse:
    """The file itself; it holds what is hidden from everybody but admins."""
    return send_file(get_transfer(enter(request.user, slug, Role.ADMIN), pk))


@require_POST
def conflict_choose(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Settle one conflict."""
    access = enter(request.user, slug, Role.ADMIN)
    with htmx.refusal_shown(request):
        choice = request.POST.get("choice", "")
        choose(conflict=get_conflict(access, pk), choice=choice, actor=access.user)
    return htmx.redirect(request, reverse("transfers", args=[slug]))


def get_transfer(access: Access, pk: int) -> Transfer:
    """A file of this benchmark, or 404."""
    rows = Transfer.objects.select_related("benchmark").exclude(kind=TransferKind.IMPORT)
    return get_object_or_404(rows, pk=pk, benchmark=access.benchmark)


get_conflict = finder(MergeConflict, "judgment", "support")


def is_there(run: Transfer) -> bool:
    """Whether it was written here, and nobody has deleted it."""
    is_over = run.kind == TransferKind.EXPORT and run.status == RunStatus.DONE
    return is_over and storage.size(verbs.place_of(run)) is not None


def can_apply(run: Transfer) -> bool:
    """Whether what a merge would do was shown, and it was not done."""
    is_shown = run.kind == TransferKind.MERGE and run.status == RunStatus.DONE
    return is_shown and "apply" not in run.made


def send_file(run: Transfer) -> FileResponse:
    """The file as an attachment, or 404."""
    if not is_there(run):
        raise Http404("This file is not here.")
    path = verbs.place_of(run)
    return FileResponse(storage.opened(path), as_attachment=True, filename=path.name)


RUNS = RunPages(
    Transfer,
    get=get_transfer,
    verbs={"cancel": verbs.cancel_transfer, "apply": verbs.apply_merge},
    said={"apply": "The file is being merged."},
)
