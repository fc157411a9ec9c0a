"""Records of agents' runs (docs/protocol.md 3.4): the reference's shape, that of the released
traces, BrowseComp-Plus's, and lists of OpenAI messages."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from evaluation.agents.protocol.asking import Answer, read_answer
from evaluation.agents.protocol.loop import FINISHED, MAX_ITERATIONS, Turn
from evaluation.agents.protocol.tools import DOCUMENT, SEARCH, Use

REFERENCE: Final = "reference"
RELEASED: Final = "released"
SHAPES: Final = (REFERENCE, RELEASED)
_NUMBERED: Final = re.compile(r"final_answer_round_(\d{1,3})")
_TEXTS: Final = ("output_text", "output_reasoning", "reasoning")


class RecordFault(ValueError):
    """Why a record cannot be read; the message names the field."""


@dataclass(frozen=True)
class Record:
    """One query of one run: who answered it, what it did and what it answered."""

    query_id: str
    task: str
    model: str
    status: str
    turns: tuple[Turn, ...]
    answers: tuple[Answer, ...]


def read_record(data: Any) -> Record:
    """A record of any of the shapes. Raises RecordFault."""
    if not isinstance(data, dict):
        raise RecordFault("A record is a JSON object.")
    query = data.get("query_id")
    if isinstance(query, bool) or not isinstance(query, str | int) or query == "":
        raise RecordFault("query_id is missing.")
    metadata = data.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise RecordFault("metadata is no object.")
    if "messages" in data:
        items = list(_of_messages(_list(data, "messages")))
    else:
        items = _list(data, "result")
    turns, answers = _walk(items)
    is_stopped = data.get("status") == MAX_ITERATIONS
    return Record(
        query_id=str(query),
        task=str(data.get("task") or ""),
        model=str(metadata.get("model") or ""),
        status=MAX_ITERATIONS if is_stopped else FINISHED,
        turns=turns,
        answers=answers,
    )


def _list(data: Mapping[str, Any], name: str) -> list[Any]:
    found = data.get(name)
    if not isinstance(found, list):
        raise RecordFault(f"{name} is no list.")
    return found


def _walk(items: Sequence[Any]) -> tuple[tuple[Turn, ...], tuple[Answer, ...]]:
    """Turns and answers of a list of items, in their order.

    A call without a round begins the next one; a result without a round belongs to the round of
    the call before it, and its ids are read from its output.
    """
    uses: dict[int, list[Use]] = {}
    texts: dict[int, list[str]] = {}
    answers: list[Answer] = []
    last_text, round, waiting = "", 0, list[tuple[int, str, str, str]]()
    for place, item in enumerate(items, start=1):
        if not isinstance(item, dict) or not isinstance(item.get("type"), str):
            raise RecordFault(f"result, item {place}: a type is missing.")
        kind, output = item["type"], item.get("output")
        if kind in _TEXTS:
            said = _text(output)
            last_text = said if kind == "output_text" else last_text
            if kind == "output_text":
                texts.setdefault(round + 1, []).append(said)
        elif kind == "tool_call":
            round = _round(item, place) or round + 1
            tool = str(item.get("tool_name") or SEARCH)
            arguments = item.get("arguments")
            written = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
            call = (round, str(item.get("call_id") or ""), tool, written)
            if output is not None:  # BrowseComp-Plus: the call with its result
                uses.setdefault(round, []).append(_use(call, output, item.get("docids"), place))
            else:
                waiting.append(call)
        elif kind == "tool_result":
            call = _call_of(item, waiting, round)
            uses.setdefault(call[0], []).append(_use(call, output, item.get("docids"), place))
        elif kind == "final_answer":
            answers.append(read_answer(_text(output), _round(item, place) or max(round, 1)))
        elif found := _NUMBERED.fullmatch(kind):
            answers.append(read_answer(_text(output), int(found[1])))
        else:
            raise RecordFault(f"result, item {place}: the type {kind[:60]!r} is unknown.")
    numbers = sorted({*uses, *texts})
    turns = [Turn(n, "\n".join(texts.get(n, ())), tuple(uses.get(n, ()))) for n in numbers]
    if not answers and last_text:
        answers = [read_answer(last_text, max(numbers, default=1))]
    if len({each.round for each in answers}) < len(answers):
        raise RecordFault("result: two answers of one round.")
    return tuple(turns), tuple(answers)


def _call_of(
    item: Mapping[str, Any], waiting: list[tuple[int, str, str, str]], round: int
) -> tuple[int, str, str, str]:
    """The call that a result belongs to: by its id, else the oldest without one."""
    key = item.get("call_id")
    at = next((n for n, call in enumerate(waiting) if key and call[1] == key), 0)
    if waiting:
        return waiting.pop(at)
    return round or 1, str(key or ""), str(item.get("tool_name") or SEARCH), "{}"


def _use(call: tuple[int, str, str, str], output: Any, docids: Any, place: int) -> Use:
    _, key, tool, arguments = call
    text = _text(output)
    hits = _hits(text)
    if docids is None:
        docids = [hit["docid"] for hit in hits] if tool == SEARCH else []
    if not isinstance(docids, list) or not all(isinstance(each, str | int) for each in docids):
        raise RecordFault(f"result, item {place}: docids is no list of ids.")
    unique = tuple(dict.fromkeys(map(str, docids))) if tool != DOCUMENT else ()
    scores = {str(hit["docid"]): hit.get("score") for hit in hits}
    return Use(
        key,
        tool,
        arguments,
        text,
        text=_asked(arguments),
        docids=unique,
        scores=tuple(_score(scores.get(each)) for each in unique),
    )


def _hits(text: str) -> list[dict[str, Any]]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return []
    rows = found if isinstance(found, list) else []
    return [
        row for row in rows if isinstance(row, dict) and isinstance(row.get("docid"), str | int)
    ]


def _score(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else None


def _asked(arguments: str) -> str:
    try:
        found = json.loads(arguments)
    except (ValueError, RecursionError):
        return ""
    value = (found.get("query") or found.get("docid")) if isinstance(found, dict) else ""
    return value if isinstance(value, str) else ""


def _text(output: Any) -> str:
    if isinstance(output, list):
        return "\n".join(_text(each) for each in output)
    if isinstance(output, dict):
        return json.dumps(output, ensure_ascii=False)
    return "" if output is None else str(output)


def _round(item: Mapping[str, Any], place: int) -> int:
    found = item.get("round")
    if found is None:
        return 0
    if isinstance(found, bool) or not isinstance(found, int) or not 1 <= found <= 10_000:
        raise RecordFault(f"result, item {place}: round is no whole number from 1.")
    return found


def _of_messages(messages: Iterable[Any]) -> Iterable[dict[str, Any]]:
    """OpenAI messages as items: each assistant's message that calls tools is a round."""
    round, names = 0, dict[str, tuple[int, str]]()
    for place, message in enumerate(messages, start=1):
        if not isinstance(message, dict) or "role" not in message:
            raise RecordFault(f"messages, item {place}: a role is missing.")
        if message["role"] == "assistant":
            calls = message.get("tool_calls") or []
            if message.get("content"):
                yield {"type": "output_text", "output": message["content"]}
            round += bool(calls)
            for call in calls:
                function = call.get("function") if isinstance(call, dict) else None
                if not isinstance(function, dict):
                    raise RecordFault(f"messages, item {place}: a call has no function.")
                names[str(call.get("id"))] = round, str(function.get("name"))
                yield {
                    "type": "tool_call",
                    "tool_name": function.get("name"),
                    "arguments": function.get("arguments"),
                    "call_id": str(call.get("id")),
                    "round": round,
                }
        elif message["role"] == "tool":
            key = str(message.get("tool_call_id"))
            if key not in names:
                raise RecordFault(f"messages, item {place}: no call has the id {key[:60]!r}.")
            yield {
                "type": "tool_result",
                "tool_name": names[key][1],
                "call_id": key,
                "output": message.get("content"),
            }


