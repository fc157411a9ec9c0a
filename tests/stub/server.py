"""The stub on a loopback port: charge first, then answer or play the fault."""

import asyncio
import json
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, Final

from aiohttp import web

from tests.stub.answers import Answerer, Refusal, embeddings, models, with_text
from tests.stub.bill import Bill
from tests.stub.faults import LOST, REFUSALS, Plan

HOST: Final = "127.0.0.1"
PAGE: Final = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
_MAX_BODY: Final = 64 * 1024 * 1024
_RETRY_AFTER_S: Final = 1
_PIECE: Final = 64


@dataclass(frozen=True)
class Timing:
    """How long things take, in seconds."""

    latency: float = 0.0
    away: float = 0.5  # the listener, after "refused"
    hang: float = 600.0  # before a hanging answer's connection is closed
    drip: float = 0.5  # a whole answer that comes in drops


class Server:
    """One stub: `await start()`, then `port`; `await stop()` at the end."""

    def __init__(self, *, bill: Bill, plan: Plan, answerer: Answerer, timing: Timing) -> None:
        self._bill, self._plan, self._answerer, self._timing = bill, plan, answerer, timing
        self._flow = asyncio.Event()  # cleared while answers are held back
        self._flow.set()
        self._open = True  # what the flow follows from, see _regulate
        self._allowed: int | None = None
        self._held = 0
        self._connections: set[asyncio.BaseTransport] = set()
        self._away: asyncio.Task[None] | None = None
        self.port = 0

    async def start(self, port: int) -> None:
        """Listen on the port, 0 for any free one."""
        app = web.Application(client_max_size=_MAX_BODY)
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/v1/embeddings", self._embed)
        app.router.add_get("/control/state", self._state)
        app.router.add_post("/control/play", self._play)
        app.router.add_post("/control/hold", self._hold)
        app.router.add_post("/control/release", self._release)
        app.router.add_post("/control/allow", self._allow)
        self._runner = web.AppRunner(
            app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True
        )
        await self._runner.setup()
        self.port = port
        await self._listen()

    async def stop(self) -> None:
        """Close the listener and every connection."""
        if self._away:
            self._away.cancel()
        await self._runner.cleanup()

    async def _listen(self) -> None:
        listener = socket.create_server((HOST, self.port))
        self.port = listener.getsockname()[1]
        self._site = web.SockSite(self._runner, listener)
        await self._site.start()

    async def _go_away(self) -> None:
        """Refuse connections for a while; the present ones break."""
        await self._site.stop()
        for connection in list(self._connections):
            connection.close()
        await asyncio.sleep(self._timing.away)
        await self._listen()

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        return await self._serve(request, self._answerer.complete)

    async def _embed(self, request: web.Request) -> web.StreamResponse:
        def answer(body: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
            return embeddings({**body, "model": "practice-1"}), ""

        return await self._serve(request, answer)

    async def _serve(
        self,
        request: web.Request,
        answer: Callable[[Mapping[str, Any]], tuple[dict[str, Any], str]],
    ) -> web.StreamResponse:
        self._remember(request)
        raw = await request.read()
        try:
            body = json.loads(raw)
            fault = self._plan.next(body)
            if fault in REFUSALS:
                return self._turn_away(request, body, fault)
            said, how = answer(body)
        except (Refusal, ValueError, AttributeError) as error:
            return _error(getattr(error, "status", 400), str(error))
        said = _distorted(said, fault)
        text = None if fault in LOST - {"hang", "cut"} else _text(said)
        payment = self._bill.charge(raw, body, fault=fault or how, answer=text)
        await self._pause()
        response = await self._answer(request, said, fault)
        if fault not in LOST:
            await response.prepare(request)
            await response.write_eof()
            self._bill.deliver(payment)
        return response

    def _remember(self, request: web.Request) -> None:
        if request.transport is not None:
            self._connections = {c for c in self._connections if not c.is_closing()}
            self._connections.add(request.transport)

    async def _pause(self) -> None:
        if self._timing.latency:
            await asyncio.sleep(self._timing.latency)
        self._held += 1
        try:
            while not self._flow.is_set():  # who woke up first may have taken the last one
                await self._flow.wait()
        finally:
            self._held -= 1
        if self._allowed is not None:
            self._regulate(self._open, self._allowed - 1)

    def _regulate(self, open_: bool, allowed: int | None) -> None:
        """Let answers go while it is open and, where they are counted, some are left."""
        self._open, self._allowed = open_, allowed
        if open_ and (allowed is None or allowed > 0):
            self._flow.set()
        else:
            self._flow.clear()

    def _turn_away(
        self, request: web.Request, body: Mapping[str, Any], fault: str
    ) -> web.StreamResponse:
        self._bill.refuse(body, fault)
        if fault == "refused":
            if self._away is None or self._away.done():
                self._away = asyncio.create_task(self._go_away())
            return _drop(request)
        if fault == "429-seconds":
            return _error(429, "slow down", {"Retry-After": str(_RETRY_AFTER_S)})
        if fault == "429-date":
            when = datetime.now(UTC) + timedelta(seconds=_RETRY_AFTER_S)
            return _error(429, "slow down", {"Retry-After": format_datetime(when, usegmt=True)})
        return _error(int(fault), "not now")

    async def _answer(
        self, request: web.Request, said: dict[str, Any], fault: str
    ) -> web.StreamResponse:
        if fault in ("500", "502"):
            return _error(int(fault), "it broke")
        if fault == "proxy-page":
            return web.Response(text=PAGE, content_type="text/html")
        if fault == "hang":
            await asyncio.sleep(self._timing.hang)
            return _drop(request)
        if fault == "cut":
            await self._pieces(request, said, seconds=0, share=0.5)
            return _drop(request)
        if fault == "drip":
            return await self._pieces(request, said, seconds=self._timing.drip)
        return web.json_response(said)

    async def _pieces(
        self, request: web.Request, said: dict[str, Any], *, seconds: float, share: float = 1.0
    ) -> web.StreamResponse:
        """Send the answer, or a share of it, in drops over so many seconds."""
        data = json.dumps(said).encode()
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.content_length = len(data)
        await response.prepare(request)
        end = int(len(data) * share)
        for start in range(0, end, _PIECE):
            await response.write(data[start : min(start + _PIECE, end)])
            await asyncio.sleep(seconds * _PIECE / len(data))
        return response

    async def _models(self, request: web.Request) -> web.Response:
        return web.json_response(models({}))

    async def _state(self, request: web.Request) -> web.Response:
        held = self._held if not self._flow.is_set() else 0
        spent = self._allowed is not None and self._allowed <= 0
        return web.json_response({"held": held, "dry": bool(held and spent)})

    async def _play(self, request: web.Request) -> web.Response:
        """Go on by another script."""
        self._plan = Plan.parse(await request.text())
        return web.json_response({})

    async def _hold(self, request: web.Request) -> web.Response:
        """Keep every answer back from now on; requests are accepted and charged as before."""
        self._regulate(False, self._allowed)
        return web.json_response({})

    async def _release(self, request: web.Request) -> web.Response:
        self._regulate(True, self._allowed)
        return web.json_response({})

    async def _allow(self, request: web.Request) -> web.Response:
        """Let so many answers go from now on, and keep back what comes after; null for all."""
        self._regulate(self._open, await request.json())
        return web.json_response({})


def _distorted(said: dict[str, Any], fault: str) -> dict[str, Any]:
    """The answer as the fault leaves it."""
    if "choices" not in said:
        return said
    text = said["choices"][0]["message"]["content"]
    match fault:
        case "empty-choices":
            return {**said, "choices": []}
        case "no-usage":
            return {name: value for name, value in said.items() if name != "usage"}
        case "truncated":
            return with_text(said, text[: len(text) // 2])
        case "length":
            return with_text(said, text[: len(text) * 2 // 3], finish_reason="length")
        case "content-filter":
            return with_text(said, None, finish_reason="content_filter")
        case "fenced":
            return with_text(said, f"Here it is:\n```json\n{text}\n```\n")
        case "doubled":
            return with_text(said, f"{text}\n{text}")
    return said


def _text(said: Mapping[str, Any]) -> str | None:
    """The words in a completion; None where there are none."""
    choices = said.get("choices") or []
    return choices[0]["message"]["content"] if choices else None


def _error(
    status: int, message: str, headers: Mapping[str, str] | None = None
) -> web.StreamResponse:
    body = {"error": {"message": message, "type": "stub", "param": None, "code": None}}
    return web.json_response(body, status=status, headers=headers)


def _drop(request: web.Request) -> web.StreamResponse:
    """Close the connection without another byte."""
    if request.transport is not None:
        request.transport.close()
    return web.Response(status=500)
