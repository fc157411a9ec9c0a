"""API of corpus versions: which is current, changing that, labels, passages, and searching one."""

from django.http import Http404
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access import enter
from corpus.cleaning.api import (
    CarriedSerializer,
    PassageDiffSerializer,
    TakeUpSerializer,
    VersionHitSerializer,
    VersionSerializer,
    diff_data,
)
from corpus.models import CorpusVersion, Passage, Role
from corpus.texts.search import search_version
from corpus.versions import services as verbs
from corpus.versions.crosswalk import labels_of
from corpus.versions.views import READERS, came_from, compare, get_version
from kit.api import Route
from kit.tables import clean


class Versions(Route):
    """Corpus versions that are ready."""

    @extend_schema(responses=VersionSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, *READERS)
        rows = CorpusVersion.objects.ready().filter(benchmark=access.benchmark)
        return self.page(rows, VersionSerializer)


class CurrentVersion(Route):
    """The version that pools, runs and releases are of unless they name another."""

    @extend_schema(responses=VersionSerializer)
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug)
        found = CorpusVersion.objects.current(access.benchmark)
        if found is None:
            raise Http404("Nothing was loaded yet.")
        return Response(VersionSerializer(found).data)


class TakeUpVersion(Route):
    """Make a version the current one; the loaded one puts it back."""

    @extend_schema(request=TakeUpSerializer, responses=VersionSerializer)
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        found = get_version(access, pk)
        seen = self.read(TakeUpSerializer)["seen"]
        verbs.take_up(version=found, seen=seen, actor=access.user)
        return Response(VersionSerializer(found).data)


class UndoVersion(Route):
    """Go back to the version that was current before."""

    @extend_schema(request=TakeUpSerializer, responses=VersionSerializer)
    def post(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        seen = self.read(TakeUpSerializer)["seen"]
        found = verbs.undo_take_up(benchmark=access.benchmark, seen=seen, actor=access.user)
        return Response(VersionSerializer(found).data)


class VersionLabels(Route):
    """Labels as they hold for a version's passages, read through its crosswalks."""

    @extend_schema(responses=CarriedSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, *READERS)
        return Response(CarriedSerializer(labels_of(get_version(access, pk))).data)


class VersionPassage(Route):
    """A passage of a version beside what it came from, word by word."""

    @extend_schema(responses=PassageDiffSerializer)
    def get(self, request: Request, slug: str, pk: int, passage_pk: int) -> Response:
        access = enter(self.person(), slug, *READERS)
        version = get_version(access, pk)
        passage = Passage.objects.in_version(version).filter(pk=passage_pk).first()
        if passage is None:
            raise Http404("No such passage in this version.")
        links = list(came_from(passage))
        return Response(diff_data(passage, links, compare(passage, links)))


class VersionSearch(Route):
    """Passages of a version that hold the words, the best first."""

    @extend_schema(
        responses=VersionHitSerializer(many=True),
        parameters=[OpenApiParameter("q", str, required=True), OpenApiParameter("domain", str)],
    )
    def get(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, *READERS)
        name = request.query_params.get("domain", "")
        domains = [d for d in access.benchmark.domains.ready() if name in ("", d.name)]
        words = clean(request.query_params.get("q", ""))
        found = search_version(words, version=get_version(access, pk), domains=domains)
        return Response(VersionHitSerializer(found, many=True).data)


_ALL = "b/<slug:slug>/versions"
urlpatterns = [
    path(f"{_ALL}/", Versions.as_view(), name="api-versions"),
    path(f"{_ALL}/current/", CurrentVersion.as_view(), name="api-version-current"),
    path(f"{_ALL}/undo/", UndoVersion.as_view(), name="api-version-undo"),
    path(f"{_ALL}/<int:pk>/take-up/", TakeUpVersion.as_view(), name="api-version-take-up"),
    path(f"{_ALL}/<int:pk>/labels/", VersionLabels.as_view(), name="api-version-labels"),
    path(f"{_ALL}/<int:pk>/search/", VersionSearch.as_view(), name="api-version-search"),
    path(
        f"{_ALL}/<int:pk>/passages/<int:passage_pk>/",
        VersionPassage.as_view(),
        name="api-version-passage",
    ),
]
