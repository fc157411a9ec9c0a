"""API of the work: my queue, a query's state, assignments, progress, time on task."""

from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import User
from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.api import QueryRoutes
from annotate.assignments import services as verbs
from annotate.assignments.forms import annotators
from annotate.assignments.progress import read_progress
from annotate.assignments.services import note_active
from annotate.assignments.views import get_assignment
from annotate.models import ActiveSpan, Assignment
from annotate.rights import assignment_of, require_expert
from annotate.workspace.api.aspects import MissingSerializer
from annotate.workspace.checklist import missing
from corpus.access import enter
from corpus.models import Query, Role
from corpus.texts.finding import one_of
from kit.api import KeyField, ReportTableSerializer, Route
from kit.errors import Refused
from kit.lists.report_tables import as_data


class AssignmentSerializer(serializers.ModelSerializer):
    """Who works on a query, and how far it is."""

    query_id = serializers.CharField(source="query.qid")
    domain = serializers.CharField(source="query.domain.name")
    holder = serializers.CharField(source="holder.username")

    class Meta:
        model = Assignment
        fields = [
            "id",
            "query",
            "query_id",
            "domain",
            "holder",
            "state",
            "due_on",
            "created_at",
            "started_at",
            "submitted_at",
        ]


class WorkSerializer(serializers.Serializer):
    """Who works on the query (null: nobody), and what is missing."""

    assignment = AssignmentSerializer(allow_null=True)
    missing = MissingSerializer(many=True)


_VERBS: dict[str, Callable[..., Any]] = {
    "claim": verbs.claim_query,
    "release": verbs.unassign_query,
    "submit": verbs.submit_query,
    "take_back": verbs.take_back,
}


class WorkVerbSerializer(serializers.Serializer):
    """What to do with the query."""

    verb = serializers.ChoiceField(list(_VERBS))


class AssignQueriesSerializer(serializers.Serializer):
    """Queries by their keys, people by their names, and the day by which they are due."""

    queries = serializers.ListField(
        child=KeyField(), allow_empty=False, max_length=verbs.MOST_AT_ONCE
    )
    people = serializers.ListField(child=serializers.CharField(), allow_empty=False)
    due_on = serializers.DateField(allow_null=True, default=None)


class ReassignSerializer(serializers.Serializer):
    """Who works on the query from now on, and until when; null: no day."""

    holder = serializers.CharField()
    due_on = serializers.DateField(allow_null=True)


class ActiveSpanSerializer(serializers.Serializer):
    """A span of work."""

    start = serializers.DateTimeField()
    end = serializers.DateTimeField()


class TimeSerializer(serializers.Serializer):
    """Seconds at work."""

    seconds = serializers.FloatField()


class LineSerializer(serializers.Serializer):
    """The states of one domain's or person's queries."""

    name = serializers.CharField()
    queries = serializers.IntegerField(source="total")
    states = serializers.DictField(child=serializers.IntegerField())
    overdue = serializers.IntegerField()
    seconds = serializers.FloatField()


class DaySerializer(serializers.Serializer):
    """Queries submitted for the first time on a day."""

    day = serializers.DateField()
    submitted = serializers.IntegerField()


class ProgressSerializer(serializers.Serializer):
    """Progress with its forecast; the dates are null while nothing can be said."""

    domains = LineSerializer(many=True)
    people = LineSerializer(many=True)
    days = DaySerializer(many=True)
    remaining = serializers.IntegerField(source="total.remaining")
    per_day = serializers.FloatField(source="outlook.found.per_day")
    end = serializers.DateField(source="outlook.end", allow_null=True)
    end_low = serializers.DateField(source="outlook.end_low", allow_null=True)
    end_high = serializers.DateField(source="outlook.end_high", allow_null=True)
    confidence = serializers.FloatField(source="outlook.found.confidence")
    tables = serializers.SerializerMethodField()

    @extend_schema_field(ReportTableSerializer(many=True))
    def get_tables(self, found: dict[str, Any]) -> list[dict[str, Any]]:
        """What was done and left day by day, of queries and of votes."""
        return as_data([pile.table() for pile in found["piles"]])


class Queue(Route):
    """What waits for me, first things first."""

    @extend_schema(responses=AssignmentSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ANNOTATOR)
        mine = Assignment.objects.in_benchmark(access.benchmark).filter(holder=access.user)
        rows = mine.open().select_related("query__domain", "holder").in_turn()
        return self.page(rows, AssignmentSerializer)


