"""From a pair that people must settle to a case with a frozen snapshot of all positions."""

from typing import Any

from annotate.models import CaseKind, EscalationCase
from annotate.voting.cases import open_case
from debate import dream
from debate.models import Debate, DebateStatus, RunKind
from debate.runs.configuration import SKIP

ORIGIN = "debate:"
KINDS = {
    DebateStatus.ESCALATED: CaseKind.DISPUTE,
    DebateStatus.UNREADABLE: CaseKind.UNREADABLE,
    DebateStatus.REFUSED: CaseKind.UNREADABLE,
}


def kinds_of(on_refusal: str | None) -> set[DebateStatus]:
    """Outcomes that come before people: refused pairs only where a run's plan says so."""
    return KINDS.keys() - ({DebateStatus.REFUSED} if on_refusal == SKIP else set())


def escalate(debate: Debate, verdict: dream.Verdict) -> EscalationCase:
    """Open the debate's case; opening it twice gives the same case."""
    return open_case(
        origin=origin_of(debate),
        kind=_kind(debate),
        query=debate.query,
        passage=debate.passage,
        aspect=debate.aspect,
        snapshot=snapshot(debate, verdict),
    )


def origin_of(debate: Debate) -> str:
    """What names the debate as the one that opened a case."""
    return f"{ORIGIN}{debate.pk}"


def snapshot(debate: Debate, verdict: dream.Verdict) -> dict[str, Any]:
    """What voters will see, whatever happens to the debate later.

    The positions are those of the agents in the last round they debated. A run may keep them
    from people, to measure what they are worth (docs/protocol.md 2.4), or of some pairs, so that an
    audited pair is not known by having none; people alone see none.
    """
    turns = [turn for turn in verdict.turns if turn.stance]
    rounds = max((turn.round for turn in turns), default=0)
    if debate.is_decoy or not debate.run.config.get("history_for_people", True):
        turns, rounds = [], 0
    last = [turn for turn in turns if turn.round == rounds]
    return asked_of(debate) | {
        "practice": debate.run.practice and bool(last),
        "rounds": rounds,
        "positions": [_position(turn, verdict) for turn in last],
    }


def asked_of(debate: Debate) -> dict[str, Any]:
    """What is asked of a passage: the query with its answers, or with the text of one aspect."""
    asked: dict[str, Any] = {"question": debate.query.text, "answers": list(debate.query.answers)}
    if debate.aspect is not None:
        asked |= {"answers": [], "aspect": debate.aspect.content}
    return asked


def _kind(debate: Debate) -> CaseKind:
    """A pair over which no agents argued is no dispute."""
    kind = KINDS[DebateStatus(debate.status)]
    if kind == CaseKind.DISPUTE and debate.run.kind != RunKind.DEBATE:
        return CaseKind.HUMAN_ONLY
    return kind


def _position(turn: dream.Turn, verdict: dream.Verdict) -> dict[str, Any]:
    earlier = [t for t in verdict.turns if t.agent == turn.agent and t.round < turn.round]
    return {
        "agent": turn.agent,
        "stance": turn.stance,
        "round": turn.round,
        "response": turn.response or "",
        "reason": turn.reason,
        "references": [quote_row(quote) for quote in turn.references],
        "earlier": [{"round": t.round, "response": t.response or ""} for t in earlier],
    }


def quote_row(quote: dream.Quote) -> dict[str, Any]:
    """A quote as it is stored and exported: start null where it is not in the passage."""
    return {"text": quote.text, "start": quote.start, "end": quote.end}
