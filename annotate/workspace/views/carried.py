"""People's work in a corpus version: what it does not take over, for who is to take it up."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from annotate.workspace.carrying import uncarried_work
from corpus.access import enter
from corpus.views.versions import READERS, get_version
from kit import htmx

MOST_SHOWN = 100


@require_GET
def version_work(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Citations and gold passages of aspects without a place; a part of the take-up page."""
    access = enter(request.user, slug, *READERS)
    version = get_version(access, pk)
    found = uncarried_work(version)
    context = {
        "access": access,
        "tab": "versions",
        "version": version,
        "citations": found.citations[:MOST_SHOWN],
        "citation_count": len(found.citations),
        "support": found.support[:MOST_SHOWN],
        "support_count": len(found.support),
    }
    return htmx.render(request, "annotate/carried.html", context, partial="part")
