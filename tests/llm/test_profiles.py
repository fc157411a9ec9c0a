"""Models that take other parameters: endpoints that refuse as their documentation says."""

import asyncio
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from aiohttp import web

from llm import client
from llm.errors import Permanent
from llm.gateway import Gateway
from llm.models import Call
from llm.profiles import Profile, known, mended
from tests.llm.stub import Stub, ask, completion

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def nothing_learnt() -> Iterator[None]:
    client._learnt.clear()
    yield
    client._learnt.clear()


def error(message: str, **more: Any) -> web.Response:
    body = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return web.json_response({"error": body | more}, status=400)


def openai_reasoning(body: dict[str, Any]) -> web.Response | None:
    """platform.openai.com/docs/guides/reasoning: o-series and gpt-5."""
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


def openai_o1_preview(body: dict[str, Any]) -> web.Response | None:
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
    return openai_reasoning(body)


def deepseek(body: dict[str, Any]) -> web.Response | None:
    """api-docs.deepseek.com/guides/json_mode: JSON objects only, and the prompt must say so."""
    kind = body.get("response_format", {}).get("type")
    if kind == "json_schema":
        return error("This response_format type is unavailable now")
    if kind == "json_object" and "json" not in json.dumps(body["messages"]).lower():
        return error("Prompt must contain the word 'json' in some form to use 'json_object'.")
    return None


def openrouter(body: dict[str, Any]) -> web.Response | None:
    """openrouter.ai/docs: the provider's own refusal is passed on as text."""
    if (refusal := openai_reasoning(body)) is None:
        return None
    raw = refusal.text
    return error("Provider returned error", code=400, metadata={"raw": raw, "provider_name": "x"})


def words_only(body: dict[str, Any]) -> web.Response | None:
    """A server without any JSON mode."""
    if "response_format" in body:
        return error("response_format is not supported by this server")
    return None


ENDPOINTS = {each.__name__: each for each in (
    openai_reasoning, openai_o1_preview, deepseek, openrouter, words_only
)}  # fmt: skip


def asked(rule: Any, *, count: int = 1, model: str = "house-model") -> tuple[list[Any], Stub]:
    """So many different requests at once to an endpoint with that rule; answers or errors."""

    async def run() -> tuple[list[Any], Stub]:
        async with Stub("unused") as stub:

            async def step() -> web.StreamResponse:
                return rule(stub.asked[-1]) or web.json_response(completion("yes"))

            stub._script = (step,)
            gateway = Gateway(stub.endpoint, concurrency=8, owner="w", rng=random.Random(1))
            async with gateway:
                requests = [
                    ask(
                        model=model,
                        messages=(
                            {"role": "system", "content": "Decide."},
                            {"role": "user", "content": f"Is {n} so?"},
                        ),
                        max_tokens=500,
                        top_p=0.9,
                        logprobs=True,
                    )
                    for n in range(count)
                ]
                given = [gateway.complete(request, "debate:1") for request in requests]
                return await asyncio.gather(*given, return_exceptions=True), stub

    return asyncio.run(run())


@pytest.mark.parametrize("rule", ENDPOINTS.values(), ids=ENDPOINTS.keys())
def test_every_request_is_answered_once_the_refusals_are_understood(rule) -> None:
    replies, stub = asked(rule, count=30)
    assert [getattr(reply, "text", reply) for reply in replies] == ["yes"] * 30
    assert Call.objects.filter(status="answered").count() == 30
    # Each of at most six ways is refused to the calls that were in flight, and not tried again.
    assert len(stub.asked) <= 30 + 8 * 6
    assert rule(stub.asked[-1]) is None


def test_refused_attempts_stand_in_the_ledger() -> None:
    asked(deepseek)
    calls = Call.objects.order_by("pk").values_list("attempt", "status")
    assert list(calls) == [(1, "failed"), (2, "answered")]
    # So a label can be traced to what its model was really asked.
    first, second = (call.request for call in Call.objects.order_by("pk"))
    assert "asked_as" not in first
    assert second["asked_as"]["answer"] == "json_object"


def test_what_is_known_of_a_family_costs_no_refusal() -> None:
    _, stub = asked(openai_reasoning, model="gpt-5-mini")
    assert len(stub.asked) == 1
    assert stub.asked[0]["max_completion_tokens"] == 500


def test_a_refusal_that_nothing_can_mend_is_told_in_the_endpoints_words() -> None:
    def too_many(body: dict[str, Any]) -> web.Response:
        for name in ("max_tokens", "max_completion_tokens"):
            if name in body:
                return error(f"{name} is too large: 500. This model takes 16.", param=name)
        return error("No limit was given.")

    (refusal,), stub = asked(too_many)
    assert isinstance(refusal, Permanent)
    assert "is too large: 500" in refusal.message
    assert len(stub.asked) == 1


def test_an_answer_in_words_is_asked_for_with_its_schema() -> None:
    _, stub = asked(words_only)
    assert '{"type": "object"}' in stub.asked[-1]["messages"][0]["content"]


@pytest.mark.parametrize(
    ("model", "profile"),
    [
        ("gpt-4.1", Profile()),
        ("gpt-5-chat-latest", Profile(limit="max_completion_tokens")),
        ("openai/o4-mini", known("o4-mini")),
        ("o1js", Profile()),
        ("llama-3.3-70b-instruct", Profile()),
    ],
)
def test_families_are_known_by_their_names(model: str, profile: Profile) -> None:
    assert known(model) == profile


@pytest.mark.parametrize(
    "words",
    [
        "The prompt was filtered by the content policy.",
        "temperature Invalid value: temperature must be at most 1.",
    ],
)
def test_a_refusal_about_the_question_or_a_value_changes_nothing(words: str) -> None:
    assert mended(Profile(), words) is None
