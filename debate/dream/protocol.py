"""The debate itself (docs/protocol.md 2.3), as a generator that knows no network.

It yields the requests that may be sent at the same time, is sent their answers in the same
order, and returns the verdict. Whoever drives it decides how requests travel; a test drives it
with a list of strings.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import TypeAlias

from llm.errors import LLMError
from llm.parsing import ParseFailure

from .asking import Answer, ask, fault
from .consensus import unanimous
from .requests import TurnRequest, adjudication_request, repair_request, turn_request
from .turns import FAILED, UNREADABLE, read_turn
from .types import Config, Pair, Turn, Verdict

Outcome: TypeAlias = Turn | ParseFailure | LLMError
Debate: TypeAlias = Generator[Sequence[TurnRequest], Sequence[Answer], Verdict]
Round: TypeAlias = Generator[Sequence[TurnRequest], Sequence[Answer], list[Outcome]]


def debate(pair: Pair, config: Config, key: bytes) -> Debate:
    """Hold the debate over a pair; `key` is the server's key for delimiters.

    Each request is answered by the text of the reply, or by the LLMError that ended its call.
    An answer that stays unreadable after one repair, or a call that failed, ends the debate
    without a label. Rounds that are played after an agreement are observations: nothing that
    happens there changes the verdict. Raises ValueError for a wrong number of answers.
    """
    if not pair.answer_lines:
        return Verdict("skipped_no_answer")
    verdict: Verdict | None = None
    turns: list[Turn] = []
    spoken: list[Turn] = []
    number = 0
    while number < (config.continue_to if verdict else config.rounds):
        number += 1
        requests = [
            turn_request(pair, config, agent=agent, round=number, previous=spoken, key=key)
            for agent in config.agents
        ]
        outcomes = yield from _ask(pair, requests)
        spoken = [_as_turn(*item) for item in zip(outcomes, requests, strict=True)]
        turns += spoken
        verdict = verdict or fault(outcomes) or _agreement(spoken, number)
        if fault(outcomes):
            break
    if verdict is None:
        verdict = yield from _settle(pair, config, spoken, key)
        turns += verdict.turns
    return replace(verdict, turns=tuple(turns))


def _settle(pair: Pair, config: Config, spoken: Sequence[Turn], key: bytes) -> Debate:
    """What becomes of a lasting disagreement: people, or the adjudicator (docs/protocol.md 2.5)."""
    if config.adjudicator is None:
        return Verdict("escalated")
    request = adjudication_request(pair, config, previous=spoken, key=key)
    outcomes = yield from _ask(pair, [request])
    turn = _as_turn(outcomes[0], request)
    ruling = Verdict("adjudicated", label=turn.label, round=config.rounds)
    return replace(fault(outcomes) or ruling, turns=(turn,))


def _ask(pair: Pair, requests: list[TurnRequest]) -> Round:
    def read(answer: str, request: TurnRequest) -> Turn | ParseFailure:
        return read_turn(
            answer, pair, agent=request.agent, round=request.round, repaired=request.repair
        )

    return (yield from ask(requests, read=read, repair=repair_request))


def _as_turn(outcome: Outcome, request: TurnRequest) -> Turn:
    """The turn as it is kept: one without a response where there was no readable answer."""
    if isinstance(outcome, Turn):
        return outcome
    flag = FAILED if isinstance(outcome, LLMError) else UNREADABLE
    agent = request.agent
    return Turn(request.round, agent.name, agent.stance, response=None, flags=(flag,))


def _agreement(spoken: Sequence[Turn], number: int) -> Verdict | None:
    """The verdict of a round in which all agents gave the same label, or None."""
    label = unanimous(turn.label for turn in spoken)
    return None if label is None else Verdict("agreed", label=label, round=number)
