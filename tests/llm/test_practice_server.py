"""The practice model over real HTTP, asked by the openai client as any model is."""

from __future__ import annotations

import asyncio
import base64
import json
import math
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

from llm.practice.server import serve
from llm.prompts import fence

if TYPE_CHECKING:
    import openai

KEY = b"key"
HISTORY = "Agent A (You), opening position: Yes. All there.\n\nAgent B, opening position: No. Not."
PROMPT = "\n".join(
    [
        fence("query", "Why is the sky blue?", KEY),
        fence("answer", "(1) air scatters blue light most", KEY),
        fence("chunk", "Small molecules of air scatters blue light. Birds fly.", KEY),
        fence("history", HISTORY, KEY),
    ]
)


def client_package() -> Any:
    """openai takes longer to load than these tests take, and every process collects them."""
    return import_module("openai")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serve() as url:
        yield url


@pytest.fixture
def client(url: str) -> Iterator[openai.OpenAI]:
    with client_package().OpenAI(base_url=url, api_key="none", max_retries=0) as client:
        yield client


def ask(client: openai.OpenAI, name: str, prompt: str = PROMPT, **more: Any) -> Any:
    schema = {"name": name, "schema": {"type": "object"}, "strict": True}
    return client.chat.completions.create(
        **{
            "model": "practice-1",
            "messages": [{"role": "user", "content": prompt}],
            "response_format": {"type": "json_schema", "json_schema": schema},
            **more,
        }
    )


def test_debate_turn_answers_by_its_schema(client: openai.OpenAI) -> None:
    reply = ask(client, "debate_turn", n=3)
    answer = json.loads(reply.choices[0].message.content)
    assert len(reply.choices) == 1
    assert list(answer) == ["reference", "reason", "response"]
    assert answer["reference"] == ["Small molecules of air scatters blue light."]
    assert answer["response"] == "yes"
    assert reply.choices[0].finish_reason == "stop"


def test_filter_answers_by_its_schema_and_counts_the_texts(client: openai.OpenAI) -> None:
    reply = ask(client, "is_supported")
    assert json.loads(reply.choices[0].message.content) == {"is_supported": False}
    assert reply.usage.prompt_tokens == math.ceil(len(PROMPT) / 4)
    assert reply.usage.completion_tokens == math.ceil(len('{"is_supported": false}') / 4)
    assert reply.usage.prompt_tokens_details.cached_tokens == 0


def test_the_same_question_gets_the_same_answer(client: openai.OpenAI) -> None:
    assert ask(client, "debate_turn") == ask(client, "debate_turn")


def test_logprobs_rebuild_the_text_and_doubt_only_the_verdict(client: openai.OpenAI) -> None:
    choice = ask(client, "debate_turn", logprobs=True, top_logprobs=2).choices[0]
    pieces = choice.logprobs.content
    assert "".join(piece.token for piece in pieces) == choice.message.content
    doubted = [piece for piece in pieces if piece.logprob < 0]
    assert [piece.token for piece in doubted] == ["yes"]
    top = {entry.token: math.exp(entry.logprob) for entry in doubted[0].top_logprobs}
    assert top["yes"] > 0.5
    assert sum(top.values()) == pytest.approx(1)
    assert ask(client, "debate_turn").choices[0].logprobs is None


SCHEMAS = "debate_turn, solo_turn, aspect_turn"


@pytest.mark.parametrize(
    ("name", "more", "error", "words"),
    [
        ("poem", {}, "BadRequestError", SCHEMAS),
        ("debate_turn", {"response_format": {"type": "text"}}, "BadRequestError", SCHEMAS),
        ("debate_turn", {"prompt": "Hello"}, "BadRequestError", "has a block <chunk"),
        ("debate_turn", {"model": "gpt-5"}, "NotFoundError", "practice-1"),
        ("debate_turn", {"stream": True}, "BadRequestError", "stream"),
    ],
    ids=["schema", "no schema", "no chunk", "model", "stream"],
)
def test_what_it_does_not_take_is_refused_with_a_clear_message(
    client: openai.OpenAI, name: str, more: dict[str, Any], error: str, words: str
) -> None:
    with pytest.raises(getattr(client_package(), error), match=words):
        ask(client, name, **more)


