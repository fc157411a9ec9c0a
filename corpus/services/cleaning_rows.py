"""The rows behind the numbers of a cleaning's report, as tables."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from django.db.models import Exists, OuterRef
from django.urls import reverse

from corpus.marcus.figures import bin_of
from corpus.models import CleaningRun, Crosswalk, Passage, Query
from corpus.services.cleaning_measures import measure
from corpus.services.cleaning_report import SIDES, Widths, report
from kit.sheets import Cell, Sheet, text
from llm.ledger.reading import without_texts

MOST: Final = 2000


def rows_of(run: CleaningRun, params: Mapping[str, str], widths: Widths) -> Sheet | None:
    """The rows that the parameters of a report's link name; None where they name none."""
    kind = params.get("of", "")
    if kind == "agents":
        return _calls(run, params.get("role", ""))
    if kind == "dropped":
        return _dropped(run)
    side, place = params.get("side", ""), params.get("bin", "")
    if side not in SIDES or not (place.isascii() and place.isdigit()):
        return None
    if kind == "lengths":
        return _lengths(run, side, int(place[:6]), widths)
    return _pairs(run, side, int(place[:6]), widths) if kind == "similarity" else None


def _lengths(run: CleaningRun, side: str, place: int, widths: Widths) -> Sheet:
    edges = widths.length_edges
    found = getattr(measure(run), side).lengths
    chosen = [(pk, n) for pk, n in found if bin_of(n, edges, is_open=True) == place]
    names = _pids([pk for pk, _ in chosen[:MOST]])
    rows = tuple((text(names[pk], _url(run, side, pk)), Cell(n)) for pk, n in chosen[:MOST])
    title = f"Passages {side}, {_bin(run, 'lengths', place, widths)} tokens"
    return Sheet("rows", title, ("Passage", "Tokens"), rows, _notes(len(chosen)))


def _pairs(run: CleaningRun, side: str, place: int, widths: Widths) -> Sheet:
    edges = widths.similarity_edges
    found = getattr(measure(run), side).likenesses
    chosen = [each for each in found if bin_of(each[2], edges, is_open=False) == place]
    shown = chosen[:MOST]
    names = _pids([passage for _, passage, _ in shown])
    queries: dict[int, Any] = Query.objects.select_related("domain").in_bulk(
        {query for query, *_ in shown}
    )
    slug = run.benchmark.slug
    rows = tuple(
        (
            text(str(queries[query]), reverse("query", args=[slug, query])),
            text(names[passage], _url(run, side, passage)),
            Cell(cosine, "coefficient"),
        )
        for query, passage, cosine in shown
    )
    title = f"Gold pairs {side}, cosine {_bin(run, 'similarity', place, widths)}"
    return Sheet("rows", title, ("Query", "Passage", "Cosine"), rows, _notes(len(chosen)))


def _calls(run: CleaningRun, role: str) -> Sheet:
    calls = run.calls.filter(role=role).order_by("pk")
    pages = dict(run.pages.values_list("pk", "page_id")) if run.has_agents else {}
    rows = tuple(
        (
            text(_page(each.subject, pages)),
            text(each.model),
            text(each.get_status_display()),
            *(Cell(each.input_tokens), Cell(each.cached_tokens)),
            *(Cell(each.output_tokens), Cell(each.reasoning_tokens)),
            *(_usd(each.usd), _usd(each.at_most_usd)),
        )
        for each in without_texts(calls)[:MOST]
    )
    header = (
        *("Page", "Model", "State", "Input tokens", "Of them cached", "Output tokens"),
        *("Of them reasoning", "USD", "At most"),
    )
    return Sheet("rows", f"Calls of {role}", header, rows, _notes(calls.count()))


def _usd(amount: Decimal | None) -> Cell:
    return Cell(None if amount is None else float(amount), "usd")


def _dropped(run: CleaningRun) -> Sheet:
    became = Crosswalk.objects.filter(version=run.version, old=OuterRef("pk"))
    gone = Passage.objects.in_version(run.source).filter(~Exists(became)).order_by("pk")
    rows = tuple(
        (text(pid, _url(run, "before", pk)),) for pk, pid in gone.values_list("pk", "pid")[:MOST]
    )
    note = f"Nothing was left of them by the rules. At most {MOST:,} are listed."
    return Sheet("rows", "Passages that were dropped", ("Passage",), rows, (note,))


def _page(subject: str, pages: dict[int, str]) -> str:
    """clean:PAGE:where, as the pump names its calls."""
    part = subject.split(":")[1:2]
    return pages.get(int(part[0]), subject) if part and part[0].isdigit() else subject


def _bin(run: CleaningRun, name: str, place: int, widths: Widths) -> str:
    sheet = report(run, widths).sheet(name)
    rows = sheet.rows if sheet else ()
    return str(rows[place][0].value) if place < len(rows) else "in no bin"


def _pids(keys: list[int]) -> dict[int, str]:
    return dict(Passage.objects.filter(pk__in=keys).values_list("pk", "pid"))


def _url(run: CleaningRun, side: str, pk: int) -> str:
    slug = run.benchmark.slug
    if side == "before":
        return reverse("passage", args=[slug, pk])
    return reverse("version-passage", args=[slug, run.version_id, pk])


def _notes(count: int) -> tuple[str, ...]:
    return (f"The first {MOST:,} of {count:,}.",) if count > MOST else ()
