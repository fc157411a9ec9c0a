"""API of feedback: my decided votes, and messages from admins."""

from django.contrib.auth.models import User
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.feedback.services import (
    history_sheet,
    mark_seen,
    reasons_of_majority,
    send_message,
    shown_votes,
    to_reread,
)
from annotate.feedback.views import get_shown_vote, get_voter
from annotate.models import Vote, VoterMessage
from corpus.access import Access, enter
from corpus.models import Role
from kit.api import ReportTableSerializer, Route
from kit.lists.report_tables import as_data


class DecidedVoteSerializer(serializers.ModelSerializer):
    """My vote and the label of its case; `expert` is what an expert says of the pair now."""

    case = serializers.UUIDField(source="case.public_id")
    query = serializers.CharField(source="case.query")
    passage = serializers.CharField(source="case.passage.pid")
    final = serializers.IntegerField()
    expert = serializers.IntegerField(allow_null=True)

    class Meta:
        model = Vote
        fields = [*("id", "case", "query", "passage"), *("label", "final", "expert", "created_at")]


class MajorityReasonsSerializer(DecidedVoteSerializer):
    """The same with the reasons of others who gave the final label; no names."""

    reasons = serializers.ListField(child=serializers.CharField())

    class Meta(DecidedVoteSerializer.Meta):
        fields = [*DecidedVoteSerializer.Meta.fields, "reasons"]


class RereadSerializer(serializers.Serializer):
    """A section of the guidelines to read again."""

    title = serializers.CharField()
    text = serializers.CharField()
    why = serializers.CharField()


class VoterMessageSerializer(serializers.ModelSerializer):
    """What an admin wrote; `batch` and `case` say what about."""

    case = serializers.UUIDField(source="case.public_id", default=None, allow_null=True)

    class Meta:
        model = VoterMessage
        fields = ["id", "text", "batch", "case", "created_at", "seen_at"]


class NewVoterMessageSerializer(serializers.Serializer):
    """A message to a voter."""

    text = serializers.CharField(max_length=4000)
    batch = serializers.IntegerField(min_value=1, required=False, allow_null=True)
    case = serializers.UUIDField(required=False, allow_null=True)


class FeedbackSerializer(serializers.Serializer):
    """How a voter did over time, what to read again, and messages."""

    history = ReportTableSerializer()
    reread = RereadSerializer(many=True)
    messages = VoterMessageSerializer(many=True)


class Feedback(Route):
    """What became of my votes."""

    @extend_schema(responses=FeedbackSerializer)
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ANNOTATOR)
        return Response(_shown(access, access.user))


class FeedbackVotes(Route):
    """My votes on decided cases, one by one."""

    @extend_schema(responses=DecidedVoteSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ANNOTATOR)
        rows = shown_votes(access.user.pk, access.benchmark).order_by("-pk")
        return self.page(rows, DecidedVoteSerializer)


class FeedbackVote(Route):
    """One of them with the reasons of the majority."""

    @extend_schema(responses=MajorityReasonsSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        vote = get_shown_vote(enter(self.person(), slug, Role.ANNOTATOR), pk)
        vote.reasons = reasons_of_majority(vote)  # type: ignore[attr-defined]
        return Response(MajorityReasonsSerializer(vote).data)


class FeedbackSeen(Route):
    """I have read my messages."""

    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request, slug: str) -> Response:
        mark_seen(access=enter(self.person(), slug, Role.ANNOTATOR))
        return Response(status=204)


class FeedbackOf(Route):
    """The same of one annotator, for admins, and writing to them."""

    @extend_schema(responses=FeedbackSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        return Response(_shown(access, get_voter(access, pk)))

    @extend_schema(request=NewVoterMessageSerializer, responses={201: VoterMessageSerializer})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(NewVoterMessageSerializer)
        sent = send_message(access=access, person=get_voter(access, pk), **given)
        return Response(VoterMessageSerializer(sent).data, status=201)


def _shown(access: Access, person: User) -> dict[str, object]:
    benchmark = access.benchmark
    rows = VoterMessage.objects.to(person.pk, benchmark)[:500]
    return {
        "history": as_data([history_sheet(person.pk, benchmark)])[0],
        "reread": RereadSerializer(to_reread(person.pk, benchmark), many=True).data,
        "messages": VoterMessageSerializer(rows, many=True).data,
    }


_FEEDBACK = "b/<slug:slug>/feedback"
urlpatterns = [
    path(f"{_FEEDBACK}/", Feedback.as_view(), name="api-feedback"),
    path(f"{_FEEDBACK}/seen/", FeedbackSeen.as_view(), name="api-feedback-seen"),
    path(f"{_FEEDBACK}/votes/", FeedbackVotes.as_view(), name="api-feedback-votes"),
    path(f"{_FEEDBACK}/votes/<int:pk>/", FeedbackVote.as_view(), name="api-feedback-vote"),
    path(f"{_FEEDBACK}/people/<int:pk>/", FeedbackOf.as_view(), name="api-feedback-of"),
]
