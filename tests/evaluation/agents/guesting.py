"""Agents from outside, over a real server: plain HTTP, and the official client of MCP."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2

from evaluation.agents.guests import issue_tokens, open_guest
from evaluation.agents.models import AgentRun
from evaluation.agents.services import candidates
from tests.evaluation.agents.room import Place


@dataclass
class Guest:
    """Who has the token of one query, and the address of the server."""

    url: str
    token: str
    headers: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.headers = {"Authorization": f"Bearer {self.token}"}

    def post(self, tool: str, body: Any, **options: Any) -> httpx2.Response:
        """A call over HTTP; bytes and texts are sent as they are."""
        content = body if isinstance(body, str | bytes) else json.dumps(body)
        address = f"{self.url}/api/guest/{tool}/"
        headers = self.headers | {"Content-Type": "application/json"}
        return httpx2.post(address, content=content, headers=headers, timeout=240, **options)

    def task(self) -> httpx2.Response:
        """What it is to do."""
        return httpx2.get(f"{self.url}/api/guest/task/", headers=self.headers, timeout=240)

    def search(self, query: str) -> Any:
        """What a search gives."""
        found = self.post("search", {"query": query})
        assert found.status_code == 200, found.text
        return found.json()

    def over_mcp(self, *calls: tuple[str, dict[str, Any]], mode: str = "auto") -> list[Any]:
        """The tools that are listed, and the result of each call, in one session of a client."""

        # Only this needs it, and it takes as long to load as a few tests.
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client

        async def talk() -> list[Any]:
            async with httpx2.AsyncClient(headers=self.headers, timeout=240) as http:
                transport = streamable_http_client(f"{self.url}/api/guest/mcp/", http_client=http)
                async with Client(transport, mode=mode) as client:
                    tools = (await client.list_tools()).tools
                    return [tools, *[await client.call_tool(*each) for each in calls]]

        return asyncio.run(talk())


def opened(place: Place, **options: Any) -> AgentRun:
    """A guest run over the room's queries with aspects."""
    given: dict[str, Any] = {"agent": "theirs", "actor": place.room.admin} | options
    return open_guest(
        benchmark=place.room.benchmark,
        queries=candidates(place.room.benchmark),
        retriever=place.retriever,
        **given,
    )


def let_in(run: AgentRun, url: str) -> dict[str, Guest]:
    """Guests by the id of their query, with new tokens; of repetitions the last."""
    return {
        each["query_id"]: Guest(url, each["token"]) for each in issue_tokens(run=run, actor=None)
    }


@contextmanager
def guests_of(place: Place, url: str, **options: Any) -> Iterator[tuple[AgentRun, Guest, Guest]]:
    """A new run with the guests of its two queries."""
    run = opened(place, **options)
    guests = let_in(run, url)
    yield run, guests["7"], guests["8"]
