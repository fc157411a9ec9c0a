"""API of cleanings: the verbs of their screens.

How versions, cleanings and what they changed look in the API."""

from typing import Any

from django.http import Http404
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access import enter
from corpus.cleaning import services as verbs
from corpus.cleaning.decisions import decide, undo
from corpus.cleaning.report import SIDES, report, rows_of
from corpus.cleaning.report_views import read_widths
from corpus.cleaning.views import (
    READERS,
    VERBS,
    forecast_of,
    get_done,
    get_run,
    get_violation,
    listed,
)
from corpus.models import (
    CleaningPreset,
    CleaningRun,
    CorpusVersion,
    Role,
    Violation,
    ViolationPolicy,
)
from corpus.texts.search import FoundText
from kit.api import RUN_FIELDS, Route, SheetSerializer, find_verb, verb_parameter
from kit.errors import Refused
from kit.sheets import as_data
from llm import endpoints
from llm.ledger.accounts import set_budget
from llm.serializers import PAID_FIELDS, PaidSerializer


class VersionSerializer(serializers.ModelSerializer):
    """A corpus version: what it was made of, and how."""

    class Meta:
        model = CorpusVersion
        fields = ["id", "name", "parent", "recipe", "created_at"]


class TakeUpSerializer(serializers.Serializer):
    """`seen` is the id of the version that is current now, as you know it."""

    seen = serializers.IntegerField(allow_null=True)


class VersionHitSerializer(serializers.Serializer):
    """A passage that a search found; `came_from` are the ids of passages its text was in before."""

    passage = serializers.IntegerField(source="hit.passage.pk")
    pid = serializers.CharField(source="hit.passage.pid")
    domain = serializers.CharField(source="hit.passage.domain.name")
    score = serializers.FloatField(source="hit.score")
    excerpt = serializers.SerializerMethodField()
    came_from = serializers.SerializerMethodField()

    def get_excerpt(self, found: FoundText) -> str:
        """The part of its text where the words stand."""
        return "".join(piece for piece, _ in found.pieces)

    def get_came_from(self, found: FoundText) -> list[str]:
        """Ids in the version before."""
        return [pid for _, pid in found.came_from]


class CleaningSerializer(PaidSerializer, serializers.ModelSerializer):
    """A cleaning run; `version` can be read once it is done."""

    class Meta:
        model = CleaningRun
        fields = [
            *RUN_FIELDS,
            "name",
            "source",
            "version",
            "preset",
            "policy",
            "config",
            "endpoint",
            "model",
            "practice",
            *PAID_FIELDS,
            "pause_reason",
            "figures",
        ]


class NewCleaningSerializer(serializers.Serializer):
    """A new run; options as in docs/cleaning.md."""

    source = serializers.IntegerField(  # type: ignore[assignment]
        help_text="Key of the corpus version to clean."
    )
    preset = serializers.ChoiceField(choices=CleaningPreset.choices)
    policy = serializers.ChoiceField(
        choices=ViolationPolicy.choices, default=ViolationPolicy.REPAIR
    )
    endpoint = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        help_text="Asked by every agent; without one the models of the roles are, if set up.",
    )
    model = serializers.CharField(
        max_length=120,
        required=False,
        allow_blank=True,
        default="",
        help_text="Asked at the endpoint instead of its own; for dchunk an embedding model.",
    )
    name = serializers.CharField(max_length=80, required=False, allow_blank=True, default="")
    budget_usd = serializers.DecimalField(
        max_digits=9, decimal_places=2, required=False, allow_null=True, default=None, min_value=0
    )
    options = serializers.DictField(required=False, default=dict)


class CleaningBudgetSerializer(serializers.Serializer):
    """A limit in dollars; null lifts it."""

    usd = serializers.DecimalField(max_digits=9, decimal_places=2, allow_null=True, min_value=0)


class ViolationSerializer(serializers.ModelSerializer):
    """A place where an agent's text departs from gold text."""

    page = serializers.CharField(source="page.page_id")
    domain = serializers.CharField(source="page.domain.name")

    class Meta:
        model = Violation
        fields = [
            "id",
            "page",
            "domain",
            "stage",
            "part",
            "window",
            "number",
            "kind",
            "is_violation",
            "start",
            "end",
            "out_start",
            "out_end",
            "source",
            "output",
            "decision",
            "decided_at",
        ]


class DecisionSerializer(serializers.Serializer):
    """What becomes of a violation."""

    decision = serializers.ChoiceField(choices=["accepted", "repaired", "original"])


