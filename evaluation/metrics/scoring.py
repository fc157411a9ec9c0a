"""From a run and a gold to per-query values of any metrics under one profile."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evaluation.metrics.case import Case, Values, Why
from evaluation.metrics.faults import MetricFault
from evaluation.metrics.gold import Gold
from evaluation.metrics.names import Metric, read_metrics
from evaluation.metrics.profiles import STRICT, Family, Profile
from evaluation.metrics.ranking import Matched
from evaluation.metrics.results import PerQuery, Scores
from evaluation.metrics.run import Run


def score(
    run: Run, gold: Gold, metrics: str | Sequence[Metric], profile: Profile = STRICT
) -> Scores:
    """Every metric of the run; the list is put in order once for each rule of the profile.

    Raises MetricFault for an unknown metric and for one that needs aspects or an original gold
    which the gold does not hold.
    """
    wanted = read_metrics(metrics) if isinstance(metrics, str) else list(metrics)
    check_needs(gold, wanted)
    matched = Matched.of(run, gold)
    cases = {family: case_of(matched, family, profile) for family in Family}
    found = {each.name: value_of(each, cases[each.measure.family], profile) for each in wanted}
    return Scores(profile.name, found, counts(matched, cases[Family.TREC]))


def case_of(matched: Matched, family: Family, profile: Profile) -> Case:
    """The run in the order that this family reads it in."""
    repeats = profile.credits_repeats and family is Family.ASPECT
    ranked = matched.ranked(profile.ties[family], repeats=repeats).up_to(profile.depth)
    exponential = profile.exponential
    return Case(matched.gold, ranked, profile.relevant_from, exponential)


def value_of(metric: Metric, case: Case, profile: Profile) -> PerQuery:
    """One metric; what absent queries and empty lists give is the profile's to say."""
    values = metric.measure.compute(case, metric.k, **metric.options)
    if not profile.counts_absent:
        values = _undefined(values, ~case.ranked.present, Why.ABSENT)
    if profile.stops and metric.measure.family is Family.BRIDGE:
        is_empty = case.ranked.present & (case.ranked.returned == 0)
        values = _undefined(values, is_empty, Why.EMPTY_LIST)
    return PerQuery(metric.name, case.gold.qids, values.values, values.why, case.ranked.present)


def _undefined(values: Values, where: np.ndarray, why: Why) -> Values:
    """No gold is said first: it holds whatever the run does."""
    where = where & (values.why == Why.DEFINED)
    return replace(
        values,
        values=np.where(where, 0.0, values.values),
        why=np.where(where, int(why), values.why),
    )


def check_needs(gold: Gold, metrics: Sequence[Metric]) -> None:
    """Raise MetricFault for metrics that this gold is not enough for."""
    faults = [
        f"{each.name} needs aspects, and none are given."
        for each in metrics
        if each.measure.aspects and gold.aspects is None
    ]
    faults += [
        f"{each.name} needs the original gold to tell holes, and none is given."
        for each in metrics
        if each.measure.holes and gold.hole is None
    ]
    if faults:
        raise MetricFault.of(faults)


def counts(matched: Matched, case: Case) -> dict[str, int]:
    """What was met: queries of the gold and of the run, repetitions, ties, excluded ids."""
    run, gold, ranked = matched.run, matched.gold, case.ranked
    used = matched.known[ranked.present]
    tied = run.tied[used]
    return {
        "queries": len(gold),
        "without_gold": int((case.relevant_count == 0).sum()),
        "present": int(ranked.present.sum()),
        "absent": int((~ranked.present).sum()),
        "empty_lists": int((ranked.present & (ranked.returned == 0)).sum()),
        "not_in_gold": len(run.qids) - len(used),
        "passages": int(ranked.returned.sum()),
        "repeated": run.repeated,
        "excluded": ranked.excluded,
        "excluded_not_returned": sum(map(len, gold.excluded.values())) - ranked.excluded,
        "beyond_depth": ranked.cut,
        "tied": int(tied.sum()),
        "queries_with_ties": int((tied > 0).sum()),
        **gold.skipped,
    }
