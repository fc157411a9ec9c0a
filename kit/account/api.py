"""API of one's own account: whose decisions those are that somebody else's link began."""

from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kit.account.decisions import doubtful_decisions, say_whose
from kit.api import Route
from kit.models import SignInLink


class DoneSerializer(serializers.Serializer):
    """How often something was done in a benchmark."""

    verb = serializers.CharField()
    benchmark = serializers.CharField()
    times = serializers.IntegerField()


class DoubtfulSerializer(serializers.Serializer):
    """What was done after signing in with a link that somebody else had made."""

    id = serializers.IntegerField()
    made_by = serializers.CharField(allow_blank=True)
    used_at = serializers.DateTimeField()
    done = DoneSerializer(many=True)


class WhoseSerializer(serializers.Serializer):
    """Whether it is the person's own."""

    is_mine = serializers.BooleanField()


class DoubtfulDecisions(Route):
    """Decisions that count in no release until their person calls them theirs."""

    pagination_class = None

    @extend_schema(responses=DoubtfulSerializer(many=True))
    def get(self, request: Request) -> Response:
        found = [
            {
                "id": each.link.pk,
                "made_by": each.link.made_by.username if each.link.made_by else "",
                "used_at": each.link.used_at,
                "done": [
                    {"verb": verb, "benchmark": scope, "times": times}
                    for verb, scope, times in each.done
                ],
            }
            for each in doubtful_decisions(self.person())
        ]
        return Response(DoubtfulSerializer(found, many=True).data)


class WhoseDecisions(Route):
    """Say whether the decisions behind one link are mine; it is said once."""

    @extend_schema(request=WhoseSerializer, responses={204: None})
    def post(self, request: Request, pk: int) -> Response:
        mine = SignInLink.objects.select_related("user")
        link = get_object_or_404(mine, pk=pk, user=self.person())
        said = self.read(WhoseSerializer)["is_mine"]
        say_whose(link=link, is_theirs=said, request=request._request)
        return Response(status=204)


urlpatterns = [
    path("account/decisions/", DoubtfulDecisions.as_view(), name="api-account-decisions"),
    path(
        "account/decisions/<int:pk>/", WhoseDecisions.as_view(), name="api-account-decisions-whose"
    ),
]
