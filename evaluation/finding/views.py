"""Finding anything of a benchmark by a few words: its pages, texts, runs and people."""

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET

from corpus.access import Access, enter
from corpus.models import CleaningRun, CorpusVersion, Membership, Query, RetrievalRun
from corpus.navigation import pages_called
from corpus.texts.finding import find_passages, query_matches
from kit import htmx
from kit.glossary import terms
from kit.lists.tables import clean

# What leads to a thing, the thing's name, and what is said beside it.
Found: TypeAlias = tuple[str, str, str]
# Of each kind: whoever wants more opens its list.
MOST = 6


@require_GET
def find(request: HttpRequest, slug: str) -> HttpResponse:
    """What is called so, or holds these words; without words the pages."""
    access = enter(request.user, slug)
    words = clean(request.GET.get("q", ""))
    pages = [(page.url, page.label, section) for section, page in pages_called(access, words)]
    groups = [("Pages", pages)]
    if words:
        groups += [(label, found) for label, found in _things(access, words) if found]
        groups += [("Terms", found)] if (found := _terms(words)) else []
    context = {"access": access, "groups": groups, "words": words}
    return htmx.render(request, "evaluation/finding/found.html", context, partial="found")


def _terms(words: str) -> list[Found]:
    at = reverse("glossary")
    called = [each for each in terms().values() if words.casefold() in each["name"].casefold()]
    return [(f"{at}#{each['anchor']}", each["name"], each["meaning"]) for each in called[:MOST]]


def _things(access: Access, words: str) -> Iterator[tuple[str, list[Found]]]:
    """By kind; nothing that the person's lists do not show."""
    benchmark = access.benchmark
    queries = Query.objects.in_benchmark(benchmark).filter(domain__is_ready=True)
    queries = queries.filter(query_matches(words, benchmark=benchmark)).order_by("pk")
    yield (
        "Queries",
        _links("query", benchmark.slug, [(q.pk, str(q), q.title) for q in queries[:MOST]]),
    )
    passages = find_passages(words, version=CorpusVersion.objects.current(benchmark))
    rows = passages.order_by("pk").values_list("pk", "pid", "domain__name")[:MOST]
    yield "Passages", _links("passage", benchmark.slug, rows)
    runs = RetrievalRun.objects.filter(benchmark=benchmark)
    yield "Systems", _named("retrieval-run", runs, words, benchmark.slug)
    if not (access.is_reviewer or access.is_admin):
        return
    if not access.is_voter:
        runs_of_debates = benchmark.debate_runs.all()
        yield "Debate runs", _named("debate-run", runs_of_debates, words, benchmark.slug)
    yield "Pools", _named("pool", benchmark.pools.all(), words, benchmark.slug)
    cleanings = CleaningRun.objects.filter(benchmark=benchmark)
    yield "Cleanings", _named("cleaning", cleanings, words, benchmark.slug)
    if access.is_admin:
        members = Membership.objects.filter(
            benchmark=benchmark, user__username__icontains=words
        ).order_by("user__username")
        people = members.values_list("pk", "user__username")[:MOST]
        yield "People", _links("person", benchmark.slug, ((*row, "") for row in people))


def _named(url: str, rows: QuerySet[Any], words: str, slug: str) -> list[Found]:
    found = rows.filter(name__icontains=words).order_by("-pk").values_list("pk", "name")[:MOST]
    return _links(url, slug, ((*row, "") for row in found))


def _links(url: str, slug: str, rows: Iterable[tuple[int, str, str]]) -> list[Found]:
    return [(reverse(url, args=[slug, pk]), name, beside) for pk, name, beside in rows]
