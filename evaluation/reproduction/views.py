"""The board of published figures: what of them is reproduced here, and the tables they stand in."""

from collections.abc import Sequence
from dataclasses import replace

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_GET
from rest_framework.request import Request

from corpus.access import Access, enter
from corpus.models import Benchmark
from evaluation.published.services import PublishedTable, tables
from evaluation.published.views import reads_experiments
from evaluation.reproduction import services as reproduction
from evaluation.reproduction.evidence import Kind
from evaluation.reproduction.services import Figure, Readable, State
from evaluation.scores.services import enter_scored
from kit import htmx
from kit.account.factor import NeedsFactor
from kit.lists.csvfile import table_response
from kit.lists.tables import Choices, Column, Filter, clean, page_of

SIZE = 50
# What differs stands first, what was not tried last.
_FIRST = (State.DIFFERS, State.EXPLAINED, State.REPRODUCED, State.UNTRIED)
_COLUMNS = (
    Column("figure", "Figure"),
    Column("printed", "Printed", numeric=True),
    Column("ours", "Ours", numeric=True),
    Column("difference", "Difference", numeric=True),
    Column("state", "State"),
)
_FILTERS = ("paper", "table", "kind", "state")


def readable_by(access: Access) -> list[Readable]:
    """The benchmarks whose scores this person may read, this one and others."""
    found: list[Readable] = []
    for slug in Benchmark.objects.for_user(access.user).values_list("slug", flat=True):
        try:
            other = enter_scored(access.user, slug)
        except (PermissionDenied, NeedsFactor, Http404):
            continue
        found.append((other.benchmark, reads_experiments(other)))
    # What the page is recorded under is the benchmark that it was asked of.
    enter(access.user, access.benchmark.slug)
    return found


def narrowed(figures: Sequence[Figure], given: dict[str, str]) -> list[Figure]:
    """The figures of a paper, table, kind and state; unknown values were ignored by
    `filters_of`."""
    wanted = {name: value for name, value in given.items() if name in _FILTERS and value}
    words = given.get("q", "").lower().split()
    return [
        each
        for each in figures
        if all(_values(each)[name] == value for name, value in wanted.items())
        and all(word in f"{each.table.title} {each.name}".lower() for word in words)
    ]


def _values(each: Figure) -> dict[str, str]:
    return {
        "paper": each.table.paper,
        "table": each.table.id,
        "kind": each.kind,
        "state": str(each.state),
    }


def filters_of(request: HttpRequest | Request) -> tuple[list[Filter], dict[str, str]]:
    """The drop-downs, and what the request chose of them."""
    known = tables().values()
    offered: dict[str, tuple[str, Choices]] = {
        "paper": ("Paper", [(each, each) for each in dict.fromkeys(t.paper for t in known)]),
        "table": ("Table", [(each.id, f"{each.paper}: {each.title}") for each in known]),
        "kind": ("Reproduced from", [(str(each), str(each)) for each in Kind]),
        "state": ("State", [(str(each), str(each)) for each in State]),
    }
    asked, found = {"q": clean(request.GET.get("q", ""))}, []
    for name, (label, choices) in offered.items():
        value = request.GET.get(name, "")
        asked[name] = value if any(value == each for each, _ in choices) else ""
        found.append(Filter(name, label, choices, value=asked[name]))
    return found, asked


@require_GET
def published_tables(request: HttpRequest, slug: str) -> HttpResponse:
    """Counts by paper, the figures with their badges, and the tables; those about sets that are not
    here stand folded."""
    access = enter(request.user, slug)
    figures = reproduction.figures(readable_by(access))
    filters, asked = filters_of(request)
    shown = sorted(narrowed(figures, asked), key=lambda each: _FIRST.index(each.state))
    page = {**asked, "page": request.GET.get("page", "1")}
    table = replace(
        page_of(shown, page, filters=filters, size=SIZE),
        columns=_COLUMNS,
        searchable=True,
        search=asked["q"],
    )
    names = list(access.benchmark.domains.ready().values_list("name", flat=True))
    has_debates = bool(reads_experiments(access))
    groups: dict[bool, list[PublishedTable]] = {True: [], False: []}
    for each in tables().values():
        belongs = has_debates if each.is_of_debates else each.is_about(names)
        groups[belongs].append(each)
    context = {
        "access": access,
        "table": table,
        "summary": reproduction.summary(figures),
        "groups": list(groups.items()),
    }
    return htmx.render(request, "evaluation/reproduction/board.html", context, partial="results")


@require_GET
def figures_csv(request: HttpRequest, slug: str) -> HttpResponseBase:
    """The same figures as a file."""
    access = enter(request.user, slug)
    found = narrowed(reproduction.figures(readable_by(access)), filters_of(request)[1])
    return table_response("published-figures.csv", reproduction.as_table(found))
