"""API of benchmarks and their people."""

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.urls import path, reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access import enter
from corpus.benchmarks import archive
from corpus.benchmarks import services as verbs
from corpus.benchmarks.record_views import (
    RECORD,
    events_of,
    record_choices,
    send_record,
    send_site_record,
    site_choices,
    site_events,
)
from corpus.benchmarks.views import get_member
from corpus.models import Benchmark, Domain, Invitation, Layer, Licence, Membership, Role
from kit.api import Route
from kit.models import Event


class BenchmarkSerializer(serializers.ModelSerializer):
    """A benchmark."""

    class Meta:
        model = Benchmark
        fields = ["slug", "name", "description", "licence", "created_at", "archived_at"]
        read_only_fields = ["archived_at"]


class MemberSerializer(serializers.ModelSerializer):
    """A person in a benchmark; no domains means every domain."""

    username = serializers.CharField(source="user.username")
    domains: serializers.Field = serializers.SlugRelatedField("name", many=True, read_only=True)

    class Meta:
        model = Membership
        fields = ["id", "username", "roles", "domains"]


class InvitationSerializer(serializers.ModelSerializer):
    """A place that somebody was offered and has not answered."""

    username = serializers.CharField(source="user.username")
    benchmark = serializers.CharField(source="benchmark.slug")
    domains: serializers.Field = serializers.SlugRelatedField("name", many=True, read_only=True)
    invited_by = serializers.CharField(source="invited_by.username", default="")

    class Meta:
        model = Invitation
        fields = ["id", "username", "benchmark", "roles", "domains", "invited_by", "created_at"]


class PlaceSerializer(serializers.Serializer):
    """Roles and domains to give."""

    roles = serializers.ListField(child=serializers.ChoiceField(Role.choices))
    domains = serializers.ListField(child=serializers.CharField(), default=list)

    def chosen(self, benchmark: Benchmark, names: list[str]) -> list[Domain]:
        """The domains of these names; raises ValidationError for an unknown one."""
        found = {domain.name: domain for domain in benchmark.domains.ready()}
        unknown = sorted(set(names) - found.keys())
        if unknown:
            raise serializers.ValidationError({"domains": f"Unknown: {', '.join(unknown)}."})
        return [found[name] for name in names]


class LicenceSerializer(serializers.ModelSerializer):
    """The licence of a layer of a domain."""

    domain = serializers.CharField(source="domain.name")
    licence = serializers.CharField(source="name")

    class Meta:
        model = Licence
        fields = ["domain", "layer", "licence", "url", "attribution", "text"]


class StatedSerializer(serializers.Serializer):
    """A licence to state, of every domain where none is named."""

    domain = serializers.CharField(default="")
    layer = serializers.ChoiceField(Layer.choices)
    licence = serializers.CharField(max_length=120)
    url = serializers.CharField(max_length=2000, default="", allow_blank=True)
    attribution = serializers.CharField(default="", allow_blank=True)
    text = serializers.CharField(default="", allow_blank=True, trim_whitespace=False)


class EventSerializer(serializers.ModelSerializer):
    """Who did what to what; no actor is the machine."""

    actor = serializers.CharField(source="actor.username", allow_null=True, default=None)
    # Who made the link with which the actor's session began, if somebody else did.
    link_by = serializers.CharField(
        source="link.made_by.username", allow_null=True, default=None, read_only=True
    )

    data = serializers.JSONField(source="shown", required=False)  # type: ignore[assignment]

    class Meta:
        model = Event
        fields = ["id", "at", "actor", "link_by", "verb", "target_type", "target_id", "data"]


class NewPersonSerializer(PlaceSerializer):
    """A person to add."""

    username = serializers.CharField(max_length=150)


class LinkSerializer(serializers.Serializer):
    """A member with the path of their one-time sign-in link, empty if they need none."""

    id = serializers.IntegerField()
    sign_in_path = serializers.CharField(allow_blank=True)


class DeletedSerializer(serializers.Serializer):
    """Where the backup lies that was made before."""

    backup = serializers.CharField()


class Benchmarks(Route):
    """My benchmarks; staff may make new ones."""

    @extend_schema(
        responses=BenchmarkSerializer(many=True),
        parameters=[OpenApiParameter("archived", bool, description="Archived ones instead.")],
    )
    def get(self, request: Request) -> Response:
        own = Benchmark.objects.for_user(self.person())
        is_archived = request.query_params.get("archived") in ("true", "1")
        rows = own.exclude(archived_at=None) if is_archived else own.live()
        return self.page(rows, BenchmarkSerializer)

    @extend_schema(request=BenchmarkSerializer, responses={201: BenchmarkSerializer})
    def post(self, request: Request) -> Response:
        if not self.person().is_staff:
            raise PermissionDenied("Only staff may create benchmarks.")
        made = verbs.create_benchmark(actor=self.person(), **self.read(BenchmarkSerializer))
        return Response(BenchmarkSerializer(made).data, status=201)


