"""Answers that are not simply a text: cut off, refused, calls of tools, the second interface."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from llm.client import Client
from llm.errors import ErrorClass, Permanent, Refusal
from llm.gateway import Gateways
from llm.ledger.reading import transcript
from llm.models import Call
from llm.profiles import Profile
from llm.requests import Reply, Request, Usage
from tests.llm.stub import Step, Stub, ask, completion, status, through
from tests.stub.endpoints import answered, azure, azure_filter

pytestmark = pytest.mark.django_db(transaction=True)


def ended(text: str | None, finish_reason: str, **message: Any) -> Step:
    """An answer that ended for that reason."""
    said = {"role": "assistant", "content": text, **message}
    choice = {"index": 0, "finish_reason": finish_reason, "message": said}
    return status(200, body=completion(None, choices=[choice]))


def through_gateway(
    use: Callable[[Gateways], Awaitable[Any]], *script: Step
) -> tuple[Any, list[dict[str, Any]]]:
    """What came of it, and the bodies that were sent."""

    async def told(stub: Stub, gateways: Gateways) -> tuple[Any, list[dict[str, Any]]]:
        try:
            return await use(gateways), stub.asked
        except Permanent as error:
            return error, stub.asked

    return through(told, *script)


def complete(*script: Step, **changes: Any) -> tuple[Any, list[dict[str, Any]]]:
    return through_gateway(lambda gateways: gateways.complete(ask(**changes), "x"), *script)


def test_an_answer_that_was_cut_off_is_asked_once_more_with_twice_the_tokens() -> None:
    reply, asked = complete(ended('{"respon', "length"), "yes", max_tokens=100)
    assert (reply.text, [body["max_tokens"] for body in asked]) == ("yes", [100, 200])
    again, asked = complete("never sent", max_tokens=100)
    assert (again.text, again.call_id, asked) == ("yes", reply.call_id, [])


def test_an_answer_that_is_cut_off_twice_is_no_answer() -> None:
    error, asked = complete(ended('{"respon', "length"), max_tokens=100)
    assert error.error_class is ErrorClass.CUT_OFF
    assert "100 tokens and again at 200" in error.message
    assert len(asked) == 2
    assert Call.objects.answered().count() == 2  # both were paid for, and are kept


def test_without_a_longest_length_there_is_nothing_to_double() -> None:
    reply, asked = complete(ended("as far as it goes", "length"))
    assert (reply.text, reply.is_cut, len(asked)) == ("as far as it goes", True, 1)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (ended(None, "stop", refusal="I cannot help with that."), "I cannot help with that."),
        (ended("", "content_filter"), "No reason was given."),
    ],
    ids=["of the model", "of a filter"],
)
def test_a_refusal_is_paid_kept_and_told_as_one(step: Step, words: str) -> None:
    for script in ([step], ["never sent"]):
        error, _ = complete(*script)
        assert isinstance(error, Refusal)
        assert error.message == words
    assert Call.objects.get().status == "answered"


TOOLS = ({"name": "search", "description": "Find passages.", "parameters": {"type": "object"}},)
CALLED = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"q": "x"}'}}


def test_tools_are_offered_called_and_answered_in_one_transcript() -> None:
    first = ask("Who was it?", tools=TOOLS, schema_name="", schema={})

    async def converse(gateways: Gateways) -> tuple[Reply, Reply]:
        called = await gateways.complete(first, "agent:1")
        told = {"role": "tool", "tool_call_id": called.tool_calls[0]["id"], "content": "Ada"}
        said = {"role": "assistant", "content": "", "tool_calls": list(called.tool_calls)}
        return called, await gateways.complete(first.followed_by(said, told), "agent:1")

    (called, last), asked = through_gateway(
        converse, ended(None, "tool_calls", tool_calls=[CALLED]), "It was Ada."
    )
    assert called.tool_calls == [{"id": "c1", "name": "search", "arguments": '{"q": "x"}'}]
    assert (called.finish_reason, last.text) == ("tool_calls", "It was Ada.")
    assert asked[0]["tools"] == [{"type": "function", "function": TOOLS[0]}]
    assert "response_format" not in asked[0]
    assert [message["role"] for message in asked[1]["messages"]] == ["user", "assistant", "tool"]
    assert asked[1]["messages"][1]["tool_calls"] == [CALLED]
    calls = list(Call.objects.order_by("pk"))
    assert [len(call.request["messages"]) for call in calls] == [1, 2]  # none is stored twice
    assert [said["role"] for said in transcript(calls[1])] == ["user", "assistant", "tool"]


def test_a_hundred_rounds_are_stored_as_what_each_of_them_adds() -> None:
    request: Request = ask("Begin.", tools=TOOLS)
    sizes = []
    for n in range(100):
        request = request.followed_by(
            {"role": "assistant", "content": f"Step {n}"}, {"role": "user", "content": "Go on."}
        )
        sizes.append(len(json.dumps(request.stored)))
    assert max(sizes) <= min(sizes) + 8
    assert len(request.messages) == 201


def test_the_order_of_a_conversation_makes_its_key() -> None:
    one, other = ({"role": "user", "content": text} for text in ("one", "other"))
    assert ask().followed_by(one).followed_by(other).key != ask().followed_by(one, other).key
    assert ask().followed_by(one, other).key == ask().followed_by(one, other).key


def send(rule: Any, request: Request, **endpoint: Any) -> tuple[Reply, Stub]:
    async def run() -> tuple[Reply, Stub]:
        async with Stub("unused") as stub:

            async def step() -> web.StreamResponse:
                path, headers, body = stub.paths[-1], stub.headers[-1], stub.asked[-1]
                return rule(path, headers, body) or answered(path, "yes")

            stub._script = (step,)
            url = endpoint.pop("base_url", stub.endpoint.base_url)
            root = stub.endpoint.base_url.removesuffix("/v1")
            there = replace(stub.endpoint, base_url=url.replace("ROOT", root), **endpoint)
            async with Client(there) as client:
                return await client.send(request), stub

    return asyncio.run(run())


def test_the_second_interface_says_the_same_in_its_own_words() -> None:
    messages = ({"role": "system", "content": "Decide."}, {"role": "user", "content": "Is it so?"})
    request = ask(messages=messages, max_tokens=50, reasoning_effort="low", logprobs=True)
    reply, stub = send(lambda *_: None, request, api="responses")
    assert stub.paths == ["/v1/responses"]
    schema = {"type": "json_schema", "name": "debate_turn", "schema": {"type": "object"}}
    assert stub.asked[0] == {
        "model": "stub-1",
        "input": list(messages),
        "store": False,
        "temperature": 0.0,
        "max_output_tokens": 50,
        "reasoning": {"effort": "low"},
        "include": ["message.output_text.logprobs"],
        "top_logprobs": 5,
        "text": {"format": {**schema, "strict": True}},
    }
    assert (reply.text, reply.finish_reason) == ("yes", "stop")
    assert reply.usage == Usage(input=100, output=20, reasoning=12)


def test_the_second_interface_tells_cuts_refusals_and_tool_calls() -> None:
    def given(**changes: Any) -> Reply:
        body = {"object": "response", "status": "completed", "output": [], "usage": None} | changes
        return send(lambda *_: web.json_response(body), ask(), api="responses")[0]

    cut = given(status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    assert (cut.finish_reason, cut.usage) == ("length", None)
    part = {"type": "refusal", "refusal": "I would rather not."}
    refused = given(output=[{"type": "message", "content": [part]}])
    assert (refused.finish_reason, refused.text) == ("refusal", "I would rather not.")
    call = {"type": "function_call", "call_id": "c1", "name": "search", "arguments": "{}"}
    assert given(output=[call]).tool_calls == [{"id": "c1", "name": "search", "arguments": "{}"}]


@pytest.mark.parametrize("profile", [Profile(api="responses"), Profile()], ids=["new", "chat"])
def test_tool_results_travel_in_both_interfaces(profile: Profile) -> None:
    said = {"role": "assistant", "content": "", "tool_calls": [
        {"id": "c1", "name": "search", "arguments": "{}"}
    ]}  # fmt: skip
    request = ask(tools=TOOLS).followed_by(
        said, {"role": "tool", "tool_call_id": "c1", "content": "Ada"}
    )
    _, stub = send(lambda *_: None, request, api=profile.api)
    sent = stub.asked[0]
    if profile.api == "chat":
        assert sent["messages"][2] == {"role": "tool", "tool_call_id": "c1", "content": "Ada"}
    else:
        assert sent["input"][1:] == [
            {"type": "function_call", "call_id": "c1", "name": "search", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "Ada"},
        ]
        assert sent["tools"] == [{"type": "function", **TOOLS[0]}]


AZURE = {"base_url": "ROOT", "api_version": "2025-04-01-preview"}


def test_azure_is_asked_at_its_deployments_with_its_own_key() -> None:
    reply, stub = send(azure, ask(), **AZURE)
    assert reply.text == "yes"
    assert stub.paths == [
        "/openai/deployments/stub-1/chat/completions?api-version=2025-04-01-preview"
    ]


def test_a_prompt_that_azure_filters_is_a_refusal_that_costs_nothing() -> None:
    reply, _ = send(azure_filter, ask(), **AZURE)
    assert reply.finish_reason == "content_filter"
    assert reply.text.startswith("The response was filtered")
    assert reply.usage == Usage(0)
