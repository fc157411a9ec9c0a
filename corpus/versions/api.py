"""API of corpus versions: which is current, changing that, labels, passages, and searching one."""

from typing import Any

from django.http import Http404
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSetMixin

from corpus.access import enter, enter_unblinded, first_or_404
from corpus.models import CorpusVersion, Passage, Role
from corpus.texts.search import search_version
from corpus.versions import services as verbs
from corpus.versions.effective import effective_labels
from corpus.versions.views import READERS, came_from, compare, get_version
from kit.api import Route
from kit.lists.tables import clean


class VersionSerializer(serializers.ModelSerializer):
    """A corpus version: what it was made of, and how."""

    class Meta:
        model = CorpusVersion
        fields = ["id", "name", "parent", "recipe", "created_at"]


class SeenVersionSerializer(serializers.Serializer):
    """`seen` is the id of the version that is current now, as you know it."""

    seen = serializers.IntegerField(allow_null=True)


class VersionHitSerializer(serializers.Serializer):
    """A passage that a search found; `came_from` are the ids of passages its text was in before."""

    passage = serializers.IntegerField(source="hit.passage.pk")
    pid = serializers.CharField(source="hit.passage.pid")
    domain = serializers.CharField(source="hit.passage.domain.name")
    score = serializers.FloatField(source="hit.score")
    excerpt = serializers.SerializerMethodField()
    came_from = serializers.SerializerMethodField()

    def get_excerpt(self, found: dict[str, Any]) -> str:
        """The part of its text where the words stand."""
        return "".join(piece for piece, _ in found["pieces"])

    def get_came_from(self, found: dict[str, Any]) -> list[str]:
        """Ids in the version before."""
        return [pid for _, pid in found["came_from"]]


class EffectiveLabelSerializer(serializers.Serializer):
    """A label that counts in a version; `given_for` are the passages that were judged."""

    query = serializers.IntegerField()
    passage = serializers.IntegerField()
    label = serializers.IntegerField()  # type: ignore[assignment]
    given_for = serializers.ListField(child=serializers.IntegerField())


class LostLabelSerializer(serializers.Serializer):
    """A label that the version does not inherit, and why."""

    query = serializers.IntegerField()
    passage = serializers.IntegerField()
    label = serializers.IntegerField()  # type: ignore[assignment]
    why = serializers.CharField()


class EffectiveLabelsSerializer(serializers.Serializer):
    """Labels of a version, and those that are lost to it."""

    labels = EffectiveLabelSerializer(many=True)
    lost = LostLabelSerializer(many=True)


class SideSerializer(serializers.Serializer):
    """A stretch of one side: same, gone or new."""

    kind = serializers.CharField()
    text = serializers.CharField()


class OriginSerializer(serializers.Serializer):
    """A passage that another one came from."""

    passage = serializers.IntegerField()
    pid = serializers.CharField()
    tokens = serializers.IntegerField()
    of = serializers.IntegerField()
    carries = serializers.BooleanField()


class PassageDiffSerializer(serializers.Serializer):
    """A passage compared with its source passages."""

    pid = serializers.CharField()
    origins = OriginSerializer(many=True)
    before = SideSerializer(many=True)
    after = SideSerializer(many=True)


def diff_data(passage: Any, links: list[Any], sides: Any) -> dict[str, Any]:
    """What PassageDiffSerializer shows."""
    return {
        "pid": passage.pid,
        "origins": [
            {
                "passage": link.old_id,
                "pid": link.old.pid,
                "tokens": link.tokens,
                "of": link.of,
                "carries": link.carries,
            }
            for link in links
        ],
        "before": [{"kind": run.kind, "text": run.text} for run in (sides.left if sides else ())],
        "after": [{"kind": run.kind, "text": run.text} for run in (sides.right if sides else ())],
    }


