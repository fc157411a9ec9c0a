"""Model families that both decide and are decided on: rankings with and without their say."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from django.urls import reverse

from corpus.judgments.models import NOTHING_LEFT_OUT, LeftOut
from corpus.judgments.services import left_out
from corpus.models import Benchmark, CorpusVersion, PoolEntry, RetrievalRun
from evaluation.judges.families import (
    DECIDED_ON,
    DECIDING,
    LABELS,
    RETRIEVING,
    family_of,
    labels_by,
    models_in,
    shared_families,
)
from evaluation.judges.orders import Order, orders_of, retrieving_families
from evaluation.judges.protocol.meta import agreement
from evaluation.leaderboard.noise import cases_of, mean_of
from evaluation.metrics.alignment import rag_align
from evaluation.metrics.case import Case
from evaluation.metrics.names import read_metric
from evaluation.metrics.profiles import STRICT
from evaluation.metrics.scoring import value_of
from evaluation.metrics.standings import ranks_of
from evaluation.rag.models import RagSource
from evaluation.rag.reading import Board, board_of, generators
from evaluation.scores.models import NoiseCheck
from evaluation.scores.services import GoldView
from kit.lists.report_tables import Cell, ReportTable, text

METRIC: Final = "nDCG@10"
# Systems that are named where some are left out.
_NAMED: Final = 20
_HEADER: Final = ("system", "shares a family", "with", "without", "rank with", "rank without")


@dataclass(frozen=True)
class Twice:
    """Systems ranked with what these families say, and without it; `related` have a model of them.
    `by` counts who decides, `others` those of other families; `dropped` are systems in neither
    order, since not every judge ranked them (of retrieval: since they do not rank every domain)."""

    what: str
    families: frozenset[str]
    related: frozenset[str]
    before: Mapping[str, float]
    after: Mapping[str, float]
    by: int = 0
    others: int = 0
    dropped: Sequence[str] = ()

    @property
    def dropped_told(self) -> str:
        """Which systems are left out, in words; "" where none is."""
        named = ", ".join(self.dropped[:_NAMED])
        more = ", ..." if len(self.dropped) > _NAMED else ""
        return f"{len(self.dropped):,} left out: {named}{more}" if self.dropped else ""

    @property
    def tau(self) -> float | None:
        """Kendall's tau-b between both, over the systems that have a rank in both."""
        return agreement(self.before, self.after).kendall

    @property
    def tau_told(self) -> str:
        """The same in words."""
        return "–" if self.tau is None else f"{self.tau:.3f}"

    def rows(self, cell: Callable[[str], Cell]) -> list[tuple[Cell, ...]]:
        """A system a row, the best with their say first."""
        places = [_places(side) for side in (self.before, self.after)]
        return [
            (
                cell(name),
                text("yes" if name in self.related else ""),
                *(Cell(side.get(name), "coefficient") for side in (self.before, self.after)),
                *(Cell(side.get(name)) for side in places),
            )
            for name in sorted(self.before, key=lambda each: (places[0][each], each))
        ]


def _places(means: Mapping[str, float]) -> dict[str, int]:
    ranks = ranks_of(np.array(list(means.values()), np.float64)).tolist() if means else []
    return dict(zip(means, ranks, strict=True))


def families_table(benchmark: Benchmark) -> ReportTable:
    """Families that both decide and are decided on."""
    does = (*DECIDING, *DECIDED_ON)
    rows = tuple(
        (text(family), *(text(", ".join(found.get(name, ())) or "–") for name in does))
        for family, found in shared_families(benchmark).items()
    )
    notes = (
        "A model may favour what a model of its family wrote, ranked first or searched for. A "
        "family is the first word of a model’s name; practice models are left out.",
    )
    return ReportTable("families", "Shared model families", ("family", *does), rows, notes)


