"""The two ends of a call in OpenAI's three interfaces and in those of rerank servers: the body of a
request, and what came back as a Reply. Pure.

Chat completions, the Responses API (platform.openai.com/docs/api-reference/responses; some models
answer there only), and embeddings; llm/reranking.py has the shapes of rerank servers.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt
import orjson

from llm import reranking
from llm.errors import ErrorClass, Transient
from llm.parsing import storable
from llm.profiles import Profile, messages_for
from llm.requests import LENGTH, Message, Reply, Request, TextsRequest, ToolCall, Usage, count

_TOP_LOGPROBS: Final = 5
_CALLED: Final = ("name", "arguments")
_MOST_DIMENSIONS: Final = 65_536
LITTLE: Final = np.dtype("<f4")


class EmbeddingRequest(TextsRequest):
    """A request for vectors."""


def embedding_request(
    *, endpoint: str, model: str, texts: Sequence[str], dimensions: int | None = None
) -> EmbeddingRequest:
    """Ask for the vectors of these texts; `dimensions` shortens them where the model can."""
    more = {} if dimensions is None else {"dimensions": dimensions}
    return EmbeddingRequest.of("embedding", endpoint, model, texts, **more)


def pack(vectors: npt.NDArray[np.float32]) -> str:
    """Vectors as the ledger keeps them: how many, how long, the numbers in base64."""
    rows, width = vectors.shape
    return f"{rows}x{width}:{b64encode(vectors.astype(LITTLE).tobytes()).decode('ascii')}"


def unpack(text: str) -> npt.NDArray[np.float32]:
    """The same back; raises ValueError for a text that `pack` did not write."""
    shape, _, numbers = text.partition(":")
    rows, width = map(int, shape.split("x"))
    found = np.frombuffer(b64decode(numbers, validate=True), LITTLE)
    return found.reshape(rows, width).astype(np.float32)


def written(request: Request, profile: Profile) -> tuple[str, dict[str, Any]]:
    """The path and the body of the request, as the model's profile has it."""
    if isinstance(request, EmbeddingRequest):
        body = {"model": request.model, "input": request.texts, "encoding_format": "base64"}
        return "/embeddings", body | dict(request.schema)
    if isinstance(request, reranking.RerankRequest):
        return reranking.PATH, reranking.body(request)
    asked = {k: v for k, v in request.parameters.items() if k not in profile.without}
    if profile.api == "responses":
        return "/responses", _response_body(request, profile, asked)
    return "/chat/completions", _chat_body(request, profile, asked)


def read(answer: Any, request: Request, profile: Profile, *, elapsed_s: float) -> Reply:
    """Take text, refusal and calls of tools out of a decoded answer of any shape.

    Raises Transient for a 200 that is no such answer, such as a proxy's error page or an empty
    list of choices: asked again, the same endpoint usually answers. It may have been paid for.
    """
    kind = "chat completion"
    reader: Callable[[Any, Any, float], Reply] = _read_chat
    if isinstance(request, EmbeddingRequest):
        kind, reader = "list of vectors, one for each text", _read_vectors
    elif isinstance(request, reranking.RerankRequest):
        kind, reader = "list of scores, one for each document", reranking.read
    elif profile.api == "responses":
        kind, reader = "response", _read_response
    try:
        return reader(answer, request, elapsed_s)
    except (AttributeError, LookupError, TypeError, ValueError, OverflowError):
        raise Transient(
            f"The endpoint answered with something that is no {kind}.",
            maybe_paid=True,
            error_class=ErrorClass.BAD_ANSWER,
        ) from None


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


def _chat_body(request: Request, profile: Profile, asked: dict[str, Any]) -> dict[str, Any]:
    messages = [_chat_message(each) for each in messages_for(profile, request)]
    body = {"model": request.model, "messages": messages, **asked}
    if messages[-1]["role"] == "assistant":  # what vLLM and SGLang go on from
        body |= {"continue_final_message": True, "add_generation_prompt": False}
    if "logprobs" in body:
        body["top_logprobs"] = _TOP_LOGPROBS
    if "max_tokens" in body:
        body[profile.limit] = body.pop("max_tokens")
    if request.tools:
        body["tools"] = [{"type": "function", "function": dict(tool)} for tool in request.tools]
    if request.schema_name and profile.answer == "json_schema":
        body["response_format"] = {"type": "json_schema", "json_schema": _schema(request)}
    elif request.schema_name and profile.answer == "json_object":
        body["response_format"] = {"type": "json_object"}
    return body


def _schema(request: Request) -> dict[str, Any]:
    return {"name": request.schema_name, "schema": dict(request.schema), "strict": True}


def _chat_message(message: Message) -> Message:
    if not (calls := message.get("tool_calls")):
        return message
    functions = [
        {"id": call["id"], "type": "function", "function": {n: call[n] for n in _CALLED}}
        for call in calls
    ]
    return {**message, "content": message.get("content") or None, "tool_calls": functions}


