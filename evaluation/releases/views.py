"""Screens of releases: the list with its form, one release, what changed, and its downloads."""

import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotate.models import EscalationCase
from corpus.access import Access, enter
from corpus.models import Benchmark, CorpusVersion, Role
from corpus.run_pages import RunPages
from corpus.versions.forms import FIELD, version_field
from corpus.versions.services import chosen
from evaluation.exporters.faults import CHECKS, place_name
from evaluation.releases import services as verbs
from evaluation.releases.models import Release, ReleasePush
from evaluation.releases.pushing import cancel_push, last_repository, retry_push, start_push
from evaluation.verification.diff import Change, changelog, compare
from kit import htmx, storage
from kit.errors import Refused
from kit.lists.tables import Column, Table
from kit.runs.models import RunStatus


class ReleaseForm(forms.Form):
    """Its version and how strictly it is checked; what goes in is what stands."""

    version = forms.CharField(
        max_length=40,
        label="Version",
        help_text="Three numbers. Raise the last for fixes, the middle for new labels, the first "
        "when old results can no longer be compared.",
    )
    final = forms.BooleanField(
        required=False,
        label="Final: refuse it while a check fails",
        help_text="A draft prints its faults on its card instead.",
    )
    agreement_bar = forms.FloatField(
        required=False,
        min_value=-1,
        max_value=1,
        label="Minimum agreement of voters (Fleiss’ kappa)",
        help_text="Below it, or where it cannot be measured, a final release is refused.",
    )

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.benchmark = benchmark
        if field := version_field(benchmark).get(FIELD):
            self.fields["corpus"] = field

    def clean_corpus(self) -> CorpusVersion | None:
        """The corpus version itself."""
        return chosen(self.benchmark, self.cleaned_data["corpus"])


class PushForm(forms.Form):
    """Where a release goes."""

    repository = forms.CharField(
        max_length=200,
        help_text="owner/name of a dataset repository, or owner/name/folder. One that does not "
        "exist yet is made private.",
    )


_UNKNOWN = {"page": "benchmark", "next": "Open the benchmark", "blocks": False}


def _fault(slug: str, fault: dict[str, Any]) -> dict[str, Any]:
    # A release of before may have been built with a check that is no longer made.
    check = CHECKS.get(fault["check"], _UNKNOWN)
    keys = [row["case_pk"] for row in fault["rows"] if "case_pk" in row]
    cases = dict(EscalationCase.objects.filter(pk__in=keys).values_list("pk", "public_id"))
    places = [
        {"name": place_name(row).replace("`", ""), "url": _place(slug, row, cases)}
        for row in fault["rows"]
    ]
    return {
        "message": fault["message"],
        "next_url": reverse(check["page"], args=[slug]),
        "next_words": check["next"],
        "places": places,
        "more": fault["count"] - len(places) if places else 0,
        "blocks": check["blocks"],
    }


def _place(slug: str, row: dict[str, Any], cases: Mapping[int, UUID]) -> str:
    if row.get("case_pk") in cases:
        return reverse("dispute", args=[slug, cases[row["case_pk"]]])
    for key, page in (("query_pk", "query"), ("passage_pk", "passage")):
        if key in row:
            return reverse(page, args=[slug, row[key]])
    return ""


# Every entry of an archive gets this date, so that the same release is the same archive.
LONG_AGO = (1980, 1, 1, 0, 0, 0)
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
    whose = {"benchmark": access.benchmark, "actor": access.user}
    if release := htmx.submit(form, verbs.start_release, **whose):
        return htmx.redirect(request, RUNS.url(release))
    rows = access.benchmark.releases.select_related("corpus_version")
    table = RELEASES.read(rows, request.GET)
    context = {"access": access, "table": table}
    page, part = "evaluation/releases/releases.html", "results"
    return htmx.render(request, page, context, partial=part, target=part, form=form)


