"""The measures by name, and how a name with its options and cut-off is read.

`nDCG@10`, `alpha_nDCG(alpha=0.7)@25`, `precision(divisor=returned)@10`, `MAP`: capitals, hyphens
and underscores do not matter.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from evaluation.metrics import novelty, relevance
from evaluation.metrics.case import Values
from evaluation.metrics.faults import MetricFault
from evaluation.metrics.profiles import Family

_NAME = re.compile(
    r"\s*+([A-Za-z][A-Za-z0-9_-]*+)\s*+(?:\(([^()]*+)\))?+\s*+(?:@\s*+([0-9]{1,7}))?+\s*+"
)
# Up to the next bracket: what closes one holds options, whose commas part no metrics.
_STRETCH = re.compile(r"[^()]*+[()]?+")


@dataclass(frozen=True)
class Measure:
    """A measure: what computes it, whose order of ties it follows, and what it needs.

    `options` maps an option to the values it may have, or to None for a number from 0 to 1.
    """

    name: str
    compute: Callable[..., Values]
    about: str
    family: Family = Family.TREC
    aspects: bool = False
    holes: bool = False
    options: Mapping[str, tuple[str, ...] | None] = field(default_factory=dict)
    other_names: tuple[str, ...] = ()


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
    Measure("recall", relevance.recall, "share of the relevant passages", other_names=("R",)),
    Measure("hit", relevance.hit, "1 if any is relevant", other_names=("success",)),
    Measure("MAP", relevance.average_precision, "average precision", other_names=("AP", "map_cut")),
    Measure(
        "precision",
        relevance.precision,
        "share that is relevant",
        options=_DIVISOR,
        other_names=("P",),
    ),
    Measure("F1", relevance.f1, "harmonic mean of precision and recall", Family.BRIDGE),
    Measure(
        "MRR",
        relevance.reciprocal_rank,
        "reciprocal rank of the first relevant passage",
        other_names=("RR", "recip_rank"),
    ),
    Measure("hole", relevance.hole, "share that are holes", options=_DIVISOR, **_HOLES),
    Measure("unjudged", relevance.unjudged, "share without any label", options=_DIVISOR),
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
)
MEASURES: dict[str, Measure] = {each.name: each for each in _ALL}


def _plain(name: str) -> str:
    return re.sub(r"[_-]", "", name).lower()


_BY_NAME = {_plain(name): each for each in _ALL for name in (each.name, *each.other_names)}


def read_metrics(text: str) -> list[Metric]:
    """The metrics of a list with commas, each once; raises MetricFault for all that are none."""
    found: dict[str, Metric] = {}
    faults: list[str] = []
    for part in _STRETCH.sub(_commas_hidden, text).split(","):
        try:
            metric = read_metric(part.replace("\0", ","))
        except MetricFault as fault:
            faults += fault.messages
        else:
            found[metric.name] = metric
    if faults:
        raise MetricFault.of(dict.fromkeys(faults))
    return list(found.values())


def _commas_hidden(stretch: re.Match[str]) -> str:
    return stretch[0].replace(",", "\0") if stretch[0].endswith(")") else stretch[0]


def read_metric(text: str) -> Metric:
    """One metric; raises MetricFault that lists the known names or options."""
    match = _NAME.fullmatch(text)
    if match is None:
        raise MetricFault([f"{text.strip()[:60]!r} is no metric; one looks like nDCG@10."])
    measure = _BY_NAME.get(_plain(match[1]))
    if measure is None:
        known = ", ".join(MEASURES)
        raise MetricFault([f"There is no metric {match[1]}. Known: {known} (each with @k)."])
    k = int(match[3]) if match[3] else None
    if k == 0:
        raise MetricFault([f"{text.strip()}: a cut-off is at least 1."])
    return Metric(measure, k, _options(measure, match[2] or ""))


def _options(measure: Measure, text: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, _, value = (each.strip() for each in part.partition("="))
        if name not in measure.options:
            known = ", ".join(measure.options) or "none"
            raise MetricFault([f"{measure.name} has no option {name[:40]!r}. Known: {known}."])
        found[name] = _value(measure, name, value)
    return found


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
