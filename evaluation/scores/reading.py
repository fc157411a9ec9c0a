"""Scoring every run of a corpus version under every gold, in one frozen reading."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from corpus.judgments.shown import shown_labels
from corpus.models import Benchmark, Domain, Judgment, RankedList, RerankRun, RetrievalRun
from corpus.versions.services import stored
from evaluation.content.reading import machine_gold_of, read_queries
from evaluation.content.view import view_of
from evaluation.exporters.records import QueryRecord
from evaluation.metrics import novelty, relevance
from evaluation.metrics.case import Case, Values
from evaluation.metrics.growth import (
    aspect_weights,
    found_holes,
    mean_growth,
    mean_marginal,
    random_orders,
    undiscovered,
)
from evaluation.metrics.names import Metric, read_metrics
from evaluation.metrics.profiles import PROFILES, STRICT, Family
from evaluation.metrics.ranking import Matched
from evaluation.metrics.run import Flags, Floats, Run
from evaluation.metrics.scoring import PerQuery, case_of, counts, value_of
from evaluation.metrics.standings import Standing, standings, task_means
from evaluation.scores import aspects
from evaluation.scores.matched import MatchedPool
from evaluation.scores.models import DomainScore, ScoreSheet
from evaluation.scores.services import GoldView, gold_in
from kit.errors import Refused
from kit.models import Event
from kit.runs.heartbeat import Heartbeat

# Of each run that ranks something the cases of every family of measures.
_Cases = dict[int, dict[Family, Case]]
DEPTH = 10
ORDERS = 10
# Passages of a query that are reranked where nothing else is said (docs/protocol.md 5.4).
ORACLE_DEPTH = 100
# Measures whose change is the contribution of a held-out system (docs/protocol.md 6.7).
PERFORMANCE: Mapping[str, Callable[[Case, int | None], Values]] = {
    "hit@10": relevance.hit,
    "nDCG@10": relevance.ndcg,
    "recall@10": relevance.recall,
}
# Beyond so many systems the contribution of a held-out one is not computed: it grows with their
# cube.
MAX_SYSTEMS = 40


# The same of aspects, in the view that holds machine gold.
OF_ASPECTS: Mapping[str, Callable[[Case, int | None], Values]] = {
    "aspect_recall@10": novelty.aspect_recall
}


def holes_of(
    cases: Mapping[int, Case],
    names: Mapping[int, str],
    *,
    seed: int,
    of_aspects: Sequence[Case] = (),
) -> dict[str, Any]:
    """Everything about one domain, as JSON; `cases` by run are of one gold.

    `of_aspects` are the same runs by the gold of measures of aspects (scores/aspects.py).
    """
    runs = list(cases)
    ordered = [cases[run] for run in runs]
    found = found_holes(ordered, DEPTH)
    times = found.sum(axis=0)
    case = ordered[0]
    assert case.gold.hole is not None
    holes = case.gold.hole & case.relevant
    # For each order the holes reached by its first 1, 2, ... systems.
    drawn = random_orders(len(found), ORDERS, seed)
    reached = [np.logical_or.accumulate(found[order], axis=0).sum(axis=1) for order in drawn]
    return {
        "holes": int(holes.sum()),
        "reached": int((times > 0).sum()),
        "undiscovered": undiscovered(found),
        "systems": [
            {
                "run": run,
                "name": names[run],
                "found": int(found[place].sum()),
                "alone": int((found[place] & (times == 1)).sum()),
            }
            for place, run in enumerate(runs)
        ],
        "reach": [each.tolist() for each in reached],
        "growth": mean_growth(found, seed=seed, orders=ORDERS),
        "aspect_growth": _aspect_growth(of_aspects, seed),
        "marginal": _marginal(ordered, found, seed, of_aspects),
    }


def _aspect_growth(cases: Sequence[Case], seed: int) -> list[float | None] | None:
    """Growth in which a hole counts as much as its aspects weigh; None without aspects."""
    if not cases:
        return None
    found, weights = found_holes(cases, DEPTH), aspect_weights(cases[0])
    if not weights[found.any(axis=0)].any():
        return None
    return mean_growth(found, seed=seed, orders=ORDERS, weights=weights)


def _marginal(
    cases: Sequence[Case], found: Flags, seed: int, of_aspects: Sequence[Case]
) -> dict[str, list[float | None]] | None:
    if len(cases) > MAX_SYSTEMS:
        return None
    measured = {name: (cases, found, compute) for name, compute in PERFORMANCE.items()}
    if of_aspects:
        reached = found_holes(of_aspects, DEPTH)
        measured |= {name: (of_aspects, reached, compute) for name, compute in OF_ASPECTS.items()}
    return {
        name: mean_marginal(rows, holes, partial(_mean, compute), seed=seed, orders=ORDERS)
        for name, (rows, holes, compute) in measured.items()
    }


def _mean(compute: Callable[[Case, int | None], Values], case: Case) -> float | None:
    return compute(case, DEPTH).mean


# Events of these kinds change no label, aspect or run that is scored. A case is none of them:
# while people vote on it, its pair's label since the import does not count (content/reading.py).
_UNRELATED = (
    "annotate.activespan",
    "annotate.adjudication",
    "annotate.answercomparison",
    "annotate.assignment",
    "annotate.batch",
    "annotate.batchitem",
    "annotate.consent",
    "annotate.draft",
    "annotate.guideline",
    "annotate.problemtag",
    "annotate.referenceanswer",
    "annotate.referencepanel",
    "annotate.spotcheck",
    "annotate.vote",
    "annotate.votermessage",
    "annotate.voteslot",
    "annotate.votingplan",
    "annotate.weightscale",
    "corpus.cleanedpage",
    "corpus.cleaningrun",
    "corpus.corpusversion",
    "corpus.expansionrun",
    "corpus.membership",
    "corpus.pagefetch",
    "corpus.pool",
    "corpus.poolbuild",
    "corpus.rerankrun",
    "corpus.runcomputation",
    "debate.answerrun",
    "debate.auditsample",
    "debate.debaterun",
    "debate.hintrun",
    "debate.prompt",
    "debate.trial",
    "evaluation.agentrun",
    "evaluation.chain",
    "evaluation.experiment",
    "evaluation.graderun",
    "evaluation.judgerun",
    "evaluation.pipelinerun",
    "evaluation.ragrun",
    "evaluation.release",
    "evaluation.supportrun",
    "evaluation.trainingrun",
)


def last_event(benchmark: Benchmark, before: datetime | None = None) -> int:
    """The last event that could, or could by then; 0 without any."""
    events = Event.objects.filter(scope=benchmark.slug, once=None)
    events = events.filter(at__lt=before) if before else events
    events = events.exclude(target_type__in=_UNRELATED)
    return events.order_by("-pk").values_list("pk", flat=True).first() or 0


METRICS = (
    "nDCG@10,alpha_nDCG@25,aspect_recall@25,nDCG@25,recall@25,recall@10,hit@10,MAP@100,MRR,"
    "nDCG_bridge@10,hole@10,unjudged@10"
)
# Fixed, so that sheets of the same labels and runs have the same numbers.
SEED = 20_261_121


def score_runs(sheet: ScoreSheet, heartbeat: Heartbeat) -> tuple[list[DomainScore], dict[str, Any]]:
    """Every run in every domain under every view, read at one moment: rows, and what the sheet
    keeps with them. Nothing is written. Raises Refused where there is nothing to score."""
    benchmark, key = sheet.benchmark, sheet.corpus_version_id
    event_id = last_event(benchmark)
    runs = list(RetrievalRun.objects.filter(benchmark=benchmark, corpus_version=key).order_by("pk"))
    metrics = read_metrics(",".join([METRICS, *sheet.metrics]))
    profile = PROFILES[sheet.profile]
    version, pool = stored(benchmark, key), None
    if version is not None and sheet.matched_with is not None:
        pool = MatchedPool.of(benchmark, version, sheet.matched_with)
    shown = view_of(benchmark, pool.loaded if pool else version, shown_only=True)
    # A view that nothing tells from the expert one is read there (held_view).
    has_machine_gold = bool(machine_gold_of(shown))
    views = [view for view in GoldView if view != GoldView.MACHINE or has_machine_gold]
    values: dict[str, dict[str, list[Floats]]] = {
        view: {each.name: [] for each in metrics} for view in views
    }
    scores: list[DomainScore] = []
    holes: dict[str, Any] = {}
    names = {run.pk: run.name for run in runs}
    # Of a matched pool nobody asks for an oracle.
    oracles = _no_oracles([] if pool else runs)
    domains: list[str] = []  # in the order of the boards' columns
    steps, whole = count(1), len(runs) * len(shown.splits) * len(views)
    for name, domain in shown.splits.items():
        records = read_queries(shown, domain, with_answers=False)
        records = pool.records(records, domain) if pool else records
        if not any(record.labels for record in records):
            continue
        if pool:
            lists = pool.lists(runs, domain)
        else:
            lists = {run.pk: lists_of(run, domain) for run in runs}
        if all(each is None for each in lists.values()):
            continue
        domains.append(domain.name)
        kept: dict[GoldView, _Cases] = {}
        for view in views:
            cases: _Cases = {}
            gold = gold_in(records, view)
            found: list[dict[str, PerQuery] | None] = []
            for run in runs:
                heartbeat.step(next(steps), whole)
                if (ranked := lists[run.pk]) is None:
                    found.append(None)
                    continue
                matched = Matched.of(ranked, gold)
                of = {family: case_of(matched, family, profile) for family in Family}
                if view == GoldView.BASE and run.pk in oracles:
                    case = of[metrics[0].measure.family]
                    for depth, means in oracles[run.pk].items():
                        best = value_of(metrics[0], case.sorted_by_truth(depth), profile)
                        means += [None] * (len(domains) - 1 - len(means)) + [best.mean]
                scored = {m.name: value_of(m, of[m.measure.family], profile) for m in metrics}
                found.append(scored)
                cases[run.pk] = of
                scores.append(
                    DomainScore(
                        sheet=sheet,
                        run=run,
                        domain=domain,
                        view=view,
                        qids=list(gold.qids),
                        values={name: [v for _, v, _ in s.rows()] for name, s in scored.items()},
                        counts=counts(matched, of[Family.TREC]),
                    )
                )
            for each in metrics:
                values[view][each.name].append(_table(found, each.name, len(gold)))
            if view in (GoldView.REFINED, views[-1]):
                kept[view] = cases
        if not pool and profile is STRICT:
            holes[name] = _holes_by_view(kept, names, records)
    if not domains:
        raise Refused("No run ranks a query that has gold. There is nothing to score.")
    boards = {} if pool else {view: _board(runs, metrics, values[view]) for view in views}
    return scores, {
        "event_id": event_id,
        "run_ids": [run.pk for run in runs],
        "boards": {
            "domains": domains,
            "views": boards,
            "practice": _holds_practice(benchmark),
            "oracles": [
                {"run": pk, "depth": depth, "domains": means}
                for pk, found_at in oracles.items()
                for depth, means in found_at.items()
            ],
        },
        "holes": holes,
        "pool": pool.figures if pool else {},
    }


def _holes_by_view(
    kept: dict[GoldView, _Cases], names: Mapping[int, str], records: Sequence[QueryRecord]
) -> dict[str, Any]:
    """Holes of the refined gold with what is known by aspects, and under `machine` the holes where
    machine gold counts, too; `kept` has the cases of the refined view and of the last one."""
    last = next(reversed(kept))
    weighed: list[Case] = []
    if has_aspects := any(record.aspects for record in records):
        weighed = [of[Family.ASPECT] for of in kept[last].values()]

    def in_view(view: GoldView) -> dict[str, Any]:
        cases = {run: of[Family.BRIDGE] for run, of in kept[view].items()}
        by_aspects = weighed or _of_subtopics(list(cases.values()))
        return holes_of(cases, names, seed=SEED, of_aspects=by_aspects)

    found = in_view(GoldView.REFINED)
    if last == GoldView.MACHINE:
        found[last] = in_view(last)
    if has_aspects:
        found["aspects"] = aspects.measured(kept[last], names, records)
    return found


def _of_subtopics(cases: Sequence[Case]) -> Sequence[Case]:
    """The cases, if imported judgments tell subtopics; else none."""
    known = cases[0].gold.aspects
    return cases if known is not None and len(known.row) else ()


def _no_oracles(runs: Sequence[RetrievalRun]) -> dict[int, dict[int, list[float | None]]]:
    """By run and by how many of its first passages an oracle orders, as many as its rerankings did:
    means by domain, none yet."""
    depths: dict[int, set[int]] = {run.pk: {ORACLE_DEPTH} for run in runs}
    reranked = RerankRun.objects.filter(source__in=runs).values_list("source", "config__depth")
    for source, depth in reranked:
        depths[source].add(depth)
    return {pk: {depth: [] for depth in sorted(found)} for pk, found in depths.items()}


def _holds_practice(benchmark: Benchmark) -> bool:
    """Whether labels of the practice model count among the refined gold."""
    given = Judgment.objects.in_benchmark(benchmark).standing().filter(practice=True)
    return shown_labels(given).exists()


def _board(
    runs: Sequence[RetrievalRun], metrics: Sequence[Metric], values: Mapping[str, list[Floats]]
) -> dict[str, list[dict[str, Any]]]:
    """Rows by metric. A domain in which no system has a value (no query has aspects, say) is left
    out of the mean; a system that misses a domain others have gets no rank."""
    return {
        each.name: _rows(
            runs,
            values[each.name],
            standings(_measured(values[each.name]), seed=SEED),
            np.exp if each.measure.geometric else np.asarray,
        )
        for each in metrics
    }


def _rows(
    runs: Sequence[RetrievalRun],
    tables: Sequence[Floats],
    found: Sequence[Standing],
    shown: Callable[[Any], Any],
) -> list[dict[str, Any]]:
    """`shown` makes of a mean of values what a board shows: a geometric mean's are logarithms."""
    means = shown(np.stack([task_means(table) for table in tables]))
    rows = []
    for place, (run, standing) in enumerate(zip(runs, found, strict=True)):
        row = {
            "run": run.pk,
            "domains": [None if np.isnan(mean) else float(mean) for mean in means[:, place]],
            **vars(standing),
        }
        for name in ("mean", "low", "high"):
            row[name] = None if row[name] is None else float(shown(row[name]))
        rows.append(row)
    return rows


def _measured(tables: Sequence[Floats]) -> list[Floats]:
    kept = [table for table in tables if not np.isnan(table).all()]
    return kept or list(tables)


def _table(found: Sequence[dict[str, PerQuery] | None], metric: str, size: int) -> Floats:
    """Systems in rows, queries in columns, NaN where there is no value."""
    table = np.full((len(found), size), np.nan)
    for place, each in enumerate(found):
        if each is not None:
            table[place] = np.where(each[metric].is_scored, each[metric].values, np.nan)
    return table


def lists_of(run: RetrievalRun, domain: Domain) -> Run | None:
    """A run in one domain; None where it ranks none of its queries."""
    columns = ("query__qid", "pids", "scores")
    rows: Any = RankedList.objects.filter(run=run, query__domain=domain).values_list(*columns)
    found = list(rows)
    return Run.of_lists(found) if found else None
