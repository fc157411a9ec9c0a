"""API of qualification: taking exams, the bank, what is asked, approval history, rechecks."""

from typing import Any

from django.contrib.auth.models import User
from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSetMixin

from annotate.exams import bank
from annotate.exams import services as verbs
from annotate.exams.bank_views import get_item
from annotate.exams.qualification import (
    ask_recheck,
    import_approvals,
    people_rows,
    rule_of,
    set_rule,
)
from annotate.exams.views import get_attempt, get_domain, places
from annotate.models import ExamAttempt, ExamItem, QualificationRule
from corpus.access import Access, enter, first_or_404
from corpus.models import Role
from kit.api import Route


def _key() -> serializers.IntegerField:
    return serializers.IntegerField(min_value=1, max_value=2**63 - 1)


class StatusSerializer(serializers.Serializer):
    """Whether a person is qualified, and in words what is missing."""

    qualified = serializers.BooleanField(source="standing.qualified")
    missing = serializers.ListField(source="standing.missing", child=serializers.CharField())


class MyStatusSerializer(StatusSerializer):
    """The person's own qualification for one domain."""

    domain = serializers.IntegerField(source="domain.pk")
    name = serializers.CharField(source="domain.name")


class PersonStatusSerializer(StatusSerializer):
    """One annotator in one domain; `exam` is of 100, `approval_rate` a percentage."""

    person = serializers.CharField(source="person.username")
    domain = serializers.CharField(source="domain.name")
    exam = serializers.FloatField(source="standing.passed.score", allow_null=True)
    approval_rate = serializers.FloatField(source="standing.approval.rate", allow_null=True)
    approved = serializers.IntegerField(source="standing.approval.approved", allow_null=True)
    recheck = serializers.SerializerMethodField()

    def get_recheck(self, row: dict[str, Any]) -> str:
        """Why the exam has to be taken again."""
        recheck = row["standing"].recheck
        return recheck.reason if recheck else ""


class StartSerializer(serializers.Serializer):
    """An exam, or a practice."""

    practice = serializers.BooleanField(default=False)


class AttemptItemSerializer(serializers.ModelSerializer):
    """What is to be judged, and its place in the attempt."""

    place = serializers.IntegerField()
    answers = serializers.ListField(child=serializers.CharField())
    positions = serializers.JSONField()

    class Meta:
        model = ExamItem
        fields = ["place", "question", "answers", "passage", "positions"]


class AttemptSerializer(serializers.ModelSerializer):
    """An attempt; `score` is null until it is over, `item` once it is."""

    size = serializers.IntegerField()
    score = serializers.FloatField(allow_null=True)
    item = AttemptItemSerializer(source="next_item", allow_null=True)

    class Meta:
        model = ExamAttempt
        fields = ["id", "domain", "is_practice", "status", "pass_mark", "size", "score", "item"]


class AttemptAnswerSerializer(serializers.Serializer):
    """The answer to the item at this place: 1 relevant, 0 not."""

    place = serializers.IntegerField(min_value=0)
    label = serializers.ChoiceField([0, 1])  # type: ignore[assignment]


class ExamItemSerializer(serializers.ModelSerializer):
    """An item with its right answer and how people did on it in exams."""

    answered = serializers.IntegerField(read_only=True)
    right = serializers.IntegerField(read_only=True)

    class Meta:
        model = ExamItem
        fields = [
            *("id", "domain", "question", "answers", "passage", "label", "basis", "explanation"),
            *("is_practice", "retired_at", "answered", "right"),
        ]


class NewExamItemSerializer(serializers.Serializer):
    """An item to add."""

    domain = _key()
    question = serializers.CharField(max_length=bank.LONGEST)
    answers = serializers.ListField(child=serializers.CharField(), default=list)
    passage = serializers.CharField(max_length=bank.LONGEST, trim_whitespace=False)
    label = serializers.ChoiceField([0, 1])  # type: ignore[assignment]
    explanation = serializers.CharField(allow_blank=True, default="", max_length=4000)
    is_practice = serializers.BooleanField(default=False)


