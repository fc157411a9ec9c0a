"""When the votes on a case decide it (docs/protocol.md 2.4). Pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

RULE = "majority-3"
TIE_BREAK = "another-voter-then-expert"  # never chance
QUOTA = 3  # independent votes before anything is decided
NEEDED = 2  # votes for one label, where somebody abstained
CAP = 5  # votes after which an expert decides


@dataclass(frozen=True)
class Decision:
    """`closed` with its label, `open` for another vote, or `expert` when voting is over."""

    state: Literal["open", "closed", "expert"]
    label: int | None = None


def decide(labels: Sequence[int | None]) -> Decision:
    """The state of a case with these standing votes; None is an abstention.

    Three binary votes cannot tie. With an abstention further voters are drawn until one label
    has two votes; five votes without that go to an expert.
    """
    ranked = Counter(label for label in labels if label is not None).most_common(2)
    lead = ranked[0][1] if ranked else 0
    tied = len(ranked) == 2 and ranked[1][1] == lead
    if len(labels) >= QUOTA and lead >= NEEDED and not tied:
        return Decision("closed", ranked[0][0])
    return Decision("expert" if len(labels) >= CAP else "open")