def judged_twice(benchmark: Benchmark, orders: Mapping[str, Sequence[Order]]) -> list[Twice]:
    """What judges rank, once by the mean of all of one scale and once by those of other families,
    for each family that judges and was judged; over the systems that all of them ranked. A model is
    one judge (`_by_model`). Practice models have no say."""
    shared = shared_families(benchmark)
    asked = {family_of(model) for _, model in models_in(benchmark)}
    found = []
    for what, known in orders.items():
        for scale in dict.fromkeys(each.scale for each in known if each.family in asked):
            judges = _by_model(
                [each for each in known if each.family in asked and each.scale == scale]
            )
            for family in sorted({each.family for each in judges} & set(shared)):
                others = [each for each in judges if each.family != family]
                known_to = [set(each.means) for each in judges]
                ranked = set[str]().union(*known_to)
                related = {n for n in ranked if family in judges[0].families.get(n, ())}
                if related and len(ranked) > 1:
                    systems = set.intersection(*known_to)
                    before, after = (_mean_order(each, systems) for each in (judges, others))
                    of = f"{what}, {scale}" if scale else what
                    mine = frozenset({family}), frozenset(related)
                    by, dropped = (len(judges), len(others)), sorted(ranked - systems)
                    found.append(Twice(of, *mine, before, after, *by, dropped=dropped))
    return found


def _by_model(judges: Sequence[Order]) -> list[Order]:
    """One order a model: of replies that were read in several ways the strict reading where there
    is one, and of several voices (prompts, sampling) the mean."""
    voices: dict[str, dict[tuple[object, ...], dict[str, float]]] = {}
    for each in sorted(judges, key=lambda order: order.is_lax):
        means = voices.setdefault(each.model, {}).setdefault(each.voice, {})
        for name, value in each.means.items():
            means.setdefault(name, value)
    first = {each.model: each for each in reversed(judges)}
    found = []
    for model, of in voices.items():
        given: dict[str, list[float]] = {}
        for name, value in (pair for means in of.values() for pair in means.items()):
            given.setdefault(name, []).append(value)
        means = {name: sum(values) / len(values) for name, values in given.items()}
        found.append(replace(first[model], means=means))
    return found


def _mean_order(judges: Sequence[Order], systems: set[str]) -> dict[str, float]:
    if not judges:
        return {}
    return {
        name: sum(each.means[name] for each in judges) / len(judges) for name in sorted(systems)
    }


def by_others(found: Sequence[Twice]) -> ReportTable:
    """The same as a table."""
    rows = [
        (text(each.what), text(", ".join(sorted(each.families))), *row)
        for each in found
        for row in each.rows(text)
    ]
    told = tuple(
        f"{each.what}, {', '.join(sorted(each.families))}: {each.by:,} judges, {each.others:,} of "
        f"other families; Kendall’s tau between both orders {each.tau_told}."
        + (
            f" Not every judge ranked the same systems; {each.dropped_told}."
            if each.dropped
            else ""
        )
        for each in found
    )
    notes = (
        "With: the mean of all judges; a model counts once, however often it was asked and its "
        "replies are read. Without: that of judges of other families, none where all "
        "are of this one: let a judge of another family judge the same. Systems that share it are "
        "named by yes.",
        *told,
    )
    title = "Ranking with and without judges of a family that they judge"
    return ReportTable("by-others", title, ("of", "family", *_HEADER), tuple(rows), notes)


def retrieved_twice(benchmark: Benchmark) -> Twice | None:
    """Retrieval by nDCG@10 with and without systems whose reranker or expander, or that of any part
    of theirs, is of a family that gives labels: without them, and without the holes that only they
    brought into a pool. None where fewer than two would stay. Systems by key."""
    labelling = {
        family
        for family, does in shared_families(benchmark).items()
        if LABELS in does and set(RETRIEVING) & set(does)
    }
    behind = retrieving_families(benchmark)
    version = CorpusVersion.objects.current(benchmark)
    key = version.key if version else None
    runs = list(RetrievalRun.objects.filter(benchmark=benchmark, corpus_version=key).order_by("pk"))
    gone = {run.pk for run in runs if behind.get(run.pk, frozenset()) & labelling}
    if not gone or len(runs) - len(gone) < 2:
        return None
    before, after = (
        {str(pk): mean for pk, mean in side.items()}
        for side in _ranked_twice(benchmark, key, runs, gone)
    )
    dropped = [run.name for run in runs if str(run.pk) not in before]
    related = frozenset(str(pk) for pk in gone)
    return Twice(METRIC, frozenset(labelling), related, before, after, dropped=dropped)


