"""Measures that others compute: trec_eval's by pytrec_eval and ndeval's by pyndeval, both asked
through ir_measures.

An engine is given ranks, not a run: lists stand in the order of the profile, what is excluded or
beyond the depth is gone, and ids are numbers of ours. So ties, cuts and strange ids are settled
here for every measure alike. The libraries are loaded when the first such measure is asked for.
"""

from typing import Any

import numpy as np

from evaluation.metrics.case import Case, Values
from evaluation.metrics.faults import MetricFault
from evaluation.metrics.novelty import explained
from evaluation.metrics.relevance import logarithm

# ndeval ends its lists here.
MAX_CUT = 20
# Of gain: a label above 0 counts, whatever is relevant.
_GRADED = ("Rndcg", "ndcg_rel", "G")


def of_labels(name: str, case: Case, k: int | None, **options: Any) -> Values:
    """trec_eval's measure of this name in ir_measures; labels go in as they are, for one below 0
    is in the pool and unjudged."""
    if "labels" not in case.memo:
        labels = _labels(case, case.relevant_count > 0)
        case.memo["labels"] = labels, _run(case, list(map(str, case.ranked.row.tolist())))
    options["rel"] = case.relevant_from
    found = _asked(name, case, k, options, *case.memo["labels"])
    return case.defined(found, case.relevant_count > 0)


def of_trec(name: str, case: Case, k: int | None) -> Values:
    """trec_eval's measure of this name in pytrec_eval, which ir_measures has no name for."""
    import pytrec_eval  # slow to load, too

    if "whole" not in case.memo:
        whole = _run(case, list(map(str, case.ranked.row.tolist())))
        # These look at what stands behind the last judged passage, too.
        for query in np.flatnonzero(case.ranked.returned).tolist():
            scores, last = whole.setdefault(str(query), {}), int(case.ranked.returned[query])
            scores.update((f"u{each}", -float(each)) for each in range(len(scores) + 1, last + 1))
        case.memo["whole"] = _labels(case, _has_gain(case)), whole
    qrels, run = case.memo["whole"]
    found = np.zeros(case.size)
    asked = pytrec_eval.RelevanceEvaluator(qrels, {name}, relevance_level=case.relevant_from)
    for qid, values in asked.evaluate(run).items() if run and qrels else ():
        found[int(qid)] = values[name]
    return case.defined(found, _has_gain(case) if name in _GRADED else case.relevant_count > 0)


def _has_gain(case: Case) -> np.ndarray:
    return np.bincount(case.gold.query, case.gold.label > 0, minlength=case.size) > 0


def log_bpref(case: Case, k: int | None) -> Values:
    """ln of bpref, at least ln .00001: e to its mean is trec_eval's gm_bpref."""
    return logarithm(of_labels("Bpref", case, k))


def of_aspects(name: str, case: Case, k: int | None, **options: Any) -> Values:
    """ndeval's measure of this name in ir_measures: every aspect that has gold counts alike."""
    if "subtopics" not in case.memo:
        case.memo["subtopics"] = _subtopics(case), _run(case, _by_pid(case, case.ranked.row))
    found = _asked(name, case, k, options, *case.memo["subtopics"])
    has_support = np.bincount(case.aspects.query[case.aspects.aspect], minlength=case.size) > 0
    return explained(case, found, has_support)


def _asked(
    name: str, case: Case, k: int | None, options: dict[str, Any], qrels: Any, run: Any
) -> np.ndarray:
    """The value of each query, 0 where the engine says nothing of it."""
    import ir_measures  # slow to load, and most measures do without

    given = ",".join(f"{key}={value}" for key, value in options.items())
    measure = ir_measures.parse_measure(f"{name}({given})" + (f"@{k}" if k else ""))
    found = np.zeros(case.size)
    for each in ir_measures.iter_calc([measure], qrels, run) if run and qrels else ():
        found[int(each.query_id)] = each.value
    if not np.isfinite(found).all():
        raise MetricFault([f"{measure}: no finite number comes of these options."])
    return found


def _labels(case: Case, where: np.ndarray) -> dict[str, dict[str, int]]:
    """By query and row, of queries where there is anything to find: elsewhere it is 0 anyway."""
    asked = np.flatnonzero(where).tolist()
    labels, offsets = case.gold.label.tolist(), case.gold.offsets.tolist()
    return {
        str(query): {str(row): labels[row] for row in range(*offsets[query : query + 2])}
        for query in asked
    }


def _run(case: Case, names: list[str]) -> dict[str, dict[str, float]]:
    """By query and name of a judged passage a score that goes down with its rank. The engines
    count ranks by the length of a list: its gaps are filled, up to the last judged passage."""
    found: dict[str, dict[str, float]] = {}
    ranked = zip(case.ranked.query.tolist(), names, case.ranked.rank.tolist(), strict=True)
    for query, name, rank in ranked:
        scores = found.setdefault(str(query), {})
        scores.update((f"u{each}", -float(each)) for each in range(len(scores) + 1, rank))
        # A passage that a list repeats counts where it stands first.
        scores[name if name not in scores else f"u{rank}"] = -float(rank)
    return found


def _subtopics(case: Case) -> list[Any]:
    import ir_measures

    row, aspect = case.aspects.row, case.aspects.aspect
    names = _by_pid(case, row)
    pairs = zip(case.gold.query[row].tolist(), names, aspect.tolist(), strict=True)
    return [ir_measures.Qrel(str(query), name, 1, str(number)) for query, name, number in pairs]


def _by_pid(case: Case, row: np.ndarray) -> list[str]:
    """Numbers that sort as the ids of these rows do: ndeval's ideal order decides by id."""
    if "by_pid" not in case.memo:
        order = sorted(range(len(case.gold.pids)), key=case.gold.pids.__getitem__)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        case.memo["by_pid"] = place
    places: list[int] = case.memo["by_pid"][row].tolist()
    return [f"{place:09}" for place in places]