class OneBenchmark(Route):
    """One benchmark."""

    @extend_schema(responses=BenchmarkSerializer)
    def get(self, request: Request, slug: str) -> Response:
        return Response(BenchmarkSerializer(enter(self.person(), slug).benchmark).data)

    @extend_schema(
        responses={200: DeletedSerializer},
        parameters=[OpenApiParameter("typed", str, description="The slug again.", required=True)],
    )
    def delete(self, request: Request, slug: str) -> Response:
        """Delete an archived benchmark for good; for superusers who are its admins."""
        access = enter(self.person(), slug, Role.ADMIN, even_archived=True)
        if not access.user.is_superuser:
            raise PermissionDenied("Only a superuser deletes a benchmark.")
        typed = request.query_params.get("typed", "")
        path = archive.delete(benchmark=access.benchmark, typed=typed, actor=access.user)
        return Response({"backup": str(path)})


class Archive(Route):
    """Archive a benchmark, so that it can be read only (PUT), or let it be worked on (DELETE)."""

    @extend_schema(request=None, responses=BenchmarkSerializer)
    def put(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN, even_archived=True)
        archive.archive(benchmark=access.benchmark, actor=access.user)
        return Response(BenchmarkSerializer(access.benchmark).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN, even_archived=True)
        archive.unarchive(benchmark=access.benchmark, actor=access.user)
        return Response(status=204)