def test_models_are_listed(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["practice-1"]


def embed(client: openai.OpenAI, texts: list[str], **more: Any) -> list[Any]:
    reply = client.embeddings.create(model="practice-1", input=texts, **more)
    return [entry.embedding for entry in reply.data]


def test_embeddings_of_texts_with_shared_words_are_close(client: openai.OpenAI) -> None:
    texts = ["blue sky light", "light of the blue sky", "tax return form", ""]
    sky, same, tax, empty = embed(client, texts, encoding_format="float")
    assert math.dist(sky, same) < math.dist(sky, tax)
    assert math.hypot(*sky) == pytest.approx(1)
    assert empty == [0.0] * 256


def test_embeddings_in_base64_are_the_same_vectors(client: openai.OpenAI) -> None:
    (floats,) = embed(client, ["blue sky"], encoding_format="float", dimensions=8)
    (packed,) = embed(client, ["blue sky"], encoding_format="base64", dimensions=8)
    assert struct.unpack("<8f", base64.b64decode(packed)) == pytest.approx(floats)


def test_latency_is_added_to_every_answer() -> None:
    async def run(slow: str, quick: str) -> bool:
        """Whether the slow one has answered once the quick one, asked after it, has."""
        async with (
            client_package().AsyncOpenAI(base_url=slow, api_key="none") as first,
            client_package().AsyncOpenAI(base_url=quick, api_key="none") as second,
        ):
            waiting = asyncio.create_task(ask(first, "is_supported"))
            await second.models.list()
            await ask(second, "is_supported")
            waiting.cancel()
            return waiting.done() and not waiting.cancelled()

    with serve(latency_ms=600_000) as slow, serve(latency_ms=1) as quick:
        assert not asyncio.run(run(slow, quick))


def test_taken_port_is_reported(url: str) -> None:
    port = int(url.split(":")[2].split("/")[0])
    with pytest.raises(OSError, match=str(port)), serve(port):
        pass


def test_many_at_once_are_answered(url: str) -> None:
    async def run() -> list[str]:
        async with client_package().AsyncOpenAI(base_url=url, api_key="none") as client:
            replies = await asyncio.gather(*(ask(client, "is_supported") for _ in range(50)))
        return [reply.choices[0].message.content for reply in replies]

    assert asyncio.run(run()) == ['{"is_supported": false}'] * 50


def test_command_prints_its_address_and_stops_on_sigterm() -> None:
    manage = Path(__file__).resolve().parents[2] / "manage.py"
    command = [sys.executable, str(manage), "practice_model", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        with client_package().OpenAI(base_url=url, api_key="none") as client:
            assert [model.id for model in client.models.list()] == ["practice-1"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=240) == 0


def look(url: str) -> None:
    with urlopen(f"{url}/models") as answer:
        assert answer.status == 200


def test_client_that_goes_away_while_asking_is_no_error(url: str, caplog) -> None:
    place = urlsplit(url)
    with socket.create_connection((place.hostname, place.port)) as client:
        head = "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"
        client.sendall(head.encode())
        look(url)
    # Two more answers: what the server made of the one that left is behind it by then.
    look(url)
    look(url)
    assert [record.levelname for record in caplog.records] == []


def test_tools_are_called_once_and_their_result_is_told(client: openai.OpenAI) -> None:
    properties = {"query": {"type": "string"}, "count": {"type": "integer"}}
    function = {"name": "search", "parameters": {"type": "object", "properties": properties}}
    messages: list[Any] = [{"role": "user", "content": "Who was the first programmer?"}]
    tools: Any = [{"type": "function", "function": function}]
    given = {"model": "practice-1", "tools": tools}
    choice = client.chat.completions.create(messages=messages, **given).choices[0]
    (call,) = choice.message.tool_calls or ()
    assert (choice.finish_reason, call.type) == ("tool_calls", "function")
    assert call.function.name == "search"  # type: ignore[union-attr]
    assert json.loads(call.function.arguments) == {  # type: ignore[union-attr]
        "query": "Who was the first programmer?",
        "count": 5,
    }
    messages += [
        choice.message.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": call.id, "content": "Ada Lovelace."},
    ]
    last = client.chat.completions.create(messages=messages, **given).choices[0]
    assert (last.finish_reason, last.message.content) == ("stop", "Ada Lovelace.")


def test_a_temperature_misreads_the_coverage_and_the_same_question_alike(client) -> None:
    """Three of five words are there, which is the bound of `relevance`."""
    words = "Small molecules of air scatters blue, number"
    prompts = [PROMPT.replace("Small molecules of air scatters blue light", f"{words} {n}")
               for n in range(12)]  # fmt: skip

    def answers(temperature: float) -> list[str]:
        found = [ask(client, "relevance", each, temperature=temperature) for each in prompts]
        return [json.loads(each.choices[0].message.content)["answer"] for each in found]

    assert answers(0.0) == ["yes"] * 12
    assert set(answers(1.0)) == {"yes", "no"}
    assert answers(1.0) == answers(1.0)
