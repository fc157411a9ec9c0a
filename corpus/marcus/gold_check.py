"""Gold text that an agent gave back: checked word for word, and mended as the policy says."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from corpus.chunking.rules import clean
from corpus.marcus.findings import Decision, Notes, Place, list_findings
from corpus.marcus.furniture import tables
from corpus.marcus.mending import mend
from corpus.marcus.settings import Policy
from corpus.marcus.tokens import count_tokens
from corpus.marcus.verify import Kind, Verdict, verify


@dataclass(frozen=True, slots=True)
class Checked:
    """The texts to go on with; None where a person has to decide first."""

    texts: list[str] | None
    tables: dict[int, list[str]]


def check_gold(
    source: str,
    output: str,
    verdict: Verdict,
    *,
    where: tuple[str, int, int],
    policy: str,
    decided: Mapping[Place, str],
    notes: Notes,
    cuts: Sequence[int] = (),
    least: float,
) -> Checked:
    """Hold `output` against its source and do what the policy says about each violation."""
    numbers = [n for n, piece in enumerate(verdict.pieces) if piece.is_violation]
    decisions = _decisions(verdict, numbers, where, policy, decided, least)
    notes.recalls.append((verdict.recall, count_tokens(source)))
    for piece in verdict.pieces:
        notes.count(f"{where[0]}:{piece.kind}")
    notes.findings += list_findings(verdict, source, output, where=where, decisions=decisions)
    notes.pairs["{}:{}:{}".format(*where)] = (source, output)
    if any(number not in decisions for number in numbers):
        notes.held.append((*where, source, output))
        return Checked(None, {})
    if any(decisions[number] == Decision.ORIGINAL for number in numbers):
        notes.flag("kept original")
        return Checked([_kept(source)], {})
    accepted = {n for n in numbers if decisions[n] == Decision.ACCEPTED}
    texts = mend(source, output, verdict, accepted=accepted, cuts=cuts)
    if not accepted and not _holds_all(source, texts, with_tables=bool(cuts)):
        # Mending is by alignment; where it leaves anything out the source itself is taken.
        notes.flag("kept original")
        return Checked([_kept(source)], {})
    return Checked(texts, _tables(source, output, verdict, cuts))


def _decisions(
    verdict: Verdict,
    numbers: Sequence[int],
    where: tuple[str, int, int],
    policy: str,
    decided: Mapping[Place, str],
    least: float,
) -> dict[int, str]:
    if policy == Policy.PERSON:
        given = {number: decided.get((*where, number), "") for number in numbers}
        return {number: said for number, said in given.items() if said}
    keeps = policy == Policy.ORIGINAL or verdict.is_poor(least=least)
    return dict.fromkeys(numbers, Decision.ORIGINAL if keeps else Decision.REPAIRED)


def _kept(source: str) -> str:
    """The source cleaned by rules, if that takes nothing but furniture out; else as it is."""
    cleaned = clean(source)
    return cleaned if cleaned and not verify(source, cleaned).violations else source


def _holds_all(source: str, texts: Sequence[str], *, with_tables: bool) -> bool:
    return not verify(source, "\n\n".join(texts), with_tables=with_tables).violations


def _tables(
    source: str, output: str, verdict: Verdict, cuts: Sequence[int]
) -> dict[int, list[str]]:
    """The tables that were put in words, by the chunk that took their place."""
    found: dict[int, list[str]] = {}
    spans = tables(source)
    for piece in verdict.pieces:
        if piece.kind == Kind.TABLE and piece.start < piece.end:
            chunk = bisect_right(cuts, piece.out_start)
            start, end = spans.around(piece.start) or (piece.start, piece.end)
            found.setdefault(chunk, []).append(source[start : max(end, piece.end)].strip())
    return {chunk: list(dict.fromkeys(rows)) for chunk, rows in found.items()}
