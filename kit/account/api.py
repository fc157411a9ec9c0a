"""API of accounts: whose decisions those are that somebody else's link began; the site's people."""

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kit.account import people
from kit.account.decisions import doubtful_decisions, say_whose
from kit.account.people_views import PEOPLE, state_of
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
                "id": each["link"].pk,
                "made_by": each["link"].made_by.username if each["link"].made_by else "",
                "used_at": each["link"].used_at,
                "done": [
                    {"verb": verb, "benchmark": scope, "times": times}
                    for verb, scope, times in each["done"]
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


class AccountSerializer(serializers.ModelSerializer):
    """An account of the site."""

    state = serializers.SerializerMethodField()

    has_second_factor = serializers.SerializerMethodField()

    class Meta:
        model = User
        fields = [
            *("id", "username", "state", "is_staff", "has_second_factor"),
            *("date_joined", "last_login"),
        ]

    def get_state(self, person: User) -> str:
        """active, deactivated or erased."""
        return state_of(person)

    def get_has_second_factor(self, person: User) -> bool:
        """Whether a code is asked for when the person signs in."""
        return hasattr(person, "second_factor")


class UsernameSerializer(serializers.Serializer):
    """Another user name."""

    username = serializers.CharField(max_length=150)


class Accounts(Route):
    """Every account of the site, for staff."""

    @extend_schema(
        responses=AccountSerializer(many=True),
        parameters=[
            OpenApiParameter("state", str, description="active, deactivated or erased."),
            OpenApiParameter("factor", str, description="yes or no: a second factor."),
            OpenApiParameter("way", str, description="password, provider or links."),
            OpenApiParameter("q", str, description="A part of the user name or address."),
        ],
    )
    def get(self, request: Request) -> Response:
        _need(self.person().is_staff)
        return self.page(
            self.matches(PEOPLE, User.objects.select_related("second_factor")), AccountSerializer
        )


class OneAccount(Route):
    """Renaming an account (PUT), or erasing it for good (DELETE); for superusers."""

    @extend_schema(request=UsernameSerializer, responses=AccountSerializer)
    def put(self, request: Request, pk: int) -> Response:
        _need(self.person().is_superuser)
        person = get_object_or_404(User, pk=pk)
        people.rename(person=person, actor=self.person(), **self.read(UsernameSerializer))
        return Response(AccountSerializer(person).data)

    @extend_schema(request=None, responses=AccountSerializer)
    def delete(self, request: Request, pk: int) -> Response:
        _need(self.person().is_superuser)
        people.erase(person=get_object_or_404(User, pk=pk), actor=self.person())
        return Response(AccountSerializer(User.objects.get(pk=pk)).data)


class AccountVerb(Route):
    """Deactivating an account, or letting its person in again; for superusers."""

    verb = people.deactivate

    @extend_schema(request=None, responses=AccountSerializer)
    def post(self, request: Request, pk: int) -> Response:
        _need(self.person().is_superuser)
        person = get_object_or_404(User, pk=pk)
        type(self).verb(person=person, actor=self.person())
        return Response(AccountSerializer(User.objects.get(pk=pk)).data)


class Reactivation(AccountVerb):
    """Letting the person of a deactivated account in again; for superusers."""

    verb = people.reactivate


class FactorTaking(AccountVerb):
    """Taking the second factor from somebody who lost it, no superuser; for superusers."""

    verb = people.take_factor


def _need(right: bool) -> None:
    if not right:
        raise PermissionDenied("Staff see the accounts of the site, superusers change them.")


_ACCOUNT = "accounts/<int:pk>"
urlpatterns = [
    path("accounts/", Accounts.as_view(), name="api-accounts"),
    path(f"{_ACCOUNT}/", OneAccount.as_view(), name="api-one-account"),
    path(f"{_ACCOUNT}/deactivate/", AccountVerb.as_view(), name="api-account-deactivate"),
    path(f"{_ACCOUNT}/reactivate/", Reactivation.as_view(), name="api-account-reactivate"),
    path(f"{_ACCOUNT}/take-factor/", FactorTaking.as_view(), name="api-account-take-factor"),
    path("account/decisions/", DoubtfulDecisions.as_view(), name="api-account-decisions"),
    path(
        "account/decisions/<int:pk>/", WhoseDecisions.as_view(), name="api-account-decisions-whose"
    ),
]
