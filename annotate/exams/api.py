"""API of qualification: taking exams, the bank, what is asked, approval history, rechecks."""

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.exams import bank as bank_verbs
from annotate.exams import services as verbs
from annotate.exams.bank_views import get_item
from annotate.exams.qualification import (
    as_data,
    ask_recheck,
    import_approvals,
    people_rows,
    rule_of,
    set_rule,
)
from annotate.exams.views import answer, get_attempt, get_domain, places
from annotate.models import ExamAttempt, ExamItem, QualificationRule
from corpus.access import Access, enter
from corpus.models import Membership, Role
from kit.api import Route


def _key() -> serializers.IntegerField:
    return serializers.IntegerField(min_value=1, max_value=2**63 - 1)


class StatusSerializer(serializers.Serializer):
    """Whether a person is qualified, and in words what is missing."""

    qualified = serializers.BooleanField()
    missing = serializers.ListField(child=serializers.CharField())


class MyStatusSerializer(StatusSerializer):
    """The person's own qualification for one domain."""

    domain = serializers.IntegerField()
    name = serializers.CharField()


class PersonStatusSerializer(StatusSerializer):
    """One annotator in one domain; `exam` is of 100, `approval_rate` a percentage."""

    person = serializers.CharField()
    domain = serializers.CharField()
    exam = serializers.FloatField(allow_null=True)
    approval_rate = serializers.FloatField(allow_null=True)
    approved = serializers.IntegerField(allow_null=True)
    recheck = serializers.CharField(allow_blank=True)


class StartSerializer(serializers.Serializer):
    """An exam, or a practice."""

    practice = serializers.BooleanField(default=False)


class AttemptItemSerializer(serializers.Serializer):
    """What is to be judged, and its place in the attempt."""

    place = serializers.IntegerField()
    question = serializers.CharField()
    answers = serializers.ListField(child=serializers.CharField())
    passage = serializers.CharField()
    positions = serializers.JSONField()


class AttemptSerializer(serializers.ModelSerializer):
    """An attempt; `score` is null until it is over, `item` once it is."""

    size = serializers.IntegerField()
    score = serializers.FloatField(allow_null=True)
    item = AttemptItemSerializer(allow_null=True)

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
    question = serializers.CharField(max_length=bank_verbs.LONGEST)
    answers = serializers.ListField(child=serializers.CharField(), default=list)
    passage = serializers.CharField(max_length=bank_verbs.LONGEST, trim_whitespace=False)
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


def attempt_data(attempt: ExamAttempt) -> dict[str, object]:
    """An attempt as its person may see it."""
    item = verbs.next_item(attempt)
    shown = item and {
        "place": attempt.items.index(item.pk),
        "question": item.question,
        "answers": item.answers,
        "passage": item.passage,
        "positions": item.positions,
    }
    return {
        "id": attempt.pk,
        "domain": attempt.domain_id,
        "is_practice": attempt.is_practice,
        "status": attempt.status,
        "pass_mark": attempt.pass_mark,
        "size": len(attempt.items),
        "score": attempt.score,
        "item": shown,
    }


class Qualification(Route):
    """Whether I am qualified in each of my domains."""

    @extend_schema(responses=MyStatusSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ANNOTATOR)
        rows = [
            {
                "domain": each["domain"].pk,
                "name": each["domain"].name,
                "qualified": each["standing"].qualified,
                "missing": list(each["standing"].missing),
            }
            for each in places(access)
        ]
        return Response(rows)


class AttemptStart(Route):
    """Beginning an exam or a practice, or going on with the open one."""

    @extend_schema(request=StartSerializer, responses=AttemptSerializer)
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ANNOTATOR)
        domain = get_domain(access, pk)
        given = self.read(StartSerializer)
        attempt = verbs.start_attempt(person=access.user, domain=domain, **given)
        return Response(attempt_data(attempt))


class OneAttempt(Route):
    """One attempt of mine."""

    @extend_schema(responses=AttemptSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ANNOTATOR)
        return Response(attempt_data(get_attempt(access, pk)))

    @extend_schema(request=AttemptAnswerSerializer, responses=AttemptSerializer)
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ANNOTATOR)
        attempt = get_attempt(access, pk)
        answered = answer(access, attempt, **self.read(AttemptAnswerSerializer))
        return Response(attempt_data(answered))


