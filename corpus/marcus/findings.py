"""What a check of one text found, as it is listed, and what was decided about it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeAlias

from corpus.marcus.verify import Kind, Verdict

_CONTEXT: Final = 200


class Decision(StrEnum):
    """What becomes of a violation."""

    ACCEPTED = "accepted"
    REPAIRED = "repaired"
    ORIGINAL = "original"


Place: TypeAlias = tuple[str, int, int, int]
"""Stage, part, window and number of a piece: the same every time the page is worked on."""

LISTED: Final = frozenset(
    {Kind.DROPPED, Kind.ADDED, Kind.CHANGED, Kind.MOVED, Kind.REPAIRED, Kind.TABLE}
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One piece of a check with its words; places count in the text that the agent was given."""

    place: Place
    kind: str
    is_violation: bool
    start: int
    end: int
    out_start: int
    out_end: int
    source: str
    output: str
    decision: str = ""


@dataclass(slots=True)
class Notes:
    """What came up while a page was worked on."""

    findings: list[Finding] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    # (recall, tokens) of each gold text, for the mean over tokens.
    recalls: list[tuple[float, int]] = field(default_factory=list)
    # Texts that wait for a person: (stage, part, window) with what the agent was given and gave.
    held: list[tuple[str, int, int, str, str]] = field(default_factory=list)
    pairs: dict[str, tuple[str, str]] = field(default_factory=dict)

    def flag(self, name: str) -> None:
        """Note something odd, once for a page."""
        if name not in self.flags:
            self.flags.append(name)

    def count(self, name: str, more: int = 1) -> None:
        """Add to a count."""
        self.counts[name] = self.counts.get(name, 0) + more


def list_findings(
    verdict: Verdict,
    source: str,
    output: str,
    *,
    where: tuple[str, int, int],
    decisions: Mapping[int, str],
) -> list[Finding]:
    """The pieces that people may want to see, furniture left out."""
    return [
        Finding(
            place=(*where, number),
            kind=str(piece.kind),
            is_violation=piece.is_violation,
            start=piece.start,
            end=piece.end,
            out_start=piece.out_start,
            out_end=piece.out_end,
            source=source[piece.start : piece.end],
            output=output[piece.out_start : piece.out_end],
            decision=str(decisions.get(number, "")),
        )
        for number, piece in enumerate(verdict.pieces)
        if piece.kind in LISTED
    ]
