"""The practice model on a loopback port: in a thread for commands and tests, or by itself."""

import asyncio
import json
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from llm.practice.completion import Refusal, chat_completion, embeddings, models

if TYPE_CHECKING:
    from aiohttp import web

_HOST = "127.0.0.1"
_MAX_BODY = 16 * 1024 * 1024
_START_TIMEOUT_S = 10


@contextmanager
def serve(port: int = 0, *, latency_ms: int = 0) -> Iterator[str]:
    """Run the practice model in a background thread and yield its base URL; 0 is any free port.

    Every answer takes at least `latency_ms`. Raises OSError where the port is taken.
    """
    started: Future[tuple[str, Callable[[], None]]] = Future()
    thread = threading.Thread(
        target=_run_in_thread, args=(port, latency_ms, started), name="practice", daemon=True
    )
    thread.start()
    url, stop = started.result(timeout=_START_TIMEOUT_S)
    try:
        yield url
    finally:
        stop()
        thread.join()


async def run(port: int, *, latency_ms: int, announce: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT; `announce` gets the base URL once connections are taken."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    await _serve_until(stopped, port, latency_ms, announce)


def _run_in_thread(
    port: int, latency_ms: int, started: "Future[tuple[str, Callable[[], None]]]"
) -> None:
    async def main() -> None:
        stopped, loop = asyncio.Event(), asyncio.get_running_loop()

        def announce(url: str) -> None:
            started.set_result((url, lambda: _wake(loop, stopped)))

        await _serve_until(stopped, port, latency_ms, announce)

    try:
        asyncio.run(main())
    except Exception as error:  # the thread that waits for the start raises it
        if started.done():
            raise
        started.set_exception(error)


def _wake(loop: asyncio.AbstractEventLoop, stopped: asyncio.Event) -> None:
    loop.call_soon_threadsafe(stopped.set)


async def _serve_until(
    stopped: asyncio.Event, port: int, latency_ms: int, announce: Callable[[str], None]
) -> None:
    from aiohttp import web

    runner = web.AppRunner(_app(latency_ms), access_log=None, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.TCPSite(runner, _HOST, port).start()
        announce(f"http://{_HOST}:{runner.addresses[0][1]}/v1")
        await stopped.wait()
    finally:
        await runner.cleanup()


def _app(latency_ms: int) -> "web.Application":
    from aiohttp import web

    app = web.Application(client_max_size=_MAX_BODY)
    app.router.add_get("/v1/models", _handler(models, 0))
    app.router.add_post("/v1/chat/completions", _handler(chat_completion, latency_ms))
    app.router.add_post("/v1/embeddings", _handler(embeddings, latency_ms))
    return app


def _handler(answer: Callable[[dict[str, Any]], dict[str, Any]], latency_ms: int) -> Any:
    from aiohttp import web

    async def handle(request: "web.Request") -> "web.Response":
        if latency_ms:
            await asyncio.sleep(latency_ms / 1000)
        try:
            body = await _body(request) if request.method == "POST" else {}
            return web.json_response(answer(body))
        except Refusal as refusal:
            return web.json_response(_error(refusal), status=refusal.status)
        except ConnectionError:
            # The client went away while it was asking: nobody reads this.
            return web.Response(status=400)

    return handle


async def _body(request: "web.Request") -> dict[str, Any]:
    try:
        body = json.loads(await request.text())
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise Refusal("The request body must be a JSON object.")
    return body


def _error(refusal: Refusal) -> dict[str, Any]:
    kind = "invalid_request_error"
    return {"error": {"message": str(refusal), "type": kind, "param": None, "code": None}}
