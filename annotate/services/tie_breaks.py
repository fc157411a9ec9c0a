"""What breaks a tie under each rule by which people's judgments become a label. Pure.

Both names are stored with every label that people make (docs/protocol.md 2.4), so that a reader of
a release need not know this code: never is it chance.
"""

from typing import Any, Final

from annotate.services.majority import RULE, TIE_BREAK

# One expert's verdict stands until another expert turns it round; then a third person decides.
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
