"""The practice model on a loopback port: in a thread for commands and tests, or by itself."""

import asyncio
import json
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from llm.practice.completion import Refusal, chat_completion, embeddings, models, rerank

if TYPE_CHECKING:
    from aiohttp import web

_HOST = "127.0.0.1"
_MAX_BODY = 16 * 1024 * 1024


@contextmanager
def serve(port: int = 0, *, latency_ms: int = 0) -> Iterator[str]:
    """Run the practice model in a background thread and yield its base URL; 0 is any free port.

    Every answer takes at least `latency_ms`. Raises OSError where the port is taken.
    """
    place = socket.create_server((_HOST, port))
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        loop, stopped = runner.get_loop(), asyncio.Event()
        work = _answer_until(stopped, place, latency_ms)
        thread = threading.Thread(target=runner.run, args=[work], name="practice", daemon=True)
        thread.start()
        try:
            yield f"http://{_HOST}:{place.getsockname()[1]}/v1"
        finally:
            loop.call_soon_threadsafe(stopped.set)
            thread.join()


def run(port: int, *, latency_ms: int, announce: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT; `announce` gets the base URL once connections are taken."""
    stopped = threading.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: stopped.set())
    with serve(port, latency_ms=latency_ms) as url:
        announce(url)
        stopped.wait()


async def _answer_until(stopped: asyncio.Event, place: socket.socket, latency_ms: int) -> None:
    from aiohttp import web

    app = web.Application(client_max_size=_MAX_BODY)
    app.router.add_get("/v1/models", _handler(models, 0))
    app.router.add_post("/v1/chat/completions", _handler(chat_completion, latency_ms))
    app.router.add_post("/v1/embeddings", _handler(embeddings, latency_ms))
    app.router.add_post("/v1/rerank", _handler(rerank, latency_ms))
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.SockSite(runner, place).start()
        await stopped.wait()
    finally:
        await runner.cleanup()


def _handler(answer: Callable[[dict[str, Any]], dict[str, Any]], latency_ms: int) -> Any:
    from aiohttp import web

    async def handle(request: "web.Request") -> "web.Response":
        await asyncio.sleep(latency_ms / 1000)
        try:
            body: Any = {} if request.method == "GET" else None
            if body is None:
                with suppress(ValueError, RecursionError):
                    body = json.loads(await request.text())
            if not isinstance(body, dict):
                raise Refusal("The request body must be a JSON object.")
            return web.json_response(answer(body))
        except Refusal as refusal:
            known = {"message": str(refusal), "type": "invalid_request_error"}
            error = {**known, "param": None, "code": None}
            return web.json_response({"error": error}, status=refusal.status)
        except ConnectionError:
            # The client went away while it was asking: nobody reads this.
            return web.Response(status=400)

    return handle
