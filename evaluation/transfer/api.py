"""API of files of whole benchmarks: the verbs of the screens, for its admins."""

from typing import Any

from django.http.response import HttpResponseBase
from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSetMixin

from corpus.access import Access, enter
from corpus.models import Role
from corpus.run_routes import OneRun, RunVerb
from evaluation.transfer import services as verbs
from evaluation.transfer.claims import claim, strangers
from evaluation.transfer.conflicts import choose
from evaluation.transfer.models import Choice, MergeConflict, Transfer, TransferKind
from evaluation.transfer.views import (
    RUNS,
    enter_as_staff,
    get_conflict,
    get_transfer,
    members,
    send_file,
)
from kit.api import RUN_FIELDS, Route


class TransferSerializer(serializers.ModelSerializer):
    """A file that is written or merged; `report` is what a merge adds, leaves out and lists."""

    class Meta:
        model = Transfer
        fields = [*RUN_FIELDS, "kind", "digest", "size", "report"]


class MergeFileSerializer(serializers.Serializer):
    """A file of this benchmark from another installation."""

    file = serializers.FileField()


class ImportFileSerializer(MergeFileSerializer):
    """A file of any benchmark, and how the new one is called; without a slug as it was there."""

    slug = serializers.SlugField(max_length=60, required=False, default="", allow_blank=True)


class PseudonymSerializer(serializers.Serializer):
    """Somebody of another installation, in how many rows here, and which member they are."""

    pseudonym = serializers.CharField()
    username = serializers.CharField(write_only=True)
    rows = serializers.IntegerField(read_only=True)


class ConflictSerializer(serializers.ModelSerializer):
    """What a merged file says against what stands here."""

    query = serializers.CharField(source="query.qid")
    passage = serializers.CharField(source="passage.pid", default=None, allow_null=True)

    class Meta:
        model = MergeConflict
        fields = ["id", "kind", "query", "passage", "ours", "theirs", "digest", "choice"]


class ChoiceSerializer(serializers.Serializer):
    """Keep what is here, or let theirs count."""

    choice = serializers.ChoiceField([Choice.OURS, Choice.THEIRS])


class Transfers(ViewSetMixin, Route):
    """Files of a benchmark, for its admins."""

    def access(self) -> Access:
        """Whose they are."""
        return enter(self.person(), self.kwargs["slug"], Role.ADMIN)

    @extend_schema(responses=TransferSerializer(many=True))
    def list(self, request: Request, slug: str) -> Response:
        """Files that were written or merged."""
        rows = self.access().benchmark.transfers.exclude(kind=TransferKind.IMPORT)
        return self.page(rows, TransferSerializer)

    @extend_schema(request=None, responses={202: TransferSerializer})
    def create(self, request: Request, slug: str) -> Response:
        """Writing the whole benchmark into a file."""
        run = verbs.start_export(benchmark=self.access().benchmark, actor=self.person())
        return Response(TransferSerializer(run).data, status=202)

    @extend_schema(
        request={"multipart/form-data": MergeFileSerializer}, responses={202: TransferSerializer}
    )
    def merge(self, request: Request, slug: str) -> Response:
        """Sending a file to be merged: what would come of it is said first."""
        access, given = self.access(), self.read(MergeFileSerializer)
        run = verbs.start_merge(benchmark=access.benchmark, upload=given["file"], actor=access.user)
        return Response(TransferSerializer(run).data, status=202)

    @extend_schema(
        request={"multipart/form-data": ImportFileSerializer}, responses={202: TransferSerializer}
    )
    def create_of(self, request: Request, slug: str) -> Response:
        """Sending a file to make a new benchmark of it, for staff; `report` names it at the end."""
        access = enter_as_staff(self.person(), slug)
        given = self.read(ImportFileSerializer)
        run = verbs.start_import(
            benchmark=access.benchmark,
            upload=given["file"],
            slug=given["slug"],
            actor=access.user,
        )
        return Response(TransferSerializer(run).data, status=202)

    @extend_schema(responses=PseudonymSerializer(many=True))
    def people(self, request: Request, slug: str) -> Response:
        """Pseudonyms that came with files."""
        found = strangers(self.access().benchmark)
        return Response([{"pseudonym": each.username, "rows": n} for each, n in found.items()])

    @extend_schema(request=PseudonymSerializer, responses=PseudonymSerializer)
    def claim(self, request: Request, slug: str) -> Response:
        """Saying who a pseudonym is: what stands under it becomes theirs, and nothing undoes it."""
        access, given = enter_as_staff(self.person(), slug), self.read(PseudonymSerializer)
        about = {"pseudonym": given["pseudonym"], "benchmark": access.benchmark}
        person = members(access).filter(username=given["username"]).first()
        rows = claim(**about, person=person, actor=access.user)
        return Response({"pseudonym": given["pseudonym"], "rows": rows})

    @extend_schema(responses={(200, "application/zip"): OpenApiTypes.BINARY})
    def file(self, request: Request, slug: str, pk: int) -> HttpResponseBase:
        """The file itself."""
        return send_file(get_transfer(self.access(), pk))

    @extend_schema(responses=ConflictSerializer(many=True))
    def conflicts(self, request: Request, slug: str) -> Response:
        """Conflicts that merges found, open or settled."""
        rows = self.access().benchmark.merge_conflicts.select_related("query", "passage")
        return self.page(rows, ConflictSerializer)

    @extend_schema(request=ChoiceSerializer, responses=ConflictSerializer)
    def choose(self, request: Request, slug: str, pk: int) -> Response:
        """Settling a conflict."""
        access = self.access()
        found = get_conflict(access, pk)
        choose(conflict=found, actor=access.user, **self.read(ChoiceSerializer))
        return Response(ConflictSerializer(get_conflict(access, pk)).data)


_ALL = "b/<slug:slug>/transfers"
_ONE = f"{_ALL}/<int:pk>"
_KIND: Any = {"pages": RUNS, "serializer_class": TransferSerializer}
_to = Transfers.as_view
urlpatterns = [
    path(f"{_ALL}/", _to({"get": "list", "post": "create"}), name="api-transfers"),
    path(f"{_ALL}/merge/", _to({"post": "merge"}), name="api-transfer-merge"),
    path(f"{_ALL}/import/", _to({"post": "create_of"}), name="api-transfer-import"),
    path(
        f"{_ALL}/people/",
        _to({"get": "people", "post": "claim"}, pagination_class=None),
        name="api-transfer-people",
    ),
    path(f"{_ALL}/conflicts/", _to({"get": "conflicts"}), name="api-merge-conflicts"),
    path(f"{_ALL}/conflicts/<int:pk>/", _to({"post": "choose"}), name="api-merge-conflict"),
    path(f"{_ONE}/", OneRun.as_view(**_KIND), name="api-transfer"),
    path(f"{_ONE}/file/", _to({"get": "file"}), name="api-transfer-file"),
    path(f"{_ONE}/cancel/", RunVerb.as_view(**_KIND, verb="cancel"), name="api-transfer-cancel"),
    path(f"{_ONE}/apply/", RunVerb.as_view(**_KIND, verb="apply"), name="api-transfer-apply"),
]
