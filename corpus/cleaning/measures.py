"""Measures of a cleaning: lengths, similarities and duplicates of both versions, calls and their
cost, violations and counts."""

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import urlencode

from django.core.cache import cache
from django.db.models import Count
from django.urls import reverse

from corpus.marcus.figures import near_duplicates
from corpus.marcus.tokens import count_tokens
from corpus.marcus.verify import Kind
from corpus.models import CleaningRun, CorpusVersion, Passage, Query, Violation
from corpus.versions.effective import EffectiveLabels, effective_labels
from kit.lists.report_tables import Cell, ReportTable, text
from llm.ledger.reading import spending_by
from llm.practice.completion import embed

T = TypeVar("T")
# Passages whose lengths are counted, gold pairs that are compared, texts that are compared.
SAMPLE: Final = 20_000
_PAIRS: Final = 1000
_TEXTS: Final = 2000
_AT_ONCE: Final = 500
_DAY: Final = 24 * 3600


class Side(NamedTuple):
    """A version: passages with their tokens, gold pairs (query, passage) with their cosines."""

    lengths: list[tuple[int, int]]
    similarities: list[tuple[int, int, float]]


class Measures(NamedTuple):
    """Both sides, and the labels as they hold now.

    Duplicates are (passage, passage, share) among so many (`compared`) passages of the new version.
    """

    before: Side
    after: Side
    duplicates: list[tuple[int, int, float]]
    compared: int
    labels: EffectiveLabels


def measure(run: CleaningRun) -> Measures:
    """The measures of a run that is done.

    Texts of a version do not change: what they alone say is kept for a day. Labels do, with every
    decision: they are read anew, and cosines kept for the pairs that they are of.
    """
    assert run.version is not None
    key = f"cleaning-lengths:{run.pk}:{run.created_at.timestamp()}"
    known = cache.get_or_set(key, lambda: _texts(run), timeout=_DAY)
    assert known is not None
    before, after, duplicates, compared = known
    labels = effective_labels(run.version)
    sides = (
        Side(before, _similarities(effective_labels(run.source))),
        Side(after, _similarities(labels)),
    )
    return Measures(*sides, duplicates, compared, labels)


def _texts(run: CleaningRun) -> tuple[Any, ...]:
    """Lengths before and after, and duplicates with the number of passages compared."""
    assert run.version is not None
    keys = _keys(run.version)
    chosen = spread(keys, _TEXTS)
    texts = Passage.objects.in_bulk(chosen)
    found = near_duplicates([texts[pk].text or "" for pk in chosen])
    duplicates = [(chosen[a], chosen[b], share) for a, b, share in found]
    return _lengths(_keys(run.source)), _lengths(keys), duplicates, len(chosen)