class ExamBank(Route):
    """Every item of the bank, and adding one."""

    @extend_schema(responses=ExamItemSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        return self.page(bank_verbs.bank(access.benchmark).order_by("pk"), ExamItemSerializer)

    @extend_schema(request=NewExamItemSerializer, responses={201: ExamItemSerializer})
    def post(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(NewExamItemSerializer)
        domain = get_object_or_404(access.benchmark.domains, pk=given.pop("domain"))
        new = ExamItem(**given)
        (added,) = bank_verbs.add_items(domain=domain, actor=access.user, items=[new])
        return Response(_shown(access, added.pk), status=201)


class ExamDraw(Route):
    """Drawing items from the gold of a domain."""

    @extend_schema(request=DrawSerializer, responses={201: ExamItemSerializer(many=True)})
    def post(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(DrawSerializer)
        domain = get_object_or_404(access.benchmark.domains, pk=given.pop("domain"))
        drawn = bank_verbs.draw_items(domain=domain, actor=access.user, **given)
        rows = bank_verbs.bank(access.benchmark).filter(pk__in=[each.pk for each in drawn])
        return Response(ExamItemSerializer(rows.order_by("pk"), many=True).data, status=201)


class OneExamItem(Route):
    """One item, and retiring it."""

    @extend_schema(responses=ExamItemSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        return Response(_shown(access, get_item(access, pk).pk))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        bank_verbs.retire_item(item=get_item(access, pk), actor=access.user)
        return Response(status=204)


class Rule(Route):
    """What is asked before people vote."""

    @extend_schema(responses=RuleSerializer)
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        return Response(RuleSerializer(rule_of(access.benchmark)).data)

    @extend_schema(request=RuleSerializer, responses=RuleSerializer)
    def put(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(RuleSerializer)
        expected = given.pop("version")
        set_rule(benchmark=access.benchmark, actor=access.user, expected=expected, **given)
        return Response(RuleSerializer(rule_of(access.benchmark)).data)


class People(Route):
    """Every annotator's qualification in their domains, with exam and approval history."""

    @extend_schema(responses=PersonStatusSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        return Response([as_data(row) for row in people_rows(access.benchmark)])


class Approvals(Route):
    """Keeping approval history."""

    @extend_schema(request=ApprovalSerializer(many=True), responses={204: None})
    def post(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        form = ApprovalSerializer(data=request.data, many=True)
        form.is_valid(raise_exception=True)
        rows = iter([dict(each) for each in form.validated_data])
        import_approvals(benchmark=access.benchmark, actor=access.user, rows=rows)
        return Response(status=204)


class Rechecks(Route):
    """Letting somebody take an exam again."""

    @extend_schema(request=RecheckSerializer, responses={204: None})
    def post(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(RecheckSerializer)
        rows = Membership.objects.filter(benchmark=access.benchmark)
        place = rows.filter(user__username=given["person"]).select_related("user").first()
        if place is None:
            raise Http404("No such member.")
        domain = get_object_or_404(access.benchmark.domains, pk=given["domain"])
        ask_recheck(person=place.user, domain=domain, reason=given["reason"], actor=access.user)
        return Response(status=204)


def _shown(access: Access, pk: int) -> dict[str, object]:
    return dict(ExamItemSerializer(bank_verbs.bank(access.benchmark).get(pk=pk)).data)


_QUALIFICATION = "b/<slug:slug>/qualification"
urlpatterns = [
    path(f"{_QUALIFICATION}/", Qualification.as_view(), name="api-qualification"),
    path(
        f"{_QUALIFICATION}/domains/<int:pk>/start/", AttemptStart.as_view(), name="api-exam-start"
    ),
    path(f"{_QUALIFICATION}/sittings/<int:pk>/", OneAttempt.as_view(), name="api-exam"),
    path(f"{_QUALIFICATION}/bank/", ExamBank.as_view(), name="api-exam-bank"),
    path(f"{_QUALIFICATION}/bank/draw/", ExamDraw.as_view(), name="api-exam-draw"),
    path(f"{_QUALIFICATION}/bank/<int:pk>/", OneExamItem.as_view(), name="api-exam-item"),
    path(f"{_QUALIFICATION}/rule/", Rule.as_view(), name="api-qualification-rule"),
    path(f"{_QUALIFICATION}/people/", People.as_view(), name="api-qualification-people"),
    path(f"{_QUALIFICATION}/approvals/", Approvals.as_view(), name="api-approvals"),
    path(f"{_QUALIFICATION}/rechecks/", Rechecks.as_view(), name="api-rechecks"),
]
