"""The report of a cleaning as tables and histograms, with the rows behind each number
(docs/protocol.md 4.7)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final
from urllib.parse import urlencode

from django.db.models import Count, Exists, OuterRef
from django.urls import reverse

from corpus.cleaning.measures import SAMPLE, Measures, agent_sheets, measure, rows_url
from corpus.marcus.figures import (
    LENGTH_EDGES,
    SIMILARITY_EDGES,
    Bin,
    bin_of,
    distance,
    edges_of,
    histogram,
    retention,
    share_below,
)
from corpus.models import CleaningRun, CorpusVersion, Crosswalk, Passage, Query
from kit.lists.report_tables import Cell, ReportTable, text
from kit.numbers import is_number, number
from llm.ledger.reading import without_texts

SIDES: Final = ("before", "after")
_SHORT: Final = 100
_LISTED: Final = 200


@dataclass(frozen=True)
class Widths:
    """Chosen widths of the histograms' bins, in tokens and in cosine; None are ours."""

    tokens: int | None = None
    cosine: float | None = None

    @property
    def length_edges(self) -> Sequence[float]:
        """Edges of the lengths; the last bin is open."""
        return edges_of(self.tokens, top=_TOP_TOKENS) if self.tokens else LENGTH_EDGES

    @property
    def similarity_edges(self) -> Sequence[float]:
        """Edges of the cosines."""
        return edges_of(self.cosine, top=1) if self.cosine else SIMILARITY_EDGES

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of a link."""
        given = {"tokens": self.tokens, "cosine": self.cosine}
        return {name: value for name, value in given.items() if value}


# Beyond it only the last, open bin is drawn.
_TOP_TOKENS: Final = 4000


@dataclass(frozen=True)
class Report:
    """All tables by name, and the two histograms before and after."""

    sheets: list[ReportTable]
    lengths: tuple[list[Bin], list[Bin]]
    similarities: tuple[list[Bin], list[Bin]]

    def sheet(self, name: str) -> ReportTable | None:
        """The table of that name."""
        return next((each for each in self.sheets if each.name == name), None)


def report(run: CleaningRun, widths: Widths = Widths()) -> Report:
    """The report of a run that is done, its histograms in bins of the given widths."""
    found = measure(run)
    lengths = [[n for _, n in side.lengths] for side in (found.before, found.after)]
    cosines = [[n for *_, n in side.similarities] for side in (found.before, found.after)]
    bins = [histogram(each, widths.length_edges, is_open=True) for each in lengths]
    alike = [histogram(each, widths.similarity_edges, is_open=False) for each in cosines]
    sheets = [
        _retention(run),
        _length_sheet(run, bins, lengths, widths),
        _similarity_sheet(run, alike, widths),
        *agent_sheets(run),
        _duplicates(run, found),
        _lost(run, found),
    ]
    return Report(sheets, (bins[0], bins[1]), (alike[0], alike[1]))


def _retention(run: CleaningRun) -> ReportTable:
    assert run.version is not None
    old, new = passages_by_domain(run.source), passages_by_domain(run.version)
    names = sorted(old.keys() | new.keys())
    urls = [
        reverse("version", args=[run.benchmark.slug, each.pk]) for each in (run.source, run.version)
    ]
    rows = [_retention_row(name, old.get(name, 0), new.get(name, 0), urls) for name in names]
    if len(rows) > 1:
        total = sum(old.values()), sum(new.values())
        rows.append(_retention_row("All", *total, urls, is_all=True))
    header = ("Domain", "Passages before", "Passages after", "Retention in %")
    return ReportTable("retention", "Passages by domain", header, tuple(rows))


def _retention_row(
    name: str, old: int, new: int, urls: Sequence[str], *, is_all: bool = False
) -> tuple[Cell, ...]:
    kept = retention(new, old)
    query = "" if is_all else f"?{urlencode({'domain': name})}"
    counts = [Cell(n, url=url + query) for n, url in zip((old, new), urls, strict=True)]
    return text(name), *counts, Cell(None if kept is None else round(kept, 2))


def passages_by_domain(version: CorpusVersion) -> dict[str, int]:
    """How many passages the version has, by the names of domains."""
    rows = Passage.objects.in_version(version).order_by().values_list("domain__name")
    return dict(rows.annotate(n=Count("pk")))


def _length_sheet(
    run: CleaningRun, bins: Sequence[list[Bin]], lengths: Sequence[list[int]], widths: Widths
) -> ReportTable:
    apart = distance(*bins)
    short = [share_below(each, _SHORT) for each in lengths]
    notes = ["Tokens are runs of signs between white space."]
    if None not in short:
        notes.append(
            f"Below {_SHORT} tokens: {short[0]:.1%} before, {short[1]:.1%} after. "
            f"Total variation between the two: {apart:.3f}."
        )
    if max(map(len, lengths)) >= SAMPLE // 2:
        notes.append(f"Counted on at most {SAMPLE:,} passages, spread over each version.")
    header = ("Tokens", "Passages before", "Passages after")
    rows = _bin_rows(run, "lengths", bins, widths)
    return ReportTable("lengths", "Lengths of passages", header, rows, tuple(notes))


def _similarity_sheet(run: CleaningRun, bins: Sequence[list[Bin]], widths: Widths) -> ReportTable:
    header = ("Cosine", "Gold pairs before", "Gold pairs after")
    note = "Cosine of a query and a gold passage as hashed words: no language model behind it."
    rows = _bin_rows(run, "similarity", bins, widths)
    return ReportTable("similarity", "Queries and their gold", header, rows, (note,))


def _bin_rows(
    run: CleaningRun, name: str, bins: Sequence[list[Bin]], widths: Widths
) -> tuple[tuple[Cell, ...], ...]:
    def cell(count: int, side: str, place: int) -> Cell:
        params = {"of": name, "side": side, "bin": place, **widths.params}
        return Cell(count, url=rows_url(run, **params) if count else "")

    return tuple(
        (text(bin_name(a)), cell(a.count, "before", place), cell(b.count, "after", place))
        for place, (a, b) in enumerate(zip(bins[0], bins[1], strict=True))
    )


def bin_name(each: Bin) -> str:
    """The bin as people read it."""
    return f"from {each.low:g}" if each.high is None else f"{each.low:g} to {each.high:g}"


def _duplicates(run: CleaningRun, found: Measures) -> ReportTable:
    assert run.version is not None
    shown = found.duplicates[:_LISTED]
    pids = dict(
        Passage.objects.filter(pk__in={pk for pair in shown for pk in pair[:2]}).values_list(
            "pk", "pid"
        )
    )
    args = [run.benchmark.slug, run.version.pk]

    def named(pk: int) -> Cell:
        return text(pids[pk], reverse("version-passage", args=[*args, pk]))

    rows = tuple((named(a), named(b), Cell(round(share, 2))) for a, b, share in shown)
    notes = [
        f"{len(found.duplicates):,} pairs share four fifths or more of their runs of five words."
    ]
    if found.compared < run.figures.get("passages", 0):
        notes.append(f"Looked for among {found.compared:,} passages, spread over the version.")
    return ReportTable(
        "near-duplicates",
        "Near-duplicates in the new version",
        ("Passage", "Much the same as", "Share"),
        rows,
        tuple(notes),
        "None were found.",
    )


def _lost(run: CleaningRun, found: Measures) -> ReportTable:
    labels = found.labels
    keys = {each.query for each in labels.lost}, {each.passage for each in labels.lost}
    queries: dict[int, Any] = Query.objects.select_related("domain").in_bulk(keys[0])
    pids = dict(Passage.objects.filter(pk__in=keys[1]).values_list("pk", "pid"))
    slug = run.benchmark.slug
    rows = tuple(
        (
            text(str(queries[each.query]), reverse("query", args=[slug, each.query])),
            text(pids[each.passage], reverse("passage", args=[slug, each.passage])),
            Cell(each.label),
            text(each.why),
        )
        for each in labels.lost[:5000]
    )
    total = f"{len(labels.labels):,} labels hold in the new version."
    return ReportTable(
        "not-carried",
        "Labels that could not be carried",
        ("Query", "Passage", "Label", "Why"),
        rows,
        (total,),
        "All labels were carried.",
    )


_MAX_ROWS: Final = 2000


def rows_of(run: CleaningRun, params: Mapping[str, str], widths: Widths) -> ReportTable | None:
    """The rows that the parameters of a report's link name; None where they name none."""
    kind = params.get("of", "")
    if kind == "agents":
        return _calls(run, params.get("role", ""))
    if kind == "dropped":
        became = Crosswalk.objects.filter(version=run.version, old=OuterRef("pk"))
        gone = Passage.objects.in_version(run.source).filter(~Exists(became)).order_by("pk")
        rows = tuple(
            (text(pid, _url(run, "before", pk)),)
            for pk, pid in gone.values_list("pk", "pid")[:_MAX_ROWS]
        )
        note = f"Nothing was left of them by the rules. At most {_MAX_ROWS:,} are listed."
        return ReportTable("rows", "Passages that were dropped", ("Passage",), rows, (note,))
    side, place = params.get("side", ""), params.get("bin", "")
    if side not in SIDES or not is_number(place):
        return None
    if kind == "lengths":
        return _lengths(run, side, int(place[:6]), widths)
    return _pairs(run, side, int(place[:6]), widths) if kind == "similarity" else None