class Licences(Route):
    """Licences of the layers of a benchmark's domains."""

    @extend_schema(responses=LicenceSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        ready = enter(self.person(), slug).benchmark.domains.ready()
        rows = Licence.objects.filter(domain__in=ready).select_related("domain")
        return self.page(rows, LicenceSerializer)

    @extend_schema(request=StatedSerializer, responses={204: None})
    def put(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(StatedSerializer)
        names = [name] if (name := given.pop("domain")) else []
        [given["domain"]] = PlaceSerializer().chosen(access.benchmark, names) if names else [None]
        verbs.state_licence(benchmark=access.benchmark, actor=access.user, **given)
        return Response(status=204)


class People(Route):
    """Members of a benchmark."""

    @extend_schema(responses=MemberSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        members = access.benchmark.memberships.select_related("user").prefetch_related("domains")
        return self.page(members, MemberSerializer)

    @extend_schema(
        request=NewPersonSerializer, responses={201: LinkSerializer, 202: InvitationSerializer}
    )
    def post(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(NewPersonSerializer)
        given["domains"] = PlaceSerializer().chosen(access.benchmark, given["domains"])
        added, token = verbs.add_person(benchmark=access.benchmark, actor=access.user, **given)
        if isinstance(added, Invitation):
            return Response(InvitationSerializer(added).data, status=202)
        return _with_link(added, token, status=201)


class Invitations(Route):
    """Places that I was offered."""

    @extend_schema(responses=InvitationSerializer(many=True))
    def get(self, request: Request) -> Response:
        return self.page(_invitations().filter(user=self.person()), InvitationSerializer)


class MyInvitation(Route):
    """A place that I was offered: POST takes it, DELETE declines."""

    @extend_schema(request=None, responses=MemberSerializer)
    def post(self, request: Request, pk: int) -> Response:
        invitation = get_object_or_404(_invitations(), pk=pk, user=self.person())
        joined = verbs.accept_invitation(invitation=invitation, actor=self.person())
        return Response(MemberSerializer(joined).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, pk: int) -> Response:
        invitation = get_object_or_404(_invitations(), pk=pk, user=self.person())
        verbs.end_invitation(invitation=invitation, actor=self.person())
        return Response(status=204)


class Invited(Route):
    """People of a benchmark who were asked and have not answered."""

    @extend_schema(responses=InvitationSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        return self.page(_invitations().filter(benchmark=access.benchmark), InvitationSerializer)


class InvitedPerson(Route):
    """Withdraw an invitation."""

    @extend_schema(responses={204: None})
    def delete(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        invitation = get_object_or_404(_invitations(), pk=pk, benchmark=access.benchmark)
        verbs.end_invitation(invitation=invitation, actor=access.user)
        return Response(status=204)


def _invitations() -> QuerySet[Invitation]:
    rows = Invitation.objects.select_related("user", "benchmark", "invited_by")
    return rows.prefetch_related("domains")


class Person(Route):
    """One member."""

    @extend_schema(request=PlaceSerializer, responses=MemberSerializer)
    def put(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(PlaceSerializer)
        given["domains"] = PlaceSerializer().chosen(access.benchmark, given["domains"])
        changed = verbs.change_person(membership=get_member(access, pk), actor=access.user, **given)
        return Response(MemberSerializer(changed).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        verbs.remove_person(membership=get_member(access, pk), actor=access.user)
        return Response(status=204)


class PersonLink(Route):
    """A new one-time sign-in link for a member; 202 without one where it is mailed, or where a
    second admin has to ask as well, because the person decided things already."""

    @extend_schema(request=None, responses={200: LinkSerializer, 202: LinkSerializer})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        membership = get_member(access, pk)
        site = request.build_absolute_uri("/").rstrip("/")
        token = verbs.renew_link(membership=membership, actor=access.user, site=site)
        # 202: it is mailed, or a second admin has to ask as well.
        return _with_link(membership, token, status=200 if token else 202)


_OF_EVENTS = [
    OpenApiParameter("about", str, description="people, settings, labels, releases, reads."),
    OpenApiParameter("by", str, description="The number of a user, or machine."),
    OpenApiParameter("q", str, description="A part of the verb, or the id of what was changed."),
]


class Events(Route):
    """The record: everything that people and machines changed, and who read what is hidden from
    voters, the latest first. Details of what others judged blind are kept back from admins who
    annotate or review as well."""

    @extend_schema(responses=EventSerializer(many=True), parameters=_OF_EVENTS)
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        found = self.matches(RECORD, events_of(access), record_choices(access))
        return self.page(found, EventSerializer)


class EventsFile(Route):
    """The whole record, the oldest first, as chained lines that `verify_events` checks."""

    @extend_schema(responses={(200, "application/jsonl"): OpenApiTypes.BINARY})
    def get(self, request: Request, slug: str) -> StreamingHttpResponse:
        return send_record(enter(self.person(), slug, Role.ADMIN))


class SiteEvents(Route):
    """The record of the site itself, for staff: accounts, tokens, limits, endpoints."""

    @extend_schema(responses=EventSerializer(many=True), parameters=_OF_EVENTS)
    def get(self, request: Request) -> Response:
        events = site_events(self.person())
        return self.page(self.matches(RECORD, events, site_choices(events)), EventSerializer)


class SiteEventsFile(Route):
    """The whole record of the site, the oldest first, as chained lines."""

    @extend_schema(responses={(200, "application/jsonl"): OpenApiTypes.BINARY})
    def get(self, request: Request) -> StreamingHttpResponse:
        return send_site_record(self.person())


def _with_link(membership: Membership, token: str, *, status: int = 200) -> Response:
    path = reverse("sign-in-link", args=[token]) if token else ""
    data = {"id": membership.pk, "sign_in_path": path}
    # Whoever holds the link is let in: no cache may keep it.
    return Response(data, status=status, headers={"Cache-Control": "no-store"})


urlpatterns = [
    path("benchmarks/", Benchmarks.as_view(), name="api-benchmarks"),
    path("events/", SiteEvents.as_view(), name="api-site-events"),
    path("events/file/", SiteEventsFile.as_view(), name="api-site-events-file"),
    path("b/<slug:slug>/", OneBenchmark.as_view(), name="api-benchmark"),
    path("b/<slug:slug>/archive/", Archive.as_view(), name="api-archive"),
    path("b/<slug:slug>/licences/", Licences.as_view(), name="api-licences"),
    path("b/<slug:slug>/events/", Events.as_view(), name="api-events"),
    path("b/<slug:slug>/events/file/", EventsFile.as_view(), name="api-events-file"),
    path("b/<slug:slug>/people/", People.as_view(), name="api-people"),
    path("invitations/", Invitations.as_view(), name="api-invitations"),
    path("invitations/<int:pk>/", MyInvitation.as_view(), name="api-invitation"),
    path("b/<slug:slug>/people/invitations/", Invited.as_view(), name="api-invited"),
    path(
        "b/<slug:slug>/people/invitations/<int:pk>/",
        InvitedPerson.as_view(),
        name="api-invited-person",
    ),
    path("b/<slug:slug>/people/<int:pk>/", Person.as_view(), name="api-person"),
    path("b/<slug:slug>/people/<int:pk>/link/", PersonLink.as_view(), name="api-person-link"),
]
