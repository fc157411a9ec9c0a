"""The values that a debate is made of. All are immutable and know no storage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Final, Literal, TypeAlias

from llm.prompts import PromptTemplate

Stance: TypeAlias = Literal["relevant", "irrelevant"]
ADJUDICATOR: Final = "adjudicator"  # its name
NO_STANCE: Final = ""  # of an adjudicator or a judge, who defends nothing
Response: TypeAlias = Literal["yes", "no"]
Label: TypeAlias = Literal[0, 1]
Status: TypeAlias = Literal[
    "agreed",  # all agents gave the label
    "adjudicated",  # they did not, and the adjudicator gave it
    "judged",  # a baseline gave it
    "kept",  # a filter did not discard the pair, which says nothing about relevance
    "measured",  # a probability is known; the label waits for the whole batch (LARA)
    "argued",  # both sides were, for people to read, which says nothing about relevance (hints)
    "escalated",
    "unreadable",
    "refused",  # a model would not answer
    "failed",
    "skipped_no_answer",
]

MAX_ROUNDS = 5
MAX_AGENTS = 6


@dataclass(frozen=True, slots=True)
class Pair:
    """What is judged: does the passage support one of the answers to the query?

    With an `aspect` (its text): does it support that point of an answer? `answers` are not read.
    """

    query: str
    answers: tuple[str, ...]
    passage: str
    aspect: str = ""
    # Where it is debated again: what people said, (label, reason), and each agent's last turn.
    heard: tuple[tuple[int, str], ...] = ()
    before: tuple[Turn, ...] = ()

    @property
    def can_be_judged(self) -> bool:
        """Whether there is anything that the passage could support."""
        return bool(self.aspect.strip() or self.answer_lines)

    @property
    def answer_lines(self) -> tuple[str, ...]:
        """The answers that say something, each on a single line so that none can pose as two."""
        lines = (" ".join(answer.split()) for answer in self.answers)
        return tuple(line for line in lines if line)


@dataclass(frozen=True, slots=True)
class Agent:
    """A model in a debate, or one that judges alone and defends no stance.

    `name` is what prompts call it after "Agent": A, B, ...; judges are J1, J2, ... `replicate`
    tells repeated draws of one model apart.
    """

    name: str
    stance: Stance | Literal[""]
    model: str
    endpoint: str
    replicate: int = 0


def line_up(models: Sequence[tuple[str, str]], *, first: Stance = "relevant") -> tuple[Agent, ...]:
    """Agents A, B, ... for each (model, endpoint), stances alternating from `first`.

    `first="irrelevant"` is the other stance order of docs/protocol.md 2.8.
    """
    stances: tuple[Stance, ...] = ("relevant", "irrelevant")
    stances = stances if first == "relevant" else stances[::-1]
    return tuple(
        Agent(name, stances[place % 2], *model)
        for place, (name, model) in enumerate(zip(ascii_uppercase, models, strict=False))
    )


@dataclass(frozen=True, slots=True)
class Config:
    """How a debate is run (docs/protocol.md 2.3; the variations are those of 2.8).

    `rounds` is how many the agents have to agree in. Pairs that did are debated on to round
    `continue_to`, to see whether agreement lasts (6.10); their verdict stays. `adjudicator`
    decides what is still disputed, in place of people. `history_labels` puts each agent's yes
    or no with its reason in the history (docs/protocol.md 7, row 21). `replicate` tells
    repeated draws at a temperature above 0 apart. Raises ValueError for a debate that cannot
    be.
    """

    agents: tuple[Agent, ...]
    prompt: PromptTemplate
    rounds: int = 2
    temperature: float = 0.0
    max_tokens: int | None = None
    reasoning_effort: str = ""
    continue_to: int = 0
    history_labels: bool = True
    replicate: int = 0
    adjudicator: Agent | None = None
    adjudication: PromptTemplate | None = None

    def __post_init__(self) -> None:
        for number in (self.rounds, self.continue_to or self.rounds):
            if not 1 <= number <= MAX_ROUNDS:
                raise ValueError(f"A debate has 1 to {MAX_ROUNDS} rounds, not {number}.")
        if len(self.agents) < 2:
            raise ValueError("A debate needs at least two agents.")
        if len(self.agents) > MAX_AGENTS:
            raise ValueError(f"A debate has at most {MAX_AGENTS} agents.")
        everybody = [*self.agents, *([self.adjudicator] if self.adjudicator else [])]
        if len({agent.name for agent in everybody}) < len(everybody):
            raise ValueError("Agents need names of their own.")
        if self.adjudicator and self.adjudication is None:
            raise ValueError("An adjudicator needs a prompt.")


@dataclass(frozen=True, slots=True)
class Quote:
    """Evidence that an agent quoted: passage[start:end] in code points, None if not found there."""

    text: str
    start: int | None
    end: int | None

    @property
    def found(self) -> bool:
        """Whether the quote really stands in the passage."""
        return self.start is not None


@dataclass(frozen=True, slots=True)
class Turn:
    """What one agent answered in one round.

    `response` is None where the answer was unreadable or the call failed; such a turn has no
    label. `rung` is the step of the JSON ladder that read it (docs/protocol.md 1.3). `flags` are
    words of `debate.dream.turns`. `score` is what a judge gave with yes or no: a grade of 0
    to 3, or a probability of relevance.
    """

    round: int
    agent: str
    stance: Stance | Literal[""]
    response: Response | None
    reason: str = ""
    references: tuple[Quote, ...] = ()
    rung: int | None = None
    flags: tuple[str, ...] = ()
    score: float | None = None

    @property
    def label(self) -> Label | None:
        """1 for yes, 0 for no, None for no readable response."""
        if self.response is None:
            return None
        return 1 if self.response == "yes" else 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a debate ended, or what a baseline ruled.

    `agreed`, `adjudicated` and `judged` have a label, the others none; `round` is the one that
    brought it. `detail` says why an answer was unreadable or a call failed.
    """

    status: Status
    label: Label | None = None
    round: int | None = None
    turns: tuple[Turn, ...] = ()
    detail: str = ""
