"""Votes without a debate: the same rules put to judges who see nothing of each other.

The control for DREAM's debate: as many independent judgments as the debate costs in tokens, so
that what remains of its advantage is the debate's.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from debate.dream.asking import Question, Steps, ask, fault, turn_of
from debate.dream.prompting import TURN_KEYS
from debate.dream.protocol import unanimous
from debate.dream.turns import SCHEMA, read_turn
from debate.dream.types import Label, Pair, Turn, Verdict
from llm.parsing import ParseFailure

from .judges import JudgeConfig, questions_of

ROLE: Final = "solo_turn"
MAX_VOTES: Final = 9


def vote(pair: Pair, config: JudgeConfig, key: bytes) -> Steps:
    """The label of more than half of the judges, or of all; without one the pair is escalated.

    A vote that stays unreadable, or whose call failed, ends the pair as in a debate.
    """
    if not pair.answer_lines:
        return Verdict("skipped_no_answer")
    questions = questions_of(pair, config, key, role=ROLE, schema=SCHEMA, keys=TURN_KEYS)

    def read(text: str, question: Question) -> Turn | ParseFailure:
        return read_turn(text, pair, agent=question.agent, round=1)

    outcomes = yield from ask(questions, read)
    turns = tuple(turn_of(*each) for each in zip(questions, outcomes, strict=True))
    labels = [turn.label for turn in turns]
    label = majority(labels) if config.majority else unanimous(labels)
    ruling = Verdict("escalated") if label is None else Verdict("judged", label=label, round=1)
    return replace(fault(outcomes) or ruling, turns=turns)


def majority(labels: list[Label | None]) -> Label | None:
    """The label of more than half of all votes, or None."""
    for label in (0, 1):
        if 2 * labels.count(label) > len(labels):  # type: ignore[arg-type]
            return label  # type: ignore[return-value]
    return None


def votes_for(debate_tokens: float, vote_tokens: float) -> int:
    """How many votes cost about what a debate costs (mean tokens of a pair, of one vote).

    At least one and at most MAX_VOTES. Raises ValueError where a vote would cost nothing.

    >>> votes_for(4200, 1900)  # 2.2 votes
    2
    """
    if vote_tokens <= 0:
        raise ValueError("A vote costs tokens.")
    return min(MAX_VOTES, max(1, round(debate_tokens / vote_tokens)))
