"""Relevance labels: the list of all, and the versions of the imported gold."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from corpus import lists
from corpus.access import Access, enter
from corpus.judgments.models import GoldVersion
from corpus.judgments.shown import shown_labels
from corpus.models import Domain, Judgment, Passage, Query, Source, Status
from corpus.texts.finding import MAX_FOUND, one_of, passages_named, query_called
from kit import htmx
from kit.lists.tables import Choices, Column, Filter, Table
from kit.templatetags.assay import in_words

_SINCE = "since"
SOURCES = [(each, in_words(each).capitalize()) for each in Source.values]
STATES = [(each, in_words(each).capitalize()) for each in Status.values]


def _by_domain(rows: QuerySet[Judgment], value: str) -> QuerySet[Judgment]:
    """Labels of queries of the domain; its key is looked up first, as `in_benchmark` does."""
    named = Domain.objects.filter(name=value).values_list("pk", flat=True)
    return rows.filter(query__domain__in=list(named))


def _by_source(rows: QuerySet[Judgment], value: str) -> QuerySet[Judgment]:
    """Labels of a source, or all given since the import."""
    return rows.exclude(source=Source.ORIGINAL) if value == _SINCE else rows.filter(source=value)


def _by_counting(rows: QuerySet[Judgment], value: str) -> QuerySet[Judgment]:
    """Labels that count now (the current gold and standing labels), or all others."""
    older = Q(gold_version__is_current=False)
    if value == "yes":
        return rows.filter(status=Status.STANDING).exclude(older)
    return rows.filter(~Q(status=Status.STANDING) | older)


def _by_label(rows: QuerySet[Judgment], value: str) -> QuerySet[Judgment]:
    """Labels above 0, or all others."""
    return rows.filter(label__gt=0) if value == "relevant" else rows.filter(label__lte=0)


JUDGMENTS = Table(
    filters=(
        Filter("domain", "Domain", apply=_by_domain),
        Filter(
            "counts",
            "Counts now",
            choices=(("yes", "Yes"), ("no", "No: history and trials")),
            apply=_by_counting,
        ),
        Filter(
            "source",
            "Given by",
            choices=((_SINCE, "All since the import"), *SOURCES),
            apply=_by_source,
        ),
        Filter("status", "Status", choices=STATES),
        Filter(
            "label",
            "Label",
            choices=(("relevant", "Relevant"), ("other", "Not relevant")),
            apply=_by_label,
        ),
        Filter(
            "practice", "Practice", choices=(("True", "Practice only"), ("False", "No practice"))
        ),
        Filter("gold", "Gold version", lookup="gold_version_id"),
        Filter("query", "Query", lookup="query_id"),
        Filter("passage", "Passage", lookup="passage_id"),
    ),
    columns=(
        # The one order that an index carries: by query and arrival.
        Column("query", "Query", order=("query_id", "pk")),
        Column("passage", "Passage"),
        Column("label", "Label"),
        Column("source", "Given by"),
        Column("status", "Status"),
        Column("at", "When"),
    ),
    order=("query_id", "pk"),
)


@require_GET
def judgments(request: HttpRequest, slug: str) -> HttpResponse:
    """Every label that may be shown, with what became of it."""
    access = enter(request.user, slug)
    rows = judgment_rows(access).defer("passage__text", "query__text", "provenance")
    choices = judgment_choices(access, request.GET)
    table = judgment_table(access).read(rows, request.GET, choices=choices)
    context = {"access": access, "table": table}
    return htmx.render(request, "corpus/judgments/judgments.html", context, partial="results")


@require_GET
def gold_versions(request: HttpRequest, slug: str) -> HttpResponse:
    """Every imported gold by domain: which is current, and how much each holds."""
    access = enter(request.user, slug)
    golds = GoldVersion.objects.filter(domain__benchmark=access.benchmark)
    golds = golds.select_related("domain").order_by("domain__name", "pk")
    context = {"access": access, "golds": _counted(golds)}
    return htmx.render(request, "corpus/judgments/gold_versions.html", context)


def judgment_table(access: Access) -> Table:
    """The list, its search bound to the benchmark."""
    return replace(JUDGMENTS, search=lambda found, words: _search(access, found, words))


def judgment_rows(access: Access) -> QuerySet[Judgment]:
    """Every label that this list may show."""
    rows = shown_labels(Judgment.objects.in_benchmark(access.benchmark), access)
    return rows.select_related("query__domain", "passage", "gold_version")


def judgment_choices(access: Access, params: Mapping[str, str]) -> dict[str, Choices]:
    """Drop-downs known only now; a query and a passage are offered where a link names them."""
    golds = GoldVersion.objects.filter(domain__benchmark=access.benchmark)
    return {
        "domain": lists.domain_choices(access.benchmark),
        "gold": [(str(gold.pk), str(gold)) for gold in golds.select_related("domain")],
        "query": _named(Query.objects.in_benchmark(access.benchmark), params.get("query", "")),
        "passage": _named(
            Passage.objects.filter(domain__benchmark=access.benchmark, version__state="ready"),
            params.get("passage", ""),
        ),
    }


def _counted(golds: Iterable[GoldVersion]) -> list[dict[str, Any]]:
    """Each gold with how many judgments it has, and how many of them say relevant."""
    found = {gold.pk: gold for gold in golds}
    rows = Judgment.objects.filter(source=Source.ORIGINAL, gold_version__in=found).order_by()
    relevant = Count("pk", filter=Q(label__gt=0))
    counts = rows.values_list("gold_version").annotate(all=Count("pk"), relevant=relevant)
    by_gold = {pk: (count, above) for pk, count, above in counts}
    return [
        {"gold": gold, "count": by_gold.get(pk, (0, 0))[0], "relevant": by_gold.get(pk, (0, 0))[1]}
        for pk, gold in found.items()
    ]


def _search(access: Access, rows: QuerySet[Judgment], words: str) -> QuerySet[Judgment]:
    """Labels whose query's or passage's own id begins with the words."""
    queries = Query.objects.filter(domain__in=access.benchmark.domains.values("pk"))
    called = queries.filter(query_called(words, benchmark=access.benchmark)).order_by()
    found = passages_named(words, benchmark=access.benchmark)
    of_queries = list(called.values_list("pk", flat=True)[:MAX_FOUND])
    return rows.filter(one_of(of_queries, "query_id") | one_of(found, "passage_id"))


def _named(rows: QuerySet[Query] | QuerySet[Passage], key: str) -> Choices:
    found = rows.filter(pk=int(key)).first() if lists.is_key(key) else None
    return [(key, str(found))] if found else []