class VersionRoutes(ViewSetMixin, Route):
    """Corpus versions of a benchmark."""

    @extend_schema(responses=VersionSerializer(many=True))
    def versions(self, request: Request, slug: str) -> Response:
        """Corpus versions that are ready."""
        access = enter(self.person(), slug, *READERS)
        rows = CorpusVersion.objects.ready().filter(benchmark=access.benchmark)
        return self.page(rows, VersionSerializer)

    @extend_schema(responses=VersionSerializer)
    def current_version(self, request: Request, slug: str) -> Response:
        """The version that pools, runs and releases are of unless they name another."""
        access = enter(self.person(), slug)
        found = CorpusVersion.objects.current(access.benchmark)
        if found is None:
            raise Http404("Nothing was loaded yet.")
        return Response(VersionSerializer(found).data)

    @extend_schema(request=SeenVersionSerializer, responses=VersionSerializer)
    def make_current(self, request: Request, slug: str, pk: int) -> Response:
        """Make a version the current one; the loaded one puts it back."""
        access = enter(self.person(), slug, Role.ADMIN)
        found = get_version(access, pk)
        seen = self.read(SeenVersionSerializer)["seen"]
        verbs.make_current(version=found, seen=seen, actor=access.user)
        return Response(VersionSerializer(found).data)

    @extend_schema(request=SeenVersionSerializer, responses=VersionSerializer)
    def undo_make_current(self, request: Request, slug: str) -> Response:
        """Go back to the version that was current before."""
        access = enter(self.person(), slug, Role.ADMIN)
        seen = self.read(SeenVersionSerializer)["seen"]
        found = verbs.undo_make_current(benchmark=access.benchmark, seen=seen, actor=access.user)
        return Response(VersionSerializer(found).data)

    @extend_schema(responses=EffectiveLabelsSerializer)
    def version_labels(self, request: Request, slug: str, pk: int) -> Response:
        """Labels as they hold for a version's passages, read through its crosswalks."""
        access = enter_unblinded(self.person(), slug, *READERS)
        return Response(EffectiveLabelsSerializer(effective_labels(get_version(access, pk))).data)

    @extend_schema(responses=PassageDiffSerializer)
    def version_passage(self, request: Request, slug: str, pk: int, passage_pk: int) -> Response:
        """A passage of a version compared with its source passages, word by word."""
        access = enter(self.person(), slug, *READERS)
        version = get_version(access, pk)
        rows = Passage.objects.in_version(version).filter(pk=passage_pk)
        passage = first_or_404(rows, "passage in this version")
        links = list(came_from(passage))
        return Response(diff_data(passage, links, compare(passage, links)))

    @extend_schema(
        responses=VersionHitSerializer(many=True),
        parameters=[OpenApiParameter("q", str, required=True), OpenApiParameter("domain", str)],
    )
    def version_search(self, request: Request, slug: str, pk: int) -> Response:
        """Passages of a version that hold the words, the best first."""
        access = enter(self.person(), slug, *READERS)
        name = request.query_params.get("domain", "")
        domains = [d for d in access.benchmark.domains.ready() if name in ("", d.name)]
        words = clean(request.query_params.get("q", ""))
        found = search_version(words, version=get_version(access, pk), domains=domains)
        return Response(VersionHitSerializer(found, many=True).data)


_ALL = "b/<slug:slug>/versions"
_TEXT = f"{_ALL}/<int:pk>/passages/<int:passage_pk>"
_to = VersionRoutes.as_view
urlpatterns = [
    path(f"{_ALL}/", _to({"get": "versions"}), name="api-versions"),
    path(f"{_ALL}/current/", _to({"get": "current_version"}), name="api-version-current"),
    path(f"{_ALL}/undo/", _to({"post": "undo_make_current"}), name="api-version-undo"),
    path(f"{_ALL}/<int:pk>/take-up/", _to({"post": "make_current"}), name="api-version-take-up"),
    path(f"{_ALL}/<int:pk>/labels/", _to({"get": "version_labels"}), name="api-version-labels"),
    path(
        f"{_ALL}/<int:pk>/search/",
        _to({"get": "version_search"}, pagination_class=None),
        name="api-version-search",
    ),
    path(f"{_TEXT}/", _to({"get": "version_passage"}), name="api-version-passage"),
]