class DrawSerializer(serializers.Serializer):
    """How many items to draw from the domain's gold."""

    domain = _key()
    count = serializers.IntegerField()
    seed = serializers.IntegerField(default=1, min_value=0, max_value=2**31 - 1)
    practice = serializers.BooleanField(default=False)


class RuleSerializer(serializers.ModelSerializer):
    """What is asked before people vote; `version` is 0 where nothing was written yet."""

    version = serializers.IntegerField()

    class Meta:
        model = QualificationRule
        fields = [
            *("required", "pass_mark", "exam_size", "needs_approval", "approval_above"),
            *("approved_least", "recheck_below", "recheck_window", "version"),
        ]


class ApprovalSerializer(serializers.Serializer):
    """One person's approval elsewhere: percent of the work, and pieces."""

    username = serializers.CharField(max_length=150)
    rate = serializers.CharField(max_length=20)
    approved = serializers.CharField(max_length=12)


class RecheckSerializer(serializers.Serializer):
    """Who has to take which exam again, and why."""

    person = serializers.CharField(max_length=150)
    domain = _key()
    reason = serializers.CharField(max_length=300)


class Attempts(ViewSetMixin, Route):
    """Whether I am qualified, and the exams and practices that I take."""

    pagination_class = None

    @extend_schema(responses=MyStatusSerializer(many=True))
    def list(self, request: Request, slug: str) -> Response:
        """Whether I am qualified in each of my domains."""
        access = enter(self.person(), slug, Role.ANNOTATOR)
        return Response(MyStatusSerializer(places(access), many=True).data)

    @extend_schema(request=StartSerializer, responses=AttemptSerializer)
    def start(self, request: Request, slug: str, pk: int) -> Response:
        """Beginning an exam or a practice, or going on with the open one."""
        access = enter(self.person(), slug, Role.ANNOTATOR)
        domain, given = get_domain(access, pk), self.read(StartSerializer)
        attempt = verbs.start_attempt(person=access.user, domain=domain, **given)
        return Response(AttemptSerializer(attempt).data)

    @extend_schema(responses=AttemptSerializer)
    def retrieve(self, request: Request, slug: str, pk: int) -> Response:
        """One attempt of mine."""
        access = enter(self.person(), slug, Role.ANNOTATOR)
        return Response(AttemptSerializer(get_attempt(access, pk)).data)

    @extend_schema(request=AttemptAnswerSerializer, responses=AttemptSerializer)
    def answer(self, request: Request, slug: str, pk: int) -> Response:
        """Answering the next item of one attempt of mine."""
        access = enter(self.person(), slug, Role.ANNOTATOR)
        attempt, given = get_attempt(access, pk), self.read(AttemptAnswerSerializer)
        answered = verbs.answer_item(attempt=attempt, person=access.user, **given)
        return Response(AttemptSerializer(answered).data)


