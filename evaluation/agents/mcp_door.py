"""The tools of an agent from outside over MCP, by the official package, one exchange a request.

The package speaks ASGI and every revision of the protocol; the web server is synchronous. So each
request is one exchange without a session, and the tools are called in the thread of the request,
with its connection to the database.
"""

import json
from collections.abc import Callable
from typing import Any, Final

import mcp_types as types
from asgiref.sync import async_to_sync, sync_to_async
from django.http import HttpResponse
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from evaluation.agents import guests
from evaluation.agents.models import AgentItem
from evaluation.agents.protocol.tools import definitions
from evaluation.agents.services import tools_of
from kit.errors import Refused
from llm.requests import object_schema

HandIn = Callable[[AgentItem, dict[str, Any]], dict[str, Any]]
TASK: Final = "task"
ANSWER: Final = "answer"
_TASK: Final = types.Tool(
    name=TASK,
    description="The question to answer, the limits, and what is left of them.",
    input_schema=object_schema(),
)
_ANSWER: Final = types.Tool(
    name=ANSWER,
    description=(
        "Hand in the answer to the question, with citations as [docid]; where rounds are fixed, "
        "after every call of a tool. The confidence is in percent."
    ),
    input_schema=object_schema(
        text={"type": "string"},
        citations={"type": "array", "items": {"type": "string"}},
        confidence={"type": ["number", "null"], "minimum": 0, "maximum": 100},
    )
    | {"required": ["text"]},
)


def exchange(item: AgentItem, request: Request, hand_in: HandIn) -> HttpResponse:
    """What the package answers to this request of an agent that holds the query's token."""
    server = _server(item, hand_in)
    status, headers, content = async_to_sync(_exchange)(server, request)
    response = HttpResponse(content, status=status)
    for name, value in headers:
        if name != b"content-length":
            response[name.decode()] = value.decode()
    return response


async def _exchange(server: Server[Any], request: Request) -> tuple[int, Any, bytes]:
    headers = [(name.lower().encode(), value.encode()) for name, value in request.headers.items()]
    scope = {
        "type": "http",
        "method": request.method,
        "path": request.path,
        "headers": headers,
        "query_string": b"",
        "http_version": "1.1",
        "scheme": "http",
    }
    body, sent = request.body, list[Any]()

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)
    async with manager.run():
        await manager.handle_request(scope, receive, send)
    begin, *rest = sent
    return begin["status"], begin.get("headers", ()), b"".join(each["body"] for each in rest)


def _server(item: AgentItem, hand_in: HandIn) -> Server[Any]:
    async def on_list_tools(*_: Any) -> types.ListToolsResult:
        own = [
            types.Tool(name=t["name"], description=t["description"], input_schema=t["parameters"])
            for t in definitions(tools_of(item.run))
        ]
        return types.ListToolsResult(tools=[_TASK, *own, _ANSWER])

    async def on_call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        given = params.arguments or {}
        text, is_error = await sync_to_async(_call)(item, params.name, given, hand_in)
        content = types.TextContent(type="text", text=text)
        return types.CallToolResult(content=[content], is_error=is_error)

    return Server(
        "assay",
        instructions=f"Call {TASK} for the question, search for evidence, hand in with {ANSWER}.",
        on_list_tools=on_list_tools,
        on_call_tool=on_call_tool,
    )


def _call(
    item: AgentItem, tool: str, arguments: dict[str, Any], hand_in: HandIn
) -> tuple[str, bool]:
    """The output of a tool, and whether it says what is wrong."""
    try:
        if tool == TASK:
            return json.dumps(guests.task_of(item), ensure_ascii=False), False
        if tool == ANSWER:
            return json.dumps(hand_in(item, arguments), ensure_ascii=False), False
        use = guests.call_tool(item, tool, json.dumps(arguments, ensure_ascii=False))
    except Refused as refusal:
        return refusal.message, True
    except guests.Away as away:
        return str(away), True
    except ValidationError as error:
        return json.dumps(error.detail, ensure_ascii=False), True
    return use.output, bool(use.fault)
