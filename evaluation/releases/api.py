"""API of releases: the verbs of the screens."""

from typing import Any

from django.http.response import HttpResponseBase
from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSetMixin

from corpus.access import enter
from corpus.models import Role
from corpus.run_routes import OneRun, RunVerb
from corpus.versions.services import chosen
from evaluation.releases import services as verbs
from evaluation.releases.models import Release, ReleasePush
from evaluation.releases.pushing import start_push
from evaluation.releases.views import PUSHES, RUNS, diff_of, get_release, send_archive, send_file
from kit.api import RUN_FIELDS, Route


class ReleaseSerializer(serializers.ModelSerializer):
    """A release: what it holds, what is wrong with it, its files with their checksums."""

    class Meta:
        model = Release
        fields = [
            *RUN_FIELDS,
            *("version", "corpus_version", "state", "agreement_bar", "counts", "faults", "files"),
        ]


class NewReleaseSerializer(serializers.Serializer):
    """The version to build; a final one is refused while a check fails."""

    version = serializers.CharField(max_length=40)
    final = serializers.BooleanField(default=False)
    agreement_bar = serializers.FloatField(default=None, allow_null=True, min_value=-1, max_value=1)
    corpus = serializers.IntegerField(
        required=False, help_text="The corpus version to release; by default the current one."
    )


class PushSerializer(serializers.ModelSerializer):
    """A push of a release: where it goes, how far it is, and the address of its commit."""

    release: Any = serializers.PrimaryKeyRelatedField(source="of_release", read_only=True)

    class Meta:
        model = ReleasePush
        fields = [*RUN_FIELDS, "release", "repository", "commit_url"]
        read_only_fields = [*RUN_FIELDS, "release", "commit_url"]


class ReleaseChangeSerializer(serializers.Serializer):
    """One kind of change in one split."""

    split = serializers.CharField()
    what = serializers.CharField()
    count = serializers.IntegerField()
    rows = serializers.ListField(child=serializers.CharField())


class Releases(ViewSetMixin, Route):
    """Releases of a benchmark, for its admins."""

    def release(self) -> Release:
        """The one of the address; 404 where it is not of this benchmark."""
        access = enter(self.person(), self.kwargs["slug"], Role.ADMIN)
        return get_release(access, self.kwargs["pk"])

    @extend_schema(responses=ReleaseSerializer(many=True))
    def list(self, request: Request, slug: str) -> Response:
        """Releases of a benchmark."""
        access = enter(self.person(), slug, Role.ADMIN)
        return self.page(access.benchmark.releases.all(), ReleaseSerializer)

    @extend_schema(request=NewReleaseSerializer, responses={202: ReleaseSerializer})
    def create(self, request: Request, slug: str) -> Response:
        """Building one."""
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(NewReleaseSerializer)
        if "corpus" in given:
            given["corpus"] = chosen(access.benchmark, given["corpus"])
        release = verbs.start_release(benchmark=access.benchmark, actor=access.user, **given)
        return Response(ReleaseSerializer(release).data, status=202)

    @extend_schema(responses=PushSerializer(many=True))
    def pushes(self, request: Request, slug: str, pk: int) -> Response:
        """Pushes of a release."""
        return self.page(self.release().pushes.all(), PushSerializer)

    @extend_schema(request=PushSerializer, responses={202: PushSerializer})
    def push(self, request: Request, slug: str, pk: int) -> Response:
        """Pushing it to a dataset repository of the hub that the server is set to."""
        release = self.release()
        given = self.read(PushSerializer)
        push = start_push(release=release, actor=self.person(), **given)
        return Response(PushSerializer(push).data, status=202)

    @extend_schema(responses=ReleaseChangeSerializer(many=True))
    def since(self, request: Request, slug: str, pk: int, older: int) -> Response:
        """What changed since an older release."""
        newer = self.release()
        before = get_release(enter(self.person(), slug, Role.ADMIN), older)
        return Response(ReleaseChangeSerializer(diff_of(before, newer), many=True).data)

    @extend_schema(responses={(200, "application/zip"): OpenApiTypes.BINARY})
    def archive(self, request: Request, slug: str, pk: int) -> HttpResponseBase:
        """A whole release as a zip."""
        return send_archive(self.release())

    @extend_schema(responses={(200, "*/*"): OpenApiTypes.BINARY})
    def file(self, request: Request, slug: str, pk: int, path: str) -> HttpResponseBase:
        """One file of a release, of the type that its name tells."""
        return send_file(self.release(), path)


_ONE = "b/<slug:slug>/releases/<int:pk>"
_KIND: Any = {"pages": RUNS, "serializer_class": ReleaseSerializer}
_PUSH = "b/<slug:slug>/pushes/<int:pk>"
_PUSHED: Any = {"pages": PUSHES, "serializer_class": PushSerializer}
_to = Releases.as_view
_since = _to({"get": "since"}, pagination_class=None)
urlpatterns = [
    path("b/<slug:slug>/releases/", _to({"get": "list", "post": "create"}), name="api-releases"),
    path(f"{_ONE}/", OneRun.as_view(**_KIND), name="api-release"),
    path(f"{_ONE}/cancel/", RunVerb.as_view(**_KIND, verb="cancel"), name="api-release-cancel"),
    path(f"{_ONE}/retry/", RunVerb.as_view(**_KIND, verb="retry"), name="api-release-retry"),
    path(f"{_ONE}/pushes/", _to({"get": "pushes", "post": "push"}), name="api-release-pushes"),
    path(f"{_PUSH}/", OneRun.as_view(**_PUSHED), name="api-push"),
    path(f"{_PUSH}/cancel/", RunVerb.as_view(**_PUSHED, verb="cancel"), name="api-push-cancel"),
    path(f"{_PUSH}/retry/", RunVerb.as_view(**_PUSHED, verb="retry"), name="api-push-retry"),
    path(f"{_ONE}/since/<int:older>/", _since, name="api-release-diff"),
    path(f"{_ONE}/archive/", _to({"get": "archive"}), name="api-release-archive"),
    path(f"{_ONE}/files/<path:path>", _to({"get": "file"}), name="api-release-file"),
]
