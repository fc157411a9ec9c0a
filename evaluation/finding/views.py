"""Finding anything of a benchmark by a few words: its pages, texts, runs and people."""

from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET

from corpus.access import Access, enter
from corpus.models import Benchmark, CorpusVersion, Membership, Query
from corpus.navigation import pages_called, sees
from corpus.texts.finding import find_passages, query_matches
from evaluation.checklist.now import KINDS, Kind
from kit import htmx
from kit.glossary import terms
from kit.lists.tables import clean

# What leads to a thing, the thing's name, and what is said beside it.
Found: TypeAlias = tuple[str, str, str]
# Of each kind: whoever wants more opens its list.
MOST = 6
# Of every person, and of who runs the site.
_OWN: Final = (
    ("home", "Home"),
    ("account", "Account: name, address, password, second factor, tokens, sessions"),
    ("drafts", "Drafts not sent"),
    ("digest", "What waits for me, by mail"),
    ("glossary", "Glossary"),
)
_OF_STAFF: Final = (
    ("site-people", "Everybody on this site"),
    ("sign-in-requests", "Sign-in requests"),
    ("site-record", "Record of the site"),
    ("health", "Health"),
    ("benchmark-new", "New benchmark"),
)


@require_GET
def find(request: HttpRequest, slug: str) -> HttpResponse:
    """What is called so, or holds these words; without words the pages, other benchmarks, and the
    person's own pages."""
    access = enter(request.user, slug)
    words = clean(request.GET.get("q", ""))
    pages = [(page.url, page.label, section) for section, page in pages_called(access, words)]
    others = [each for each in _places(access.user) if each.benchmark != access.benchmark]
    groups: list[tuple[str, list[Found]]] = [("Pages", pages)]
    if words:
        groups += _things(access, words)
        groups += [("Terms", _terms(words))]
    groups += [
        ("Other benchmarks", _called(others, words)),
        ("Your pages", _own(access.user, words)),
    ]
    groups = [(label, found) for label, found in groups if found] or groups[:1]
    context = {"access": access, "groups": groups, "words": words}
    return htmx.render(request, "evaluation/finding/found.html", context, partial="found")


@require_GET
def find_everywhere(request: HttpRequest) -> HttpResponse:
    """Where no benchmark is open: the person's benchmarks with their pages, and their own pages."""
    assert isinstance(request.user, User)
    words = clean(request.GET.get("q", ""))
    rows = _places(request.user)
    groups = [("Benchmarks", _called(rows, words)), ("Your pages", _own(request.user, words))]
    if words:
        pages = ((each, page) for each in rows for _, page in pages_called(each, words))
        found = [(page.url, page.label, each.benchmark.name) for each, page in pages]
        groups += [("Pages", found[: 2 * MOST]), ("Terms", _terms(words))]
    groups = [(label, found) for label, found in groups if found] or [("Pages", [])]
    context = {"groups": groups, "words": words}
    return htmx.render(request, "evaluation/finding/found.html", context, partial="found")


def _places(user: User) -> list[Access]:
    rows = Membership.objects.live().filter(user=user).select_related("benchmark", "user")
    return [Access(user, each.benchmark, each) for each in rows.order_by("benchmark__name")]


def _called(places: Iterable[Access], words: str) -> list[Found]:
    return [
        (reverse("benchmark", args=[each.benchmark.slug]), each.benchmark.name, "")
        for each in places
        if words.casefold() in each.benchmark.name.casefold()
    ]


def _own(user: User, words: str) -> list[Found]:
    own = _OWN + (_OF_STAFF if user.is_staff else ())
    return [(reverse(name), label, "") for name, label in own if _has(label, words)]


def _has(label: str, words: str) -> bool:
    return all(word in label.casefold() for word in words.casefold().split())


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
    for label, url, page, things in (
        ("Systems", "retrieval-run", "retrieval-runs", benchmark.retrieval_runs),
        ("Pools", "pool", "pools", benchmark.pools),
        ("Query sources", "query-source", "query-sources", benchmark.query_sources),
        ("Experiments", "experiment", "experiments", benchmark.experiments),
        ("Sets of answers", "support-set", "support-sets", benchmark.support_sets),
        ("Panels", "panel", "disputes", benchmark.reference_panels),
    ):
        if sees(access, page):
            yield label, _named(url, things.all(), words, benchmark.slug)
    for kind in KINDS:
        if kind.model.page_key and sees(access, kind.beside):
            yield kind.label, _runs(kind, benchmark, words)
    if access.is_admin:
        members = Membership.objects.filter(
            benchmark=benchmark, user__username__icontains=words
        ).order_by("user__username")
        people = members.values_list("pk", "user__username")[:MOST]
        yield "People", _links("person", benchmark.slug, ((*row, "") for row in people))


def _named(url: str, rows: QuerySet[Any], words: str, slug: str) -> list[Found]:
    found = rows.filter(name__icontains=words).order_by("-pk").values_list("pk", "name")[:MOST]
    return _links(url, slug, ((*row, "") for row in found))


def _runs(kind: Kind, benchmark: Benchmark, words: str) -> list[Found]:
    """The newest runs of a kind with these words in their name; words of the kind itself count."""
    model = kind.model
    rows = model.objects.filter(**{model.of_benchmark: benchmark}).exclude(**{kind.name: None})
    for word in words.split():
        if word.casefold() not in kind.label.casefold().split():
            rows = rows.filter(**{f"{kind.name}__icontains": word})
    found = rows.order_by("-pk").values_list("pk", model.page_key, kind.name)[:MOST]
    return [
        (reverse(model.page_route, args=[benchmark.slug, key]), name, f"{pk}")
        for pk, key, name in found
    ]


def _links(url: str, slug: str, rows: Iterable[tuple[int, str, str]]) -> list[Found]:
    return [(reverse(url, args=[slug, pk]), name, beside) for pk, name, beside in rows]