def _read_chat(answer: Any, request: Request, elapsed_s: float) -> Reply:
    """The first choice."""
    choice = answer["choices"][0]
    message = choice["message"]
    refusal, calls = message.get("refusal"), message.get("tool_calls") or ()
    logprobs = (choice.get("logprobs") or {}).get("content") or None
    return Reply(
        text=storable(str(_text(message.get("content")) or refusal or "")),
        usage=_usage(answer.get("usage"), "prompt", "completion"),
        elapsed_s=elapsed_s,
        finish_reason="refusal" if refusal else str(choice.get("finish_reason") or ""),
        logprobs=storable(logprobs) if isinstance(logprobs, list) else None,
        tool_calls=[_tool_call(each["id"], each["function"]) for each in calls],
    )


def _tool_call(call_id: Any, function: Mapping[str, Any]) -> ToolCall:
    arguments = function.get("arguments")
    if not isinstance(arguments, str):  # Ollama's own form: an object
        arguments = json.dumps(arguments)
    named = {"id": str(call_id), "name": str(function["name"]), "arguments": arguments}
    return cast(ToolCall, storable(named))


def _response_body(request: Request, profile: Profile, asked: dict[str, Any]) -> dict[str, Any]:
    """Nothing is kept at the endpoint."""
    body: dict[str, Any] = {
        "model": request.model,
        "input": [item for message in messages_for(profile, request) for item in _items(message)],
        "store": False,
    }
    body |= {name: asked[name] for name in ("temperature", "top_p") if name in asked}
    if "max_tokens" in asked:
        body["max_output_tokens"] = asked["max_tokens"]
    if "reasoning_effort" in asked:
        body["reasoning"] = {"effort": asked["reasoning_effort"]}
    if "logprobs" in asked:
        body |= {"include": ["message.output_text.logprobs"], "top_logprobs": _TOP_LOGPROBS}
    if request.tools:
        body["tools"] = [{"type": "function", **tool} for tool in request.tools]
    if request.schema_name and profile.answer != "words":
        bound = _schema(request) if profile.answer == "json_schema" else {}
        body["text"] = {"format": {"type": profile.answer, **bound}}
    return body


def _items(message: Message) -> Iterator[dict[str, Any]]:
    """One chat message in the form of input items."""
    if message["role"] == "tool":
        call_id, output = message["tool_call_id"], message["content"]
        yield {"type": "function_call_output", "call_id": call_id, "output": output}
        return
    if message.get("content"):
        yield {"role": message["role"], "content": message["content"]}
    for call in message.get("tool_calls") or ():
        yield {"type": "function_call", "call_id": call["id"], **{n: call[n] for n in _CALLED}}


def _read_response(answer: Any, request: Request, elapsed_s: float) -> Reply:
    output = [item for item in answer["output"] if isinstance(item, Mapping)]
    parts = [part for item in output if item.get("type") == "message" for part in item["content"]]
    refusal = "".join(str(part["refusal"]) for part in parts if part.get("type") == "refusal")
    texts = [part for part in parts if part.get("type") == "output_text"]
    calls = [item for item in output if item.get("type") == "function_call"]
    why = (answer.get("incomplete_details") or {}).get("reason")
    ended = LENGTH if why == "max_output_tokens" else str(why or "stop")
    return Reply(
        text=storable(str(_text(texts) or refusal)),
        usage=_usage(answer.get("usage"), "input", "output"),
        elapsed_s=elapsed_s,
        finish_reason="refusal" if refusal else ended,
        logprobs=storable([each for part in texts for each in part.get("logprobs") or ()]) or None,
        tool_calls=[_tool_call(each["call_id"], each) for each in calls],
    )


def _read_vectors(answer: Any, request: Request, elapsed_s: float) -> Reply:
    """The vectors, packed; base64 or lists of numbers, in any order."""
    rows = sorted(answer["data"], key=lambda row: row["index"])
    if [row["index"] for row in rows] != list(range(len(request.messages))):
        raise ValueError("Other texts than those that were sent.")
    vectors = np.array([_vector(row["embedding"]) for row in rows], LITTLE)
    if vectors.ndim != 2 or not np.isfinite(vectors).all() or not vectors.shape[1] > 0:
        raise ValueError("Those are no vectors.")
    usage = answer.get("usage")
    counted = {"completion_tokens": 0, **usage} if isinstance(usage, Mapping) else None
    return Reply(pack(vectors), _usage(counted, "prompt", "completion"), elapsed_s)


def _vector(given: Any) -> npt.NDArray[np.float32]:
    if isinstance(given, str):
        return np.frombuffer(b64decode(given, validate=True), LITTLE)
    is_short = isinstance(given, list) and len(given) <= _MOST_DIMENSIONS
    if not is_short or not all(type(number) in (int, float) for number in given):
        raise ValueError("That is no vector.")
    return np.array(given, LITTLE)


def _text(content: Any) -> Any:
    """The text of a message; some endpoints send it in parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content)
    return content


def _usage(usage: Any, read: str, wrote: str) -> Usage | None:
    """The tokens as counted there; None, which is unknown and not free, where that is no count."""

    def detail(of: str, name: str) -> int:
        # Many endpoints leave details out or send them as null.
        details = usage.get(f"{of}_tokens_details")
        return count((isinstance(details, Mapping) and details.get(name)) or 0)

    try:
        counted = count(usage[f"{read}_tokens"])
        cached = min(counted, detail(read, "cached_tokens"))
        said, thought = count(usage[f"{wrote}_tokens"]), detail(wrote, "reasoning_tokens")
        return Usage(counted, cached, said, thought)
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
