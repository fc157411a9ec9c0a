"""What changed between two releases: a page, and the same as a changelog."""

from pathlib import Path

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from corpus.access import enter
from corpus.models import Role
from evaluation.models import Release
from evaluation.releases.views import get_release, url
from evaluation.verification.diff import Diff, compare
from kit import htmx
from kit.errors import Refused
from kit.runs import RunStatus

GONE = "The files of one of these releases are no longer where they were built."


@require_GET
def release_diff(request: HttpRequest, slug: str, pk: int, older: int) -> HttpResponse:
    """From an older release to this one."""
    access = enter(request.user, slug, Role.ADMIN)
    newer, before = get_release(access, pk), get_release(access, older)
    try:
        diff = diff_of(before, newer)
    except Refused as refusal:
        messages.warning(request, refusal.message)
        return htmx.redirect(request, url("release", newer))
    context = {"access": access, "tab": "releases", "release": newer, "older": before}
    return htmx.render(request, "evaluation/release_diff.html", context | {"diff": diff})


@require_GET
def release_changelog(request: HttpRequest, slug: str, pk: int, older: int) -> HttpResponse:
    """The same as Markdown."""
    access = enter(request.user, slug, Role.ADMIN)
    newer, before = get_release(access, pk), get_release(access, older)
    try:
        text = diff_of(before, newer).changelog(before.version, newer.version)
    except Refused as refusal:
        raise Http404(refusal.message) from None
    response = HttpResponse(text, content_type="text/markdown; charset=utf-8")
    name = f"{slug}-{before.version}-to-{newer.version}.md"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def diff_of(older: Release, newer: Release) -> Diff:
    """The changes; raises Refused where one was not built or its files are gone."""
    if any(each.status != RunStatus.DONE for each in (older, newer)):
        raise Refused("Only releases that are built can be compared.")
    try:
        return compare(Path(older.folder), Path(newer.folder))
    except OSError:
        raise Refused(GONE) from None
