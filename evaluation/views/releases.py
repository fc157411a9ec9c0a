"""Screens of releases: the list with its form, and the page of one release."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from corpus.access import Access, enter
from corpus.models import Role
from evaluation.models import Release
from evaluation.services import releases as verbs
from evaluation.views.forms import ReleaseForm
from evaluation.views.shown import shown_faults, shown_files
from kit import htmx
from kit.errors import Refused
from kit.runs import RunStatus
from kit.tables import Column, Table

RELEASES = Table(
    columns=(
        Column("version", "Version"),
        Column("state", "State"),
        Column("status", "Build"),
        Column("queries", "Queries", numeric=True),
        Column("documents", "Documents", numeric=True),
        Column("faults", "Faults", numeric=True),
        Column("built", "Built"),
    ),
    order=("-pk",),
)


@require_http_methods(["GET", "POST"])
def release_list(request: HttpRequest, slug: str) -> HttpResponse:
    """All releases of the benchmark, and the form that starts the next draft."""
    access = enter(request.user, slug, Role.ADMIN)
    next_version = {"version": verbs.suggested_version(access.benchmark)}
    posted = request.POST if request.method == "POST" else None
    form = ReleaseForm(posted, initial=next_version, benchmark=access.benchmark)
    if request.method == "POST" and form.is_valid():
        try:
            release = verbs.start_release(access=access, **form.cleaned_data)
        except Refused as refusal:
            form.add_error(refusal.field or None, refusal.message)
        else:
            return htmx.redirect(request, url("release", release))
    rows = access.benchmark.releases.select_related("corpus_version")
    table = RELEASES.read(rows, request.GET)
    context = {"access": access, "tab": "releases", "form": form, "table": table}
    show = htmx.invalid if form.is_bound else htmx.render
    return show(request, "evaluation/releases.html", context, partial="results", target="results")


@require_GET
def release_detail(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One release: progress while it is built, then what it holds and what is wrong with it."""
    access = enter(request.user, slug, Role.ADMIN)
    release = get_release(access, pk)
    context = _context(access, release)
    response = htmx.render(request, "evaluation/release.html", context, partial="live")
    over = release.is_over and htmx.is_fragment(request)
    return htmx.stop_polling(response) if over else response


@require_POST
def release_cancel(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Stop a build."""
    access = enter(request.user, slug, Role.ADMIN)
    release = get_release(access, pk)
    try:
        verbs.cancel_release(release=release, actor=access.user)
    except Refused as refusal:
        messages.warning(request, refusal.message)
    return htmx.redirect(request, url("release", release))


@require_POST
def release_retry(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Try a failed build again."""
    access = enter(request.user, slug, Role.ADMIN)
    release = get_release(access, pk)
    try:
        verbs.retry_release(release=release, actor=access.user)
    except Refused as refusal:
        messages.warning(request, refusal.message)
    return htmx.redirect(request, url("release", release))


def get_release(access: Access, pk: int) -> Release:
    """A release of this benchmark, or 404."""
    rows = Release.objects.filter(pk=pk, benchmark=access.benchmark)
    release = rows.select_related("corpus_version").first()
    if release is None:
        raise Http404("No such release.")
    return release


def url(name: str, release: Release) -> str:
    """Address of one of a release's pages."""
    return reverse(name, kwargs={"slug": release.benchmark.slug, "pk": release.pk})


def _context(access: Access, release: Release) -> dict[str, Any]:
    return {
        "access": access,
        "tab": "releases",
        "release": release,
        "run": release,
        "progress_url": url("release", release),
        "cancel_url": url("release-cancel", release),
        "splits": sorted(release.counts.get("splits", {}).items()),
        "faults": shown_faults(release),
        "files": shown_files(release),
        "earlier": earlier_releases(release),
    }


def earlier_releases(release: Release) -> list[Release]:
    """Built releases that this one can be held against, the newest first."""
    rows = Release.objects.filter(benchmark=release.benchmark_id, status=RunStatus.DONE)
    return list(rows.filter(pk__lt=release.pk).order_by("-pk")[:10])