def written(
    record: Record, *, shape: str, usage: Mapping[str, int], metadata: Mapping[str, Any]
) -> dict[str, Any]:
    """A record in the reference's shape, or in that of the released traces."""
    result: list[dict[str, Any]] = []
    for turn in record.turns:
        for use in turn.uses:
            called = {"tool_name": use.tool, "arguments": use.arguments}
            got: dict[str, Any] = {"tool_name": use.tool, "output": use.output}
            if shape == REFERENCE:
                called["call_id"] = use.call_id
                got |= {"call_id": use.call_id, "round": turn.round, "docids": list(use.docids)}
            result.append({"type": "tool_call", **called, "round": turn.round})
            result.append({"type": "tool_result", **got})
        if turn.text and not turn.uses:
            result.append({"type": "output_text", "output": [turn.text]})
    for answer in record.answers:
        if not record.turns or not _is_said(record, answer):
            last: dict[str, Any] = {"type": "final_answer", "round": answer.round}
            if shape == RELEASED:
                last = {"type": f"final_answer_round_{answer.round}"}
            stated = answer.confidence
            closing = "" if stated is None else f"\nConfidence: {stated:g}%"
            result.append({**last, "output": f"Answer: {answer.text}{closing}"})
    found = [docid for turn in record.turns for use in turn.uses for docid in use.docids]
    rounds = sum(any(use.docids for use in turn.uses) for turn in record.turns)
    return {
        **({"task": record.task} if shape == RELEASED else {}),
        "metadata": dict(metadata),
        "query_id": record.query_id,
        "usage": dict(usage),
        "retrieved_round_count": rounds,
        "retrieved_documents_id": list(dict.fromkeys(found)),
        "status": MAX_ITERATIONS if record.status == MAX_ITERATIONS else "completed",
        "result": result,
    }


def _is_said(record: Record, answer: Answer) -> bool:
    """Whether the one answer is the last message, which stands among the texts already."""
    last = record.turns[-1]
    return (
        len(record.answers) == 1
        and not last.uses
        and bool(last.text)
        and read_answer(last.text, 0).text == answer.text
    )
