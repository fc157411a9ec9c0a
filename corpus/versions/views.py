"""Screens of corpus versions: the tree, one with its recipe and passages, differences of texts,
making one current, and searching in one."""

from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from corpus.access import Access, enter, first_or_404
from corpus.benchmarks.overview import passages_counted
from corpus.lists import domain_choices, is_key
from corpus.marcus.showing import Sides, side_by_side
from corpus.models import (
    CleaningPreset,
    CleaningRun,
    CorpusVersion,
    Crosswalk,
    Passage,
    Query,
    Role,
)
from corpus.texts.finding import begins_with
from corpus.texts.indexing import searchable
from corpus.texts.search import search_version, search_words
from corpus.versions import services as verbs
from corpus.versions.effective import LostLabel, effective_labels
from corpus.versions.services import before_last, loaded_since
from kit import htmx
from kit.errors import Refused
from kit.lists.tables import Column, Filter, Table, clean

READERS = (Role.ADMIN, Role.REVIEWER)
_MAX_TEXT = 200_000


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
        Column("from", "Source", numeric=True),
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
    """One version: its recipe, and its passages with their source passages."""
    access = enter(request.user, slug, *READERS)
    found = get_version(access, pk)
    rows = Passage.objects.in_version(found).select_related("domain").defer("text")
    rows = rows.prefetch_related("came_from__old")
    domains = domain_choices(access.benchmark)
    context = {
        "access": access,
        "version": found,
        "count": passages_counted(found),
        "may_make_current": access.is_admin
        and found in CorpusVersion.objects.choices(access.benchmark)
        and found != CorpusVersion.objects.current(access.benchmark),
        "recipe": [(name.replace("_", " "), value) for name, value in _recipe(found)],
        "run": CleaningRun.objects.filter(version=found).first(),
        "table": PASSAGES.read(rows, request.GET, choices={"domain": domains}),
    }
    return htmx.render(request, "corpus/versions/version.html", context, partial="results")


@require_GET
def passage_diff(request: HttpRequest, slug: str, pk: int, passage_pk: int) -> HttpResponse:
    """A passage of a version compared with its source passages, word by word."""
    access = enter(request.user, slug, *READERS)
    found = get_version(access, pk)
    rows = Passage.objects.in_version(found).filter(pk=passage_pk)
    passage = first_or_404(rows, "passage in this version")
    links = list(came_from(passage))
    others = Passage.objects.in_version(found).filter(pk__gt=passage.pk).order_by("pk")
    context = {
        "access": access,
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
    """Its source passages compared with its text; None where there is nothing to compare."""
    if not links or passage.text is None:
        return None
    before = "\n".join(link.old.text or "" for link in links)
    return side_by_side(before[:_MAX_TEXT], passage.text[:_MAX_TEXT])


def get_version(access: Access, pk: int) -> CorpusVersion:
    """A ready version of this benchmark, or 404."""
    ready = CorpusVersion.objects.ready().filter(benchmark=access.benchmark)
    return first_or_404(ready.filter(pk=pk).select_related("parent"), "corpus version")


def _recipe(found: CorpusVersion) -> list[tuple[str, Any]]:
    hidden = {"prompts", "cleaning", "import", "fence", "apart"}
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


_LOST_SHOWN = 20


@require_http_methods(["GET", "POST"])
def version_make_current(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """What changes when this version becomes the current one; a POST does it."""
    access = enter(request.user, slug, Role.ADMIN)
    found = get_version(access, pk)
    found.benchmark = access.benchmark
    current = CorpusVersion.objects.current(access.benchmark)
    refusal = ""
    if request.method == "POST":
        try:
            verbs.make_current(
                version=found, seen=seen(request.POST.get("seen")), actor=access.user
            )
        except Refused as refused:
            refusal = refused.message
        else:
            messages.success(request, f"“{found.name}” is the current version now.")
            return htmx.redirect(request, reverse("versions", args=[slug]))
    labels = effective_labels(found)
    gold = [each for each in labels.lost if each.label > 0]
    context = {
        "access": access,
        "version": found,
        "current": current,
        "refusal": refusal,
        "labels": labels,
        "lost_gold": _named(gold[:_LOST_SHOWN]),
        "lost_count": len(gold),
        "is_current": found == current,
    }
    show = htmx.invalid if refusal else htmx.render
    return show(request, "corpus/versions/make_current.html", context)


@require_POST
def version_undo(request: HttpRequest, slug: str) -> HttpResponse:
    """Go back to the version that was current before."""
    access = enter(request.user, slug, Role.ADMIN)
    try:
        found = verbs.undo_make_current(
            benchmark=access.benchmark, seen=seen(request.POST.get("seen")), actor=access.user
        )
    except Refused as refusal:
        messages.warning(request, refusal.message)
    else:
        messages.success(request, f"“{found.name}” is the current version again.")
    return htmx.redirect(request, reverse("versions", args=[slug]))


@require_GET
def version_search(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The passages of a version that hold the words, the best first, with their source passages."""
    access = enter(request.user, slug, *READERS)
    found = get_version(access, pk)
    words, name = clean(request.GET.get("q", "")), request.GET.get("domain", "")
    domains = list(access.benchmark.domains.ready())
    chosen = [each for each in domains if name in ("", each.name)]
    context: dict[str, Any] = {
        "access": access,
        "version": found,
        "words": words,
        "domain": name,
        "domains": [each.name for each in domains],
        "searched": bool(search_words(words)),
        "results": search_version(words, version=found, domains=chosen),
        "searchable": searchable(found),
        "versions": CorpusVersion.objects.choices(access.benchmark),
    }
    return htmx.render(request, "corpus/versions/search.html", context, partial="results")


def _named(lost: list[LostLabel]) -> list[tuple[Query, Passage, str]]:
    queries = Query.objects.select_related("domain").in_bulk([each.query for each in lost])
    passages = Passage.objects.defer("text").in_bulk([each.passage for each in lost])
    return [(queries[each.query], passages[each.passage], each.why) for each in lost]


def seen(given: object) -> int | None:
    """The key of the version that a form or call says was current."""
    text = str(given or "")
    return int(text) if is_key(text) else None