class NextViolationSerializer(serializers.Serializer):
    """The next violation that waits; null when none does."""

    next = serializers.IntegerField(allow_null=True)


class CleaningForecastSerializer(serializers.Serializer):
    """What a preset would take, and what is advised."""

    preset = serializers.CharField()
    pages = serializers.IntegerField()
    gold_pages = serializers.IntegerField()
    calls = serializers.IntegerField()
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    usd = serializers.DecimalField(max_digits=18, decimal_places=6, allow_null=True)
    advised = serializers.CharField()
    why = serializers.CharField()


class CarriedLabelSerializer(serializers.Serializer):
    """A label as it holds in a version; `given_for` are the passages that were judged."""

    query = serializers.IntegerField()
    passage = serializers.IntegerField()
    label = serializers.IntegerField()  # type: ignore[assignment]
    given_for = serializers.ListField(child=serializers.IntegerField())


class UncarriedSerializer(serializers.Serializer):
    """A label that could not be carried, and why."""

    query = serializers.IntegerField()
    passage = serializers.IntegerField()
    label = serializers.IntegerField()  # type: ignore[assignment]
    why = serializers.CharField()


class CarriedSerializer(serializers.Serializer):
    """Labels of a version, and those that are lost to it."""

    labels = CarriedLabelSerializer(many=True)
    lost = UncarriedSerializer(many=True)


class SideSerializer(serializers.Serializer):
    """A stretch of one side: same, gone or new."""

    kind = serializers.CharField()
    text = serializers.CharField()


class OriginSerializer(serializers.Serializer):
    """A passage that another one came from."""

    passage = serializers.IntegerField()
    pid = serializers.CharField()
    tokens = serializers.IntegerField()
    of = serializers.IntegerField()
    carries = serializers.BooleanField()


class PassageDiffSerializer(serializers.Serializer):
    """A passage beside what it came from."""

    pid = serializers.CharField()
    origins = OriginSerializer(many=True)
    before = SideSerializer(many=True)
    after = SideSerializer(many=True)


def diff_data(passage: Any, links: list[Any], sides: Any) -> dict[str, Any]:
    """What PassageDiffSerializer shows."""
    return {
        "pid": passage.pid,
        "origins": [
            {
                "passage": link.old_id,
                "pid": link.old.pid,
                "tokens": link.tokens,
                "of": link.of,
                "carries": link.carries,
            }
            for link in links
        ],
        "before": [{"kind": run.kind, "text": run.text} for run in (sides.left if sides else ())],
        "after": [{"kind": run.kind, "text": run.text} for run in (sides.right if sides else ())],
    }


_WIDTHS = [
    OpenApiParameter("tokens", int, description="Tokens in a bin of the lengths."),
    OpenApiParameter("cosine", float, description="Cosine in a bin of the similarities."),
]


