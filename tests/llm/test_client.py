"""One attempt: what is sent, what comes back, and how each failure is classed."""

import asyncio
import gzip
import socket
import ssl
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from llm.client import Client
from llm.endpoints import Endpoint
from llm.errors import LLMError, Permanent, Transient
from llm.requests import Reply, Request, Usage
from tests.llm.stub import Step, Stub, after, ask, completion, hang_up, page, status


def send(step: Step, request: Request | None = None, *, deadline_s: float = 5) -> Reply:
    async def run() -> Reply:
        async with Stub(step) as stub, Client(stub.endpoint, deadline_s=deadline_s) as client:
            try:
                return await client.send(request or ask())
            finally:
                assert len(stub.asked) == 1

    return asyncio.run(run())


def failure(step: Step, **options: Any) -> LLMError:
    with pytest.raises(LLMError) as caught:
        send(step, **options)
    return caught.value


def test_answer_comes_with_usage_and_time() -> None:
    begun = time.perf_counter()
    reply = send(after(0.05, "yes"))
    assert reply.text == "yes"
    assert reply.usage == Usage(input=100, cached_input=40, output=20, reasoning=5)
    assert reply.finish_reason == "stop"
    assert 0 < reply.elapsed_s <= time.perf_counter() - begun


def test_request_carries_schema_and_only_the_parameters_that_are_set() -> None:
    async def run() -> tuple[dict[str, Any], dict[str, str]]:
        async with Stub("yes") as stub, Client(stub.endpoint) as client:
            await client.send(ask(max_tokens=99, logprobs=True))
            return stub.asked[0], stub.headers[0]

    body, headers = asyncio.run(run())
    schema = {"name": "debate_turn", "schema": {"type": "object"}, "strict": True}
    assert body == {
        "model": "stub-1",
        "messages": [{"role": "user", "content": "Is it so?"}],
        "response_format": {"type": "json_schema", "json_schema": schema},
        "temperature": 0.0,
        "max_tokens": 99,
        "logprobs": True,
        "top_logprobs": 5,
    }
    assert headers["Authorization"] == "Bearer sk-stub"


def test_reasoning_effort_is_sent_where_it_is_set_and_asks_anew() -> None:
    async def run() -> list[dict[str, Any]]:
        async with Stub("yes", "yes") as stub, Client(stub.endpoint) as client:
            for effort in ("", "low"):
                await client.send(ask(reasoning_effort=effort))
            return stub.asked

    plain, low = asyncio.run(run())
    assert "reasoning_effort" not in plain
    assert low == plain | {"reasoning_effort": "low"}
    keys = {ask(reasoning_effort=effort).key for effort in ("", "low", "high")}
    assert len(keys) == 3
    assert ask(reasoning_effort="").key == ask().key
    assert ask(reasoning_effort="low").stored["reasoning_effort"] == "low"


@pytest.mark.parametrize("code", [400, 401, 403, 404, 422, 307])
def test_refusals_are_permanent(code: int) -> None:
    error = failure(status(code, headers={"Location": "http://127.0.0.1:1/"}))
    assert isinstance(error, Permanent)
    assert str(error).startswith(f"HTTP {code}")


@pytest.mark.parametrize(
    ("code", "maybe_paid"),
    [(408, False), (409, False), (429, False), (500, True), (502, True), (503, False), (504, True)],
)
def test_passing_trouble_is_transient(code: int, maybe_paid: bool) -> None:
    error = failure(status(code))
    assert isinstance(error, Transient)
    assert (error.retry_after, error.maybe_paid) == (None, maybe_paid)


