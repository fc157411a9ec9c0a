"""The debate itself (docs/protocol.md 2.3), as a generator that knows no network.

It yields the requests that may be sent at the same time, is sent their answers in the same
order, and returns the verdict. Whoever drives it decides how requests travel; a test drives it
with a list of strings.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from llm.parsing import ParseFailure

from .asking import Question, Steps, ask, fault, turn_of
from .prompting import adjudication_messages, turn_messages
from .turns import ADJUDICATION, ASPECT_ADJUDICATION, ASPECT_TURN, SCHEMA_NAME, read_turn
from .types import Config, Label, Pair, Turn, Verdict


def debate(pair: Pair, config: Config, key: bytes) -> Steps:
    """Hold the debate over a pair; `key` is the server's key for delimiters.

    Each request is answered by the text of the reply, or by the LLMError that ended its call.
    An answer that stays unreadable after one repair, or a call that failed, ends the debate
    without a label. Rounds that are played after an agreement are observations: nothing that
    happens there changes the verdict. Raises ValueError for a wrong number of answers.
    """
    if not pair.can_be_judged:
        return Verdict("skipped_no_answer")
    verdict: Verdict | None = None
    turns: list[Turn] = []
    spoken: list[Turn] = list(pair.before)
    number = 0
    while number < (config.continue_to if verdict else config.rounds):
        number += 1
        questions = [
            Question(
                agent,
                turn_messages(pair, config, agent=agent, previous=spoken, key=key),
                role=ASPECT_TURN if pair.aspect else SCHEMA_NAME,
                round=number,
                temperature=config.temperature,
                max_tokens=config.max_tokens,
                reasoning_effort=config.reasoning_effort,
                replicate=config.replicate,
            )
            for agent in config.agents
        ]
        outcomes = yield from ask(questions, partial(_read, pair))
        spoken = [turn_of(*each) for each in zip(questions, outcomes, strict=True)]
        turns += spoken
        verdict = verdict or fault(outcomes) or _agreement(spoken, number)
        if fault(outcomes):
            break
    if verdict is None:
        verdict = yield from _settle(pair, config, spoken, key)
        turns += verdict.turns
    return replace(verdict, turns=tuple(turns))


def _settle(pair: Pair, config: Config, spoken: Sequence[Turn], key: bytes) -> Steps:
    """What becomes of a lasting disagreement: people, or the adjudicator (docs/protocol.md 2.5).

    The adjudicator is asked in a round of its own after the last, at temperature 0.
    """
    judge = config.adjudicator
    if judge is None:
        return Verdict("escalated")
    question = Question(
        judge,
        adjudication_messages(pair, config, adjudicator=judge, previous=spoken, key=key),
        role=ASPECT_ADJUDICATION if pair.aspect else ADJUDICATION,
        round=config.rounds + 1,
        max_tokens=config.max_tokens,
        reasoning_effort=config.reasoning_effort,
    )
    outcomes = yield from ask([question], partial(_read, pair))
    turn = turn_of(question, outcomes[0])
    ruling = Verdict("adjudicated", label=turn.label, round=config.rounds)
    return replace(fault(outcomes) or ruling, turns=(turn,))


def _read(pair: Pair, answer: str, question: Question) -> Turn | ParseFailure:
    agent, is_repair = question.agent, question.is_repair
    return read_turn(answer, pair, agent=agent, round=question.round, repaired=is_repair)


def unanimous(labels: Iterable[Label | None]) -> Label | None:
    """The label that all agents gave, or None. A missing label agrees with nothing."""
    distinct = set(labels)
    return distinct.pop() if len(distinct) == 1 else None


def _agreement(spoken: Sequence[Turn], number: int) -> Verdict | None:
    """The verdict of a round in which all agents gave the same label, or None."""
    label = unanimous(turn.label for turn in spoken)
    return None if label is None else Verdict("agreed", label=label, round=number)
