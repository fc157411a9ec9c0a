"""The small examples of docs/protocol.md 6, whose results can be reckoned by hand."""

from evaluation.metrics.gold import Aspect, Gold
from evaluation.metrics.names import MEASURES
from evaluation.metrics.profiles import STRICT, Profile
from evaluation.metrics.run import Run
from evaluation.metrics.scoring import Scores, score

# docs/protocol.md 6.1: raw weights 3, 2, 1; d1 and d2 support the first aspect.
ASPECTS = {
    "a1": Aspect(3, ["d1", "d2"]),
    "a2": Aspect(2, ["d3"]),
    "a3": Aspect(1, ["d4"]),
}
GOLD = dict.fromkeys(["d1", "d2", "d3", "d4"], 1)
RANKING = ["d1", "x", "d2", "d3", "y"]


def aspect_gold(aspects=None, labels=None, **more) -> Gold:
    return Gold.of({"q": labels or GOLD}, aspects={"q": aspects or ASPECTS}, **more)


def one(ranking, gold: Gold, metric: str, profile: Profile = STRICT) -> float:
    """The value of one metric for a single list."""
    scores = score(Run.of({"q": ranking}), gold, metric, profile)
    (value,) = [mean for mean in scores.means.values() if mean is not None]
    return value


def scored(run, gold: Gold, metrics: str, profile: Profile = STRICT) -> Scores:
    return score(Run.of(run), gold, metrics, profile)


def every_metric(*cuts: int) -> str:
    """Each measure by name, at these cut-offs where it takes one."""
    names = []
    for name, measure in MEASURES.items():
        if measure.level:
            names.append(f"{name}@0.1")
        else:
            names += [name] if measure.cuts is False else [f"{name}@{k}" for k in cuts]
    return ",".join(names)
