"""The two ends of one chat completion: the body of a request, and what came back as a RawReply."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import orjson

from llm.errors import ErrorClass, Transient
from llm.profiles import Profile, applied
from llm.requests import RawReply, Request, Usage

TOP_LOGPROBS: Final = 5
# More than any model reads or writes: a larger number is no count.
_MOST_TOKENS: Final = 10_000_000
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")


def request_body(request: Request, profile: Profile) -> dict[str, Any]:
    """The request in the words of the chat completions API, as the model's profile has it."""
    parameters = request.parameters
    if request.logprobs:
        parameters["top_logprobs"] = TOP_LOGPROBS
    asked = applied(
        profile,
        parameters,
        request.messages,
        schema_name=request.schema_name,
        schema=request.schema,
    )
    return {"model": request.model, **asked}


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
        text = _text(choice["message"])
        finish_reason = str(choice.get("finish_reason") or "")
        logprobs = (choice.get("logprobs") or {}).get("content") or None
    except (AttributeError, IndexError, KeyError, TypeError):
        raise Transient(
            "The endpoint answered with something that is no chat completion.",
            maybe_paid=True,
            error_class=ErrorClass.BAD_ANSWER,
        ) from None
    return RawReply(
        text=text,
        usage=usage_of(completion.get("usage")),
        elapsed_s=elapsed_s,
        finish_reason=finish_reason,
        logprobs=_storable(logprobs) if isinstance(logprobs, list) else None,
    )


def _text(message: Mapping[str, Any]) -> str:
    """The answer, or the words of a refusal; characters that no database stores are replaced."""
    text = message.get("content") or message.get("refusal") or ""
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", str(text))


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


def _storable(value: Any) -> Any:
    """The same with characters replaced that no database stores."""
    if isinstance(value, str):
        return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, list):
        return [_storable(item) for item in value]
    if isinstance(value, dict):
        return {_storable(name): _storable(item) for name, item in value.items()}
    return value