def _lengths(run: CleaningRun, side: str, place: int, widths: Widths) -> ReportTable:
    edges = widths.length_edges
    found = getattr(measure(run), side).lengths
    chosen = [(pk, n) for pk, n in found if bin_of(n, edges, is_open=True) == place]
    names = _pids([pk for pk, _ in chosen[:_MAX_ROWS]])
    rows = tuple((text(names[pk], _url(run, side, pk)), Cell(n)) for pk, n in chosen[:_MAX_ROWS])
    title = f"Passages {side}, {_bin(edges, place, is_open=True)} tokens"
    return ReportTable("rows", title, ("Passage", "Tokens"), rows, _notes(len(chosen)))


def _pairs(run: CleaningRun, side: str, place: int, widths: Widths) -> ReportTable:
    edges = widths.similarity_edges
    found = getattr(measure(run), side).similarities
    chosen = [each for each in found if bin_of(each[2], edges, is_open=False) == place]
    shown = chosen[:_MAX_ROWS]
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
    title = f"Gold pairs {side}, cosine {_bin(edges, place, is_open=False)}"
    return ReportTable("rows", title, ("Query", "Passage", "Cosine"), rows, _notes(len(chosen)))


def _calls(run: CleaningRun, role: str) -> ReportTable:
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
        for each in without_texts(calls)[:_MAX_ROWS]
    )
    header = (
        *("Page", "Model", "State", "Input tokens", "Of them cached", "Output tokens"),
        *("Of them reasoning", "USD", "At most"),
    )
    return ReportTable("rows", f"Calls of {role}", header, rows, _notes(calls.count()))


def _usd(amount: Decimal | None) -> Cell:
    return Cell(None if amount is None else float(amount), "usd")


def _page(subject: str, pages: dict[int, str]) -> str:
    """clean:PAGE:where, as the pump names its calls."""
    part = subject.split(":")[1:2]
    return pages.get(number(part[0]) or 0, subject) if part else subject


def _bin(edges: Sequence[float], place: int, *, is_open: bool) -> str:
    bins = histogram((), edges, is_open=is_open)
    return bin_name(bins[place]) if place < len(bins) else "in no bin"


def _pids(keys: list[int]) -> dict[int, str]:
    return dict(Passage.objects.filter(pk__in=keys).values_list("pk", "pid"))


def _url(run: CleaningRun, side: str, pk: int) -> str:
    slug = run.benchmark.slug
    if side == "before":
        return reverse("passage", args=[slug, pk])
    return reverse("version-passage", args=[slug, run.version_id, pk])


def _notes(count: int) -> tuple[str, ...]:
    return (f"The first {_MAX_ROWS:,} of {count:,}.",) if count > _MAX_ROWS else ()
