"""The worked numbers of docs/protocol.md, by the functions that they are about.

Their inputs stand on that page; `worked_numbers` gives the values by the names that
evaluation/published/protocol-worked.json has.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal

import numpy as np

from corpus.marcus.figures import PUBLISHED, relative_gain
from corpus.reranking.rules import interpolated, merged, read_point
from corpus.retrieval.toplist import fuse
from debate.baselines.calibrations import OnlineModel
from debate.baselines.lara import label_batch, probabilities, simulate
from debate.measures import Judged, compare, persistence
from evaluation.agents.protocol.judging import completeness_of, weighted_coverage
from evaluation.agents.protocol.measures import aer, alpha_by_round
from evaluation.metrics.alignment import point_biserial, rag_align
from evaluation.metrics.case import Case
from evaluation.metrics.gold import Aspect, Gold
from evaluation.metrics.growth import found_holes, growth_rates, marginal_contribution
from evaluation.metrics.names import read_metric
from evaluation.metrics.profiles import REFERENCE, STRICT, Family, Profile
from evaluation.metrics.ranking import Matched
from evaluation.metrics.run import Run
from evaluation.metrics.scoring import case_of, score, value_of
from evaluation.rag.protocol.answering import measure
from kit.stats.agreement import cohen_kappa, fleiss_kappa
from kit.stats.kappa import WEIGHTS
from kit.stats.ratings import from_columns
from llm.prices import Price
from llm.requests import Usage

Worked = dict[str, float | None]
_ASPECTS = {"a1": Aspect(3, ["d1", "d2"]), "a2": Aspect(2, ["d3"]), "a3": Aspect(1, ["d4"])}
_GOLD = dict.fromkeys(("d1", "d2", "d3", "d4"), 1)
_RANKING = ("d1", "x", "d2", "d3", "y")


def worked_numbers() -> Worked:
    """The value of each by its name."""
    parts = (_aspects, _labels, _holes, _answers, _agreement, _agents, _reranking, _lara)
    return {name: value for part in parts for name, value in part().items()}


def _of(
    ranking: Sequence[str] | Mapping[str, float], gold: Gold, metric: str, profile: Profile = STRICT
) -> float | None:
    scores = score(Run.of({"q": ranking}), gold, metric, profile)
    return next(iter(scores.means.values()))


def _aspect_gold(aspects: Mapping[str, Aspect]) -> Gold:
    return Gold.of({"q": _GOLD}, aspects={"q": aspects})


def _aspects() -> Worked:
    gold, wide = _aspect_gold(_ASPECTS), _aspect_gold({**_ASPECTS, "a4": Aspect(2, [])})
    found = {f"6.1 α-nDCG@{k}": _of(_RANKING, gold, f"alpha_nDCG@{k}") for k in (3, 5)}
    for alpha in (0, 1):
        metric = f"alpha_nDCG(alpha={alpha})@5"
        found[f"6.1 α-nDCG@5, α = {alpha}"] = _of(_RANKING, gold, metric)
    other, twice = ("d3", "d1", "d4", "d2", "x"), ("d1", "d1", "d1")
    found["6.1 α-nDCG@5, another order"] = _of(other, gold, "alpha_nDCG@5")
    for profile in (REFERENCE, STRICT):
        name = f"6.1 α-nDCG@5, a repeated passage, {profile.name}"
        found[name] = _of(twice, gold, "alpha_nDCG@5", profile)
    rounds = {1: "d1 x1 x2 x3 x4", 2: "x1 d3 x5 d1 x6", 3: "d4 x7 x8 x9 d2"}
    values = alpha_by_round({n: each.split() for n, each in rounds.items()}, _ASPECTS, 3)
    found |= {f"6.1 α-nDCG@{5 * n}, agent": value for n, value in enumerate(values, start=1)}
    found |= {f"6.2 aspect recall@{k}": _of(_RANKING, gold, f"aspect_recall@{k}") for k in (3, 5)}
    best = ("d1", "d3", "d4", "d2")
    for name, metric in (
        ("aspect recall@5, an aspect without gold", "aspect_recall@5"),
        ("aspect recall@5, of the supported", "aspect_recall(denominator=supported)@5"),
        ("α-nDCG@5, an aspect without gold", "alpha_nDCG@5"),
    ):
        found[f"6.2 {name}"] = _of(best, wide, metric)
    return found


def _labels() -> Worked:
    letters, gold = tuple("abcde"), Gold.of({"q": dict.fromkeys("bez", 1)}, base={"q": {}})
    graded = Gold.of({"q": {"a": 3, "b": 1, "c": 2}})
    ladder = ("nDCG@1", "nDCG@3", "nDCG@5", "MAP@5", "recall@5", "precision@5", "MRR")
    found = {f"6.3 {metric}": _of(letters, gold, metric) for metric in ladder}
    found |= {
        f"6.3 graded {metric}": _of(tuple("bca"), graded, f"{metric}@3")
        for metric in ("nDCG", "nDCG_exp")
    }
    found |= {
        f"6.4 {metric}": _of(letters, gold, metric) for metric in ("hit@5", "F1@5", "nDCG_bridge@5")
    }
    for count in (12, 17, 30):
        everything = Gold.of({"q": {f"g{n:02}": 1 for n in range(count)}})
        perfect = tuple(f"g{n:02}" for n in range(10))
        found[f"6.4 nDCG_bridge@10 of a perfect list, {count} gold"] = _of(
            perfect, everything, "nDCG_bridge@10"
        )
    filled = Gold.of({"q": {"o": 1, **{f"h{n}": 1 for n in range(1, 17)}}})
    found_first = ("o", "h1", "x", "h2", *(f"y{n}" for n in range(6)))
    for metric in ("nDCG_bridge@10", "nDCG@10"):
        found[f"6.4 {metric} after filling"] = _of(found_first, filled, metric)
    for pid in ("a", "c"):
        tied = Gold.of({"q": {pid: 1}})
        found[f"1.5 MRR of ties, gold {pid}, trec_eval"] = _of(
            dict.fromkeys("abc", 1.0), tied, "MRR", REFERENCE
        )
    return found


def _holes() -> Worked:
    base = {"q1": {"o1": 1}, "q2": {"o2": 1}}
    gold = Gold.of(
        {"q1": dict.fromkeys(("o1", "h1", "h2"), 1), "q2": {"o2": 1, "h3": 1}}, base=base
    )
    lists = {
        "A": ("o1 h1 x1", "x2 o2 x3"),
        "B": ("h1 h2 x1", "h3 x2 x4"),
        "C": ("o1 x5 h2", "o2 h3 x6"),
    }
    runs = [Run.of({"q1": one.split(), "q2": two.split()}) for one, two in lists.values()]
    cases = [case_of(Matched.of(run, gold), Family.BRIDGE, STRICT) for run in runs]
    reached = found_holes(cases, 3)
    found: Worked = {
        f"6.5 hole@3 of {name}": _mean(case, "hole@3")
        for name, case in zip(lists, cases, strict=True)
    }
    for order in ("ABC", "CAB"):
        places = [list(lists).index(each) for each in order]
        found[f"6.6 growth at 2, order {order}"] = growth_rates(reached, places)[1]
    for known in ("", "A", "AC"):
        places = [list(lists).index(each) for each in known]
        found[f"6.7 B’s contribution to recall@3, known {known or 'none'}"] = marginal_contribution(
            cases[1], reached, 1, places, lambda case: _mean(case, "recall@3")
        )
    sizes = np.array([np.arange(36_800) < 6_976, np.ones(36_800, np.bool_)])
    found["2.7 holes of original gold"] = growth_rates(sizes, (0, 1))[1]
    return found


def _mean(case: Case, metric: str) -> float | None:
    return value_of(read_metric(metric), case, STRICT).mean


def _answers() -> Worked:
    retrieved, answered = (1, 1, 0, 1, 0, 0, 1, 0), (1, 0, 0, 1, 1, 0, 1, 0)
    strings = measure(("The Eiffel Tower, Paris",), ("Eiffel Tower",))
    assert strings is not None
    return {
        "6.8 RAGAlign": rag_align(retrieved, answered).share,
        "6.8 point-biserial": point_biserial((0.9, 0.5, 0.1, 0.8, 0.6, 0.0, 0.7, 0.2), answered),
        "2.10 accuracy": float(strings.accuracy),
        "2.10 exact match": float(strings.exact),
        "2.10 token F1": strings.f1,
    }


def _agreement() -> Worked:
    said = (1, 1, 1, None, 0, 0, 0, 0, 1, None)
    judged = [
        Judged(truth=int(n < 4), label=label, escalated=label is None)
        for n, label in enumerate(said)
    ]
    compared = compare(judged)
    cohort = persistence(
        [
            ({1: 1, 2: 1}, 1),
            ({1: 0, 2: 0}, 0),
            ({1: 1, 2: None}, 1),
            ({1: 0, 2: 1}, 1),
            ({1: 1, 2: 1}, 0),
        ]
    )
    votes = ((0, 3), (1, 2), (3, 0), (2, 1), (0, 3), (3, 0))
    labels = [[0] * no + [1] * yes for no, yes in votes]
    found: Worked = {
        "6.9 balanced accuracy": compared.labelled.balanced.value,
        "6.9 escalated": compared.escalation.value,
        "6.10 spurious, round 1": cohort[1][2].value,
        "6.10 persistence, round 2": cohort[2][0].value,
        "6.10 same label, round 2": cohort[2][1].value,
        "6.10 spurious of agreements, round 2": cohort[2][2].value,
        "6.10 spurious of the cohort, round 2": cohort[2][3].value,
        "6.11 Fleiss’ kappa": fleiss_kappa(
            from_columns(list(zip(*labels, strict=True)), categories=(0, 1))
        ).value,
    }
    scales = {
        "five points": ("5432153421", "5332243523", range(1, 6)),
        "three points": ("32132123", "32231122", range(1, 4)),
        "whole scale": ("1155", "1154", range(1, 6)),
    }
    for name, (first, second, scale) in scales.items():
        columns = [[int(each) for each in column] for column in (first, second)]
        ratings = from_columns(columns, categories=list(scale), scores=list(scale))
        for weights in WEIGHTS:
            if name != "whole scale" or weights != "unweighted":
                found[f"6.12 Cohen’s kappa, {name}, {weights}"] = cohen_kappa(
                    ratings, weights
                ).value
    return found


def _agents() -> Worked:
    weights, scores = {"a": 3.0, "b": 2.0, "c": 1.0}, {"a": 1.0, "b": 0.5, "c": 0.0}
    # gpt-5-mini's: an installation may have prices of its own.
    price = Price(Decimal("0.25"), Decimal("0.025"), Decimal("2.00"))
    usage = Usage(input=100_000, cached_input=40_000, output=5_000)
    found: Worked = {
        f"6.13 AER of {quality}, {rounds} rounds": aer(quality, rounds)
        for quality, rounds in ((5, 1), (4, 3), (4.5, 10))
    }
    return found | {
        "3.5 weighted coverage": weighted_coverage(scores, weights),
        "3.5 completeness": float(completeness_of(scores, weights)),
        "3.5 completeness of .375": float(completeness_of({"a": 0.375}, {"a": 1.0})),
        "3.5 completeness of .875": float(completeness_of({"a": 0.875}, {"a": 1.0})),
        "1.4 USD of a call": float(price.cost(usage)),
    }


def _reranking() -> Worked:
    relative = relative_gain(*PUBLISHED)
    hybrid = dict(fuse([{"a": 0.9, "b": 0.7, "c": 0.5}, {"a": 2, "b": 10, "d": 6}], (0.5, 0.5), 9))
    found: Worked = {f"5.3 hybrid, {pid}": hybrid[pid] for pid in "abcd"}
    mixed = interpolated((0.8, 0.8, 0.2), (0.5, 0.75, 0.25), 0.6)
    found |= {f"5.4 .6 and .4, {n}": value for n, value in enumerate(mixed, start=1)}
    for said in ("8.", "7.5", "10"):
        found[f"5.4 score {said}"] = read_point(f"Relevance score: {said}", "reference")
    merge = merged(tuple("abc"), tuple("cab"))
    found |= {f"5.5 merged, {pid}": merge[pid] for pid in "abc"}
    found["4.7 relative gain of the splitter, %"] = None if relative is None else 100 * relative
    return found


def _lara() -> Worked:
    pi = np.array([0.95, 0.80, 0.56, 0.10, 0.62, 0.47, 0.30, 0.05])
    model = OnlineModel(pi)
    before = probabilities(model)
    after = simulate(label_batch(model, 3), (1, 1, 0, 0, 1, 0, 0, 0)).probabilities
    found: Worked = {
        f"2.9 LARA p at first, {name}": float(p) for name, p in zip("abcdefgh", before, strict=True)
    }
    return found | {
        f"2.9 LARA p at last, {name}": float(p) for name, p in zip("abcdefgh", after, strict=True)
    }