@require_GET
def release_detail(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One release: progress while it is built, then what it holds and what is wrong with it."""
    access = enter(request.user, slug, Role.ADMIN)
    release = get_release(access, pk)
    earlier = access.benchmark.releases.filter(status=RunStatus.DONE)
    # Files of a built release; the size is None where one is no longer there.
    sizes = storage.sizes(Path(release.folder))
    context = RUNS.context(access, release) | {
        "release": release,
        "push_url": reverse("release-push", args=[slug, pk]),
        "push_form": PushForm(initial={"repository": last_repository(access.benchmark)}),
        "pushes": [(PUSHES.url(each), each) for each in release.pushes.all()[:10]],
        "splits": [
            *sorted(release.counts.get("splits", {}).items()),
            ("Total", release.counts),
        ],
        "faults": [_fault(slug, each) for each in release.faults],
        "files": [
            {"path": path, "sha256": digest, "size": sizes.get(path)}
            for path, digest in release.files.items()
        ],
        "earlier": list(earlier.filter(pk__lt=pk).order_by("-pk")[:10]),
    }
    return RUNS.show(request, "evaluation/releases/release.html", context)


def get_release(access: Access, pk: int) -> Release:
    """A release of this benchmark, or 404."""
    rows = Release.objects.select_related("corpus_version")
    return get_object_or_404(rows, pk=pk, benchmark=access.benchmark)


RUNS = RunPages(
    Release,
    get=get_release,
    verbs={"cancel": verbs.cancel_release, "retry": verbs.retry_release},
)


@require_POST
def release_push(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Start a push of a built release."""
    access = enter(request.user, slug, Role.ADMIN)
    release = get_release(access, pk)
    with htmx.refusal_shown(request):
        repository = request.POST.get("repository", "")
        push = start_push(release=release, repository=repository, actor=access.user)
        return htmx.redirect(request, PUSHES.url(push))
    return htmx.redirect(request, RUNS.url(release))


@require_GET
def push_detail(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One push: how far it is, and where its commit is."""
    access = enter(request.user, slug, Role.ADMIN)
    push = get_push(access, pk)
    context = PUSHES.context(access, push) | {"push": push}
    return PUSHES.show(request, "evaluation/releases/push.html", context)


def get_push(access: Access, pk: int) -> ReleasePush:
    """A push of a release of this benchmark, or 404."""
    rows = ReleasePush.objects.select_related("of_release__benchmark")
    return get_object_or_404(rows, pk=pk, of_release__benchmark=access.benchmark)


PUSHES = RunPages(ReleasePush, get=get_push, verbs={"cancel": cancel_push, "retry": retry_push})


@require_GET
def release_diff(request: HttpRequest, slug: str, pk: int, older: int) -> HttpResponse:
    """From an older release to this one."""
    access = enter(request.user, slug, Role.ADMIN)
    newer, before = get_release(access, pk), get_release(access, older)
    try:
        diff = diff_of(before, newer)
    except Refused as refusal:
        messages.warning(request, refusal.message)
        return htmx.redirect(request, RUNS.url(newer))
    context = {"access": access, "release": newer, "older": before}
    return htmx.render(
        request, "evaluation/releases/diff.html", context | {"diff": {"changes": diff}}
    )


@require_GET
def release_changelog(request: HttpRequest, slug: str, pk: int, older: int) -> HttpResponse:
    """The same as Markdown."""
    access = enter(request.user, slug, Role.ADMIN)
    newer, before = get_release(access, pk), get_release(access, older)
    try:
        text = changelog(diff_of(before, newer), before.version, newer.version)
    except Refused as refusal:
        raise Http404(refusal.message) from None
    response = HttpResponse(text, content_type="text/markdown; charset=utf-8")
    name = f"{slug}-{before.version}-to-{newer.version}.md"
    response["Content-Disposition"] = content_disposition_header(as_attachment=True, filename=name)
    return response


def diff_of(older: Release, newer: Release) -> list[Change]:
    """The changes; raises Refused where one was not built or its files are gone."""
    if any(each.status != RunStatus.DONE for each in (older, newer)):
        raise Refused("Only releases that are built can be compared.")
    try:
        with (
            storage.local(Path(older.folder)) as before,
            storage.local(Path(newer.folder)) as after,
        ):
            return compare(before, after)
    except OSError:
        raise Refused(
            "The files of one of these releases are no longer where they were built."
        ) from None


@require_GET
def release_file(request: HttpRequest, slug: str, pk: int, path: str) -> FileResponse:
    """One file as an attachment."""
    return send_file(get_release(enter(request.user, slug, Role.ADMIN), pk), path)


@require_GET
def release_archive(request: HttpRequest, slug: str, pk: int) -> FileResponse:
    """The whole folder as a zip archive."""
    return send_archive(get_release(enter(request.user, slug, Role.ADMIN), pk))


def send_file(release: Release, path: str) -> FileResponse:
    """One file as an attachment; only paths that the release itself lists exist, else 404."""
    _require_built(release)
    if path not in release.files:
        raise Http404("This release has no such file.")
    file = _open(release, path)
    return FileResponse(file, as_attachment=True, filename=path.replace("/", "-"))


def send_archive(release: Release) -> FileResponse:
    """The folder as a zip archive, written to a temporary file and sent from there."""
    _require_built(release)
    name = f"{release.benchmark.slug}-{release.version}"
    archive = tempfile.TemporaryFile()  # noqa: SIM115  (the response closes it)
    # Stored as they are: parquet is compressed already.
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as packed:
        for path in release.files:
            entry = zipfile.ZipInfo(f"{name}/{path}", LONG_AGO)
            with (
                _open(release, path) as source,
                packed.open(entry, "w", force_zip64=True) as target,
            ):
                while block := source.read(1 << 20):
                    target.write(block)
    archive.seek(0)
    return FileResponse(archive, as_attachment=True, filename=f"{name}.zip")


def _require_built(release: Release) -> None:
    if release.status != RunStatus.DONE:
        raise Http404("This release is not built.")


def _open(release: Release, path: str) -> IO[bytes]:
    try:
        return storage.opened(Path(release.folder) / path)
    except OSError:
        raise Http404("The files of this release are no longer where they were built.") from None
