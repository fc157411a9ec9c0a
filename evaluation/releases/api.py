"""API of releases: the verbs of the screens."""

from typing import Any

from django.http.response import HttpResponseBase
from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access import enter
from corpus.models import Role
from corpus.versions.services import chosen
from evaluation.models import Release
from evaluation.releases import services as verbs
from evaluation.releases.views import diff_of, get_release, send_archive, send_file
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
    final = serializers.BooleanField(required=False, default=False)
    agreement_bar = serializers.FloatField(
        required=False, default=None, allow_null=True, min_value=-1, max_value=1
    )
    corpus = serializers.IntegerField(
        required=False, help_text="The corpus version to release; by default the current one."
    )


class Releases(Route):
    """Releases of a benchmark, and building one."""

    @extend_schema(responses=ReleaseSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        return self.page(access.benchmark.releases.all(), ReleaseSerializer)

    @extend_schema(request=NewReleaseSerializer, responses={202: ReleaseSerializer})
    def post(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(NewReleaseSerializer)
        if "corpus" in given:
            given["corpus"] = chosen(access.benchmark, given["corpus"])
        release = verbs.start_release(access=access, **given)
        return Response(ReleaseSerializer(release).data, status=202)


class _OfRelease(Route):
    """Base of the routes below one release."""

    def release(self, slug: str, pk: int) -> Release:
        """It, for admins; 404 where it is not of this benchmark."""
        return get_release(enter(self.person(), slug, Role.ADMIN), pk)


class OneRelease(_OfRelease):
    """One release."""

    @extend_schema(responses=ReleaseSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        return Response(ReleaseSerializer(self.release(slug, pk)).data)


class ReleaseVerb(_OfRelease):
    """Stopping a build, or trying a failed one again."""

    verb: Any = None

    @extend_schema(request=None, responses=ReleaseSerializer)
    def post(self, request: Request, slug: str, pk: int) -> Response:
        release = self.release(slug, pk)
        self.verb(release=release, actor=self.person())
        return Response(ReleaseSerializer(release).data)


class ReleaseFile(_OfRelease):
    """One file of a release."""

    @extend_schema(responses={(200, "application/octet-stream"): OpenApiTypes.BINARY})
    def get(self, request: Request, slug: str, pk: int, path: str) -> HttpResponseBase:
        return send_file(self.release(slug, pk), path)


class ReleaseChangeSerializer(serializers.Serializer):
    """One kind of change in one split."""

    split = serializers.CharField()
    what = serializers.CharField()
    count = serializers.IntegerField()
    rows = serializers.ListField(child=serializers.CharField())


class ReleaseDiff(_OfRelease):
    """What changed since an older release."""

    @extend_schema(responses=ReleaseChangeSerializer(many=True))
    def get(self, request: Request, slug: str, pk: int, older: int) -> Response:
        diff = diff_of(self.release(slug, older), self.release(slug, pk))
        return Response(ReleaseChangeSerializer(diff.changes, many=True).data)


class ReleaseArchive(_OfRelease):
    """A whole release as a zip."""

    @extend_schema(responses={(200, "application/zip"): OpenApiTypes.BINARY})
    def get(self, request: Request, slug: str, pk: int) -> HttpResponseBase:
        return send_archive(self.release(slug, pk))


_ONE = "b/<slug:slug>/releases/<int:pk>"
_CANCEL = ReleaseVerb.as_view(verb=staticmethod(verbs.cancel_release))
_RETRY = ReleaseVerb.as_view(verb=staticmethod(verbs.retry_release))
urlpatterns = [
    path("b/<slug:slug>/releases/", Releases.as_view(), name="api-releases"),
    path(f"{_ONE}/", OneRelease.as_view(), name="api-release"),
    path(f"{_ONE}/cancel/", _CANCEL, name="api-release-cancel"),
    path(f"{_ONE}/retry/", _RETRY, name="api-release-retry"),
    path(f"{_ONE}/since/<int:older>/", ReleaseDiff.as_view(), name="api-release-diff"),
    path(f"{_ONE}/archive/", ReleaseArchive.as_view(), name="api-release-archive"),
    path(f"{_ONE}/files/<path:path>", ReleaseFile.as_view(), name="api-release-file"),
]