class QueueNext(Route):
    """Claiming the next unassigned query."""

    @extend_schema(request=None, responses={201: AssignmentSerializer})
    def post(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ANNOTATOR)
        mine = verbs.claim_next(
            benchmark=access.benchmark, domain_ids=access.domain_ids, actor=access.user
        )
        return Response(AssignmentSerializer(mine).data, status=201)


class Work(QueryRoutes):
    """Who works on a query, how far it is, and what is missing."""

    @extend_schema(responses=WorkSerializer)
    def look(self, request: Request, slug: str, pk: int) -> Response:
        """Who works on a query, how far it is, and what is missing."""
        found = {"assignment": assignment_of(self.query), "missing": missing(query=self.query)}
        return Response(WorkSerializer(found).data)

    @extend_schema(request=WorkVerbSerializer, responses=WorkSerializer)
    def do(self, request: Request, slug: str, pk: int) -> Response:
        """Claiming, releasing, submitting a query, or taking it back."""
        verb = _VERBS[self.read(WorkVerbSerializer)["verb"]]
        verb(query=self.query, actor=self.access.user)
        return self.look(request, slug, pk)


class Time(QueryRoutes):
    """My time at work on a query."""

    is_for_readers = False

    @extend_schema(responses=TimeSerializer)
    def look(self, request: Request, slug: str, pk: int) -> Response:
        """My time at work on a query."""
        spans = ActiveSpan.objects.filter(query=self.query, user=self.access.user)
        return Response({"seconds": spans.seconds()})

    @extend_schema(request=ActiveSpanSerializer, responses=TimeSerializer)
    def note(self, request: Request, slug: str, pk: int) -> Response:
        """Counting a span of work."""
        require_expert(self.query, self.access.user)
        note_active(query=self.query, actor=self.access.user, **self.read(ActiveSpanSerializer))
        return self.look(request, slug, pk)


class Assignments(Route):
    """Who works on what, and assigning unassigned queries to people, round-robin."""

    @extend_schema(responses=AssignmentSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        rows = Assignment.objects.in_benchmark(access.benchmark)
        return self.page(rows.select_related("query__domain", "holder"), AssignmentSerializer)

    @extend_schema(
        request=AssignQueriesSerializer, responses={201: AssignmentSerializer(many=True)}
    )
    def post(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(AssignQueriesSerializer)
        people = {each.username: each for each in annotators(access.benchmark)}
        if strange := [name for name in given["people"] if name not in people]:
            raise Refused(f"{strange[0]} is no annotator of this benchmark.", field="people")
        keys = set(given["queries"])
        rows = Query.objects.in_benchmark(access.benchmark).filter(one_of(keys))
        queries = list(rows)
        if lost := keys - {each.pk for each in queries}:
            raise Refused(f"There is no query {min(lost)} here.", field="queries")
        made = verbs.assign_queries(
            benchmark=access.benchmark,
            queries=queries,
            people=[people[name] for name in given["people"]],
            actor=access.user,
            due_on=given["due_on"],
        )
        return Response(AssignmentSerializer(made, many=True).data, status=201)


class OneAssignment(Route):
    """Reassigning a query, setting its day, taking it away."""

    @extend_schema(request=ReassignSerializer, responses=AssignmentSerializer)
    def put(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        found = get_assignment(access, pk)
        given = self.read(ReassignSerializer)
        changed = verbs.change_assignment(
            assignment=found,
            holder=get_object_or_404(User, username=given["holder"]),
            due_on=given["due_on"],
            actor=access.user,
        )
        return Response(AssignmentSerializer(changed).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        verbs.take_away(assignment=get_assignment(access, pk), actor=access.user)
        return Response(status=204)


class ProgressRoute(Route):
    """How far the work is, and when it will be done."""

    @extend_schema(responses=ProgressSerializer)
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        return Response(ProgressSerializer(read_progress(access.benchmark)).data)


_QUERY = "b/<slug:slug>/queries/<int:pk>"
urlpatterns = [
    path("b/<slug:slug>/queue/", Queue.as_view(), name="api-queue"),
    path("b/<slug:slug>/queue/next/", QueueNext.as_view(), name="api-queue-next"),
    path(f"{_QUERY}/work/", Work.as_view({"get": "look", "post": "do"}), name="api-query-work"),
    path(f"{_QUERY}/time/", Time.as_view({"get": "look", "post": "note"}), name="api-query-time"),
    path("b/<slug:slug>/assignments/", Assignments.as_view(), name="api-assignments"),
    path("b/<slug:slug>/assignments/<int:pk>/", OneAssignment.as_view(), name="api-assignment"),
    path("b/<slug:slug>/progress/", ProgressRoute.as_view(), name="api-progress"),
]