class Qualification(ViewSetMixin, Route):
    """What admins do: the bank of items, what is asked, approval history, rechecks."""

    def enter(self) -> Access:
        """An admin's access."""
        return enter(self.person(), self.kwargs["slug"], Role.ADMIN)

    def about_domain(self, serializer: type[serializers.Serializer]) -> dict[str, Any]:
        """The admin as `actor`, what the body holds, and the `domain` that it names."""
        access, given = self.enter(), self.read(serializer)
        given["domain"] = get_object_or_404(access.benchmark.domains, pk=given["domain"])
        return given | {"actor": access.user}

    @extend_schema(responses=ExamItemSerializer(many=True))
    def list(self, request: Request, slug: str) -> Response:
        """Every item of the bank."""
        return self.page(bank.bank(self.enter().benchmark).order_by("pk"), ExamItemSerializer)

    @extend_schema(request=NewExamItemSerializer, responses={201: ExamItemSerializer})
    def create(self, request: Request, slug: str) -> Response:
        """Adding an item to the bank."""
        given = self.about_domain(NewExamItemSerializer)
        about = {name: given.pop(name) for name in ("domain", "actor")}
        (added,) = bank.add_items(items=[ExamItem(**given)], **about)
        shown = bank.bank(added.domain.benchmark).get(pk=added.pk)
        return Response(ExamItemSerializer(shown).data, status=201)

    @extend_schema(request=DrawSerializer, responses={201: ExamItemSerializer(many=True)})
    def draw(self, request: Request, slug: str) -> Response:
        """Drawing items from the gold of a domain."""
        given = self.about_domain(DrawSerializer)
        drawn = [each.pk for each in bank.draw_items(**given)]
        rows = bank.bank(given["domain"].benchmark).filter(pk__in=drawn).order_by("pk")
        return Response(ExamItemSerializer(rows, many=True).data, status=201)

    @extend_schema(responses=ExamItemSerializer)
    def retrieve(self, request: Request, slug: str, pk: int) -> Response:
        """One item."""
        return Response(ExamItemSerializer(get_item(self.enter(), pk)).data)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, slug: str, pk: int) -> Response:
        """Retiring an item."""
        access = self.enter()
        bank.retire_item(item=get_item(access, pk), actor=access.user)
        return Response(status=204)

    @extend_schema(responses=RuleSerializer)
    def rule(self, request: Request, slug: str) -> Response:
        """What is asked before people vote."""
        return Response(RuleSerializer(rule_of(self.enter().benchmark)).data)

    @extend_schema(request=RuleSerializer, responses=RuleSerializer)
    def set_rule(self, request: Request, slug: str) -> Response:
        """Changing what is asked before people vote."""
        access, given = self.enter(), self.read(RuleSerializer)
        expected = given.pop("version")
        set_rule(benchmark=access.benchmark, actor=access.user, expected=expected, **given)
        return Response(RuleSerializer(rule_of(access.benchmark)).data)

    @extend_schema(responses=PersonStatusSerializer(many=True))
    def people(self, request: Request, slug: str) -> Response:
        """Every annotator's qualification in their domains, with exam and approval history."""
        rows = people_rows(self.enter().benchmark)
        return Response(PersonStatusSerializer(rows, many=True).data)

    @extend_schema(request=ApprovalSerializer(many=True), responses={204: None})
    def approvals(self, request: Request, slug: str) -> Response:
        """Keeping approval history."""
        access = self.enter()
        form = ApprovalSerializer(data=request.data, many=True)
        form.is_valid(raise_exception=True)
        rows = iter([dict(each) for each in form.validated_data])
        import_approvals(benchmark=access.benchmark, actor=access.user, rows=rows)
        return Response(status=204)

    @extend_schema(request=RecheckSerializer, responses={204: None})
    def recheck(self, request: Request, slug: str) -> Response:
        """Letting somebody take an exam again."""
        given = self.about_domain(RecheckSerializer)
        people = User.objects.filter(memberships__benchmark=given["domain"].benchmark_id)
        given["person"] = first_or_404(people.filter(username=given["person"]), "member")
        ask_recheck(**given)
        return Response(status=204)


_ROUTES: tuple[tuple[str, str, type[ViewSetMixin], dict[str, Any]], ...] = (
    ("api-qualification", "", Attempts, {"get": "list"}),
    ("api-exam-start", "domains/<int:pk>/start/", Attempts, {"post": "start"}),
    ("api-exam", "sittings/<int:pk>/", Attempts, {"get": "retrieve", "post": "answer"}),
    ("api-exam-bank", "bank/", Qualification, {"get": "list", "post": "create"}),
    ("api-exam-draw", "bank/draw/", Qualification, {"post": "draw"}),
    ("api-exam-item", "bank/<int:pk>/", Qualification, {"get": "retrieve", "delete": "destroy"}),
    ("api-qualification-rule", "rule/", Qualification, {"get": "rule", "put": "set_rule"}),
    ("api-approvals", "approvals/", Qualification, {"post": "approvals"}),
    ("api-rechecks", "rechecks/", Qualification, {"post": "recheck"}),
)
urlpatterns = [
    path(f"b/<slug:slug>/qualification/{route}", view.as_view(actions), name=name)
    for name, route, view, actions in _ROUTES
]
urlpatterns.append(
    path(
        "b/<slug:slug>/qualification/people/",
        Qualification.as_view({"get": "people"}, pagination_class=None),
        name="api-qualification-people",
    )
)
