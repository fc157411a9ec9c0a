"""The search agent itself (docs/protocol.md 3.4), as a generator that knows no network.

It yields what may be done at the same time, requests to the model or look-ups in the index, is
sent the answers in the same order, and returns the trace. A test drives it with a list.
"""

from collections.abc import Collection, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from evaluation.agents.protocol.asking import (
    AgentSettings,
    Answer,
    Task,
    answer_request,
    first_request,
    read_answer,
)
from evaluation.agents.protocol.tools import (
    Found,
    Lookup,
    ToolFault,
    ToolSettings,
    Use,
    is_answered_here,
    lookup_of,
    use_of,
)
from llm.requests import Request, ToolCall

# The agent stopped by itself, or was stopped.
FINISHED: Final = "finished"
MAX_ITERATIONS: Final = "max_iterations"


@dataclass(frozen=True)
class Turn:
    """One iteration, counted from 1: what the model said and which tools it used."""

    round: int
    text: str
    uses: tuple[Use, ...] = ()
    call: int = 0


@dataclass(frozen=True)
class Trace:
    """All that an agent did for one query; `answers` of fixed rounds are one a round."""

    status: str
    turns: tuple[Turn, ...]
    answers: tuple[Answer, ...] = ()


Steps: TypeAlias = Generator[Sequence[Request | Lookup], Sequence[Any], Trace]
Looking: TypeAlias = Generator[Sequence[Lookup], Sequence[Any], list[Use]]


def search_agent(task: Task, settings: AgentSettings, key: bytes) -> Steps:
    """Let the agent search; a Request is answered by its Reply, a Lookup by what was found.

    Every call of a tool in a turn is carried out. With fixed rounds the agent is stopped behind
    the last one, and an answer from the evidence is asked for after each, also where it stopped
    early.
    """
    request, turns, status = first_request(task, settings, key), list[Turn](), MAX_ITERATIONS
    for number in range(1, settings.most + 1):
        (reply,) = yield [request]
        uses = yield from use_tools(reply.tool_calls, settings.tools, task.excluded)
        turns.append(Turn(number, reply.text, tuple(uses), reply.call_id))
        if not uses:
            status = FINISHED
            break
        said = {"role": "assistant", "content": reply.text, "tool_calls": list(reply.tool_calls)}
        outputs = [
            {"role": "tool", "tool_call_id": use.call_id, "content": use.output} for use in uses
        ]
        request = request.followed_by(said, *outputs)
    if settings.rounds is None:
        last = turns[-1]
        return Trace(status, tuple(turns), (read_answer(last.text, last.round, last.call),))
    asked = [
        answer_request(task, settings, evidence_after(turns, number), key)
        for number in range(1, settings.rounds + 1)
    ]
    # Where a round brought nothing new the question is the same, and is asked once.
    distinct = list({each.key: each for each in asked}.values())
    replies = dict(zip((each.key for each in distinct), (yield distinct), strict=True))
    answers = [
        read_answer(replies[each.key].text, number, replies[each.key].call_id)
        for number, each in enumerate(asked, start=1)
    ]
    return Trace(FINISHED, tuple(turns), tuple(answers))


def evidence_after(turns: Sequence[Turn], round: int) -> Mapping[str, str]:
    """The snippets that searches returned up to a round, each document as it was first seen."""
    evidence: dict[str, str] = {}
    for turn in turns:
        for use in turn.uses if turn.round <= round else ():
            for docid, snippet in use.snippets.items():
                evidence.setdefault(docid, snippet)
    return evidence


def use_tools(
    calls: Sequence[ToolCall], settings: ToolSettings, excluded: Collection[str] = ()
) -> Looking:
    """Carry out every call of a turn, in its order: our agent's, and one from outside."""
    lookups = [lookup_of(call, settings) for call in calls]
    asked = [each for each in lookups if isinstance(each, Lookup) and not is_answered_here(each)]
    answers = iter((yield asked) if asked else ())
    uses = []
    for call, lookup in zip(calls, lookups, strict=True):
        found: Found = ()
        if isinstance(lookup, ToolFault):
            found = lookup
        elif not is_answered_here(lookup):
            found = next(answers)
        uses.append(use_of(call, lookup, found, settings, excluded))
    return uses