@pytest.mark.parametrize(
    ("code", "headers", "seconds"),
    [
        (503, {"Retry-After": "7"}, 7),
        (429, {"retry-after": "0.5"}, 0.5),
        (429, {"retry-after": "0"}, 0.0),
        (429, {"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        (429, {"retry-after": "Fri, 02 Jan 2026 03:00:00 GMT"}, None),
        *((429, {"retry-after": words}, None) for words in ("-1", "nan", "inf", "soon", "")),
    ],
)
def test_retry_after_in_all_its_forms(
    code: int, headers: dict[str, str], seconds: float | None
) -> None:
    assert failure(status(code, headers=headers)).retry_after == seconds


def test_retry_after_may_be_a_date() -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(days=1), usegmt=True)
    wait_s = failure(status(429, headers={"retry-after": soon})).retry_after
    assert wait_s is not None
    assert wait_s > 3600


NO_COMPLETIONS = {
    "a proxy's page": page("<html>Welcome</html>"),
    "a page that claims to be JSON": page("<html>", "application/json"),
    "an empty body": page("", "application/json"),
    "no choices": status(200, body=completion("yes", choices=[])),
    "choices of null": status(200, body=completion("yes", choices=None)),
    "a choice without message": status(200, body=completion("yes", choices=[{"index": 0}])),
    "an error with status 200": status(200, body={"error": {"message": "overloaded"}}),
    "a list": status(200, body=[1]),
    "a number": status(200, body=5),
}


@pytest.mark.parametrize("step", NO_COMPLETIONS.values(), ids=NO_COMPLETIONS.keys())
def test_200_without_completion_is_transient_and_may_be_paid(step: Step) -> None:
    error = failure(step)
    assert isinstance(error, Transient)
    assert error.maybe_paid


TWO = {"prompt_tokens": 7, "completion_tokens": 2}


@pytest.mark.parametrize(
    ("usage", "read"),
    [
        (TWO, Usage(input=7, output=2)),  # without details none of them
        # More cached tokens than tokens are no credit.
        (TWO | {"prompt_tokens_details": {"cached_tokens": 900}}, Usage(7, 7, 2)),
        # What is no count is unknown, and not nothing.
        (None, None),
        (TWO | {"prompt_tokens": "many"}, None),
        ({"prompt_tokens": 7}, None),
        (TWO | {"prompt_tokens": -7}, None),
        (TWO | {"completion_tokens": 10**12}, None),
        (["prompt_tokens"], None),
        (5, None),
    ],
    ids=str,
)
def test_usage_is_read_or_unknown(usage: Any, read: Usage | None) -> None:
    reply = send(status(200, body=completion("yes", usage=usage)))
    assert (reply.text, reply.usage) == ("yes", read)


REFUSED = {"role": "assistant", "content": None, "refusal": "I would rather not."}


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (completion(None), ""),
        (completion(None, choices=[{"index": 0, "message": REFUSED}]), "I would rather not."),
        (completion("a\x00b\ud800c"), "a\ufffdb\ufffdc"),
    ],
    ids=["without text", "a refusal", "characters that no database stores"],
)
def test_text_of_an_answer(body: dict[str, Any], text: str) -> None:
    assert send(status(200, body=body)).text == text


@pytest.mark.parametrize(
    ("step", "deadline_s", "words"),
    # A late answer would be no failure.
    [(after(30), 0.2, "0.2 seconds"), (hang_up(), 5, "broke before the answer was complete")],
    ids=["deadline", "broken connection"],
)
def test_without_a_whole_answer_it_may_be_paid(step: Step, deadline_s: float, words: str) -> None:
    error = failure(step, deadline_s=deadline_s)
    assert isinstance(error, Transient)
    assert error.maybe_paid
    assert words in str(error)


def test_refused_connection_is_transient_and_not_paid() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: nobody else answers here
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"

        async def run() -> None:
            async with Client(Endpoint("stub", url, "", False, "stub-1")) as client:
                await client.send(ask())

        with pytest.raises(Transient, match="cannot be reached") as caught:
            asyncio.run(run())
    assert not caught.value.maybe_paid


@pytest.mark.parametrize("is_packed", [False, True])
def test_answer_without_end_is_cut_off_by_its_unpacked_size(
    is_packed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llm.client.MAX_ANSWER_BYTES", 100_000)

    async def bomb() -> web.StreamResponse:
        body = gzip.compress(b" " * 20_000_000)
        headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
        return web.Response(body=body, headers=headers)

    error = failure(bomb if is_packed else page("x" * 500_000, "application/json"))
    assert isinstance(error, Transient)
    assert (error.maybe_paid, str(error)) == (True, "The answer is longer than 100000 bytes.")


def test_long_refusal_is_cut_and_still_a_refusal() -> None:
    error = failure(status(400, body={"error": {"message": "y" * 500_000}}))
    assert isinstance(error, Permanent)
    assert len(str(error)) < 600


def test_proxies_of_the_environment_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert send("yes").text == "yes"


def test_certificate_that_nobody_vouches_for_is_refused_before_anything_is_sent() -> None:
    """data/self_signed.pem was made for this test and is trusted nowhere."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(__file__).parent / "data" / "self_signed.pem")
    asked = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request)
        return web.json_response(completion("yes"))

    async def run() -> LLMError:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", answer)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        url = f"https://127.0.0.1:{runner.addresses[0][1]}/v1"
        try:
            async with Client(Endpoint("stub", url, "sk-stub", False, "stub-1")) as client:
                with pytest.raises(Transient) as caught:
                    await client.send(ask())
        finally:
            await runner.cleanup()
        return caught.value

    error = asyncio.run(run())
    assert (asked, error.maybe_paid) == ([], False)
    assert "cannot be reached" in str(error)


def test_key_is_not_repeated_in_messages() -> None:
    body = {"error": {"message": "Incorrect API key provided: sk-stub"}}
    error = failure(status(401, body=body))
    assert "sk-stub" not in str(error)
    assert "[key]" in str(error)


def test_cancelling_ends_the_attempt_at_once() -> None:
    answered: list[bool] = []

    async def late() -> web.StreamResponse:
        await asyncio.sleep(60)
        answered.append(True)
        return web.json_response(completion("late"))

    async def run() -> None:
        async with Stub(late) as stub, Client(stub.endpoint) as client:
            task = asyncio.create_task(client.send(ask()))
            while not stub.asked:
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert not answered

    asyncio.run(run())
