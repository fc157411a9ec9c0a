"""Precision and recall of citations, as TREC RAG measures support (docs/protocol.md 3.7).

Fully supported weighs 1, partly .5, not 0; the hard forms count full support alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Support:
    """Of one answer: the mean weight of its citations, and of its sentences, of which each has that
    of its best citation. None where nothing is to be weighed."""

    precision: float | None
    recall: float | None
    hard_precision: float | None
    hard_recall: float | None


def support(sentences: Sequence[Sequence[float | None]]) -> Support:
    """Of the weights of each sentence's citations; None is one that could not be judged.

    A sentence that cites nothing has 0. One that could not be judged counts in no mean, and its
    sentence only where another citation supports it fully.
    """
    cited = [weight for each in sentences for weight in each if weight is not None]
    best = [
        max((weight for weight in each if weight is not None), default=0.0)
        for each in sentences
        if None not in each or 1.0 in each
    ]
    return Support(_mean(cited), _mean(best), _mean(_hard(cited)), _mean(_hard(best)))


def _hard(weights: Sequence[float]) -> list[float]:
    return [float(weight == 1.0) for weight in weights]


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