def without_family(benchmark: Benchmark) -> ReportTable:
    """The same as a table."""
    found = retrieved_twice(benchmark)
    names = dict(benchmark.retrieval_runs.values_list("pk", "name"))

    def cell(key: str) -> Cell:
        return text(names[int(key)], reverse("leaderboard-run", args=[benchmark.slug, int(key)]))

    notes = (
        f"{METRIC}, refined gold. Without: systems of these families are left out, and so are "
        "holes that no other system brought into a pool. Kendall’s tau between both orders, over "
        f"the systems that stay: {found.tau_told if found else '–'}.",
        *(
            (f"Not every system ranks every domain; {found.dropped_told}.",)
            if found and found.dropped
            else ()
        ),
    )
    rows = tuple(found.rows(cell)) if found else ()
    title = "Ranking with and without systems of the labelling families"
    return ReportTable("without", title, _HEADER, rows, notes)


def aligned_twice(benchmark: Benchmark) -> list[Twice]:
    """Systems of each generator by RAGAlign, with the refined gold and without the labels that
    families gave which answer, rerank or word queries here: what stands without these counts.
    Systems by key of their source."""
    labelling = {family for family, does in shared_families(benchmark).items() if LABELS in does}
    if not labelling:
        return []
    without = left_out(set(labels_by(benchmark, labelling).values_list("pk", flat=True)))
    behind, found = retrieving_families(benchmark), []
    for run in generators(benchmark):
        board = board_of(run)
        outcome = next(iter(board.outcomes), "")
        rows = [row for row, each in enumerate(board.systems) if each.retrieval_run_id]
        own = {family_of(run.model)}
        related = {
            str(board.systems[row].pk)
            for row in rows
            if (own | behind.get(board.systems[row].retrieval_run_id, frozenset())) & labelling
        }
        if not related or len(rows) < 2 or not outcome or not board.is_binary(outcome):
            continue
        before = _aligned(board, outcome, rows, NOTHING_LEFT_OUT)
        after = _aligned(board, outcome, rows, without)
        what = f"RAGAlign of {run.model} ({run.name})"
        dropped = [
            board.systems[row].name for row in rows if str(board.systems[row].pk) not in before
        ]
        mine = frozenset(labelling), frozenset(related)
        found.append(Twice(what, *mine, before, after, dropped=dropped))
    return found


def _aligned(board: Board, outcome: str, rows: Sequence[int], without: LeftOut) -> dict[str, float]:
    """RAGAlign by key of the source, under the refined gold without these labels."""
    benchmark, metric = board.run.benchmark, read_metric(board.measures[0])
    places = {(domain, qid): at for at, (_, domain, qid) in enumerate(board.queries)}
    by_version: dict[int | None, dict[int, int]] = {}
    for row in rows:
        source = board.systems[row]
        by_version.setdefault(source.corpus_version_id, {})[source.retrieval_run_id or 0] = row
    found: dict[str, float] = {}
    for version, row_of in by_version.items():
        check = NoiseCheck(
            benchmark=benchmark, corpus_version_id=version, metric=metric.name,
            view=GoldView.REFINED,
        )  # fmt: skip
        runs = list(RetrievalRun.objects.filter(pk__in=row_of))
        hits = np.full((len(board.systems), len(places)), np.nan)
        for domain, cases in cases_of(check, runs, without).items():
            for pk, case in cases.items():
                for qid, value, _ in value_of(metric, case, STRICT).rows():
                    at = places.get((domain.name, qid))
                    if at is not None and value is not None:
                        hits[row_of[pk], at] = value
        for row in row_of.values():
            right = board.outcomes[outcome][row]
            known = ~np.isnan(hits[row]) & ~np.isnan(right)
            both = (hits[row] > 0)[known].astype(int), (right > 0)[known].astype(int)
            share = rag_align(both[0].tolist(), both[1].tolist()).share
            if share is not None:
                found[str(board.systems[row].pk)] = share
    return found


