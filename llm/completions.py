"""The two ends of one chat completion: the body of a request, and what came back as a RawReply."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import orjson

from llm.errors import ErrorClass, Transient
from llm.profiles import Profile, taken, told
from llm.requests import Message, RawReply, Request, ToolCall, Usage

PATH: Final = "/chat/completions"
TOP_LOGPROBS: Final = 5
# More than any model reads or writes: a larger number is no count.
_MOST_TOKENS: Final = 10_000_000
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")


def request_body(request: Request, profile: Profile) -> dict[str, Any]:
    """The request in the words of the chat completions API, as the model's profile has it."""
    body: dict[str, Any] = {
        "model": request.model,
        "messages": [_message(each) for each in told(profile, request)],
    }
    body |= taken(profile, request.parameters)
    if "logprobs" in body:
        body["top_logprobs"] = TOP_LOGPROBS
    if "max_tokens" in body:
        body[profile.limit] = body.pop("max_tokens")
    if request.tools:
        body["tools"] = [{"type": "function", "function": dict(tool)} for tool in request.tools]
    if request.schema_name and profile.answer == "json_schema":
        shape = {"name": request.schema_name, "schema": dict(request.schema), "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": shape}
    elif request.schema_name and profile.answer == "json_object":
        body["response_format"] = {"type": "json_object"}
    return body


def _message(message: Message) -> Message:
    calls = message.get("tool_calls")
    if not calls:
        return message
    named = [
        {
            "id": call["id"],
            "type": "function",
            "function": {"name": call["name"], "arguments": call["arguments"]},
        }
        for call in calls
    ]
    return {**message, "content": message.get("content") or None, "tool_calls": named}


def encode(body: Mapping[str, Any]) -> bytes:
    """A body as JSON; lone surrogates, which orjson refuses, travel as escapes."""
    try:
        return orjson.dumps(body)
    except orjson.JSONEncodeError:
        return json.dumps(body).encode("ascii")


def decode(data: bytes) -> Any:
    """JSON of any kind. Raises ValueError; deep nesting and lone surrogates are no reason for it
    unless they must be.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        try:
            return json.loads(data)
        except RecursionError as error:
            raise ValueError("The answer is nested too deeply.") from error


def read_completion(completion: Any, *, elapsed_s: float) -> RawReply:
    """Take the first choice out of a decoded answer of any shape.

    Raises Transient for a 200 that is no chat completion, such as a proxy's error page or an
    empty list of choices: asked again, the same endpoint usually answers.
    """
    try:
        choice = completion["choices"][0]
        message = choice["message"]
        refusal = message.get("refusal")
        text = storable(str(text_of(message.get("content")) or refusal or ""))
        finish_reason = "refusal" if refusal else str(choice.get("finish_reason") or "")
        logprobs = (choice.get("logprobs") or {}).get("content") or None
        calls = [
            _tool_call(call["id"], call["function"]) for call in message.get("tool_calls") or ()
        ]
    except (AttributeError, IndexError, KeyError, TypeError):
        raise unusable("chat completion") from None
    return RawReply(
        text=text,
        usage=usage_of(completion.get("usage")),
        elapsed_s=elapsed_s,
        finish_reason=finish_reason,
        logprobs=storable(logprobs) if isinstance(logprobs, list) else None,
        tool_calls=calls,
    )


def unusable(kind: str) -> Transient:
    """A 200 that is not what it should be; it may have been paid for."""
    return Transient(
        f"The endpoint answered with something that is no {kind}.",
        maybe_paid=True,
        error_class=ErrorClass.BAD_ANSWER,
    )


def text_of(content: Any) -> Any:
    """The text of a message; some endpoints send it in parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content)
    return content


def _tool_call(call_id: Any, function: Mapping[str, Any]) -> ToolCall:
    arguments = function.get("arguments")
    if not isinstance(arguments, str):  # Ollama's own form: an object
        arguments = json.dumps(arguments)
    named = {"id": str(call_id), "name": str(function["name"]), "arguments": arguments}
    return {name: str(storable(value)) for name, value in named.items()}


def usage_of(usage: Any) -> Usage | None:
    """The tokens as counted there; None, which is unknown and not free, where that is no count."""
    try:
        counted = _count(usage["prompt_tokens"])
        return Usage(
            input=counted,
            cached_input=min(counted, _detail(usage, "prompt_tokens_details", "cached_tokens")),
            output=_count(usage["completion_tokens"]),
            reasoning=_detail(usage, "completion_tokens_details", "reasoning_tokens"),
        )
    except (KeyError, TypeError, ValueError):
        return None


def _detail(usage: Mapping[str, Any], group: str, name: str) -> int:
    """A number from the details, which many endpoints leave out or send as null."""
    details = usage.get(group)
    value = details.get(name) if isinstance(details, Mapping) else None
    return _count(value or 0)


def _count(value: Any) -> int:
    number = int(value)
    if not 0 <= number <= _MOST_TOKENS:
        raise ValueError("That is no number of tokens.")
    return number


def storable(value: Any) -> Any:
    """The same with characters replaced that no database stores."""
    if isinstance(value, str):
        return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, list):
        return [storable(item) for item in value]
    if isinstance(value, dict):
        return {storable(name): storable(item) for name, item in value.items()}
    return value
