"""The API of every kind of long run: one run, a person's verbs on it, its budget.

Each kind names its pages and its serializer: `OneRun.as_view(pages=..., serializer_class=...)`.
"""

from collections.abc import Collection, Sequence
from typing import Any

from django.urls import URLPattern, path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access import Access, enter, enter_unblinded
from corpus.lists import put_runs
from corpus.models import Role
from corpus.options import check_names
from corpus.run_pages import RunPages
from kit.api import Route, find_verb, verb_parameter
from kit.errors import Refused
from kit.schema import RouteSchema
from llm.ledger.accounts import set_budget
from llm.ledger.serializers import BudgetField, RunForecastSerializer


class LimitSerializer(serializers.Serializer):
    """A limit in dollars; null lifts it."""

    usd = BudgetField()


class BudgetSerializer(serializers.Serializer):
    """What a run may spend, in USD; null is no limit."""

    budget_usd = BudgetField()


class RunRoute(Route):
    """Base of the routes of one run."""

    # Given by `as_view`, which knows none but these names.
    pages: RunPages[Any] = None  # type: ignore[assignment]
    serializer_class: type[serializers.BaseSerializer] = serializers.Serializer

    @property
    def noun_of(self) -> str:
        """What the schema lists the route with: the package of its rows (kit.schema)."""
        return self.pages.model.__module__

    def answer(self, access: Access, pk: int) -> Response:
        """The run as it is now."""
        return Response(self.serializer_class(self.pages.get(access, pk)).data)


class OneRun(RunRoute):
    """One run: how far it is, and what it came to."""

    def get(self, request: Request, slug: str, pk: int) -> Response:
        return self.answer(enter(self.person(), slug, *self.pages.readers), pk)


class _KindSchema(RouteSchema):
    """What cannot be read off a route that is given its serializers."""

    def get_request_serializer(self) -> Any:
        view: Any = self.view
        return view.new if self.method == "POST" else None

    def get_response_serializers(self) -> Any:
        made = self.view.serializer_class  # type: ignore[attr-defined]
        return {202: made} if self.method == "POST" else made(many=True)


class Runs(RunRoute):
    """Every run of a kind, and starting one."""

    schema = _KindSchema()
    # The body that starts one; which of its fields are retrieval runs, and what its `config` may
    # name.
    new: type[serializers.Serializer] = serializers.Serializer
    retrieval_runs: Sequence[str] = ()
    configurable: Collection[str] = ()

    def get(self, request: Request, slug: str) -> Response:
        access = enter_unblinded(self.person(), slug, *self.pages.readers)
        return self.page(self.pages.kind.rows(access.benchmark), self.serializer_class)

    def post(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(self.new)
        put_runs(access.benchmark, given, *self.retrieval_runs)
        config = given.pop("config", {})
        check_names(config, self.configurable)
        run = self.pages.kind.start(access=access, **given, **config)
        return Response(self.serializer_class(run).data, status=202)


class _ForecastSchema(RouteSchema):
    def get_override_parameters(self) -> list[Any]:
        return [OpenApiParameter(name) for name in self.view.asked]  # type: ignore[attr-defined]


class RunForecast(RunRoute):
    """What a run would take."""

    schema = _ForecastSchema()
    serializer_class = RunForecastSerializer
    asked: Sequence[str] = ()
    # (field, what is said) where there is nothing to run on.
    missing = ("", "")

    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        found = self.pages.kind.forecast_of(access, request.query_params)
        if found is None:
            raise Refused(self.missing[1], field=self.missing[0])
        return Response(RunForecastSerializer(found).data)


class _VerbSchema(RouteSchema):
    """What cannot be read off a route whose verb is a part of its address."""

    def get_operation_id(self) -> str:
        view: Any = self.view
        return f"{view.pages.name}_{view.verb or 'verb'}".replace("-", "_")

    def get_request_serializer(self) -> Any:
        return None

    def get_override_parameters(self) -> list[Any]:
        view: Any = self.view
        return [] if view.verb else [verb_parameter(view.pages.verbs)]


class RunVerb(RunRoute):
    """What a person does to a run: pause, resume, cancel, or try again."""

    schema = _VerbSchema()
    # Where the address names none.
    verb = ""

    def post(self, request: Request, slug: str, pk: int, verb: str = "") -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        run = self.pages.get(access, pk)
        find_verb(self.pages.verbs, verb or self.verb)(run=run, actor=access.user)
        return self.answer(access, pk)


def run_paths(
    base: str, name: str, *, pages: RunPages[Any], serializer_class: type[Any]
) -> list[URLPattern]:
    """The routes of one run of a kind below the address of its list; after those of its parts,
    for a verb is any word."""
    kind: Any = {"pages": pages, "serializer_class": serializer_class}
    one = f"{base}/<int:pk>/"
    return [
        path(one, OneRun.as_view(**kind), name=name),
        path(f"{one}budget/", RunLimit.as_view(**kind), name=f"{name}-budget"),
        path(f"{one}<slug:verb>/", RunVerb.as_view(**kind), name=f"{name}-verb"),
    ]


def kind_paths(
    base: str,
    names: tuple[str, str],
    *,
    pages: RunPages[Any],
    serializer_class: type[Any],
    new: type[serializers.Serializer],
    asked: Sequence[str],
    retrieval_runs: Sequence[str] = (),
    configurable: Collection[str] = (),
    missing: tuple[str, str] = ("", ""),
) -> list[URLPattern]:
    """The routes of a kind's list, by these names, and of what one would take."""
    given: Any = {"new": new, "retrieval_runs": retrieval_runs, "configurable": configurable}
    runs = Runs.as_view(pages=pages, serializer_class=serializer_class, **given)
    forecast: Any = RunForecast.as_view(pages=pages, asked=asked, missing=missing)
    return [
        path(f"{base}/", runs, name=names[0]),
        path(f"{base}/forecast/", forecast, name=names[1]),
    ]


class _Limit(RunRoute):
    """Base of both addresses of a budget: one is put as `usd`, the other posted as `budget_usd`."""

    def limit(self, slug: str, pk: int, serializer: type[serializers.Serializer]) -> Response:
        """Limit what the run may spend to the one amount in the body."""
        access = enter(self.person(), slug, Role.ADMIN)
        run, (usd,) = self.pages.get(access, pk), self.read(serializer).values()
        self.check(run)
        set_budget(run, usd, actor=access.user, scope=access.benchmark.slug)
        return self.answer(access, pk)

    def check(self, run: Any) -> None:
        """Raises Refused for a run that no budget could limit."""


class RunLimit(_Limit):
    """What a run may spend; null lifts the limit."""

    @extend_schema(request=LimitSerializer)
    def put(self, request: Request, slug: str, pk: int) -> Response:
        return self.limit(slug, pk, LimitSerializer)


class RunBudget(_Limit):
    """What a run may spend from its next call on; null lifts the limit."""

    @extend_schema(request=BudgetSerializer)
    def post(self, request: Request, slug: str, pk: int) -> Response:
        return self.limit(slug, pk, BudgetSerializer)
