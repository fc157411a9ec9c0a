"""The practice model on a loopback port: in a thread for commands and tests, or by itself."""

import asyncio
import json
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
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
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="practice", daemon=True)
    thread.start()
    try:
        starting = asyncio.run_coroutine_threadsafe(_start(port, latency_ms), loop)
        runner, url = starting.result(_START_TIMEOUT_S)
        try:
            yield url
        finally:
            asyncio.run_coroutine_threadsafe(_stop(runner), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def run(port: int, *, latency_ms: int, announce: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT; `announce` gets the base URL once connections are taken."""
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    runner, url = await _start(port, latency_ms)
    try:
        announce(url)
        await stopped.wait()
    finally:
        await runner.cleanup()


async def _start(port: int, latency_ms: int) -> tuple["web.AppRunner", str]:
    from aiohttp import web

    app = web.Application(client_max_size=_MAX_BODY)
    app.router.add_get("/v1/models", _handler(models, 0))
    app.router.add_post("/v1/chat/completions", _handler(chat_completion, latency_ms))
    app.router.add_post("/v1/embeddings", _handler(embeddings, latency_ms))
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    try:
        await runner.setup()
        await web.TCPSite(runner, _HOST, port).start()
    except BaseException:
        await runner.cleanup()
        raise
    return runner, f"http://{_HOST}:{runner.addresses[0][1]}/v1"


async def _stop(runner: "web.AppRunner") -> None:
    await runner.cleanup()
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:  # answers that nobody waits for any more
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


def _handler(answer: Callable[[dict[str, Any]], dict[str, Any]], latency_ms: int) -> Any:
    from aiohttp import web

    async def handle(request: "web.Request") -> "web.Response":
        if latency_ms:
            await asyncio.sleep(latency_ms / 1000)
        try:
            body: Any = {} if request.method == "GET" else None
            if request.method == "POST":
                with suppress(ValueError, RecursionError):
                    body = json.loads(await request.text())
            if not isinstance(body, dict):
                raise Refusal("The request body must be a JSON object.")
            return web.json_response(answer(body))
        except Refusal as refusal:
            told = {"message": str(refusal), "type": "invalid_request_error"}
            error = {**told, "param": None, "code": None}
            return web.json_response({"error": error}, status=refusal.status)
        except ConnectionError:
            # The client went away while it was asking: nobody reads this.
            return web.Response(status=400)

    return handle
