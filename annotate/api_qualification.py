"""API of qualification: sitting exams, the bank, what is asked, approval history, rechecks."""

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.models import ExamAttempt
from annotate.serializers_qualification import (
    RULE_FIELDS,
    ApprovalSerializer,
    DrawSerializer,
    ExamItemSerializer,
    MyStandingSerializer,
    NewExamItemSerializer,
    PersonStandingSerializer,
    RecheckSerializer,
    RuleSerializer,
    SittingAnswerSerializer,
    SittingSerializer,
    StartSerializer,
)
from annotate.services import exam_bank as bank_verbs
from annotate.services import exams as verbs
from annotate.services.approvals import import_approvals
from annotate.services.people_standing import as_data, people_rows
from annotate.services.qualification import ask_recheck, rule_of, set_rule
from annotate.views.exam_bank import get_item
from annotate.views.exams import answer, get_attempt, get_domain, places
from corpus.access import Access, enter
from corpus.models import Membership, Role
from kit.api import Route


def sitting(attempt: ExamAttempt) -> dict[str, object]:
    """A sitting as its person may see it."""
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
    """How I stand in each of my domains."""

    @extend_schema(responses=MyStandingSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ANNOTATOR)
        rows = [
            {
                "domain": each.domain.pk,
                "name": each.domain.name,
                "qualified": each.standing.qualified,
                "missing": list(each.standing.missing),
            }
            for each in places(access)
        ]
        return Response(rows)


class SittingStart(Route):
    """Beginning an exam or a practice, or going on with the open one."""

    @extend_schema(request=StartSerializer, responses=SittingSerializer)
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ANNOTATOR)
        domain = get_domain(access, pk)
        given = self.read(StartSerializer)
        attempt = verbs.start_attempt(person=access.user, domain=domain, **given)
        return Response(sitting(attempt))


class Sitting(Route):
    """One sitting of mine."""

    @extend_schema(responses=SittingSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ANNOTATOR)
        return Response(sitting(get_attempt(access, pk)))

    @extend_schema(request=SittingAnswerSerializer, responses=SittingSerializer)
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ANNOTATOR)
        attempt = get_attempt(access, pk)
        answered = answer(access, attempt, **self.read(SittingAnswerSerializer))
        return Response(sitting(answered))


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
        answers = tuple(given.pop("answers"))
        new = bank_verbs.NewItem(answers=answers, **given)
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
        return Response(_rule(enter(self.person(), slug, Role.ADMIN)))

    @extend_schema(request=RuleSerializer, responses=RuleSerializer)
    def put(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(RuleSerializer)
        expected = given.pop("version")
        set_rule(benchmark=access.benchmark, actor=access.user, expected=expected, **given)
        return Response(_rule(access))


class People(Route):
    """How every annotator stands in each of their domains, with exam and approval history."""

    @extend_schema(responses=PersonStandingSerializer(many=True))
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


def _rule(access: Access) -> dict[str, object]:
    rule = rule_of(access.benchmark)
    shown = {name: getattr(rule, name) for name in RULE_FIELDS}
    return shown | {"version": rule.version if rule.pk else 0}


_QUALIFICATION = "b/<slug:slug>/qualification"
urlpatterns = [
    path(f"{_QUALIFICATION}/", Qualification.as_view(), name="api-qualification"),
    path(
        f"{_QUALIFICATION}/domains/<int:pk>/start/", SittingStart.as_view(), name="api-exam-start"
    ),
    path(f"{_QUALIFICATION}/sittings/<int:pk>/", Sitting.as_view(), name="api-exam"),
    path(f"{_QUALIFICATION}/bank/", ExamBank.as_view(), name="api-exam-bank"),
    path(f"{_QUALIFICATION}/bank/draw/", ExamDraw.as_view(), name="api-exam-draw"),
    path(f"{_QUALIFICATION}/bank/<int:pk>/", OneExamItem.as_view(), name="api-exam-item"),
    path(f"{_QUALIFICATION}/rule/", Rule.as_view(), name="api-qualification-rule"),
    path(f"{_QUALIFICATION}/people/", People.as_view(), name="api-qualification-people"),
    path(f"{_QUALIFICATION}/approvals/", Approvals.as_view(), name="api-approvals"),
    path(f"{_QUALIFICATION}/rechecks/", Rechecks.as_view(), name="api-rechecks"),
]
