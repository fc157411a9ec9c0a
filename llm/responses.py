"""The same in OpenAI's Responses API: the body of a request, and what came back as a RawReply.

Documented at platform.openai.com/docs/api-reference/responses; some models answer here only.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from llm.completions import TOP_LOGPROBS, storable, text_of, unusable, usage_of
from llm.profiles import Profile, taken, told
from llm.requests import LENGTH, Message, RawReply, Request

PATH: Final = "/responses"


def request_body(request: Request, profile: Profile) -> dict[str, Any]:
    """The request in the words of the Responses API. Nothing is kept at the endpoint."""
    asked = taken(profile, request.parameters)
    body: dict[str, Any] = {
        "model": request.model,
        "input": [item for message in told(profile, request) for item in _items(message)],
        "store": False,
    }
    body |= {name: asked[name] for name in ("temperature", "top_p") if name in asked}
    if "max_tokens" in asked:
        body["max_output_tokens"] = asked["max_tokens"]
    if "reasoning_effort" in asked:
        body["reasoning"] = {"effort": asked["reasoning_effort"]}
    if "logprobs" in asked:
        body |= {"include": ["message.output_text.logprobs"], "top_logprobs": TOP_LOGPROBS}
    if request.tools:
        body["tools"] = [{"type": "function", **tool} for tool in request.tools]
    if request.schema_name and profile.answer != "words":
        schema = {"name": request.schema_name, "schema": dict(request.schema), "strict": True}
        bound = schema if profile.answer == "json_schema" else {}
        body["text"] = {"format": {"type": profile.answer, **bound}}
    return body


def read_response(response: Any, *, elapsed_s: float) -> RawReply:
    """Take text, refusal and tool calls out of a decoded answer of any shape.

    Raises Transient for a 200 that is no such answer.
    """
    try:
        output = [item for item in response["output"] if isinstance(item, Mapping)]
        parts = [
            part for item in output if item.get("type") == "message" for part in item["content"]
        ]
        refusal = "".join(str(part["refusal"]) for part in parts if part.get("type") == "refusal")
        written = [part for part in parts if part.get("type") == "output_text"]
        logprobs = [each for part in written for each in part.get("logprobs") or ()]
        calls = [
            {
                "id": storable(str(item["call_id"])),
                "name": storable(str(item["name"])),
                "arguments": storable(str(item["arguments"])),
            }
            for item in output
            if item.get("type") == "function_call"
        ]
        finish_reason = "refusal" if refusal else _finish_reason(response)
    except (AttributeError, KeyError, TypeError):
        raise unusable("response") from None
    return RawReply(
        text=storable(str(text_of(written) or refusal)),
        usage=usage_of(_usage(response.get("usage"))),
        elapsed_s=elapsed_s,
        finish_reason=finish_reason,
        logprobs=storable(logprobs) or None,
        tool_calls=calls,
    )


def _items(message: Message) -> Iterator[dict[str, Any]]:
    """One chat message in the form of input items."""
    if message["role"] == "tool":
        call_id, output = message["tool_call_id"], message["content"]
        yield {"type": "function_call_output", "call_id": call_id, "output": output}
        return
    if message.get("content"):
        yield {"role": message["role"], "content": message["content"]}
    for call in message.get("tool_calls") or ():
        called = {"call_id": call["id"], "name": call["name"], "arguments": call["arguments"]}
        yield {"type": "function_call", **called}


def _finish_reason(response: Mapping[str, Any]) -> str:
    """In the words of chat completions."""
    why = (response.get("incomplete_details") or {}).get("reason")
    return {"max_output_tokens": LENGTH}.get(why, str(why)) if why else "stop"


def _usage(usage: Any) -> Any:
    if not isinstance(usage, Mapping):
        return None
    return {
        "prompt_tokens": usage.get("input_tokens"),
        "completion_tokens": usage.get("output_tokens"),
        "prompt_tokens_details": usage.get("input_tokens_details"),
        "completion_tokens_details": usage.get("output_tokens_details"),
    }
