"""API of benchmarks, people, texts and labels: the verbs of the screens."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.urls import path, reverse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access import enter
from corpus.benchmarks import services as benchmarks
from corpus.benchmarks import services as people
from corpus.benchmarks.serializers import (
    BenchmarkSerializer,
    ImportRunSerializer,
    LinkSerializer,
    MemberSerializer,
    NewImportSerializer,
    NewPersonSerializer,
    PlaceSerializer,
    StoredFileSerializer,
)
from corpus.benchmarks.views import get_member
from corpus.cleaning import api as api_cleaning
from corpus.computing import api as api_computations
from corpus.endpoints import api as api_endpoints
from corpus.imports import services as import_folder
from corpus.imports import services as import_verbs
from corpus.imports.views import RUNS as IMPORTS
from corpus.models import Benchmark, Membership, Role
from corpus.pools import api as api_pools
from corpus.run_routes import OneRun, RunVerb
from corpus.texts import api as api_texts
from corpus.versions import api as api_versions
from corpus.versions.services import chosen
from kit.api import Route


class Benchmarks(Route):
    """My benchmarks; staff may make new ones."""

    @extend_schema(responses=BenchmarkSerializer(many=True))
    def get(self, request: Request) -> Response:
        return self.page(Benchmark.objects.for_user(self.person()), BenchmarkSerializer)

    @extend_schema(request=BenchmarkSerializer, responses={201: BenchmarkSerializer})
    def post(self, request: Request) -> Response:
        if not self.person().is_staff:
            raise PermissionDenied("Only staff may create benchmarks.")
        made = benchmarks.create_benchmark(actor=self.person(), **self.read(BenchmarkSerializer))
        return Response(BenchmarkSerializer(made).data, status=201)


class OneBenchmark(Route):
    """One benchmark."""

    @extend_schema(responses=BenchmarkSerializer)
    def get(self, request: Request, slug: str) -> Response:
        return Response(BenchmarkSerializer(enter(self.person(), slug).benchmark).data)


class People(Route):
    """Members of a benchmark."""

    @extend_schema(responses=MemberSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        members = access.benchmark.memberships.select_related("user").prefetch_related("domains")
        return self.page(members, MemberSerializer)

    @extend_schema(request=NewPersonSerializer, responses={201: LinkSerializer})
    def post(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(NewPersonSerializer)
        given["domains"] = PlaceSerializer().chosen(access.benchmark, given["domains"])
        added, token = people.add_person(benchmark=access.benchmark, actor=access.user, **given)
        return _with_link(added, token, status=201)


class Person(Route):
    """One member."""

    @extend_schema(request=PlaceSerializer, responses=MemberSerializer)
    def put(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(PlaceSerializer)
        given["domains"] = PlaceSerializer().chosen(access.benchmark, given["domains"])
        changed = people.change_person(
            membership=get_member(access, pk), actor=access.user, **given
        )
        return Response(MemberSerializer(changed).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        people.remove_person(membership=get_member(access, pk), actor=access.user)
        return Response(status=204)


class PersonLink(Route):
    """A new one-time sign-in link for a member."""

    @extend_schema(request=None, responses=LinkSerializer)
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        membership = get_member(access, pk)
        token = people.renew_link(membership=membership, actor=access.user)
        return _with_link(membership, token)


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
        wanted = {"benchmark": access.benchmark, "actor": access.user, **given}
        if "version" in wanted:
            wanted["version"] = chosen(access.benchmark, wanted["version"])
        if "stored" in wanted:
            run = import_verbs.start_import(**wanted)
        else:
            run = import_verbs.start_import(upload=wanted.pop("file"), **wanted)
        return Response(ImportRunSerializer(run).data, status=202)


class ImportFolder(Route):
    """What lies in the import folder: names only."""

    pagination_class = None

    @extend_schema(responses=StoredFileSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        enter(self.person(), slug, Role.ADMIN)
        return Response(StoredFileSerializer(import_folder.entries(), many=True).data)


def _with_link(membership: Membership, token: str, *, status: int = 200) -> Response:
    path = reverse("sign-in-link", args=[token]) if token else ""
    data = {"id": membership.pk, "sign_in_path": path}
    # Whoever holds the link is let in: no cache may keep it.
    return Response(data, status=status, headers={"Cache-Control": "no-store"})


_IMPORT: Any = {"pages": IMPORTS, "serializer_class": ImportRunSerializer}
urlpatterns = [
    path("benchmarks/", Benchmarks.as_view(), name="api-benchmarks"),
    path("b/<slug:slug>/", OneBenchmark.as_view(), name="api-benchmark"),
    path("b/<slug:slug>/people/", People.as_view(), name="api-people"),
    path("b/<slug:slug>/people/<int:pk>/", Person.as_view(), name="api-person"),
    path("b/<slug:slug>/people/<int:pk>/link/", PersonLink.as_view(), name="api-person-link"),
    path("b/<slug:slug>/imports/", Imports.as_view(), name="api-imports"),
    path("b/<slug:slug>/import-folder/", ImportFolder.as_view(), name="api-import-folder"),
    path("b/<slug:slug>/imports/<int:pk>/", OneRun.as_view(**_IMPORT), name="api-import"),
    path(
        "b/<slug:slug>/imports/<int:pk>/cancel/",
        RunVerb.as_view(**_IMPORT, verb="cancel"),
        name="api-import-cancel",
    ),
    *api_cleaning.urlpatterns,
    *api_computations.urlpatterns,
    *api_endpoints.urlpatterns,
    *api_pools.urlpatterns,
    *api_texts.urlpatterns,
    *api_versions.urlpatterns,
]
