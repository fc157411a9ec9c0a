"""Do judges order systems alike, and does an order rest on systems that share a model family?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final, TypeAlias

import numpy as np
from django.urls import reverse

from corpus.computing.config import QUERIES
from corpus.models import Benchmark, CorpusVersion, PoolEntry, Query, RetrievalRun
from evaluation.agents.models import JudgeRun
from evaluation.agents.reading import all_judges, verdicts_by
from evaluation.agents.trust.people import answer_key, grades_of, points_of
from evaluation.judges.protocol.autojudge import ALL, Score, means_of
from evaluation.judges.protocol.meta import Agreement, agreement
from evaluation.leaderboard.noise import cases_of, mean_of
from evaluation.metrics.case import Case
from evaluation.metrics.names import read_metric
from evaluation.metrics.standings import kendall_tau, ranks_of
from evaluation.rag.models import GradeRun
from evaluation.releases.families import (
    DECIDED_ON,
    DECIDING,
    LABELS,
    RETRIEVING,
    family_of,
    shared_families,
)
from evaluation.scores.models import NoiseCheck
from evaluation.scores.services import GoldView
from kit.lists.report_tables import Cell, ReportTable, text
from kit.runs.models import RunStatus

METRIC: Final = "nDCG@10"
PEOPLE: Final = "people"
# A retrieval run or a query source, by key.
_Made: TypeAlias = tuple[str, int | None]


@dataclass(frozen=True)
class Order:
    """What one judge (or people) gives systems on average; its own family, and those of the models
    in each system."""

    name: str
    means: Mapping[str, float]
    family: str
    families: Mapping[str, frozenset[str]]


def judges_of(benchmark: Benchmark) -> list[JudgeRun]:
    """The newest run of every judge of agents, but of those that see aspects swapped."""
    return [each for each in all_judges(benchmark) if not each.config.get("swapped")]


def orders_of(benchmark: Benchmark) -> dict[str, list[Order]]:
    """By what is ranked: agent runs by quality, and sources of generated answers by grade, those of
    one harness and number of passages together."""
    return {"agents": _of_agents(benchmark), **_of_answers(benchmark)}


def scores_of(benchmark: Benchmark) -> dict[str, list[Score]]:
    """By judge of agents' answers: its quality and completeness by run and topic, repetitions and
    rounds averaged; a run's name has no blanks."""
    items = _items(benchmark)
    topics = {query: topic for topic, query in topics_of(benchmark).items()}
    found: dict[str, list[Score]] = {}
    for judge in judges_of(benchmark):
        values: dict[tuple[str, str, str], list[float]] = {}
        for (item, _), rows in verdicts_by(judge).items():
            run, query = items[item]
            topic = topics[query]
            for row in rows:
                for name in ("quality", "completeness"):
                    if (value := getattr(row, name)) is not None:
                        values.setdefault((_joined(run), topic, name), []).append(value)
        found[judge.judge] = [
            Score(*key, sum(each) / len(each)) for key, each in sorted(values.items())
        ]
    return found


def meta_table(orders: Mapping[str, Sequence[Order]]) -> ReportTable:
    """Every two orders of the same systems, and without the systems of either's family."""
    rows = []
    for what, known in orders.items():
        for one, other in combinations(known, 2):
            whole = agreement(one.means, other.means)
            if whole.systems < 2:
                continue
            related = {one.family, other.family} - {""}
            kept = {
                name: mean
                for name, mean in one.means.items()
                if not related & one.families.get(name, frozenset())
            }
            left = agreement(kept, other.means)
            rows.append((text(what), text(f"{one.name} and {other.name}"), *_cells(whole, left)))
    header = (
        *("of", "judges", "systems", "Kendall", "Spearman", "tau-AP"),
        *("systems of other families", "Kendall without"),
    )
    notes = (
        "Agent runs by mean quality, systems of generated answers by mean grade. Kendall: tau-b; "
        "tau-AP, where the top counts most, with ties and in both directions. Without: systems "
        "are left out that have a model of a judge’s own family.",
    )
    return ReportTable("meta", "Do judges order systems alike?", header, tuple(rows), notes)


