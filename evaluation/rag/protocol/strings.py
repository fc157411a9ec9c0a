"""Answers against true ones as strings: accuracy, exact match, token F1 (docs/protocol.md 2.10)."""

import re
import string
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

_ARTICLES: Final = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)


class Strings(NamedTuple):
    """The best over all pairs of an answer and a true one."""

    accuracy: int
    exact: int
    f1: float


def normalised(text: str) -> str:
    """Lower case, without punctuation and a, an, the; single blanks."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def measure(answers: Sequence[str], truths: Sequence[str]) -> Strings | None:
    """Accuracy: some true answer stands in some answer. None where no true one says anything.

    A true answer that is empty once normalised ("The") would stand in everything: it is left out.
    """
    expected = [each for each in map(normalised, truths) if each]
    if not expected:
        return None
    pairs = [(own, truth) for own in map(normalised, answers) for truth in expected]
    return Strings(
        int(any(truth in own for own, truth in pairs)),
        int(any(truth == own for own, truth in pairs)),
        max((token_f1(own, truth) for own, truth in pairs), default=0.0),
    )


def token_f1(answer: str, truth: str) -> float:
    """Harmonic mean of the shares of words that both have, of normalised texts."""
    own, expected = answer.split(), truth.split()
    shared = sum((Counter(own) & Counter(expected)).values())
    return 2 * shared / (len(own) + len(expected)) if shared else 0.0
