"""API of collecting: pages by address, text or file, and the passages cut from them."""

from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.api import QueryRoutes
from annotate.loaders import present_aspect
from annotate.workspace import collecting
from annotate.workspace.api.gold import GoldPassageSerializer
from annotate.workspace.views.collecting import get_page, pages_of
from corpus.access import first_or_404
from corpus.models import CollectedPage, PageFetch


class BlockSerializer(serializers.Serializer):
    """A block of a page's text: [start, end) in code points."""

    start = serializers.IntegerField()
    end = serializers.IntegerField()
    kind = serializers.CharField()
    level = serializers.IntegerField()
    is_main = serializers.BooleanField()


class PageSerializer(serializers.ModelSerializer):
    """A collected page without its text."""

    title = serializers.CharField(source="document.title")
    url = serializers.CharField(source="document.source_url")

    class Meta:
        model = CollectedPage
        fields = ["id", "title", "url", "origin", "content_type", "sha256", "size", "created_at"]


class FullPageSerializer(PageSerializer):
    """A collected page with its whole text and its blocks."""

    text = serializers.CharField(source="document.text")
    blocks = serializers.SerializerMethodField()

    class Meta(PageSerializer.Meta):
        fields = [*PageSerializer.Meta.fields, "text", "blocks"]

    @extend_schema_field(BlockSerializer(many=True))
    def get_blocks(self, page: CollectedPage) -> list[dict[str, object]]:
        """The spans with names."""
        names = ("start", "end", "kind", "level", "is_main")
        return [dict(zip(names, span, strict=True)) for span in page.spans]


class FetchSerializer(serializers.ModelSerializer):
    """What became of an address that was asked for, or of a file, whose `url` may be ""."""

    class Meta:
        model = PageFetch
        fields = ["id", "url", "status", "error", "page", "created_at", "ended_at"]


class NewFetchSerializer(serializers.Serializer):
    """An address to fetch."""

    url = serializers.CharField(max_length=2000)
    again = serializers.BooleanField(default=False)


class NewTextPageSerializer(serializers.Serializer):
    """A page as text."""

    text = serializers.CharField(max_length=2_000_000, trim_whitespace=False)
    title = serializers.CharField(max_length=300, allow_blank=True, default="")
    url = serializers.CharField(max_length=2000, allow_blank=True, default="")


class NewFilePageSerializer(serializers.Serializer):
    """A page as a file."""

    upload = serializers.FileField()
    url = serializers.CharField(max_length=2000, allow_blank=True, default="")


class NewSegmentSerializer(serializers.Serializer):
    """A piece [start, end) of the page's text in code points; text only where it was refined."""

    start = serializers.IntegerField(min_value=0)
    end = serializers.IntegerField(min_value=1)
    aspect = serializers.IntegerField()
    text = serializers.CharField(
        max_length=200_000, allow_null=True, allow_blank=True, default=None, trim_whitespace=False
    )


class SegmentSerializer(serializers.Serializer):
    """A new gold passage, and those of the same page that it overlaps."""

    gold = GoldPassageSerializer()
    overlaps = GoldPassageSerializer(many=True)


class Collecting(QueryRoutes):
    """Pages for a query."""

    is_for_readers = False

    @extend_schema(responses=FetchSerializer(many=True))
    def fetches(self, request: Request, slug: str, pk: int) -> Response:
        """Addresses that were asked for, and files sent, while working on a query."""
        rows = self.query.fetches.exclude(url="", given__isnull=True)
        return self.page(rows, FetchSerializer)

    @extend_schema(request=NewFetchSerializer, responses={202: FetchSerializer})
    def fetch(self, request: Request, slug: str, pk: int) -> Response:
        """Asking for an address."""
        given = self.read(NewFetchSerializer)
        fetch = collecting.collect_url(query=self.query, actor=self.access.user, **given)
        return Response(FetchSerializer(fetch).data, status=202)

    @extend_schema(request=None, responses=FetchSerializer)
    def stop(self, request: Request, slug: str, pk: int, fetch_pk: int) -> Response:
        """Giving a fetch up."""
        fetch = first_or_404(PageFetch.objects.filter(query=self.query, pk=fetch_pk), "fetch")
        collecting.stop_fetch(fetch=fetch, actor=self.access.user)
        return Response(FetchSerializer(fetch).data)

    @extend_schema(responses=PageSerializer(many=True))
    def pages(self, request: Request, slug: str, pk: int) -> Response:
        """Pages of a query."""
        return Response(PageSerializer(pages_of(self.query), many=True).data)

    @extend_schema(request=NewTextPageSerializer, responses={201: FullPageSerializer})
    def paste(self, request: Request, slug: str, pk: int) -> Response:
        """Collecting a page as text."""
        given = self.read(NewTextPageSerializer)
        page = collecting.collect_text(query=self.query, actor=self.access.user, **given)
        return Response(FullPageSerializer(page).data, status=201)

    @extend_schema(
        request={"multipart/form-data": NewFilePageSerializer}, responses={202: FetchSerializer}
    )
    def upload(self, request: Request, slug: str, pk: int) -> Response:
        """Collecting a page as a file, which is read in the background."""
        given = self.read(NewFilePageSerializer)
        fetch = collecting.collect_file(query=self.query, actor=self.access.user, **given)
        return Response(FetchSerializer(fetch).data, status=202)

    @extend_schema(responses=FullPageSerializer)
    def one(self, request: Request, slug: str, pk: int, page_pk: int) -> Response:
        """A page with its text and blocks."""
        return Response(FullPageSerializer(get_page(self.access, page_pk)).data)

    @extend_schema(request=NewSegmentSerializer, responses={201: SegmentSerializer})
    def cut(self, request: Request, slug: str, pk: int, page_pk: int) -> Response:
        """Cutting a piece of a page: one segment, one aspect."""
        page, given = get_page(self.access, page_pk), self.read(NewSegmentSerializer)
        given["aspect"] = present_aspect(self.query, given["aspect"])
        given["text"] = given["text"] or None
        gold, overlaps = collecting.add_segment(
            query=self.query, page=page, actor=self.access.user, **given
        )
        made = {"gold": gold, "overlaps": overlaps}
        return Response(SegmentSerializer(made).data, status=201)


_QUERY = "b/<slug:slug>/queries/<int:pk>"
_PAGE = f"{_QUERY}/pages/<int:page_pk>"
_STOP = f"{_QUERY}/fetches/<int:fetch_pk>/stop/"
_FETCHES: dict[str, Any] = {"get": "fetches", "post": "fetch"}
_pages = Collecting.as_view({"get": "pages", "post": "paste"}, pagination_class=None)
_files = Collecting.as_view({"post": "upload"}, parser_classes=[MultiPartParser])
urlpatterns = [
    path(f"{_QUERY}/fetches/", Collecting.as_view(_FETCHES), name="api-fetches"),
    path(_STOP, Collecting.as_view({"post": "stop"}), name="api-fetch-stop"),
    path(f"{_QUERY}/pages/", _pages, name="api-pages"),
    path(f"{_QUERY}/pages/files/", _files, name="api-page-files"),
    path(f"{_PAGE}/", Collecting.as_view({"get": "one"}), name="api-page"),
    path(f"{_PAGE}/segments/", Collecting.as_view({"post": "cut"}), name="api-segments"),
]