def compared(scores: Sequence[Score], truth: Mapping[str, Sequence[Score]]) -> ReportTable:
    """A judge's leaderboard from elsewhere beside those of here, by measure; systems by name."""
    rows = []
    for name, own in truth.items():
        for theirs, found in _boards(scores).items():
            for ours, means in _boards(own).items():
                whole = agreement(means, found)
                if whole.systems >= 2:
                    rows.append((text(theirs), text(f"{ours} by {name}"), *_cells(whole)))
    header = ("measure", "beside", "systems", "Kendall", "Spearman", "tau-AP")
    return ReportTable("compared", "A leaderboard from elsewhere", header, tuple(rows))


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


def without_family(benchmark: Benchmark) -> ReportTable:
    """Systems by nDCG@10 with and without those whose reranker or expander, or that of any part of
    theirs, is of a family that gives labels: without them, and without the holes that only they
    brought into a pool."""
    labelling = {
        family
        for family, does in shared_families(benchmark).items()
        if LABELS in does and set(RETRIEVING) & set(does)
    }
    related = {run for run, behind in _families(benchmark).items() if behind & labelling}
    version = CorpusVersion.objects.current(benchmark)
    key = version.key if version else None
    runs = list(RetrievalRun.objects.filter(benchmark=benchmark, corpus_version=key).order_by("pk"))
    gone = [run for run in runs if run.pk in related]
    rows: list[tuple[Cell, ...]] = []
    tau = None
    if gone and len(runs) - len(gone) > 1:
        before, after = _ranked_twice(benchmark, key, runs, {run.pk for run in gone})
        ranks = [ranks_of(np.array(list(side.values()))).tolist() for side in (before, after)]
        places = [dict(zip(side, each, strict=True)) for side, each in
                  zip((before, after), ranks, strict=True)]  # fmt: skip
        shared = list(after)
        both = [np.array([[side[pk] for pk in shared]]) for side in (before, after)]
        tau = float(kendall_tau(*both)[0])
        for run in sorted(runs, key=lambda each: places[0].get(each.pk, len(runs))):
            if run.pk in before:
                url = reverse("leaderboard-run", args=[benchmark.slug, run.pk])
                rows.append(
                    (
                        text(run.name, url),
                        text("yes" if run.pk in related else ""),
                        *(Cell(side.get(run.pk), "coefficient") for side in (before, after)),
                        *(Cell(side.get(run.pk)) for side in places),
                    )
                )
    told = "–" if tau is None or np.isnan(tau) else f"{tau:.3f}"
    notes = (
        f"{METRIC}, refined gold. Without: systems of these families are left out, and so are "
        "holes that no other system brought into a pool. Kendall’s tau between both orders, over "
        f"the systems that stay: {told}.",
    )
    header = ("system", "shares a family", "with", "without", "rank with", "rank without")
    title = "Ranking with and without systems of the labelling families"
    return ReportTable("without", title, header, tuple(rows), notes)


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


def _of_agents(benchmark: Benchmark) -> list[Order]:
    runs = {run.name: run for run in benchmark.agent_runs.order_by("pk")}
    retrieving = _families(benchmark)
    families = {
        name: frozenset({family_of(run.model)} | retrieving.get(run.retrieval_run_id, frozenset()))
        for name, run in runs.items()
    }
    items = {item: run for item, (run, _) in _items(benchmark).items()}
    found = []
    for judge in judges_of(benchmark):
        by_run: dict[str, list[float]] = {}
        for (item, _), rows in verdicts_by(judge).items():
            marks = [row.quality for row in rows if row.quality is not None]
            by_run.setdefault(items[item], []).extend(marks)
        found.append(Order(judge.judge, _means(by_run), family_of(judge.model), families))
    people: dict[str, list[float]] = {}
    for grade in grades_of(benchmark):
        item = answer_key(grade.answer.origin)[0]
        if item in items:
            people.setdefault(items[item], []).append(points_of(grade)["quality"])
    return [*found, *([Order(PEOPLE, _means(people), "", families)] if people else [])]


