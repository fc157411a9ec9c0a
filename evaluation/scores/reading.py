"""Scoring every run of a corpus version under every gold, in one frozen reading."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from corpus.models import Benchmark, Domain, RankedList, RetrievalRun
from corpus.versions.services import stored
from evaluation.content.reading import read_queries
from evaluation.content.view import view_of
from evaluation.metrics.case import Case
from evaluation.metrics.names import Metric, read_metrics
from evaluation.metrics.profiles import STRICT, Family
from evaluation.metrics.ranking import Matched
from evaluation.metrics.results import PerQuery
from evaluation.metrics.run import Floats, Run
from evaluation.metrics.scoring import case_of, counts, value_of
from evaluation.metrics.standings import Standing, standings, task_means
from evaluation.models import DomainScore, ScoreSheet
from evaluation.scores.holes import holes_of
from evaluation.scores.matched import MatchedPool
from evaluation.scores.services import GoldView, gold_in
from kit.errors import Refused
from kit.models import Event
from kit.pulse import Pulse

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
    "corpus.membership",
    "corpus.pagefetch",
    "corpus.pool",
    "corpus.poolbuild",
    "corpus.runcomputation",
    "debate.answerrun",
    "debate.auditsample",
    "debate.debaterun",
    "debate.hintrun",
    "debate.prompt",
    "debate.trial",
    "evaluation.experiment",
    "evaluation.release",
)


def last_event(benchmark: Benchmark) -> int:
    """The last event that could; 0 without any."""
    events = Event.objects.filter(scope=benchmark.slug).exclude(target_type__in=_UNRELATED)
    return events.order_by("-pk").values_list("pk", flat=True).first() or 0


METRICS = (
    "nDCG@10,alpha_nDCG@25,aspect_recall@25,nDCG@25,recall@25,recall@10,hit@10,MAP@100,MRR,"
    "nDCG_bridge@10,hole@10,unjudged@10"
)
# Fixed, so that sheets of the same labels and runs have the same numbers.
SEED = 20_261_121


@dataclass
class Reading:
    """What is read and computed under one frozen view; nothing is written meanwhile."""

    sheet: ScoreSheet
    pulse: Pulse
    event_id: int = 0
    runs: list[RetrievalRun] = field(default_factory=list)
    # One row a run, domain and view, as DomainScore keeps it.
    scores: list[DomainScore] = field(default_factory=list)
    boards: dict[str, dict[str, list[dict[str, Any]]]] = field(default_factory=dict)
    holes: dict[str, Any] = field(default_factory=dict)
    pool: dict[str, Any] = field(default_factory=dict)
    # In the order of the boards' columns.
    domains: list[str] = field(default_factory=list)
    done: int = 0

    def read(self) -> None:
        """Score every run in every domain under every view."""
        benchmark = self.sheet.benchmark
        self.event_id = last_event(benchmark)
        key = self.sheet.corpus_version_id
        rows = RetrievalRun.objects.filter(benchmark=benchmark, corpus_version=key)
        self.runs = list(rows.order_by("pk"))
        metrics = read_metrics(METRICS)
        version = stored(benchmark, key)
        matched_with = self.sheet.matched_with
        pool = None
        if version is not None and matched_with is not None:
            pool = MatchedPool.of(benchmark, version, matched_with)
        shown = view_of(benchmark, pool.loaded if pool else version, shown_only=True)
        values: dict[str, dict[str, list[Floats]]] = {
            view: {each.name: [] for each in metrics} for view in GoldView
        }
        for name, domain in shown.splits.items():
            records = read_queries(shown, domain, with_answers=False)
            records = pool.records(records, domain) if pool else records
            if not any(record.labels for record in records):
                continue
            if pool:
                lists = pool.lists(self.runs, domain)
            else:
                lists = {run.pk: lists_of(run, domain) for run in self.runs}
            if all(each is None for each in lists.values()):
                continue
            self.domains.append(domain.name)
            for view in GoldView:
                cases: dict[int, Case] = {}
                gold = gold_in(records, domain, view, shown.corpus)
                found: list[dict[str, PerQuery] | None] = []
                for run in self.runs:
                    self._step(len(shown.splits))
                    scored, ranked = None, lists[run.pk]
                    if ranked is not None:
                        matched = Matched.of(ranked, gold)
                        scored = self._score(run, domain, view, matched, metrics)
                        cases[run.pk] = case_of(matched, Family.BRIDGE, STRICT)
                    found.append(scored)
                for each in metrics:
                    values[view][each.name].append(_table(found, each.name, len(gold)))
                if view == GoldView.REFINED and cases and not pool:
                    names = {run.pk: run.name for run in self.runs}
                    self.holes[name] = holes_of(cases, names, seed=SEED)
        if not self.domains:
            raise Refused("No run ranks a query that has gold. There is nothing to score.")
        if pool:
            self.pool = pool.figures
        else:
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
        left out of the mean; a system that misses a domain others have gets no rank."""
        return {
            metric: _rows(self.runs, tables, standings(_measured(tables), seed=SEED))
            for metric, tables in values.items()
        }

    def _step(self, domains: int) -> None:
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
