"""Taking up a corpus version as the benchmark's current one, going back, and searching in one."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from corpus.access import enter
from corpus.lists import is_key
from corpus.models import CorpusVersion, Passage, Query, Role
from corpus.services import versions as verbs
from corpus.services.crosswalk import Uncarried, labels_of
from corpus.services.indexing import searchable
from corpus.services.ranked_search import search_words
from corpus.services.version_search import search_version
from corpus.views.versions import READERS, get_version
from kit import htmx
from kit.errors import Refused
from kit.tables import clean

_LOST_SHOWN = 20


@require_http_methods(["GET", "POST"])
def version_take_up(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """What taking this version up means; a POST does it."""
    access = enter(request.user, slug, Role.ADMIN)
    found = get_version(access, pk)
    found.benchmark = access.benchmark
    current = CorpusVersion.objects.current(access.benchmark)
    refusal = ""
    if request.method == "POST":
        try:
            verbs.take_up(version=found, seen=seen(request.POST.get("seen")), actor=access.user)
        except Refused as refused:
            refusal = refused.message
        else:
            messages.success(request, f"“{found.name}” is the current version now.")
            return htmx.redirect(request, reverse("versions", args=[slug]))
    carried = labels_of(found)
    gold = [each for each in carried.lost if each.label > 0]
    context = {
        "access": access,
        "tab": "versions",
        "version": found,
        "current": current,
        "refusal": refusal,
        "carried": carried,
        "lost_gold": _named(gold[:_LOST_SHOWN]),
        "lost_count": len(gold),
        "is_current": found == current,
    }
    show = htmx.invalid if refusal else htmx.render
    return show(request, "corpus/versions/take_up.html", context)


@require_POST
def version_undo(request: HttpRequest, slug: str) -> HttpResponse:
    """Go back to the version that was current before."""
    access = enter(request.user, slug, Role.ADMIN)
    try:
        found = verbs.undo_take_up(
            benchmark=access.benchmark, seen=seen(request.POST.get("seen")), actor=access.user
        )
    except Refused as refusal:
        messages.warning(request, refusal.message)
    else:
        messages.success(request, f"“{found.name}” is the current version again.")
    return htmx.redirect(request, reverse("versions", args=[slug]))


@require_GET
def version_search(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The passages of a version that hold the words, the best first, beside what they were."""
    access = enter(request.user, slug, *READERS)
    found = get_version(access, pk)
    words, name = clean(request.GET.get("q", "")), request.GET.get("domain", "")
    domains = list(access.benchmark.domains.ready())
    chosen = [each for each in domains if name in ("", each.name)]
    context: dict[str, Any] = {
        "access": access,
        "tab": "versions",
        "version": found,
        "words": words,
        "domain": name,
        "domains": domains,
        "searched": bool(search_words(words)),
        "results": search_version(words, version=found, domains=chosen),
        "searchable": searchable(found),
        "versions": CorpusVersion.objects.choices(access.benchmark),
    }
    return htmx.render(request, "corpus/versions/search.html", context, partial="results")


def _named(lost: list[Uncarried]) -> list[tuple[Query, Passage, str]]:
    queries = Query.objects.select_related("domain").in_bulk([each.query for each in lost])
    passages = Passage.objects.defer("text").in_bulk([each.passage for each in lost])
    return [(queries[each.query], passages[each.passage], each.why) for each in lost]


def seen(given: object) -> int | None:
    """The key of the version that a form or call says was current."""
    text = str(given or "")
    return int(text) if is_key(text) else None
