"""The measures by name, and how a name with its options and cut-off is read.

`nDCG@10`, `alpha_nDCG(alpha=0.7)@25`, `precision(divisor=returned)@10`, `MAP`: capitals, hyphens
and underscores do not matter. trec_eval's own way to write a cut-off is read as well: `P_10`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

from evaluation.metrics import engines, novelty, relevance
from evaluation.metrics.case import Values
from evaluation.metrics.faults import MetricFault
from evaluation.metrics.profiles import Family
from kit.numbers import number

_NAME = re.compile(
    r"\s*+([A-Za-z0-9][A-Za-z0-9_-]*+)\s*+(?:\(([^()]*+)\))?+"
    r"\s*+(?:@\s*+([0-9]{1,7}(?:\.[0-9]{1,4})?+))?+\s*+"
)
# trec_eval's `P_10` and `iprec_at_recall_0.10`.
_TREC_CUT = re.compile(r"(.{1,60})_([0-9]{1,7}(?:\.[0-9]{1,4})?)")
# Up to the next bracket: what closes one holds options, whose commas part no metrics.
_STRETCH = re.compile(r"[^()]*+[()]?+")


@dataclass(frozen=True)
class Measure:
    """A measure: what computes it, whose order of ties it follows, and what it needs.

    `options` maps an option to the values it may have, or to None for a number from 0 to 1.
    `cuts`: whether it takes a cut-off; None if it may. `most` is the deepest one. `level` names
    the option that stands in the place of a cut-off. `geometric`: its values are logarithms, and
    its mean is e to theirs.
    """

    name: str
    compute: Callable[..., Values]
    about: str
    family: Family = Family.TREC
    aspects: bool = False
    holes: bool = False
    options: Mapping[str, tuple[str, ...] | None] = field(default_factory=dict)
    other_names: tuple[str, ...] = ()
    cuts: bool | None = None
    most: int | None = None
    level: str = ""
    geometric: bool = False


@dataclass(frozen=True)
class Metric:
    """A measure at a cut-off; `k` None is the whole list."""

    measure: Measure
    k: int | None
    options: Mapping[str, Any]

    @property
    def name(self) -> str:
        """As it is printed; the same metric has one name however it was asked for."""
        given = ",".join(f"{key}={value}" for key, value in sorted(self.options.items()))
        cut = f"@{self.k}" if self.k else ""
        return self.measure.name + (f"({given})" if given else "") + cut


_DIVISOR = {"divisor": ("k", "returned")}
_ASPECTS: dict[str, Any] = {"family": Family.ASPECT, "aspects": True}
_HOLES: dict[str, Any] = {"family": Family.BRIDGE, "holes": True}
_WHOLE: dict[str, Any] = {"cuts": False}
_NDEVAL: dict[str, Any] = {**_ASPECTS, "cuts": True, "most": engines.MAX_CUT}


def _trec(name: str) -> Callable[..., Values]:
    return partial(engines.of_labels, name)


def _pytrec(name: str) -> Callable[..., Values]:
    return partial(engines.of_trec, name)


def _ndeval(name: str) -> Callable[..., Values]:
    return partial(engines.of_aspects, name)


_ALL = (
    Measure("nDCG", relevance.ndcg, "gain over that of an ideal order", other_names=("ndcg_cut",)),
    Measure("nDCG_exp", relevance.ndcg_exp, "nDCG with the gain 2^label - 1"),
    Measure(
        "nDCG_bridge", relevance.ndcg_bridge, "nDCG over an ideal that is not cut", Family.BRIDGE
    ),
    Measure(
        "alpha_nDCG",
        novelty.alpha_ndcg,
        "gain of weighted aspects that decays with every repetition",
        options={"alpha": None},
        **_ASPECTS,
    ),
    Measure(
        "aspect_recall",
        novelty.aspect_recall,
        "weight of the aspects that are found",
        options={"denominator": ("all", "supported")},
        other_names=("a_recall",),
        **_ASPECTS,
    ),
    Measure(
        "recall",
        relevance.recall,
        "share of the relevant passages",
        other_names=("R", "set_recall", "SetR"),
    ),
    Measure("hit", relevance.hit, "1 if any is relevant", other_names=("success",)),
    Measure("MAP", relevance.average_precision, "average precision", other_names=("AP", "map_cut")),
    Measure(
        "precision",
        relevance.precision,
        "share that is relevant",
        options=_DIVISOR,
        other_names=("P", "set_P"),
    ),
    Measure("F1", relevance.f1, "harmonic mean of precision and recall", Family.BRIDGE),
    Measure(
        "MRR",
        relevance.reciprocal_rank,
        "reciprocal rank of the first relevant passage",
        other_names=("RR", "recip_rank"),
    ),
    Measure("hole", relevance.hole, "share that are holes", options=_DIVISOR, **_HOLES),
    Measure(
        "unjudged",
        relevance.unjudged,
        "share without any label",
        options=_DIVISOR,
        other_names=("unj",),
    ),
    Measure(
        "aspect_hole",
        relevance.aspect_hole,
        "holes by the weight of their aspects",
        Family.BRIDGE,
        aspects=True,
        holes=True,
        options=_DIVISOR,
    ),
    Measure(
        "new_aspect",
        relevance.new_aspect,
        "weight of the aspects that only holes support",
        Family.BRIDGE,
        aspects=True,
        holes=True,
    ),
    Measure("Rprec", _trec("Rprec"), "precision at R, the number of relevant passages", **_WHOLE),
    Measure("bpref", _trec("Bpref"), "relevant before judged irrelevant passages", **_WHOLE),
    Measure("infAP", _trec("infAP"), "MAP inferred from a sample of judgments", **_WHOLE),
    Measure(
        "gm_bpref",
        engines.log_bpref,
        "geometric mean of bpref",
        geometric=True,
        **_WHOLE,
    ),
    Measure("Rndcg", _pytrec("Rndcg"), "nDCG cut where labels of that height end", **_WHOLE),
    Measure("ndcg_rel", _pytrec("ndcg_rel"), "mean of nDCG at the ranks of the relevant", **_WHOLE),
    Measure("G", _pytrec("G"), "gain over rank, each as far as it is ideal", **_WHOLE),
    Measure("binG", _pytrec("binG"), "G of relevant or not", **_WHOLE),
    Measure(
        "relative_P",
        relevance.relative_precision,
        "precision over the highest there could be",
        other_names=("set_relative_P", "SetRelP"),
    ),
    Measure(
        "ERR",
        relevance.expected_reciprocal_rank,
        "expected reciprocal rank, as gdeval has it",
    ),
    Measure(
        "set_map",
        relevance.set_average_precision,
        "precision times recall of the whole list",
        other_names=("SetAP",),
        **_WHOLE,
    ),
    Measure(
        "set_F",
        relevance.f1,
        "harmonic mean of precision and recall of the whole list",
        **_WHOLE,
    ),
    Measure(
        "gm_map",
        relevance.log_average_precision,
        "geometric mean of average precision",
        geometric=True,
        **_WHOLE,
    ),
    Measure(
        "iprec_at_recall",
        relevance.interpolated_precision,
        "interpolated precision at a recall, as in @0.1",
        options={"recall": None},
        other_names=("IPrec",),
        level="recall",
        **_WHOLE,
    ),
    Measure(
        "11pt_avg",
        relevance.eleven_points,
        "its mean at recall 0, .1, ..., 1",
        other_names=("IAP11",),
        **_WHOLE,
    ),
    Measure(
        "RBP",
        relevance.rank_biased_precision,
        "rank-biased precision, p=0.9 the patience",
        options={"p": None},
    ),
    Measure("ERR_IA", _ndeval("ERR_IA"), "expected reciprocal rank over aspects", **_NDEVAL),
    Measure("nERR_IA", _ndeval("nERR_IA"), "ERR_IA over that of an ideal order", **_NDEVAL),
    Measure(
        "alpha_DCG",
        _ndeval("alpha_DCG"),
        "alpha_nDCG before it is divided, aspects alike",
        options={"alpha": None},
        **_NDEVAL,
    ),
    Measure(
        "NRBP",
        _ndeval("NRBP"),
        "novelty and rank-biased precision",
        options={"alpha": None, "beta": None},
        **_ASPECTS,
        **_WHOLE,
    ),
    Measure(
        "nNRBP",
        _ndeval("nNRBP"),
        "NRBP over that of an ideal order",
        options={"alpha": None, "beta": None},
        **_ASPECTS,
        **_WHOLE,
    ),
    Measure("P_IA", _ndeval("P_IA"), "mean of precision over aspects", **_NDEVAL),
    Measure(
        "MAP_IA",
        _ndeval("AP_IA"),
        "mean of average precision over aspects",
        other_names=("AP_IA",),
        **_ASPECTS,
        **_WHOLE,
    ),
    Measure(
        "strec",
        _ndeval("StRecall"),
        "share of the aspects that are found, all alike",
        other_names=("StRecall",),
        **_NDEVAL,
    ),
)
MEASURES: dict[str, Measure] = {each.name: each for each in _ALL}


def _plain(name: str) -> str:
    return re.sub(r"[_-]", "", name).lower()


_BY_NAME = {_plain(name): each for each in _ALL for name in (each.name, *each.other_names)}


def read_metrics(text: str) -> list[Metric]:
    """The metrics of a list with commas, each once; raises MetricFault for all that are none.

    A measure at levels of recall without a level stands for those that trec_eval prints.
    """
    found: dict[str, Metric] = {}
    faults: list[str] = []
    for part in chain.from_iterable(map(_levels, _STRETCH.sub(_commas_hidden, text).split(","))):
        try:
            metric = read_metric(part.replace("\0", ","))
        except MetricFault as fault:
            faults += fault.messages
        else:
            found[metric.name] = metric
    if faults:
        raise MetricFault.of(dict.fromkeys(faults))
    return list(found.values())


def _levels(part: str) -> list[str]:
    measure = _BY_NAME.get(_plain(part.strip()))
    return [f"{part}@{n / 10}" for n in range(11)] if measure and measure.level else [part]


def _commas_hidden(stretch: re.Match[str]) -> str:
    return stretch[0].replace(",", "\0") if stretch[0].endswith(")") else stretch[0]


def read_metric(text: str) -> Metric:
    """One metric; raises MetricFault that lists the known names or options."""
    match = _NAME.fullmatch(text)
    if match is None or _plain(match[1]) not in _BY_NAME:
        as_trec = _TREC_CUT.fullmatch(text.strip())
        match = _NAME.fullmatch(f"{as_trec[1]}@{as_trec[2]}") if as_trec else match
    if match is None:
        raise MetricFault([f"{text.strip()[:60]!r} is no metric; one looks like nDCG@10."])
    measure = _BY_NAME.get(_plain(match[1]))
    if measure is None:
        known = ", ".join(MEASURES)
        raise MetricFault([f"There is no metric {match[1]}. Known: {known}."])
    options: dict[str, Any] = {}
    for part in filter(None, map(str.strip, (match[2] or "").split(","))):
        name, _, value = (each.strip() for each in part.partition("="))
        if name not in measure.options:
            known = ", ".join(measure.options) or "none"
            raise MetricFault([f"{measure.name} has no option {name[:40]!r}. Known: {known}."])
        options[name] = _value(measure, name, value)
    cut = match[3] or ""
    if measure.level:
        if cut:
            options[measure.level], cut = _value(measure, measure.level, cut), ""
        if measure.level not in options:
            raise MetricFault([f"{measure.name} needs a level, as in {measure.name}@0.1."])
    return Metric(measure, _cut(measure, text.strip(), cut), options)


def _cut(measure: Measure, text: str, cut: str) -> int | None:
    if cut and not number(cut):
        raise MetricFault([f"{text}: a cut-off is at least 1."])
    if cut and measure.cuts is False:
        raise MetricFault([f"{text}: {measure.name} is of the whole list and takes no cut-off."])
    if not cut and measure.cuts:
        raise MetricFault([f"{measure.name} needs a cut-off, as in {measure.name}@10."])
    if cut and measure.most and int(cut) > measure.most:
        raise MetricFault([f"{text}: ndeval computes {measure.name} up to @{measure.most}."])
    return int(cut) if cut else None


def _value(measure: Measure, name: str, value: str) -> Any:
    choices = measure.options[name]
    if choices is not None:
        if value not in choices:
            known = " or ".join(choices)
            raise MetricFault([f"{measure.name}: {name} is {known}, not {value[:40]!r}."])
        return value
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0.0 <= number <= 1.0:
        raise MetricFault([f"{measure.name}: {name} is a number from 0 to 1, not {value[:40]!r}."])
    return number
