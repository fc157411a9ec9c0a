"""Corpus versions: the tree, one with its recipe and passages, and texts between two of them."""

from typing import Any

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from corpus.access import Access, enter
from corpus.marcus.showing import Sides, side_by_side
from corpus.models import CleaningPreset, CleaningRun, CorpusVersion, Crosswalk, Passage, Role
from corpus.services.finding import begins_with
from corpus.services.overview import passages_counted
from corpus.services.versions import before_last, loaded_since
from kit import htmx
from kit.tables import Column, Filter, Table

READERS = (Role.ADMIN, Role.REVIEWER)
_MOST_TEXT = 200_000


def _of_id(rows: QuerySet[Passage], words: str) -> QuerySet[Passage]:
    return rows.filter(begins_with("pid", words))


def _gold(rows: QuerySet[Passage], value: str) -> QuerySet[Passage]:
    return rows.filter(extra__gold=value == "yes")


PASSAGES = Table(
    search=_of_id,
    filters=(
        Filter("domain", "Domain", lookup="domain__name"),
        Filter(
            "gold", "Part", choices=(("yes", "from gold"), ("no", "from the rest")), apply=_gold
        ),
    ),
    columns=(
        Column("pid", "Passage", order=("pid",)),
        Column("from", "Came from", numeric=True),
    ),
    order=("pk",),
)


@require_GET
def versions(request: HttpRequest, slug: str) -> HttpResponse:
    """Every version under the one it was made of, and the cleanings that are not over."""
    access = enter(request.user, slug, *READERS)
    rows = CorpusVersion.objects.ready().filter(benchmark=access.benchmark)
    runs = CleaningRun.objects.filter(benchmark=access.benchmark).select_related("source")
    context = {
        "access": access,
        "tab": "versions",
        "tree": _tree(list(rows.order_by("pk"))),
        "runs": runs[:50],
        "presets": dict(CleaningPreset.choices),
        "current": CorpusVersion.objects.current(access.benchmark),
        "loaded": CorpusVersion.objects.loaded(access.benchmark),
        "since": loaded_since(access.benchmark),
        "before": before_last(access.benchmark) if access.is_admin else None,
        "choices": {each.pk for each in CorpusVersion.objects.choices(access.benchmark)},
    }
    return htmx.render(request, "corpus/versions/list.html", context)


@require_GET
def version(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One version: its recipe, and its passages beside what they came from."""
    access = enter(request.user, slug, *READERS)
    found = get_version(access, pk)
    rows = Passage.objects.in_version(found).select_related("domain").defer("text")
    rows = rows.prefetch_related("came_from__old")
    domains = [(d.name, d.name) for d in access.benchmark.domains.ready()]
    context = {
        "access": access,
        "tab": "versions",
        "version": found,
        "count": passages_counted(found),
        "may_take_up": access.is_admin
        and found in CorpusVersion.objects.choices(access.benchmark)
        and found != CorpusVersion.objects.current(access.benchmark),
        "recipe": [(name.replace("_", " "), value) for name, value in _recipe(found)],
        "run": CleaningRun.objects.filter(version=found).first(),
        "table": PASSAGES.read(rows, request.GET, choices={"domain": domains}),
    }
    return htmx.render(request, "corpus/versions/version.html", context, partial="results")


@require_GET
def passage_diff(request: HttpRequest, slug: str, pk: int, passage_pk: int) -> HttpResponse:
    """A passage of a version beside the passages it came from, word by word."""
    access = enter(request.user, slug, *READERS)
    found = get_version(access, pk)
    passage = Passage.objects.in_version(found).filter(pk=passage_pk).first()
    if passage is None:
        raise Http404("No such passage in this version.")
    links = list(came_from(passage))
    others = Passage.objects.in_version(found).filter(pk__gt=passage.pk).order_by("pk")
    context = {
        "access": access,
        "tab": "versions",
        "version": found,
        "passage": passage,
        "links": links,
        "sides": compare(passage, links),
        "tables": (passage.extra or {}).get("tables", []),
        "next": others.first(),
    }
    return htmx.render(request, "corpus/versions/diff.html", context)


def came_from(passage: Passage) -> QuerySet[Crosswalk]:
    """Where a passage's text stood in the version before."""
    return passage.came_from.select_related("old").order_by("old__pid", "pk")


def compare(passage: Passage, links: list[Crosswalk]) -> Sides | None:
    """What it came from beside its text; None where there is nothing to compare."""
    if not links or passage.text is None:
        return None
    before = "\n".join(link.old.text or "" for link in links)
    return side_by_side(before[:_MOST_TEXT], passage.text[:_MOST_TEXT])


def get_version(access: Access, pk: int) -> CorpusVersion:
    """A ready version of this benchmark, or 404."""
    ready = CorpusVersion.objects.ready().filter(benchmark=access.benchmark)
    found = ready.filter(pk=pk).select_related("parent").first()
    if found is None:
        raise Http404("No such corpus version.")
    return found


def _recipe(found: CorpusVersion) -> list[tuple[str, Any]]:
    hidden = {"prompts", "cleaning", "import", "fence"}
    shown = [(name, value) for name, value in found.recipe.items() if name not in hidden]
    prompts = found.recipe.get("prompts", {})
    return shown + [(f"prompt of {role}", sha[:12]) for role, sha in prompts.items()]


def _tree(rows: list[CorpusVersion]) -> list[tuple[range, CorpusVersion]]:
    """(a step for each level, version), each behind its parent."""
    children: dict[int | None, list[CorpusVersion]] = {}
    known = {row.pk for row in rows}
    for row in rows:
        children.setdefault(row.parent_id if row.parent_id in known else None, []).append(row)
    found: list[tuple[range, CorpusVersion]] = []
    waiting = [(0, row) for row in reversed(children.get(None, []))]
    while waiting:
        depth, row = waiting.pop()
        found.append((range(depth), row))
        waiting += [(depth + 1, child) for child in reversed(children.get(row.pk, []))]
    return found
