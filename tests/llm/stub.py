"""A scripted endpoint: answers what a test tells it to, and remembers what it was asked."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, Self

from aiohttp import web

from llm.endpoints import Endpoint
from llm.gateway import Gateways
from llm.requests import Request

Fault = Callable[[], Awaitable[web.StreamResponse]]
Step = str | Fault


def ask(text: str = "Is it so?", **changes: Any) -> Request:
    """A request to the stub; equal texts make equal requests."""
    fields: dict[str, Any] = {
        "endpoint": "stub",
        "role": "debate_turn",
        "model": "stub-1",
        "messages": ({"role": "user", "content": text},),
        "schema_name": "debate_turn",
        "schema": {"type": "object"},
    }
    return Request(**{**fields, **changes})


def completion(text: str | None, **changes: Any) -> dict[str, Any]:
    """The body of a chat completion with that answer."""
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": text},
    }
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "total_tokens": 120,
        "prompt_tokens_details": {"cached_tokens": 40},
        "completion_tokens_details": {"reasoning_tokens": 5},
    }
    body = {"id": "c-1", "object": "chat.completion", "created": 0, "model": "stub-1"}
    return {**body, "choices": [choice], "usage": usage, **changes}


def status(code: int, *, headers: dict[str, str] | None = None, body: Any = None) -> Fault:
    """Answer with that status, and an error in JSON unless a body is given."""

    async def answer() -> web.StreamResponse:
        error = {"error": {"message": f"scripted {code}", "type": "stub"}}
        return web.json_response(error if body is None else body, status=code, headers=headers)

    return answer


def page(text: str, content_type: str = "text/html") -> Fault:
    """A 200 that is no completion, such as a proxy's page."""

    async def answer() -> web.StreamResponse:
        return web.Response(text=text, content_type=content_type)

    return answer


def after(seconds: float, text: str = "late") -> Fault:
    """Answer well, but only after a while."""

    async def answer() -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return web.json_response(completion(text))

    return answer


def hang_up() -> Fault:
    """Close the connection without an answer."""

    async def answer() -> web.StreamResponse:
        raise asyncio.CancelledError

    return answer


class Stub:
    """Plays its script step by step, the last step for ever: `async with Stub("yes") as stub`."""

    def __init__(self, *script: Step) -> None:
        self._script = script
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.in_flight = self.most_in_flight = 0

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_post("/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        port = self._runner.addresses[0][1]
        self.endpoint = Endpoint("stub", f"http://127.0.0.1:{port}/v1", "sk-stub", False, "stub-1")
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._runner.cleanup()

    @property
    def texts(self) -> Sequence[str]:
        return [body["messages"][-1]["content"] for body in self.asked]

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(json.loads(await request.text()))
        self.headers.append(dict(request.headers))
        self.paths.append(request.path_qs)
        step = self._script[min(len(self.asked), len(self._script)) - 1]
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            if isinstance(step, str):
                return web.json_response(completion(step))
            return await step()
        finally:
            self.in_flight -= 1


def through(use: Callable[[Stub, Gateways], Awaitable[Any]], *script: Step, **options: Any) -> Any:
    """What came of using gateways that lead to a stub with this script."""

    async def run() -> Any:
        async with Stub(*script) as stub:
            given = {"known": [stub.endpoint], "concurrency": 8, **options}
            async with Gateways(**given) as gateways:
                return await use(stub, gateways)

    return asyncio.run(run())


@contextmanager
def looping() -> Iterator[Callable[[Coroutine[Any, Any, Any]], Any]]:
    """A loop in a thread of its own, and what runs a coroutine there and waits for its outcome.

    Handlers that are at work when the test is over are called off, as `asyncio.run` does it.
    """
    begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def stay() -> None:
        stopped = asyncio.Event()
        begun.set_result((asyncio.get_running_loop(), stopped))
        await stopped.wait()

    thread = threading.Thread(target=lambda: asyncio.run(stay()), daemon=True)
    thread.start()
    loop, stopped = begun.result(60)
    try:
        yield lambda work: asyncio.run_coroutine_threadsafe(work, loop).result(60)
    finally:
        loop.call_soon_threadsafe(stopped.set)
        thread.join(240)
