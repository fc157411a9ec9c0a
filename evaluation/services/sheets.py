"""Score sheets: every run under every gold, computed in the background and kept."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from django.contrib.auth.models import User
from django.db import transaction

from corpus.models import Benchmark, Domain, RankedList, RetrievalRun
from evaluation.metrics.case import Case
from evaluation.metrics.faults import MetricFault
from evaluation.metrics.names import Metric, read_metrics
from evaluation.metrics.profiles import STRICT, Family
from evaluation.metrics.ranking import Matched
from evaluation.metrics.results import PerQuery
from evaluation.metrics.run import Floats, Run
from evaluation.metrics.scoring import case_of, counts, value_of
from evaluation.metrics.standings import Standing, standings, task_means
from evaluation.models import DomainScore, ScoreSheet
from evaluation.services.frozen import frozen
from evaluation.services.hole_report import holes_of
from evaluation.services.scores import GoldView, gold_in
from evaluation.services.view import read_queries, view_of
from kit.errors import Refused
from kit.models import Event
from kit.pulse import Pulse
from kit.runs import LostLease, RunStatus, wake

logger = logging.getLogger(__name__)
METRICS = (
    "nDCG@10,alpha_nDCG@25,aspect_recall@25,nDCG@25,recall@25,recall@10,hit@10,MAP@100,MRR,"
    "nDCG_bridge@10,hole@10,unjudged@10"
)
# Fixed, so that a sheet of the same labels and runs holds the same numbers.
SEED = 20_261_121
BROKEN = "The scores could not be computed because of a fault in the program; see the log."
# Events of these kinds change no label, aspect or run that is scored.
_BESIDE = (
    "annotate.activespan",
    "annotate.assignment",
    "annotate.batch",
    "annotate.batchitem",
    "annotate.consent",
    "annotate.draft",
    "annotate.escalationcase",
    "annotate.guideline",
    "annotate.problemtag",
    "annotate.vote",
    "annotate.voteslot",
    "annotate.votingplan",
    "corpus.cleanedpage",
    "corpus.cleaningrun",
    "corpus.membership",
    "corpus.pagefetch",
    "corpus.pool",
    "corpus.poolbuild",
    "corpus.runcomputation",
    "debate.auditsample",
    "debate.debaterun",
    "debate.prompt",
    "debate.trial",
    "evaluation.experiment",
    "evaluation.release",
)


def latest(benchmark: Benchmark) -> ScoreSheet | None:
    """The newest sheet that is whole."""
    rows = ScoreSheet.objects.filter(benchmark=benchmark, status=RunStatus.DONE)
    return rows.order_by("-pk").first()


def under_way(benchmark: Benchmark) -> ScoreSheet | None:
    """The sheet that is being computed or waits for a worker."""
    live = (RunStatus.QUEUED, RunStatus.RUNNING)
    return ScoreSheet.objects.filter(benchmark=benchmark, status__in=live).first()


def failed(benchmark: Benchmark) -> ScoreSheet | None:
    """The newest sheet, if it failed: asked again of itself, it would only fail again."""
    newest = ScoreSheet.objects.filter(benchmark=benchmark).order_by("-pk").first()
    return newest if newest is not None and newest.status == RunStatus.FAILED else None


def is_current(sheet: ScoreSheet) -> bool:
    """Whether no label, aspect or run has changed since the sheet was read."""
    runs = RetrievalRun.objects.filter(benchmark=sheet.benchmark_id).order_by("pk")
    known = list(runs.values_list("pk", flat=True))
    return sheet.run_ids == known and sheet.event_id == _last_event(sheet.benchmark)


def request_sheet(*, benchmark: Benchmark, actor: User | None, claimed: bool = False) -> ScoreSheet:
    """Have the scores computed, unless they are being computed; raises Refused without runs.

    Scores are derived: asking for them leaves no event. `claimed` keeps it for this process.
    """
    if not RetrievalRun.objects.filter(benchmark=benchmark).exists():
        raise Refused("There is no retrieval run to score. Import one or compute one.")
    with transaction.atomic():
        # One at a time, also where two ask at once.
        Benchmark.objects.select_for_update().get(pk=benchmark.pk)
        found = None if claimed else under_way(benchmark)
        if found is None:
            found = ScoreSheet.objects.create(benchmark=benchmark, created_by=actor)
        if claimed:
            found.claim()
        else:
            wake(found)
    return found


def carry_out(sheet: ScoreSheet) -> None:
    """Compute a claimed sheet and turn whatever goes wrong into its state, in plain words."""
    try:
        with Pulse(sheet) as pulse:
            reading = _Reading(sheet, pulse)
            with frozen():
                reading.read()
        _keep(sheet, reading)
    except LostLease:
        logger.info("score sheet %s was stopped or taken over", sheet.pk)
    except (Refused, MetricFault) as fault:
        _fail(sheet, str(fault))
    except Exception:
        logger.exception("score sheet %s", sheet.pk)
        _fail(sheet, BROKEN)


@dataclass
class _Reading:
    """What is read and computed under one frozen view; nothing is written meanwhile."""

    sheet: ScoreSheet
    pulse: Pulse
    event_id: int = 0
    runs: list[RetrievalRun] = field(default_factory=list)
    # One row a run, domain and view, as DomainScore keeps it.
    scores: list[DomainScore] = field(default_factory=list)
    boards: dict[str, dict[str, list[dict[str, Any]]]] = field(default_factory=dict)
    holes: dict[str, Any] = field(default_factory=dict)
    # In the order of the boards' columns.
    domains: list[str] = field(default_factory=list)
    done: int = 0

    def read(self) -> None:
        """Score every run in every domain under every view."""
        benchmark = self.sheet.benchmark
        self.event_id = _last_event(benchmark)
        self.runs = list(RetrievalRun.objects.filter(benchmark=benchmark).order_by("pk"))
        metrics = read_metrics(METRICS)
        shown = view_of(benchmark)
        values: dict[str, dict[str, list[Floats]]] = {
            view: {each.name: [] for each in metrics} for view in GoldView
        }
        for name, domain in shown.splits.items():
            records = read_queries(shown, domain)
            if not any(record.labels for record in records):
                continue
            lists = {run.pk: lists_of(run, domain) for run in self.runs}
            if all(each is None for each in lists.values()):
                continue
            self.domains.append(domain.name)
            for view in GoldView:
                cases: dict[int, Case] = {}
                gold = gold_in(records, domain, view)
                found: list[dict[str, PerQuery] | None] = []
                for run in self.runs:
                    self._tell(len(shown.splits))
                    scored, ranked = None, lists[run.pk]
                    if ranked is not None:
                        matched = Matched.of(ranked, gold)
                        scored = self._score(run, domain, view, matched, metrics)
                        cases[run.pk] = case_of(matched, Family.BRIDGE, STRICT)
                    found.append(scored)
                for each in metrics:
                    values[view][each.name].append(_table(found, each.name, len(gold)))
                if view == GoldView.REFINED and cases:
                    names = {run.pk: run.name for run in self.runs}
                    self.holes[name] = holes_of(cases, names, seed=SEED)
        if not self.domains:
            raise Refused("No run ranks a query that has gold. There is nothing to score.")
        self.boards = {view: self._board(values[view]) for view in GoldView}

    def _score(
        self,
        run: RetrievalRun,
        domain: Domain,
        view: GoldView,
        matched: Matched,
        metrics: Sequence[Metric],
    ) -> dict[str, PerQuery]:
        cases = {family: case_of(matched, family, STRICT) for family in Family}
        found = {m.name: value_of(m, cases[m.measure.family], STRICT) for m in metrics}
        rows = {name: [value for _, value, _ in each.rows()] for name, each in found.items()}
        self.scores.append(
            DomainScore(
                sheet=self.sheet,
                run=run,
                domain=domain,
                view=view,
                qids=list(matched.gold.qids),
                values=rows,
                counts=counts(matched, cases[Family.TREC]),
            )
        )
        return found

    def _board(self, values: Mapping[str, list[Floats]]) -> dict[str, list[dict[str, Any]]]:
        """Rows by metric. A domain in which no system has a value (no query has aspects, say) is
        left out of the mean; a system that misses a domain others have stands outside."""
        return {
            metric: _rows(self.runs, tables, standings(_measured(tables), seed=SEED))
            for metric, tables in values.items()
        }

    def _tell(self, domains: int) -> None:
        self.done += 1
        self.pulse.step(self.done, len(self.runs) * domains * len(GoldView))


def _rows(
    runs: Sequence[RetrievalRun], tables: Sequence[Floats], found: Sequence[Standing]
) -> list[dict[str, Any]]:
    means = np.stack([task_means(table) for table in tables])
    return [
        {
            "run": run.pk,
            "domains": [None if np.isnan(mean) else float(mean) for mean in means[:, place]],
            **vars(standing),
        }
        for place, (run, standing) in enumerate(zip(runs, found, strict=True))
    ]


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


def _keep(sheet: ScoreSheet, reading: _Reading) -> None:
    """Everything at once, and what older sheets held is gone."""
    with transaction.atomic():
        DomainScore.objects.bulk_create(reading.scores, batch_size=20)
        sheet.finish(
            event_id=reading.event_id,
            run_ids=[run.pk for run in reading.runs],
            boards={"domains": reading.domains, "views": reading.boards},
            holes=reading.holes,
        )
        older = ScoreSheet.objects.filter(benchmark=sheet.benchmark, pk__lt=sheet.pk)
        older.filter(status__in=(RunStatus.DONE, RunStatus.FAILED)).delete()


def _last_event(benchmark: Benchmark) -> int:
    events = Event.objects.filter(scope=benchmark.slug).exclude(target_type__in=_BESIDE)
    return events.order_by("-pk").values_list("pk", flat=True).first() or 0


def _fail(sheet: ScoreSheet, message: str) -> None:
    try:
        sheet.finish(status=RunStatus.FAILED, error=message)
    except LostLease:
        logger.info("score sheet %s was stopped or taken over", sheet.pk)


def query_rows(score: DomainScore) -> Iterator[tuple[str, dict[str, float | None]]]:
    """(query id, value of each metric) of one run in one domain."""
    for place, qid in enumerate(score.qids):
        yield qid, {name: values[place] for name, values in score.values.items()}
