"""API of published tables and known systems."""

from typing import Any

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access import enter
from corpus.versions.services import chosen
from evaluation.leaderboard.api import CHOICE, PROFILE
from evaluation.metrics.profiles import STRICT
from evaluation.published import services as published
from evaluation.published.ours import compare_with_ours
from evaluation.published.views import experiment_of
from evaluation.scores.services import enter_scored
from evaluation.scores.sheets import known_profile
from kit.api import Route


class SystemPartSerializer(serializers.Serializer):
    """A model or package, and where it is published."""

    name = serializers.CharField()
    link = serializers.URLField()


class KnownSystemSerializer(serializers.Serializer):
    """A system of a paper; `kind` is sparse, dense, rerank or rewrite."""

    name = serializers.CharField()
    kind = serializers.CharField()
    parts = SystemPartSerializer(many=True)
    run = serializers.IntegerField(allow_null=True)


class Published(Route):
    """The published tables: id, title, paper, and the measure of ours they are compared with."""

    @extend_schema(
        operation_id="b_leaderboard_published_list",
        responses={200: {"type": "array", "items": {"type": "object"}}},
    )
    def get(self, request: Request, slug: str) -> Response:
        enter(self.person(), slug)
        names = ("id", "title", "paper", "where", "unit", "metric", "view", "columns")
        return Response(
            [{name: getattr(t, name) for name in names} for t in published.tables().values()]
        )


class OnePublished(Route):
    """One published table with our figures: scores of a corpus version, or debate runs
    of an experiment (by default the newest)."""

    @extend_schema(
        responses={200: {"type": "array", "items": {"type": "object"}}},
        parameters=[CHOICE[-1], PROFILE, OpenApiParameter("experiment", int)],
    )
    def get(self, request: Request, slug: str, name: str) -> Response:
        access = enter_scored(self.person(), slug)
        table = published.table_called(name)
        given = request.query_params
        version = chosen(access.benchmark, given.get("version"))
        experiment = experiment_of(given, access) if table.is_of_debates else None
        profile = known_profile(given.get("profile") or STRICT.name)
        rows = compare_with_ours(
            table, access.benchmark, version=version, profile=profile, experiment=experiment
        )
        return Response([_compared(row) for row in rows])


class KnownSystems(Route):
    """The systems of DREAM/BRIDGE; `run` is the retrieval run here of that name, or null."""

    pagination_class = None

    @extend_schema(responses=KnownSystemSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug)
        systems = published.systems_with_runs(access.benchmark)
        found = [{**system, "run": run and run.pk} for system, run in systems]
        return Response(KnownSystemSerializer(found, many=True).data)


def _compared(row: published.ComparedRow) -> dict[str, Any]:
    names = ("printed", "ours", "difference", "agrees")
    cells = {cell.column: {n: getattr(cell, n) for n in names} for cell in row.cells}
    return {"system": row.name, "run": row.run, "cells": cells}


_BOARD = "b/<slug:slug>/leaderboard"
urlpatterns = [
    path(f"{_BOARD}/systems/", KnownSystems.as_view(), name="api-known-systems"),
    path(f"{_BOARD}/published/", Published.as_view(), name="api-published-tables"),
    path(f"{_BOARD}/published/<slug:name>/", OnePublished.as_view(), name="api-published-table"),
]
