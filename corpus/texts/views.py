"""Pages: the list, and one with its passages."""

from dataclasses import replace

from django.db.models import Count, OuterRef, Subquery, Value
from django.db.models.functions import Coalesce
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from corpus.access import Access, enter
from corpus.lists import as_it_is, domain_choices, place_of, version_choices
from corpus.models import Document, Passage
from corpus.texts.finding import find_documents
from kit import htmx
from kit.tables import Column, Filter, Table, page_number

# Characters of a long page that are shown at once.
PART = 50_000
MOST_PASSAGES = 200


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


@require_GET
def documents(request: HttpRequest, slug: str) -> HttpResponse:
    """Pages of the corpus version people work on, or of another."""
    access = enter(request.user, slug)
    place = place_of(access.benchmark, request.GET)
    rows = place.holds(Document.objects.select_related("domain").defer("text"))
    rows = rows.annotate(passage_count=_passage_count())
    shown = replace(
        DOCUMENTS,
        search=lambda found, words: found.filter(
            pk__in=find_documents(words, version=place.version, domain=place.domain).values("pk")
        ),
    )
    choices = {
        "domain": domain_choices(access.benchmark),
        "version": version_choices(access.benchmark),
    }
    table = shown.read(rows, request.GET, choices=choices)
    table = replace(table, filters=[each for each in table.filters if each.choices])
    context = {"access": access, "tab": "passages", "table": table}
    return htmx.render(request, "corpus/documents.html", context, partial="results")


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
        "tab": "passages",
        "document": found,
        "is_link": found.source_url.lower().startswith(("https://", "http://")),
        "text": found.text[(part - 1) * PART : part * PART],
        "part": part,
        "parts": parts,
        "before": part - 1,
        "after": part + 1 if part < parts else 0,
        "passages": list(passages[:MOST_PASSAGES]),
    }
    return htmx.render(request, "corpus/document.html", context)


def _passage_count() -> Coalesce:
    """Counted for the rows of a page alone, which a join would not."""
    own = Passage.objects.filter(document=OuterRef("pk"), version__state="ready").order_by()
    counted = own.values("document").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counted), Value(0))


def get_document(access: Access, pk: int) -> Document:
    """A visible page of this benchmark, or 404."""
    rows = Document.objects.filter(pk=pk, domain__benchmark=access.benchmark)
    found = rows.exclude(version__state="loading").select_related("domain").first()
    if found is None:
        raise Http404("No such page.")
    return found
