"""What an agent is told about the round before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .types import Agent, Config, Stance, Turn

OPENINGS: Final[dict[Stance, str]] = {
    "relevant": "Yes. The chunk holds everything that is needed to build at least one answer.",
    "irrelevant": "No. For every answer, the chunk lacks something that is needed to build it.",
}


def history_text(config: Config, *, reader: Agent, previous: Sequence[Turn]) -> str:
    """One paragraph per agent: its opening position, or what it said in the previous round.

    A reader who is none of the agents, as the adjudicator, finds no entry marked "(You)". Older
    rounds are never shown (docs/protocol.md 2.3). A reason is put on one line, so that no reason
    can pose as the paragraph of another agent.
    """
    turns = {turn.agent: turn for turn in previous}
    paragraphs = (
        _paragraph(agent, turns.get(agent.name), you=agent == reader, labels=config.history_labels)
        for agent in config.agents
    )
    return "\n\n".join(paragraphs)


def _paragraph(agent: Agent, turn: Turn | None, *, you: bool, labels: bool) -> str:
    speaker = f"Agent {agent.name} (You)" if you else f"Agent {agent.name}"
    if turn is None:
        assert agent.stance  # every agent of a debate defends one
        return f"{speaker}, opening position: {OPENINGS[agent.stance]}"
    reason = " ".join(turn.reason.split())
    said = f"{(turn.response or '').capitalize()}. {reason}" if labels else reason
    return f"{speaker}, round {turn.round}: {said}".rstrip()