class Cleanings(Route):
    """Cleaning runs, and starting one."""

    @extend_schema(responses=CleaningSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, *READERS)
        runs = access.benchmark.cleaning_runs.select_related("account")
        return self.page(runs, CleaningSerializer)

    @extend_schema(request=NewCleaningSerializer, responses={202: CleaningSerializer})
    def post(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(NewCleaningSerializer)
        ready = CorpusVersion.objects.ready().filter(benchmark=access.benchmark)
        source = ready.filter(pk=given.pop("source")).first()
        if source is None:
            raise Refused("There is no such corpus version here.", field="source")
        name = given.pop("endpoint")
        endpoint = endpoints.chosen(name) if name else None
        run = verbs.start_cleaning(
            benchmark=access.benchmark,
            source=source,
            endpoint=endpoint,
            actor=access.user,
            **given,
        )
        return Response(CleaningSerializer(run).data, status=202)


class CleaningForecast(Route):
    """What a preset would take on a version, and what is advised for a budget."""

    @extend_schema(
        parameters=[
            OpenApiParameter(name)
            for name in ("source", "preset", "endpoint", "model", "budget_usd")
        ],
        responses=CleaningForecastSerializer,
    )
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        found = forecast_of(access, request.query_params)
        if found["forecast"] is None:
            raise Http404("There is no corpus to clean yet.")
        advice = {"advised": found["advice"].preset, "why": found["advice"].why}
        return Response(CleaningForecastSerializer(vars(found["forecast"]) | advice).data)


class OneCleaning(Route):
    """One cleaning run."""

    @extend_schema(responses=CleaningSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, *READERS)
        return Response(CleaningSerializer(get_run(access, pk)).data)


class CleaningVerb(Route):
    """Pause, resume or cancel."""

    @extend_schema(
        operation_id="cleaning_verb",
        request=None,
        responses=CleaningSerializer,
        parameters=[verb_parameter(VERBS)],
    )
    def post(self, request: Request, slug: str, pk: int, verb: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        run = get_run(access, pk)
        find_verb(VERBS, verb)(run=run, actor=access.user)
        return Response(CleaningSerializer(get_run(access, pk)).data)


class CleaningBudget(Route):
    """What a run may spend."""

    @extend_schema(request=CleaningBudgetSerializer, responses=CleaningSerializer)
    def put(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        run = get_run(access, pk)
        given = self.read(CleaningBudgetSerializer)
        set_budget(run, given["usd"], actor=access.user, scope=access.benchmark.slug)
        return Response(CleaningSerializer(run).data)


class CleaningReport(Route):
    """The tables of a run that is done."""

    @extend_schema(parameters=_WIDTHS, responses=SheetSerializer(many=True))
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, *READERS)
        widths = read_widths(request.query_params)
        return Response(as_data(report(get_done(access, pk), widths).sheets))


class CleaningRows(Route):
    """The rows behind one number of the report: of a bin, an agent, or what was dropped."""

    @extend_schema(
        parameters=[
            OpenApiParameter("of", enum=["lengths", "similarity", "agents", "dropped"]),
            OpenApiParameter("side", enum=list(SIDES)),
            OpenApiParameter("bin", int),
            OpenApiParameter("role"),
            *_WIDTHS,
        ],
        responses=SheetSerializer(many=True),
    )
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, *READERS)
        run, widths = get_done(access, pk), read_widths(request.query_params)
        sheet = rows_of(run, request.query_params, widths)
        if sheet is None:
            raise Http404("No such number.")
        return Response(as_data([sheet]))


class Violations(Route):
    """Places where agents departed from gold text."""

    @extend_schema(responses=ViolationSerializer(many=True))
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, *READERS)
        return self.page(listed(get_run(access, pk)).order_by("pk"), ViolationSerializer)


class OneViolation(Route):
    """Deciding about one place."""

    @extend_schema(request=DecisionSerializer, responses=NextViolationSerializer)
    def post(self, request: Request, slug: str, pk: int, violation_pk: int) -> Response:
        access = enter(self.person(), slug, *READERS)
        found = get_violation(get_run(access, pk), violation_pk)
        given = self.read(DecisionSerializer)
        following = decide(violation=found, decision=given["decision"], actor=access.user)
        return Response({"next": following.pk if following else None})


class UndoDecision(Route):
    """Taking a decision of one's own back, until the page is cleaned with it."""

    @extend_schema(request=None, responses=ViolationSerializer)
    def post(self, request: Request, slug: str, pk: int, violation_pk: int) -> Response:
        access = enter(self.person(), slug, *READERS)
        run = get_run(access, pk)
        undo(violation=get_violation(run, violation_pk), actor=access.user)
        return Response(ViolationSerializer(get_violation(run, violation_pk)).data)


_RUN = "b/<slug:slug>/cleanings/<int:pk>"
urlpatterns = [
    path("b/<slug:slug>/cleanings/", Cleanings.as_view(), name="api-cleanings"),
    path(
        "b/<slug:slug>/cleaning-forecast/",
        CleaningForecast.as_view(),
        name="api-cleaning-forecast",
    ),
    path(f"{_RUN}/", OneCleaning.as_view(), name="api-cleaning"),
    path(f"{_RUN}/budget/", CleaningBudget.as_view(), name="api-cleaning-budget"),
    path(f"{_RUN}/report/", CleaningReport.as_view(), name="api-cleaning-report"),
    path(f"{_RUN}/report/rows/", CleaningRows.as_view(), name="api-cleaning-rows"),
    path(f"{_RUN}/violations/", Violations.as_view(), name="api-cleaning-violations"),
    path(
        f"{_RUN}/violations/<int:violation_pk>/",
        OneViolation.as_view(),
        name="api-cleaning-violation",
    ),
    path(
        f"{_RUN}/violations/<int:violation_pk>/undo/",
        UndoDecision.as_view(),
        name="api-cleaning-violation-undo",
    ),
    path(f"{_RUN}/<slug:verb>/", CleaningVerb.as_view(), name="api-cleaning-verb"),
]
