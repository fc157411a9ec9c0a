"""What the sources do differently (docs/protocol.md 1.5, 7 and 9), as settings of a computation."""

from dataclasses import dataclass
from enum import StrEnum


class Tie(StrEnum):
    """In which order a list is read."""

    # Score down, passage id up.
    ID = "score down, id up"
    # Score down, passage id down: trec_eval 10.
    ID_DOWN = "score down, id down"
    # The same with scores in single precision: trec_eval up to 9, pytrec_eval.
    TREC = "single-precision score down, id down"
    # Score down, and equal scores in the order of the file: a stable sort of a dict.
    GIVEN = "score down, then as given"
    # As it stands in the file, whatever the scores say.
    FILE = "as given"


class Family(StrEnum):
    """Whose evaluator a measure is replicated from."""

    TREC = "trec_eval"
    ASPECT = "aspects"
    BRIDGE = "bridge"


@dataclass(frozen=True)
class Profile:
    """One way to read a run.

    `ties` says how each family orders equal scores. `counts_absent`: a query that the run does not
    hold counts 0 (else it is skipped). `counts_unanswerable`: so does one that was judged without a
    relevant passage, but not by measures of aspects. `credits_repeats`: a repeated passage is
    credited again by the measures of aspects. `exponential`: nDCG's gain is 2^label - 1.
    `complete`: an aspect annotation must cover the gold. `stops`: what makes the source's code stop
    is undefined (else 0). `depth` cuts every list; None for no bound.
    """

    name: str
    ties: dict[Family, Tie]
    counts_absent: bool = True
    counts_unanswerable: bool = False
    credits_repeats: bool = False
    exponential: bool = False
    complete: bool = True
    stops: bool = False
    depth: int | None = 1000
    relevant_from: int = 1


_EVERYWHERE = dict.fromkeys(Family, Tie.ID)
STRICT = Profile("strict", _EVERYWHERE)
# The printed formulas; where they are silent, strict.
PAPER = Profile("paper", _EVERYWHERE, exponential=True)
REFERENCE = Profile(
    "reference",
    {Family.TREC: Tie.TREC, Family.ASPECT: Tie.GIVEN, Family.BRIDGE: Tie.FILE},
    counts_absent=False,
    credits_repeats=True,
    complete=False,
    stops=True,
    depth=None,
)
# trec_eval 10 as it is called without options: the queries that run and judgments share. Its -c,
# -l and -M are `counts_absent`, `relevant_from` and `depth`.
TREC_EVAL = Profile(
    "trec_eval",
    dict.fromkeys(Family, Tie.ID_DOWN),
    counts_absent=False,
    counts_unanswerable=True,
    complete=False,
    depth=None,
)
PROFILES = {each.name: each for each in (STRICT, REFERENCE, PAPER, TREC_EVAL)}
