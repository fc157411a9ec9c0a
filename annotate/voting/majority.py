"""When votes decide a case, and what breaks a tie (docs/protocol.md 2.4). Pure.

The names of rule and tie-break are stored with every label that people make, so that a reader of
a release need not know this code. A tie is never broken by chance.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

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


# One expert's verdict counts until another expert reverses it; then a third person decides.
ASSIGNED: Final = "assigned"
DISCARDED: Final = "discarded"
# A verdict on a passage that became part of another one.
REMADE: Final = "remade"
# A label by which a third person settled what others left open.
ADJUDICATED: Final = "adjudicated"
# Labels of a reference panel, by how many are wanted, and of a senior who looked at them.
PANEL: Final = {1: "reference-1", 2: "reference-2"}
CHECKED: Final = "reference-check"

# One person decides, so there is nothing to break.
NONE: Final = "none"
TIE_BREAKS: Final[dict[str, str]] = {
    RULE: TIE_BREAK,
    ASSIGNED: "third-person",
    DISCARDED: "third-person",
    REMADE: NONE,
    ADJUDICATED: NONE,
    **dict.fromkeys(PANEL.values(), "senior"),
    CHECKED: NONE,
}


def named(rule: str) -> dict[str, Any]:
    """The rule and its tie-break, as provenance holds them; KeyError for an unknown rule."""
    return {"rule": rule, "tie_break": TIE_BREAKS[rule]}