def _of_answers(benchmark: Benchmark) -> dict[str, list[Order]]:
    retrieving = _families(benchmark)
    by_grader: dict[str, dict[str, dict[str, list[float]]]] = {}
    model: dict[str, str] = {}
    families: dict[str, frozenset[str]] = {}
    # One model with two prompts or temperatures is two generators.
    generators: dict[tuple[str, str], dict[Any, str]] = {}
    rows = GradeRun.objects.filter(benchmark=benchmark, status=RunStatus.DONE).order_by("pk")
    for grading in rows.select_related("rag_run").prefetch_related("rag_run__sources"):
        run = grading.rag_run
        what = f"answers, {run.harness}, {run.k} passages"
        told = generators.setdefault((what, run.model), {})
        who = told.setdefault(run.generator, f"{run.model} ({run.name})" if told else run.model)
        for source in run.sources.all():
            name = f"{who}, {source.name}"
            families[name] = frozenset({family_of(run.model)}) | retrieving.get(
                source.retrieval_run_id, frozenset()
            )
            values = [each for each in grading.sheet.get(str(source.pk), ()) if each is not None]
            by_grader.setdefault(what, {}).setdefault(grading.grader, {})[name] = values
            model[grading.grader] = grading.model
    return {
        what: [
            Order(name, _means(values), family_of(model[name]), families)
            for name, values in graders.items()
        ]
        for what, graders in by_grader.items()
    }


def _families(benchmark: Benchmark) -> dict[int | None, frozenset[str]]:
    """The families of the rerankers and expanders behind each retrieval run that was made here:
    its own, and those of the runs and query sources that it was made from."""
    made: dict[_Made, tuple[str, list[_Made]]] = {}
    for reranking in benchmark.rerank_runs.exclude(run=None):
        parts = [("run", key) for key in (reranking.source_id, reranking.second_id)]
        made["run", reranking.run_id] = reranking.model, parts
    for expansion in benchmark.expansions.all():
        for each in expansion.report.get("rounds", ()):
            for what in ("run", "source"):
                if each[what] is not None:
                    made[what, each[what]] = expansion.model, [("run", expansion.retriever_id)]
    for computation in benchmark.run_computations.exclude(run=None):
        parts = [("run", key) for key in computation.config.get("runs", ())]
        made["run", computation.run_id] = "", [*parts, ("source", computation.config.get(QUERIES))]

    def behind(each: _Made) -> frozenset[str]:
        model, parts = made.get(each, ("", []))
        return frozenset({family_of(model)} - {""}).union(*map(behind, parts))

    return {key: behind((what, key)) for what, key in made if what == "run"}


def _items(benchmark: Benchmark) -> dict[int, tuple[str, int]]:
    """The run and the query of each item of an agent run."""
    rows = benchmark.agent_runs.order_by().values_list("items", "name", "items__query")
    return {item: (run, query) for item, run, query in rows if item}


def topics_of(benchmark: Benchmark) -> dict[str, int]:
    """Queries by what they are called in files: their id, behind "domain/" where there are several
    domains; white space is an underscore."""
    rows = Query.objects.in_benchmark(benchmark).filter(domain__is_ready=True).order_by("pk")
    found = list(rows.values_list("domain__name", "qid", "pk"))
    has_one = len({domain for domain, _, _ in found}) < 2
    return {_joined(qid if has_one else f"{domain}/{qid}"): pk for domain, qid, pk in found}


def _joined(name: str) -> str:
    """A name as one word, as lines of leaderboards need it."""
    return "_".join(name.split())


def _means(values: Mapping[str, Sequence[float]]) -> dict[str, float]:
    return {name: sum(each) / len(each) for name, each in values.items() if each}


def _boards(scores: Sequence[Score]) -> dict[str, dict[str, float]]:
    """Means of runs by measure: those of the topics, else what the file says of all."""
    found: dict[str, dict[str, float]] = {}
    for each in [*(each for each in scores if each.topic == ALL), *means_of(scores)]:
        found.setdefault(each.measure, {})[each.run] = each.value
    return found


def _cells(whole: Agreement, left: Agreement | None = None) -> list[Cell]:
    found = [Cell(whole.systems)]
    found += [Cell(each, "coefficient") for each in (whole.kendall, whole.spearman, whole.tau_ap)]
    return (
        found if left is None else [*found, Cell(left.systems), Cell(left.kendall, "coefficient")]
    )