def by_labels(found: Sequence[Twice]) -> ReportTable:
    """The same as a table."""
    names = dict(
        RagSource.objects.filter(pk__in={int(key) for each in found for key in each.before})
        .order_by()
        .values_list("pk", "name")
    )
    rows = [
        (text(each.what), text(", ".join(sorted(each.families))), *row)
        for each in found
        for row in each.rows(lambda key: text(names[int(key)]))
    ]
    notes = (
        "With: the refined gold. Without: labels that models of these families gave do not count, "
        "and what would stand without them does. Systems that share a family are named by yes.",
        *(
            f"{each.what}: Kendall’s tau between both orders {each.tau_told}."
            + (f" No hit or outcome is known of {each.dropped_told}." if each.dropped else "")
            for each in found
        ),
    )
    title = "RAGAlign with and without labels of a family that answers or retrieves"
    return ReportTable("by-labels", title, ("of", "family", *_HEADER), tuple(rows), notes)


def told_orders(benchmark: Benchmark) -> dict[str, list[str]]:
    """By family that both decides and is decided on: what its say does to rankings, in words."""
    if not shared_families(benchmark):
        return {}
    judged, retrieved = judged_twice(benchmark, orders_of(benchmark)), retrieved_twice(benchmark)
    found: dict[str, list[str]] = {}
    for each in [*judged, *([retrieved] if retrieved else []), *aligned_twice(benchmark)]:
        for family in sorted(each.families):
            words = f"Kendall's tau of {each.what} with and without it {each.tau_told}"
            words += f" ({len(each.dropped):,} systems left out)" if each.dropped else ""
            found.setdefault(family, []).append(words)
    return found


def _ranked_twice(
    benchmark: Benchmark, version: int | None, runs: Sequence[RetrievalRun], gone: set[int]
) -> tuple[dict[int, float], dict[int, float]]:
    """Means of systems that rank every domain: as scored, and without what is gone."""
    metric = read_metric(METRIC)
    check = NoiseCheck(
        benchmark=benchmark, corpus_version_id=version, metric=METRIC, view=GoldView.REFINED
    )
    found = cases_of(check, runs)
    names = {run.name for run in runs if run.pk in gone}
    before: dict[int, list[float]] = {}
    after: dict[int, list[float]] = {}
    for domain, cases in found.items():
        brought = _brought(domain.pk)
        for pk, case in cases.items():
            label = case.gold.label
            own = np.array(
                [
                    bool(systems := brought.get((case.gold.qids[query], pid), set()))
                    and systems <= names
                    for query, pid in zip(case.gold.query.tolist(), case.gold.pids, strict=True)
                ],
                dtype=np.bool_,
            )
            hole = case.gold.hole if case.gold.hole is not None else np.zeros(len(label), np.bool_)
            left: Case = case.with_labels(np.where(own & hole, 0, label))
            before.setdefault(pk, []).append(mean_of(metric, case) or 0.0)
            if pk not in gone:
                after.setdefault(pk, []).append(mean_of(metric, left) or 0.0)
    whole = len(found)
    return tuple(  # type: ignore[return-value]
        {pk: sum(each) / whole for pk, each in side.items() if len(each) == whole}
        for side in (before, after)
    )


def _brought(domain: int) -> dict[tuple[str, str], set[str]]:
    """The systems that proposed each pair, over all pools."""
    found: dict[tuple[str, str], set[str]] = {}
    rows = PoolEntry.objects.filter(query__domain=domain).order_by("pk")
    for qid, pid, systems in rows.values_list("query__qid", "passage__pid", "systems").iterator():
        found.setdefault((qid, pid), set()).update(each["system"] for each in systems)
    return found
