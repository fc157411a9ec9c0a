"""Rank intervals from noisy labels: every label drawn anew by the chance that it is right (X08)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import exp
from typing import Any

import numpy as np
from django.contrib.auth.models import User
from django.db import transaction

from corpus.access import Access
from corpus.judgments.models import NOTHING_LEFT_OUT, LeftOut
from corpus.models import Benchmark, CorpusVersion, Domain, Query, RetrievalRun
from corpus.versions.services import stored
from evaluation.background import failures_in_row
from evaluation.content.reading import read_queries
from evaluation.content.view import frozen, view_of
from evaluation.leaderboard.audited import as_rows, drawn_truth, from_rows, numbers_of, rates_of
from evaluation.leaderboard.services import Leaderboard
from evaluation.metrics.case import Case
from evaluation.metrics.names import Metric, read_metric
from evaluation.metrics.profiles import STRICT
from evaluation.metrics.ranking import Matched
from evaluation.metrics.scoring import case_of
from evaluation.metrics.standings import rank_intervals
from evaluation.scores.models import NoiseCheck, ScoreSheet
from evaluation.scores.reading import last_event, lists_of
from evaluation.scores.services import GoldView, gold_in
from evaluation.scores.sheets import metric_name
from kit.errors import Refused
from kit.runs.heartbeat import Heartbeat
from kit.runs.models import RunStatus, begin

BROKEN = "The check stopped because of a fault in the program; see the log."
MAX_DRAWS = 1000


def request_check(
    *,
    benchmark: Benchmark,
    metric: str,
    view: str,
    if_relevant: float = 1.0,
    if_not: float = 0.0,
    by_audits: bool = False,
    actor: User | None,
    draws: int = 200,
    version: CorpusVersion | None = None,
    claimed: bool = False,
) -> NoiseCheck:
    """Have ranks drawn under noisy labels; raises Refused, naming the field.

    `if_relevant` is the share of labels above 0 that are right, `if_not` that of labels of 0 that
    are wrong. With `by_audits` that is of labels which no blind audit covers; the others are wrong
    as often as audits found by source, round and sureness, and the rates are kept with the check.
    """
    name = metric_name(metric)
    if view not in list(GoldView):
        raise Refused(f"There is no view {view!r}.", field="view")
    for field, chance in (("if_relevant", if_relevant), ("if_not", if_not)):
        if not 0.0 <= chance <= 1.0:
            raise Refused("A chance lies between 0 and 1.", field=field)
    if not 10 <= draws <= MAX_DRAWS:
        raise Refused(f"Draw 10 to {MAX_DRAWS} times.", field="draws")
    rates = as_rows(rates_of(benchmark, view)) if by_audits else []
    if by_audits and not rates:
        raise Refused(
            "People have decided no audited label yet: audit a debate run first, or give rates.",
            field="by_audits",
        )
    version = version or CorpusVersion.objects.current(benchmark)
    with transaction.atomic():
        check = NoiseCheck.objects.create(
            benchmark=benchmark,
            corpus_version_id=version.key if version else None,
            metric=name,
            view=view,
            if_relevant=if_relevant,
            if_not=if_not,
            rates=rates,
            draws=draws,
            total=Query.objects.in_benchmark(benchmark).count(),  # until its first draw
            created_by=actor,
        )
        begin(check, claimed=claimed)
    return check


def carry_out(check: NoiseCheck) -> None:
    """Draw for a claimed check and keep the outcome, or the reason for none."""
    with failures_in_row(check, broken=BROKEN):
        with Heartbeat(check) as heartbeat:
            found = _ranked(check, heartbeat)
        check.finish(**found, done=check.draws, total=check.draws)


def _ranked(check: NoiseCheck, heartbeat: Heartbeat) -> dict[str, Any]:
    metric, rates = read_metric(check.metric), from_rows(check.rates)
    with frozen():
        key = check.corpus_version_id
        rows = RetrievalRun.objects.filter(benchmark=check.benchmark, corpus_version=key)
        runs = list(rows.order_by("pk"))
        found_in = cases_of(check, runs)
        tasks = list(found_in.values())
        numbers = [
            numbers_of(next(iter(cases.values())).gold, domain, check.view, rates)
            if check.view != GoldView.BASE
            else np.full(len(next(iter(cases.values())).gold.label), -1)
            for domain, cases in found_in.items()
        ]
    # Only who ranks every domain has a rank; a domain that nobody ranks is not in `tasks`.
    inside = [run for run in runs if tasks and all(run.pk in task for task in tasks)]
    if len(inside) < 2:
        raise Refused("Ranks need two systems that rank every domain.")
    found = rank_intervals(
        [[task[run.pk] for run in inside] for task in tasks],
        lambda case: mean_of(metric, case),
        truth=drawn_truth(
            [next(iter(task.values())).gold.label for task in tasks],
            numbers,
            list(rates.values()),
            if_relevant=check.if_relevant,
            if_not=check.if_not,
        ),
        seed=check.seed,
        draws=check.draws,
        step=lambda draw: heartbeat.step(draw, check.draws),
    )
    if metric.measure.geometric:
        for row in found:
            row["mean"] = None if row["mean"] is None else exp(row["mean"])
    return {
        "result": [
            {"run": run.pk, "name": run.name, **interval}
            for run, interval in zip(inside, found, strict=True)
        ],
        "labels": sum(len(each) for each in numbers),
        "covered": sum(int((each >= 0).sum()) for each in numbers),
    }


def cases_of(
    check: NoiseCheck, runs: Sequence[RetrievalRun], without: LeftOut = NOTHING_LEFT_OUT
) -> dict[Domain, dict[int, Case]]:
    """By domain that has a mean: of each run its list under the gold; `without` some labels."""
    metric = read_metric(check.metric)
    version = stored(check.benchmark, check.corpus_version_id)
    shown = view_of(check.benchmark, version, shown_only=True)
    shown = replace(shown, left_out=replace(shown.left_out, labels=without))
    found = {}
    for domain in shown.splits.values():
        gold = gold_in(read_queries(shown, domain, with_answers=False), GoldView(check.view))
        lists = {run.pk: lists_of(run, domain) for run in runs}
        cases = {
            pk: case_of(Matched.of(each, gold), metric.measure.family, STRICT)
            for pk, each in lists.items()
            if each is not None
        }
        if cases and any(mean_of(metric, case) is not None for case in cases.values()):
            found[domain] = cases
    return found


def marks_for(
    access: Access, board: Leaderboard, sheet: ScoreSheet
) -> tuple[NoiseCheck | None, Mapping[int, tuple[int, int]]]:
    """What `marks_of` finds; none for those who may not see checks."""
    if not access.is_admin and (access.is_voter or not access.is_reviewer):
        return None, {}
    return marks_of(board, sheet)


def marks_of(
    board: Leaderboard, sheet: ScoreSheet
) -> tuple[NoiseCheck | None, Mapping[int, tuple[int, int]]]:
    """The last check of this board that is over, and the runs that label noise could give another
    place: from which to which; none where the scores are of other labels or runs than the check."""
    rows = NoiseCheck.objects.filter(
        benchmark=sheet.benchmark_id,
        metric=board.metric,
        view=board.view,
        corpus_version=sheet.corpus_version_id,
        status=RunStatus.DONE,
    )
    if board.profile != STRICT.name or (check := rows.order_by("-pk").first()) is None:
        return None, {}
    ranks = {line.run.pk: line.rank for line in board.lines if line.rank is not None}
    is_same = {row["run"] for row in check.result} == ranks.keys()
    if not is_same or last_event(sheet.benchmark, check.created_at) != sheet.event_id:
        return None, {}
    places = {
        row["run"]: (row["low"], row["high"])
        for row in check.result
        if not row["low"] == ranks[row["run"]] == row["high"]
    }
    return check, places


def mean_of(metric: Metric, case: Case) -> float | None:
    """The mean over queries that have a value; below every mean where none has."""
    return metric.measure.compute(case, metric.k, **metric.options).mean
