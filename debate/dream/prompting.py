"""From a pair and the round before to the messages of a turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from llm.prompts import PromptTemplate, fence
from llm.requests import Message

from .types import Agent, Config, Pair, Stance, Turn

PROMPTS: Final = Path(__file__).resolve().parent.parent / "prompts"
PLACEHOLDERS: Final = frozenset({"agent", "others", "query", "answers", "chunk", "history"})
ADJUDICATION_PLACEHOLDERS: Final = PLACEHOLDERS - {"agent", "others"}
ASPECT_PLACEHOLDERS: Final = PLACEHOLDERS - {"answers"} | {"aspect"}
MAX_QUOTED_BACK: Final = 4000

REPAIR: Final = (
    "Your reply could not be read. Answer the same task again with one JSON object and nothing"
    " else: {keys}."
)
OPENINGS: Final[dict[Stance, str]] = {
    "relevant": "Yes. The chunk holds everything that is needed to build at least one answer.",
    "irrelevant": "No. For every answer, the chunk lacks something that is needed to build it.",
}
ASPECT_OPENINGS: Final[dict[Stance, str]] = {
    "relevant": "Yes. The chunk states all the evidence that the aspect needs.",
    "irrelevant": "No. The chunk lacks evidence that the aspect needs.",
}
TURN_KEYS: Final = 'reference (a list of strings), reason (a string), response ("yes" or "no")'


@cache
def default_prompt() -> PromptTemplate:
    """The debate prompt that comes with the app."""
    return load_prompt(PROMPTS / "debate_turn.txt")


@cache
def adjudication_prompt() -> PromptTemplate:
    """The adjudicator's prompt that comes with the app."""
    path = PROMPTS / "adjudication.txt"
    return PromptTemplate.load(path, placeholders=ADJUDICATION_PLACEHOLDERS)


@cache
def aspect_prompts() -> dict[str, PromptTemplate]:
    """The prompts of debates on aspects, by role.

    They begin alike for every agent, round and aspect of a passage, so that an endpoint that keeps
    the beginnings of prompts reads them once.
    """
    placeholders = {"aspect_turn": ASPECT_PLACEHOLDERS}
    placeholders["aspect_adjudication"] = ASPECT_PLACEHOLDERS - {"agent", "others"}
    return {
        role: PromptTemplate.load(PROMPTS / f"{role}.txt", placeholders=names)
        for role, names in placeholders.items()
    }


def load_prompt(path: Path) -> PromptTemplate:
    """A debate prompt from a file. It must use all placeholders of a turn and no others."""
    return PromptTemplate.load(path, placeholders=PLACEHOLDERS)


def turn_messages(
    pair: Pair, config: Config, *, agent: Agent, previous: Sequence[Turn], key: bytes
) -> tuple[Message, ...]:
    """The messages of one agent's turn; `previous` holds the turns of the round before.

    Rounds differ in the history block alone. Everything that came from a page or a model stands
    between delimiters that are derived from it under `key`, and is data there.
    """
    history = history_text(config, reader=agent, previous=previous, about=pair)
    names = [f"Agent {other.name}" for other in config.agents if other != agent]
    *most, last = names
    return config.prompt.render(
        agent=f"Agent {agent.name}",
        others=f"{', '.join(most)} and {last}" if most else last,
        **_material(pair, history, key),
    )


def _material(pair: Pair, history: str, key: bytes) -> dict[str, str]:
    """The blocks of a prompt, by their placeholders."""
    asked = (
        {"aspect": fence("aspect", pair.aspect, key)}
        if pair.aspect
        else {"answers": fence("answer", numbered(pair.answer_lines), key)}
    )
    return {
        "query": fence("query", pair.query, key),
        "chunk": fence("chunk", pair.passage, key),
        "history": fence("history", history, key),
        **asked,
    }


def adjudication_messages(
    pair: Pair, config: Config, *, adjudicator: Agent, previous: Sequence[Turn], key: bytes
) -> tuple[Message, ...]:
    """The adjudicator's messages; `previous` holds the turns of the last round (2.5)."""
    assert config.adjudication is not None  # the configuration has checked it
    history = history_text(config, reader=adjudicator, previous=previous, about=pair)
    return config.adjudication.render(**_material(pair, history, key))


def repair_messages(
    messages: tuple[Message, ...], unreadable: str, *, keys: str = TURN_KEYS
) -> tuple[Message, ...]:
    """The same question once more, after an answer that could not be read.

    `keys` says in words what the JSON object holds. Of a very long answer only the beginning
    goes back, since every word of it is paid again; an empty one is named, because some
    endpoints refuse a message without content.
    """
    answer = unreadable[:MAX_QUOTED_BACK].strip() or "(empty reply)"
    return (
        *messages,
        {"role": "assistant", "content": answer},
        {"role": "user", "content": REPAIR.format(keys=keys)},
    )


def numbered(answers: Sequence[str]) -> str:
    """One answer per line, numbered from 1: `(1) ...`."""
    return "\n".join(f"({number}) {answer}" for number, answer in enumerate(answers, start=1))


def history_text(
    config: Config, *, reader: Agent, previous: Sequence[Turn], about: Pair | None = None
) -> str:
    """One paragraph per agent: its opening position, or its answer of the previous round.

    A reader who is none of the agents, as the adjudicator, finds no entry marked "(You)". Older
    rounds are never shown (docs/protocol.md 2.3). A reason is put on one line, so that no reason
    can pose as the paragraph of another agent.
    """
    turns = {turn.agent: turn for turn in previous}
    openings = ASPECT_OPENINGS if about and about.aspect else OPENINGS
    paragraphs = [
        _paragraph(
            agent,
            turns.get(agent.name),
            openings,
            you=agent == reader,
            labels=config.history_labels,
        )
        for agent in config.agents
    ]
    # Marked as people's, without a name: an argument like the others, and no agent's.
    paragraphs += [
        f"A person who judged the chunk, and who is none of the agents, said: "
        f"{'Yes' if label else 'No'}. {' '.join(reason.split())}"
        for label, reason in (about.heard if about else ())
    ]
    return "\n\n".join(paragraphs)


def _paragraph(
    agent: Agent, turn: Turn | None, openings: Mapping[Stance, str], *, you: bool, labels: bool
) -> str:
    speaker = f"Agent {agent.name} (You)" if you else f"Agent {agent.name}"
    if turn is None:
        assert agent.stance  # every agent of a debate defends one
        return f"{speaker}, opening position: {openings[agent.stance]}"
    reason = " ".join(turn.reason.split())
    answer = f"{(turn.response or '').capitalize()}. {reason}" if labels else reason
    return f"{speaker}, round {turn.round}: {answer}".rstrip()
