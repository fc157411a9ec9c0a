"""What a cleaning did to a corpus, as tables and histograms (protocol.md 4.7)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.core.cache import cache
from django.db.models import Count, Sum
from django.urls import reverse

from corpus.marcus.figures import (
    LENGTH_EDGES,
    SIMILARITY_EDGES,
    Bin,
    distance,
    histogram,
    retention,
    share_below,
)
from corpus.marcus.likeness import near_duplicates
from corpus.marcus.tokens import count_tokens
from corpus.models import CleaningRun, CorpusVersion, Passage, Query, Violation
from corpus.services.crosswalk import Carried, labels_of
from kit.sheets import Cell, Sheet, text
from llm.practice.embedding import embed

# Passages whose lengths are counted, gold pairs that are compared, texts held side by side.
SAMPLE: Final = 20_000
_PAIRS: Final = 1000
_TEXTS: Final = 2000
_SHORT: Final = 100
_LISTED: Final = 200
_DAY: Final = 24 * 3600


@dataclass(frozen=True)
class Report:
    """All tables by name, and the two histograms before and after."""

    sheets: list[Sheet]
    lengths: tuple[list[Bin], list[Bin]]
    similarities: tuple[list[Bin], list[Bin]]

    def sheet(self, name: str) -> Sheet | None:
        """The table of that name."""
        return next((each for each in self.sheets if each.name == name), None)


def report(run: CleaningRun) -> Report:
    """The report of a run that is done; kept for a day, since versions do not change."""
    made = run.created_at.timestamp()
    key = f"cleaning-report:{run.pk}:{made}"
    known: Report | None = cache.get(key)
    if known is None:
        known = _make(run)
        cache.set(key, known, timeout=_DAY)
    return known


def _make(run: CleaningRun) -> Report:
    assert run.version is not None
    before, after = _texts(run.source), _texts(run.version)
    lengths = tuple(_lengths(each) for each in (before, after))
    carried = labels_of(run.version)
    likenesses = (_likenesses(labels_of(run.source)), _likenesses(carried))
    bins = tuple(histogram(each, LENGTH_EDGES, is_open=True) for each in lengths)
    alike = tuple(histogram(each, SIMILARITY_EDGES, is_open=False) for each in likenesses)
    sheets = [
        _retention(run),
        _length_sheet(bins, lengths),
        _likeness_sheet(alike),
        *_agent_sheets(run),
        _duplicates(after),
        _lost(run, carried),
    ]
    return Report(sheets, (bins[0], bins[1]), (alike[0], alike[1]))


def _retention(run: CleaningRun) -> Sheet:
    assert run.version is not None
    old, new = _by_domain(run.source), _by_domain(run.version)
    names = sorted(old.keys() | new.keys())
    rows = [_retention_row(name, old.get(name, 0), new.get(name, 0)) for name in names]
    if len(rows) > 1:
        rows.append(_retention_row("All", sum(old.values()), sum(new.values())))
    header = ("Domain", "Passages before", "Passages after", "Retention in %")
    return Sheet("retention", "Passages by domain", header, tuple(rows))


def _retention_row(name: str, old: int, new: int) -> tuple[Cell, ...]:
    kept = retention(new, old)
    return text(name), Cell(old), Cell(new), Cell(None if kept is None else round(kept, 2))


def _by_domain(version: CorpusVersion) -> dict[str, int]:
    rows = Passage.objects.in_version(version).order_by().values_list("domain__name")
    return dict(rows.annotate(n=Count("pk")))


def _texts(version: CorpusVersion) -> list[tuple[str, str]]:
    """(id, text) of passages spread over the version."""
    rows = Passage.objects.in_version(version).with_text().order_by("pk")
    keys = list(rows.values_list("pk", flat=True))
    chosen = keys[:: max(1, -(-len(keys) // SAMPLE))]
    found: list[tuple[str, str]] = []
    for start in range(0, len(chosen), 500):
        part = Passage.objects.filter(pk__in=chosen[start : start + 500]).order_by("pk")
        found += [(pid, said or "") for pid, said in part.values_list("pid", "text")]
    return found


def _lengths(texts: Sequence[tuple[str, str]]) -> list[int]:
    return [count_tokens(said) for _, said in texts]


def _length_sheet(bins: Sequence[list[Bin]], lengths: Sequence[list[int]]) -> Sheet:
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
    return Sheet("lengths", "Lengths of passages", header, _bin_rows(bins), tuple(notes))


def _likenesses(carried: Carried) -> list[float]:
    """Cosines of queries and their gold passages, as hashed words."""
    pairs = [(each.query, each.passage) for each in carried.labels if each.label > 0]
    pairs = pairs[:: max(1, -(-len(pairs) // _PAIRS))]
    queries = dict(Query.objects.filter(pk__in={q for q, _ in pairs}).values_list("pk", "text"))
    passages = dict(
        Passage.objects.filter(pk__in={p for _, p in pairs}, text__isnull=False).values_list(
            "pk", "text"
        )
    )
    vectors = {pk: embed(said) for pk, said in queries.items()}
    return [
        sum(a * b for a, b in zip(vectors[query], embed(passages[passage] or ""), strict=True))
        for query, passage in pairs
        if query in vectors and passage in passages
    ]


def _likeness_sheet(bins: Sequence[list[Bin]]) -> Sheet:
    header = ("Cosine", "Gold pairs before", "Gold pairs after")
    note = "Cosine of a query and a gold passage as hashed words: no language model behind it."
    return Sheet("similarity", "Queries and their gold", header, _bin_rows(bins), (note,))


def _bin_rows(bins: Sequence[list[Bin]]) -> tuple[tuple[Cell, ...], ...]:
    return tuple(
        (text(bin_name(a)), Cell(a.count), Cell(b.count))
        for a, b in zip(bins[0], bins[1], strict=True)
    )


def bin_name(each: Bin) -> str:
    """The bin as people read it."""
    return f"from {each.low:g}" if each.high is None else f"{each.low:g} to {each.high:g}"


def _agent_sheets(run: CleaningRun) -> list[Sheet]:
    if not run.has_agents:
        return []
    return [_spending(run), _violations(run), _notes(run)]


def _spending(run: CleaningRun) -> Sheet:
    rows: list[tuple[Cell, ...]] = []
    if run.account:
        sums = (
            run.account.calls.answered()
            .values_list("role")
            .annotate(Count("pk"), Sum("input_tokens"), Sum("output_tokens"), Sum("usd"))
        )
        for role, calls, given, taken, usd in sums.order_by("role"):
            cost = Cell(None if usd is None else float(usd), "usd")
            rows.append((text(role), Cell(calls), Cell(given or 0), Cell(taken or 0), cost))
    header = ("Agent", "Calls", "Input tokens", "Output tokens", "USD")
    note = "Answers that were paid for before are not counted again."
    return Sheet(
        "agents", "Tokens and cost by agent", header, tuple(rows), (note,), "No call was paid."
    )


def _violations(run: CleaningRun) -> Sheet:
    url = reverse("cleaning-violations", args=[run.benchmark.slug, run.pk])
    found = Violation.objects.filter(page__run=run).order_by()
    rows = found.values_list("stage", "kind", "decision").annotate(n=Count("pk"))
    words = dict(Violation.Decision.choices)
    cells = tuple(
        (
            text(kind),
            text(stage),
            text(words.get(decision, "open")),
            Cell(n, url=f"{url}?kind={kind}"),
        )
        for stage, kind, decision, n in sorted(rows)
    )
    header = ("Kind", "Found behind", "What became of it", "Places")
    return Sheet(
        "violations",
        "Where agents departed from gold text",
        header,
        cells,
        ("Repaired characters and tables put in words are allowed, and listed.",),
        "No agent departed from gold text.",
    )


def _notes(run: CleaningRun) -> Sheet:
    flags: dict[str, int] = run.figures.get("flags", {})
    counts: dict[str, int] = run.figures.get("counts", {})
    rows = [(text(f"pages: {name}"), Cell(n)) for name, n in sorted(flags.items())]
    rows += [(text(name.replace(":", ": ")), Cell(n)) for name, n in sorted(counts.items())]
    return Sheet("notes", "What came up", ("What", "How often"), tuple(rows))


def _duplicates(texts: Sequence[tuple[str, str]]) -> Sheet:
    chosen = texts[:: max(1, -(-len(texts) // _TEXTS))]
    found = near_duplicates([said for _, said in chosen])
    rows = tuple(
        (text(chosen[a][0]), text(chosen[b][0]), Cell(round(share, 2)))
        for a, b, share in found[:_LISTED]
    )
    notes = [f"{len(found):,} pairs share four fifths or more of their runs of five words."]
    if len(chosen) < len(texts):
        notes.append(f"Looked for among {len(chosen):,} passages, spread over the version.")
    return Sheet(
        "near-duplicates",
        "Near-duplicates in the new version",
        ("Passage", "Much the same as", "Share"),
        rows,
        tuple(notes),
        "None were found.",
    )


def _lost(run: CleaningRun, carried: Carried) -> Sheet:
    keys = {each.query for each in carried.lost}, {each.passage for each in carried.lost}
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
        for each in carried.lost[:5000]
    )
    total = f"{len(carried.labels):,} labels hold in the new version."
    return Sheet(
        "not-carried",
        "Labels that could not be carried",
        ("Query", "Passage", "Label", "Why"),
        rows,
        (total,),
        "All labels were carried.",
    )