def spread(keys: Sequence[T], most: int) -> Sequence[T]:
    """At most so many of them, at even distances."""
    return keys[:: max(1, -(-len(keys) // most))]


def _keys(version: CorpusVersion) -> list[int]:
    rows = Passage.objects.in_version(version).order_by("pk")
    # Both are told by indexes alone: whether a passage has a text, its row would be read for.
    without = set(rows.filter(text=None).values_list("pk", flat=True))
    return [pk for pk in rows.values_list("pk", flat=True) if pk not in without]


def _lengths(keys: Sequence[int]) -> list[tuple[int, int]]:
    chosen = spread(keys, SAMPLE)
    found: list[tuple[int, int]] = []
    for start in range(0, len(chosen), _AT_ONCE):
        part = Passage.objects.filter(pk__in=chosen[start : start + _AT_ONCE]).order_by("pk")
        found += [
            (pk, count_tokens(content or "")) for pk, content in part.values_list("pk", "text")
        ]
    return found


def _similarities(labels: EffectiveLabels) -> list[tuple[int, int, float]]:
    """Queries and their gold passages with their cosines, as hashed words."""
    pairs = [(each.query, each.passage) for each in labels.labels if each.label > 0]
    pairs = list(spread(pairs, _PAIRS))
    key = f"cleaning-cosines:{sha256(json.dumps(pairs).encode()).hexdigest()}"
    found: list[tuple[int, int, float]] | None = cache.get_or_set(
        key, lambda: _cosines(pairs), timeout=_DAY
    )
    assert found is not None
    return found


def _cosines(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int, float]]:
    queries = dict(Query.objects.filter(pk__in={q for q, _ in pairs}).values_list("pk", "text"))
    passages = dict(
        Passage.objects.filter(pk__in={p for _, p in pairs}, text__isnull=False).values_list(
            "pk", "text"
        )
    )
    vectors = {pk: embed(query) for pk, query in queries.items()}
    return [
        (query, passage, _cosine(vectors[query], embed(passages[passage] or "")))
        for query, passage in pairs
        if query in vectors and passage in passages
    ]


def _cosine(first: Sequence[float], second: Sequence[float]) -> float:
    """Of vectors of length 1 or 0."""
    return sum(a * b for a, b in zip(first, second, strict=True))


def rows_url(run: CleaningRun, **params: Any) -> str:
    """The rows behind a number."""
    url = reverse("cleaning-rows", args=[run.benchmark.slug, run.pk])
    return f"{url}?{urlencode(params)}"


def agent_sheets(run: CleaningRun) -> list[ReportTable]:
    """Cost, violations and counts of a run that is done."""
    if not run.has_agents:
        return [*([_spending(run)] if run.has_calls else []), _came_up(run)]
    return [_spending(run), _violations(run), _notes(run)]


def _spending(run: CleaningRun) -> ReportTable:
    rows = []
    for (role,), found in spending_by(run.calls, "role"):
        url = rows_url(run, of="agents", role=role)
        rows.append(
            (
                text(role),
                Cell(found.calls, url=url),
                *(Cell(found.input_tokens), Cell(found.cached_tokens)),
                *(Cell(found.output_tokens), Cell(found.reasoning_tokens)),
                Cell(None if found.known_usd is None else float(found.usd), "usd"),
                Cell(float(found.reserved_usd), "usd"),
            )
        )
    header = (
        *("Agent", "Calls", "Input tokens", "Of them cached", "Output tokens"),
        *("Of them reasoning", "USD", "At most beside it"),
    )
    note = (
        "Every attempt that the run made; an answer that was paid for before is not counted "
        "again. Calls whose cost is not known may come to the last column at most."
    )
    return ReportTable(
        "agents", "Tokens and cost by agent", header, tuple(rows), (note,), "No call was paid."
    )


def _violations(run: CleaningRun) -> ReportTable:
    url = reverse("cleaning-violations", args=[run.benchmark.slug, run.pk])
    found = Violation.objects.filter(page__run=run).order_by()
    rows = found.values_list("stage", "kind", "decision").annotate(n=Count("pk"))
    words = dict(Violation.Decision.choices)
    cells = tuple(
        (
            text(kind),
            text(stage),
            text(words.get(decision, "open")),
            Cell(n, url=f"{url}?{urlencode(_params(stage, kind, decision))}"),
        )
        for stage, kind, decision, n in sorted(rows)
    )
    header = ("Kind", "Found behind", "What became of it", "Places")
    return ReportTable(
        "violations",
        "Where agents departed from gold text",
        header,
        cells,
        ("Menus, repaired characters and tables put in words are allowed, and listed.",),
        "No agent departed from gold text.",
    )


def _params(stage: str, kind: str, decision: str) -> dict[str, str]:
    """As the list of violations filters; what is allowed was never to be decided."""
    is_allowed = kind in (Kind.REPAIRED, Kind.TABLE, Kind.MENU)
    given = {"stage": stage, "kind": kind, "decision": decision or ("" if is_allowed else "open")}
    return {name: value for name, value in given.items() if value}


def _notes(run: CleaningRun) -> ReportTable:
    flags: dict[str, int] = run.figures.get("flags", {})
    counts: dict[str, int] = run.figures.get("counts", {})
    url = reverse("cleaning-pages", args=[run.benchmark.slug, run.pk])
    named = [(f"pages: {name}", name, n) for name, n in sorted(flags.items())]
    named += [(name.replace(":", ": "), name, n) for name, n in sorted(counts.items())]
    rows = [
        (text(words), Cell(n, url=f"{url}?{urlencode({'note': name})}")) for words, name, n in named
    ]
    return ReportTable("notes", "What came up", ("What", "How often"), tuple(rows))


def _came_up(run: CleaningRun) -> ReportTable:
    """The counts of a run by rules; what was dropped has no passage in the new version."""
    known = ("dropped", "gold kept whole", "without text", "sentences shortened for their vector")
    url = rows_url(run, of="dropped")
    rows = tuple(
        (text(name), Cell(run.figures[name], url=url if name == "dropped" else ""))
        for name in known
        if run.figures.get(name)
    )
    return ReportTable("notes", "What came up", ("What", "Passages"), rows, (), "Nothing special.")
