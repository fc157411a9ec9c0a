"""The lists of pages and passages, for screens and API, and one page with its passages."""

from collections.abc import Mapping
from dataclasses import replace

from django.db.models import Count, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from corpus.access import Access, enter, first_or_404
from corpus.benchmarks.overview import passages_counted
from corpus.lists import Place, as_it_is, place_choices, place_of
from corpus.models import Document, Passage
from corpus.texts.finding import find_documents, find_passages
from kit import htmx
from kit.lists.tables import Column, Filter, Table, page_number

# Characters of a long page that are shown at once.
PART = 50_000
MAX_PASSAGES = 200


DOCUMENTS = Table(
    filters=(
        Filter("domain", "Domain", apply=as_it_is),
        Filter("version", "Corpus version", apply=as_it_is),
    ),
    columns=(
        Column("document", "Page", order=("version_id", "domain_id", "doc_id")),
        Column("title", "Title"),
        Column("domain", "Domain"),
        Column("passages", "Passages", numeric=True),
    ),
    order=("version_id", "domain_id", "doc_id"),
    unique=("version_id", "domain_id", "doc_id"),
)


def _with_text(passages: QuerySet[Passage], value: str) -> QuerySet[Passage]:
    return passages.filter(text__isnull=value == "no")


PASSAGES = Table(
    filters=(
        Filter("domain", "Domain", apply=as_it_is),
        Filter("text", "Text", choices=(("yes", "Loaded"), ("no", "Not loaded")), apply=_with_text),
        Filter("version", "Corpus version", apply=as_it_is),
    ),
    columns=(
        # The one order that an index carries at any size.
        Column("passage", "Passage", order=("version_id", "domain_id", "pid")),
        Column("domain", "Domain"),
        Column("text", "Begins"),
        Column("length", "Characters", numeric=True),
    ),
    order=("version_id", "domain_id", "pid"),
    unique=("version_id", "domain_id", "pid"),
)


def document_list(place: Place) -> tuple[Table, QuerySet[Document]]:
    """The list of pages, and those that are here; without their texts."""
    table = replace(
        DOCUMENTS,
        search=lambda rows, words: rows.filter(
            pk__in=find_documents(words, version=place.version, domain=place.domain).values("pk")
        ),
    )
    return table, place.holds(Document.objects.select_related("domain").defer("text"))


def passage_list(place: Place) -> tuple[Table, QuerySet[Passage]]:
    """The list of passages, and those that are here.

    Searched in the domain alone, because a search does not go through more than it shows.
    """
    table = replace(
        PASSAGES,
        search=lambda rows, words: rows.filter(
            pk__in=find_passages(words, version=place.version, domain=place.domain).values("pk")
        ),
    )
    return table, place.holds(Passage.objects.select_related("domain"))


def passage_total(place: Place, params: Mapping[str, str]) -> int | None:
    """How many passages are here; None where something narrows the list further."""
    is_narrowed = params.get("q") or params.get("text")
    return None if is_narrowed else passages_counted(place.version, place.domain)


@require_GET
def documents(request: HttpRequest, slug: str) -> HttpResponse:
    """Pages of the corpus version people work on, or of another."""
    access = enter(request.user, slug)
    shown, rows = document_list(place_of(access.benchmark, request.GET))
    # Counted for the rows of a page alone, which a join would not.
    own = Passage.objects.filter(document=OuterRef("pk"), version__state="ready").order_by()
    counted = own.values("document").annotate(n=Count("pk")).values("n")
    rows = rows.annotate(passage_count=Coalesce(Subquery(counted), Value(0)))
    table = shown.read(rows, request.GET, choices=place_choices(access.benchmark))
    context = {"access": access, "table": table}
    return htmx.render(request, "corpus/texts/documents.html", context, partial="results")


@require_GET
def document(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One page: its text, a part at a time, and the passages cut from it."""
    access = enter(request.user, slug)
    found = get_document(access, pk)
    parts = max(1, -(-len(found.text) // PART))
    part = min(page_number(request.GET.get("part", "1")), parts)
    passages = found.passages.filter(version__state="ready").order_by("start", "pk").defer("text")
    context = {
        "access": access,
        "document": found,
        "is_link": found.source_url.lower().startswith(("https://", "http://")),
        "text": found.text[(part - 1) * PART : part * PART],
        "part": part,
        "parts": parts,
        "before": part - 1,
        "after": part + 1 if part < parts else 0,
        "passages": list(passages[:MAX_PASSAGES]),
    }
    return htmx.render(request, "corpus/texts/document.html", context)


def get_document(access: Access, pk: int) -> Document:
    """A visible page of this benchmark, or 404."""
    rows = Document.objects.filter(pk=pk, domain__benchmark=access.benchmark)
    return first_or_404(rows.exclude(version__state="loading").select_related("domain"), "page")
