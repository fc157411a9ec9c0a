"""API of imports: the list, starting one, and the import folder."""

from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access import enter
from corpus.imports import services as verbs
from corpus.imports.views import RUNS
from corpus.models import ImportRun, Role
from corpus.run_routes import OneRun, RunVerb
from corpus.versions.services import chosen
from kit.api import RUN_FIELDS, Route


class ImportRunSerializer(serializers.ModelSerializer):
    """An import."""

    class Meta:
        model = ImportRun
        fields = [*RUN_FIELDS, "format", "label", "corpus_version", "summary", "problems"]


class NewImportSerializer(serializers.Serializer):
    """What to import: a `file` (multipart form data), or a name in the import folder (`stored`)."""

    format = serializers.CharField()
    file = serializers.FileField(required=False)
    stored = serializers.CharField(
        required=False, help_text="A file or folder of the import folder, or a path below it."
    )
    qrels = serializers.FileField(required=False)
    domain = serializers.CharField(
        required=False,
        help_text="Runs only: their domain, where no file is named after it, or how their paths "
        "are built: {run}/{domain}.run.",
    )
    names = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="Fields that the files' records call otherwise, ours first: docid=id, text=body.",
    )
    version = serializers.IntegerField(
        required=False, help_text="Runs only: the corpus version whose ids they name."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Exactly one of the two."""
        if ("file" in attrs) == ("stored" in attrs):
            raise serializers.ValidationError({"file": "Give either `file` or `stored`."})
        return attrs


class StoredFileSerializer(serializers.Serializer):
    """A file or folder in the import folder."""

    name = serializers.CharField()
    is_folder = serializers.BooleanField()


class Imports(Route):
    """Imports of a benchmark, and starting one."""

    @extend_schema(responses=ImportRunSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        return self.page(access.benchmark.imports.all(), ImportRunSerializer)

    @extend_schema(request=NewImportSerializer, responses={202: ImportRunSerializer})
    def post(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(NewImportSerializer)
        if "version" in given:
            given["version"] = chosen(access.benchmark, given["version"])
        upload = given.pop("file", None)
        run = verbs.start_import(
            benchmark=access.benchmark, actor=access.user, upload=upload, **given
        )
        return Response(ImportRunSerializer(run).data, status=202)


class ImportFolder(Route):
    """What lies in the import folder: names only."""

    pagination_class = None

    @extend_schema(responses=StoredFileSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        enter(self.person(), slug, Role.ADMIN)
        return Response(StoredFileSerializer(verbs.entries(), many=True).data)


_RUN: Any = {"pages": RUNS, "serializer_class": ImportRunSerializer}
urlpatterns = [
    path("b/<slug:slug>/imports/", Imports.as_view(), name="api-imports"),
    path("b/<slug:slug>/import-folder/", ImportFolder.as_view(), name="api-import-folder"),
    path("b/<slug:slug>/imports/<int:pk>/", OneRun.as_view(**_RUN), name="api-import"),
    path(
        "b/<slug:slug>/imports/<int:pk>/cancel/",
        RunVerb.as_view(**_RUN, verb="cancel"),
        name="api-import-cancel",
    ),
]
