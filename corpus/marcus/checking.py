"""Gold text that an agent gave back: checked word for word, and repaired as the policy says."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from corpus.chunking.markup import blanked, markup
from corpus.chunking.rules import clean
from corpus.marcus.regions import tables
from corpus.marcus.repairing import repair
from corpus.marcus.splitting import JOIN, Cut, Tables
from corpus.marcus.tokens import count_tokens
from corpus.marcus.verify import Kind, Verdict, verify
from kit.boilerplate import count_words

# What becomes of a violation.
ACCEPTED, REPAIRED, ORIGINAL = "accepted", "repaired", "original"
PieceKey: TypeAlias = tuple[str, int, int, int]
"""Stage, part, window and number of a piece: the same every time the page is worked on."""
Decided: TypeAlias = Mapping[PieceKey, tuple[str, str, str]]
"""What a person decided at a place, and of which words of the source and of the agent's text: where
others stand there now, as after a change of how pieces are counted, it says nothing of them."""

LISTED: Final = frozenset(
    {Kind.DROPPED, Kind.ADDED, Kind.CHANGED, Kind.MOVED, Kind.REPAIRED, Kind.TABLE, Kind.MENU}
)


@dataclass(slots=True)
class Notes:
    """What came up while a page was worked on."""

    # Pieces of checks by their places, as the fields of a Violation; those count in the text that
    # the agent was given.
    findings: dict[PieceKey, dict[str, Any]] = field(default_factory=dict)
    flags: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    # (recall, tokens) of each gold text, for the mean over tokens.
    recalls: list[tuple[float, int]] = field(default_factory=list)
    # Whether a person has to decide something before the page can go on.
    is_held: bool = False
    # What the agent was given and gave, by "stage:part:window".
    pairs: dict[str, tuple[str, str]] = field(default_factory=dict)

    def flag(self, name: str) -> None:
        """Note something odd, once for a page."""
        if name not in self.flags:
            self.flags.append(name)

    def count(self, name: str, more: int = 1) -> None:
        """Add to a count."""
        self.counts[name] = self.counts.get(name, 0) + more


def check_gold(
    source: str,
    output: str,
    verdict: Verdict,
    *,
    where: tuple[str, int, int],
    policy: str,
    decided: Decided,
    notes: Notes,
    cuts: Sequence[int] = (),
    menus: Sequence[tuple[int, int]] = (),
    least: float,
    ask_from: int = 0,
) -> Cut | None:
    """Hold `output` against its source and do what the policy says about each violation.

    `menus` as in `verify`, where the verdict came from; fewer than `ask_from` words left out in one
    go are put back without a question. The texts to go on with; None where a person has to decide
    first.
    """
    leads = leads_of(verdict)
    numbers = [n for n, piece in enumerate(verdict.pieces) if piece.is_violation]
    if policy == "person":
        decisions = _given(source, output, verdict, leads, where, decided)
        small = too_small(source, verdict, leads, ask_from)
        decisions = {n: REPAIRED for n in leads if leads[n] in small} | decisions
    else:
        decisions = _decisions(verdict, leads, policy, least)
    notes.recalls.append((verdict.recall, count_tokens(source)))
    for number, piece in enumerate(verdict.pieces):
        notes.count(f"{where[0]}:{piece.kind}")
        lead = leads.get(number, number)
        if lead != number:
            found = notes.findings[*where, lead]
            found |= {"end": piece.end, "source": source[found["start"] : piece.end]}
        elif piece.kind in LISTED:
            notes.findings[*where, number] = {
                "kind": str(piece.kind),
                "is_violation": piece.is_violation,
                "start": piece.start,
                "end": piece.end,
                "out_start": piece.out_start,
                "out_end": piece.out_end,
                "source": source[piece.start : piece.end],
                "output": output[piece.out_start : piece.out_end],
                "decision": decisions.get(number, ""),
            }
    notes.pairs["{}:{}:{}".format(*where)] = (source, output)
    if any(number not in decisions for number in numbers):
        notes.is_held = True
        return None
    accepted = {n for n in numbers if decisions[n] == ACCEPTED}
    texts = repair(source, output, verdict, accepted=accepted, cuts=cuts)
    # Mending is by alignment; where it leaves anything out the source itself is taken.
    if any(decisions[number] == ORIGINAL for number in numbers) or not (
        accepted
        or not verify(source, JOIN.join(texts), with_tables=bool(cuts), menus=menus).violations
    ):
        notes.flag("kept original")
        return Cut([_kept(source)], {})
    return Cut(texts, _tables(source, output, verdict, cuts))


def leads_of(verdict: Verdict) -> dict[int, int]:
    """For each violation the first of those left out in one go: a person decides about it once."""
    leads: dict[int, int] = {}
    gaps: dict[int, int] = {}
    for number, piece in enumerate(verdict.pieces):
        if piece.is_violation:
            is_dropped = piece.kind == Kind.DROPPED
            leads[number] = gaps.setdefault(piece.out_start, number) if is_dropped else number
    return leads


def too_small(
    source: str, verdict: Verdict, leads: Mapping[int, int], ask_from: int
) -> frozenset[int]:
    """The leads of what was left out in one go and has fewer words than a person is asked about.

    Nothing is lost by them: their words are put back.
    """
    if not ask_from:
        return frozenset()
    bare = blanked(source, markup(source))
    sizes: dict[int, float] = {}
    for number, lead in leads.items():
        piece = verdict.pieces[number]
        if piece.kind == Kind.DROPPED:
            sizes[lead] = sizes.get(lead, 0) + count_words(bare[piece.start : piece.end])
    return frozenset(lead for lead, size in sizes.items() if size < ask_from)


def _given(
    source: str,
    output: str,
    verdict: Verdict,
    leads: Mapping[int, int],
    where: tuple[str, int, int],
    decided: Decided,
) -> dict[int, str]:
    """What people decided, for each violation that it settles."""
    ends = {lead: verdict.pieces[number].end for number, lead in leads.items()}
    given: dict[int, str] = {}
    for lead, end in ends.items():
        piece = verdict.pieces[lead]
        decision, *about = decided.get((*where, lead), ("", "", ""))
        if about == [source[piece.start : end], output[piece.out_start : piece.out_end]]:
            given[lead] = decision
    return {number: given[lead] for number, lead in leads.items() if given.get(lead)}


def _decisions(
    verdict: Verdict, leads: Mapping[int, int], policy: str, least: float
) -> dict[int, str]:
    # What only leaves out too much is whole again once that is put back.
    only_drops = all(piece.kind == Kind.DROPPED for piece in verdict.violations)
    keeps = policy == "original" or (verdict.is_poor(least=least) and not only_drops)
    return dict.fromkeys(leads, ORIGINAL if keeps else REPAIRED)


def _kept(source: str) -> str:
    """The source cleaned by rules, if that takes nothing but boilerplate out; else as it is."""
    cleaned = clean(source, is_gold=True)
    return cleaned if cleaned and not verify(source, cleaned).violations else source


def _tables(source: str, output: str, verdict: Verdict, cuts: Sequence[int]) -> Tables:
    """The tables that were put in words, by the chunk that took their place."""
    found: Tables = {}
    spans = tables(source)
    for piece in verdict.pieces:
        if piece.kind == Kind.TABLE and piece.start < piece.end:
            chunk = bisect_right(cuts, piece.out_start)
            start, end = spans.around(piece.start) or (piece.start, piece.end)
            found.setdefault(chunk, []).append(source[start : max(end, piece.end)].strip())
    return {chunk: list(dict.fromkeys(rows)) for chunk, rows in found.items()}
