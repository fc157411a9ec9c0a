"""Endpoints that answer as their public documentation says: what they refuse, and in which words.

A rule takes the path, the headers and the body of a request, and gives the refusal, or None where
the endpoint answers. What it answers is for the test to say (`answered` puts it in its form).
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from aiohttp import web

Body = dict[str, Any]
Rule = Callable[[str, Mapping[str, str], Body], web.Response | None]


def error(message: str, *, status: int = 400, **more: Any) -> web.Response:
    """An error in OpenAI's form."""
    body = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return web.json_response({"error": body | more}, status=status)


def openai_gpt_4_1(path: str, headers: Mapping[str, str], body: Body) -> web.Response | None:
    """platform.openai.com/docs/api-reference/chat: takes all parameters of a chat completion."""
    return None


def openai_gpt_5(path: str, headers: Mapping[str, str], body: Body) -> web.Response | None:
    """platform.openai.com/docs/guides/reasoning: gpt-5 and the o-series."""
    if "max_tokens" in body:
        return error(
            "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead.",
            param="max_tokens",
            code="unsupported_parameter",
        )
    for name in ("temperature", "top_p", "logprobs"):
        if name in body:
            return error(
                f"Unsupported value: '{name}' does not support {body[name]} with this model. "
                "Only the default (1) value is supported.",
                param=name,
                code="unsupported_value",
            )
    return None


def openai_gpt_5_pro(path: str, headers: Mapping[str, str], body: Body) -> web.Response | None:
    """platform.openai.com/docs/models/gpt-5-pro: answers in the Responses API alone."""
    if path.endswith("/chat/completions"):
        return error(
            "This model is only supported in v1/responses and not in v1/chat/completions.",
            status=404,
            param="model",
        )
    if "temperature" in body:
        return error(
            "Unsupported parameter: 'temperature' is not supported with this model.",
            param="temperature",
        )
    return None


def openai_o1_preview(path: str, headers: Mapping[str, str], body: Body) -> web.Response | None:
    """The first o-series models knew no system message and no schema."""
    if any(message["role"] == "system" for message in body["messages"]):
        return error(
            "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
            param="messages[0].role",
            code="unsupported_value",
        )
    if body.get("response_format", {}).get("type") == "json_schema":
        return error(
            "Invalid parameter: 'response_format' of type 'json_schema' is not supported with "
            "this model.",
            param="response_format",
        )
    return openai_gpt_5(path, headers, body)


def azure(path: str, headers: Mapping[str, str], body: Body) -> web.Response | None:
    """learn.microsoft.com/azure/ai-services/openai/reference: deployments and their key."""
    if "/openai/deployments/" not in path or "api-version=" not in path:
        return error("Resource not found", status=404, code="404")
    if "Api-Key" not in headers and "api-key" not in headers:
        return error("Access denied due to invalid subscription key.", status=401, code="401")
    return None


def azure_filter(path: str, headers: Mapping[str, str], body: Body) -> web.Response | None:
    """learn.microsoft.com/azure/ai-services/openai/concepts/content-filter: of prompts."""
    return azure(path, headers, body) or error(
        "The response was filtered due to the prompt triggering Azure OpenAI's content "
        "management policy. Please modify your prompt and retry.",
        param="prompt",
        code="content_filter",
        innererror={"code": "ResponsibleAIPolicyViolation"},
    )


def deepseek(path: str, headers: Mapping[str, str], body: Body) -> web.Response | None:
    """api-docs.deepseek.com/guides/json_mode: JSON objects only, and the prompt must say so."""
    kind = body.get("response_format", {}).get("type")
    if kind == "json_schema":
        return error("This response_format type is unavailable now")
    if kind == "json_object" and "json" not in json.dumps(body["messages"]).lower():
        return error("Prompt must contain the word 'json' in some form to use 'json_object'.")
    return None


def deepseek_unpaid(path: str, headers: Mapping[str, str], body: Body) -> web.Response | None:
    """api-docs.deepseek.com/quick_start/error_codes: an empty account."""
    return error("Insufficient Balance", status=402, code="invalid_request_error")


def openrouter(path: str, headers: Mapping[str, str], body: Body) -> web.Response | None:
    """openrouter.ai/docs: the provider's own refusal is passed on as text."""
    if (refusal := openai_gpt_5(path, headers, body)) is None:
        return None
    raw = refusal.text
    return error("Provider returned error", code=400, metadata={"raw": raw, "provider_name": "x"})


def vllm(path: str, headers: Mapping[str, str], body: Body) -> web.Response | None:
    """docs.vllm.ai/en/latest/serving/openai_compatible_server: a context that is too short."""
    if body.get("max_tokens", 0) > 100_000:
        return error(
            "'max_tokens' or 'max_completion_tokens' is too large: This model's maximum context "
            "length is 32768 tokens.",
            code=400,
        )
    return None


def ollama_unknown(path: str, headers: Mapping[str, str], body: Body) -> web.Response | None:
    """docs.ollama.com/openai: a model that was not pulled."""
    words = f'model "{body["model"]}" not found, try pulling it first'
    return error(words, status=404, type="api_error")


def openai_quota(path: str, headers: Mapping[str, str], body: Body) -> web.Response | None:
    """platform.openai.com/docs/guides/error-codes: a quota has the status of a rate limit."""
    return error(
        "You exceeded your current quota, please check your plan and billing details.",
        status=429,
        type="insufficient_quota",
        code="insufficient_quota",
    )


def openai_wrong_key(path: str, headers: Mapping[str, str], body: Body) -> web.Response | None:
    """platform.openai.com/docs/guides/error-codes: a key that is not one, quoted half hidden."""
    return error(
        "Incorrect API key provided: sk-st*ub. You can find your API key at "
        "https://platform.openai.com/account/api-keys.",
        status=401,
        code="invalid_api_key",
    )


def words_only(path: str, headers: Mapping[str, str], body: Body) -> web.Response | None:
    """A server without any JSON mode."""
    if "response_format" in body:
        return error("response_format is not supported by this server")
    return None


def proxy_page(path: str, headers: Mapping[str, str], body: Body) -> web.Response | None:
    """A proxy between us and the endpoint that answers with a page of its own."""
    return web.Response(
        text="<html><h1>Sign in to the network</h1></html>", content_type="text/html"
    )


def answered(path: str, text: str) -> web.Response:
    """An answer with that text, in the form of the path's interface."""
    if not path.partition("?")[0].endswith("/responses"):
        message = {"role": "assistant", "content": text, "refusal": None}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        body: Body = {"object": "chat.completion", "choices": [choice], "usage": usage}
        return web.json_response(body)
    content = [{"type": "output_text", "text": text, "annotations": []}]
    output = [
        {"type": "reasoning", "summary": []},
        {"type": "message", "role": "assistant", "status": "completed", "content": content},
    ]
    details = {"output_tokens_details": {"reasoning_tokens": 12}}
    usage = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120, **details}
    return web.json_response(
        {"object": "response", "status": "completed", "output": output, "usage": usage}
    )
