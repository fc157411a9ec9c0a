"""Passages: the list, one with its page and labels, and what a corpus version does not inherit."""

from dataclasses import replace
from typing import Any

from django.db.models.functions import Length, Substr
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from annotate.answers.inheritance import lost_work
from annotate.voting.items import web_url
from corpus.access import Access, enter, get_passage
from corpus.judgments.shown import shown_labels
from corpus.lists import place_choices, place_of
from corpus.models import Judgment, Layer, Passage
from corpus.texts.finding import MAX_FOUND
from corpus.texts.indexing import searchable
from corpus.texts.views import passage_list, passage_total
from corpus.versions.views import READERS, get_version
from kit import htmx

EXCERPT = 220  # characters of a passage shown in the list
MOST_LABELS = 100
MOST_LOST = 100


@require_GET
def passages(request: HttpRequest, slug: str) -> HttpResponse:
    """Passages of the corpus version people work on, or of another."""
    access = enter(request.user, slug)
    place = place_of(access.benchmark, request.GET)
    shown, rows = passage_list(place)
    rows = rows.defer("text").annotate(excerpt=Substr("text", 1, EXCERPT), length=Length("text"))
    if request.GET.get("q", "").strip():
        shown = replace(shown, count_limit=MAX_FOUND - 1)
    choices = place_choices(access.benchmark)
    table = shown.read(rows, request.GET, choices=choices, total=passage_total(place, request.GET))
    context = {
        "access": access,
        "table": table,
        "searchable": searchable(place.version),
    }
    return htmx.render(request, "annotate/workspace/passages.html", context, partial="results")


@require_GET
def passage(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One passage: its text, where it stands on its page, and the labels given to it."""
    access = enter(request.user, slug)
    found = get_passage(access, pk)
    context = {
        "access": access,
        "passage": found,
        "source_url": web_url(found.address),
        "licence": found.domain.licences.filter(layer=Layer.PASSAGES).first(),
        "labels": _labels(access, found),
    }
    return htmx.render(request, "annotate/workspace/passage.html", context | _neighbours(found))


@require_GET
def version_work(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Citations and gold passages that a version does not inherit; a part of another page."""
    access = enter(request.user, slug, *READERS)
    version = get_version(access, pk)
    citations, support = lost_work(version)
    context = {
        "access": access,
        "version": version,
        "citations": citations[:MOST_LOST],
        "citation_count": len(citations),
        "support": support[:MOST_LOST],
        "support_count": len(support),
    }
    return htmx.render(request, "annotate/workspace/not_inherited.html", context, partial="part")


def _neighbours(found: Passage) -> dict[str, Any]:
    """The passages before and after on the same page, in the order of the page."""
    if found.document_id is None:
        return {"before": None, "after": None}
    page = Passage.objects.shown().filter(document_id=found.document_id)
    # A page has few passages; those without offsets keep the order in which they came.
    pks = list(page.order_by("start", "pk").values_list("pk", "pid"))
    here = next(n for n, (pk, _) in enumerate(pks) if pk == found.pk)
    before = pks[here - 1] if here else None
    after = pks[here + 1] if here + 1 < len(pks) else None
    return {"before": before, "after": after, "place": here + 1, "places": len(pks)}


def _labels(access: Access, found: Passage) -> list[Judgment]:
    """Original and standing labels; votes of open cases are no labels and never here."""
    of_passage = Judgment.objects.filter(passage=found).select_related("query__domain")
    both = shown_labels(of_passage.original() | of_passage.standing(), access)
    return list(both.order_by("query_id", "pk")[:MOST_LABELS])
