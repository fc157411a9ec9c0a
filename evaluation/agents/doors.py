"""The doors for agents from outside: their tools over plain HTTP, and over MCP (docs/agents.md).

Who comes in has the token of one query and is no person: nothing but that query's tools opens.
"""

from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.http import HttpResponse
from django.urls import path
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.authentication import TokenAuthentication
from rest_framework.exceptions import APIException, AuthenticationFailed
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSetMixin

from evaluation.agents import guests
from evaluation.agents.models import AgentItem
from evaluation.agents.protocol.tools import DOCUMENT, SEARCH
from kit.account.rates import Rate
from kit.api import Route
from kit.parsers import ShallowJSONParser


class Guest(AnonymousUser):
    """Who has a good token, and no account."""

    @property
    def is_authenticated(self) -> bool:  # type: ignore[override]
        """Let in."""
        return True


class GuestTokens(TokenAuthentication):
    """`Authorization: Bearer <token>`, as MCP clients send it."""

    keyword = "Bearer"

    def authenticate_credentials(self, key: str) -> tuple[Guest, AgentItem]:
        """The query that the token opens; raises AuthenticationFailed where it opens none."""
        item = guests.guest_of(key)
        if item is None:
            raise AuthenticationFailed("This token opens nothing: it was revoked, or never was.")
        return Guest(), item


class GuestTokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """What the API's page says of these tokens."""

    target_class = GuestTokens
    name = "guestToken"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """A bearer token, of one query of a guest run."""
        return {"type": "http", "scheme": "bearer"}


class GuestRate(Rate):
    """Of one such token, as of any other."""

    scope = "token"

    def get_cache_key(self, request: Request, view: Any) -> str:
        """By the query that it opens."""
        return f"throttle_guest_{request.auth.pk}"


class Unavailable(APIException):
    """The retriever's model is away: the call was not counted, and can be made again."""

    status_code = 503


class GuestSearchSerializer(serializers.Serializer):
    """The arguments of `search`."""

    query = serializers.CharField(allow_blank=True)


class GuestDocumentSerializer(serializers.Serializer):
    """The arguments of `get_document`."""

    docid = serializers.CharField()


class GuestAnswerSerializer(serializers.Serializer):
    """An answer with citations as `[docid]` in its text, or as a list beside it."""

    text = serializers.CharField(max_length=100_000)
    citations = serializers.ListField(
        child=serializers.CharField(max_length=200), max_length=200, default=list
    )
    confidence = serializers.FloatField(min_value=0, max_value=100, allow_null=True, default=None)


class GuestTaskSerializer(serializers.Serializer):
    """What an agent is to do, within which limits, and what is left of them.

    With fixed `rounds` an answer is handed in after each call of a tool, before the next one; null
    lets the agent decide. `tools` are as a model is told of them.
    """

    query = serializers.CharField()
    is_open = serializers.BooleanField()
    rounds = serializers.IntegerField(allow_null=True)
    calls_left = serializers.IntegerField()
    answers_left = serializers.IntegerField()
    k = serializers.IntegerField()
    snippet_tokens = serializers.IntegerField()
    tokenizer = serializers.CharField()
    documents = serializers.BooleanField()
    tools = serializers.ListField(child=serializers.JSONField())


def hand_in(item: AgentItem, given: Any) -> dict[str, Any]:
    """Hand an answer in; what is left then. Raises ValidationError and Refused."""
    form = GuestAnswerSerializer(data=given)
    form.is_valid(raise_exception=True)
    answer: dict[str, Any] = form.validated_data
    cited = answer.pop("citations")
    return guests.task_of(guests.hand_in(item, cited=cited, **answer))


_LIST = OpenApiExample(
    "found", value=[{"docid": "garden/page_1.txt", "score": 3.2, "snippet": "..."}]
)
_FAULT = OpenApiExample("fault", value={"error": "search needs the argument query, a text."})


class GuestRoutes(ViewSetMixin, Route):
    """The tools of one query, for an agent from outside that has its token."""

    authentication_classes = [GuestTokens]
    throttle_classes = [GuestRate]
    parser_classes = [ShallowJSONParser]

    @property
    def item(self) -> AgentItem:
        """The query that the token opens."""
        found: AgentItem = self.request.auth  # type: ignore[assignment]
        return found

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        """Whatever is accepted: MCP clients ask for streams, and are to be told that none is."""
        return super().perform_content_negotiation(request, force=True)

    @extend_schema(responses=GuestTaskSerializer)
    def task(self, request: Request) -> Response:
        """The query, the limits, and what is left of them."""
        return Response(GuestTaskSerializer(guests.task_of(self.item)).data)

    @extend_schema(
        request=GuestSearchSerializer, responses=OpenApiTypes.ANY, examples=[_LIST, _FAULT]
    )
    def search(self, request: Request) -> HttpResponse:
        """Search the collection: a list of `{docid, score, snippet}`, or an object with `error`,
        as the tool of an agent gives it. Every call is a round."""
        return self._call(SEARCH, request)

    @extend_schema(
        request=GuestDocumentSerializer, responses=OpenApiTypes.OBJECT, examples=[_FAULT]
    )
    def document(self, request: Request) -> HttpResponse:
        """Read a document whole, where the run offers it: `{docid, text}`, or an object with
        `error`. Every call is a round."""
        return self._call(DOCUMENT, request)

    @extend_schema(request=GuestAnswerSerializer, responses=GuestTaskSerializer)
    def answer(self, request: Request) -> Response:
        """Hand in the answer, or that of the next round where they are fixed."""
        return Response(GuestTaskSerializer(hand_in(self.item, request.data)).data)

    @extend_schema(request=OpenApiTypes.OBJECT, responses=OpenApiTypes.OBJECT)
    def mcp(self, request: Request) -> HttpResponse:
        """The same tools over MCP (streamable HTTP, without sessions): for MCP clients."""
        from evaluation.agents import mcp_door  # takes a second to load, and few come this way

        return mcp_door.exchange(self.item, request, hand_in)

    def _call(self, tool: str, request: Request) -> HttpResponse:
        """The output of a tool as it is, byte for byte; the body is the tool's arguments."""
        arguments = request.body.decode("utf-8", "replace")
        try:
            use = guests.call_tool(self.item, tool, arguments)
        except guests.Away as away:
            raise Unavailable(str(away)) from away
        return HttpResponse(use.output.encode(), content_type="application/json")


_to = GuestRoutes.as_view
urlpatterns = [
    path("guest/task/", _to({"get": "task"}, pagination_class=None), name="api-guest-task"),
    path("guest/search/", _to({"post": "search"}), name="api-guest-search"),
    path("guest/get_document/", _to({"post": "document"}), name="api-guest-document"),
    path("guest/answer/", _to({"post": "answer"}), name="api-guest-answer"),
    path("guest/mcp/", _to({"post": "mcp"}), name="api-guest-mcp"),
]
