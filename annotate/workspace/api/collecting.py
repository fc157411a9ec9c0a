"""API of collecting: pages by address, text or file, and the passages cut from them."""

from django.urls import path
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.loaders import enter_query, first_or_404, present_aspect
from annotate.workspace import collecting
from annotate.workspace.api.gold import GoldPassageSerializer
from annotate.workspace.views.collecting import pages_of
from annotate.workspace.views.segmenting import get_page
from corpus.models import CollectedPage, PageFetch
from kit.api import Route


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
    """What became of an address that was asked for."""

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


class Fetches(Route):
    """Addresses that were asked for while working on a query, and asking for one."""

    @extend_schema(responses=FetchSerializer(many=True))
    def get(self, request: Request, slug: str, pk: int) -> Response:
        _, query = enter_query(self.person(), slug, pk)
        return self.page(query.fetches.exclude(url=""), FetchSerializer)

    @extend_schema(request=NewFetchSerializer, responses={202: FetchSerializer})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access, query = enter_query(self.person(), slug, pk)
        given = self.read(NewFetchSerializer)
        fetch = collecting.collect_url(query=query, actor=access.user, **given)
        return Response(FetchSerializer(fetch).data, status=202)


class FetchStop(Route):
    """Giving a fetch up."""

    @extend_schema(request=None, responses=FetchSerializer)
    def post(self, request: Request, slug: str, pk: int, fetch_pk: int) -> Response:
        access, query = enter_query(self.person(), slug, pk)
        fetch = first_or_404(PageFetch.objects.filter(query=query, pk=fetch_pk), "fetch")
        collecting.stop_fetch(fetch=fetch, actor=access.user)
        return Response(FetchSerializer(fetch).data)


class Pages(Route):
    """Pages of a query, and bringing one as text."""

    @extend_schema(responses=PageSerializer(many=True))
    def get(self, request: Request, slug: str, pk: int) -> Response:
        _, query = enter_query(self.person(), slug, pk)
        return Response(PageSerializer(pages_of(query), many=True).data)

    @extend_schema(request=NewTextPageSerializer, responses={201: FullPageSerializer})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access, query = enter_query(self.person(), slug, pk)
        given = self.read(NewTextPageSerializer)
        page = collecting.collect_text(query=query, actor=access.user, **given)
        return Response(FullPageSerializer(page).data, status=201)


class PageFiles(Route):
    """Bringing a page as a file."""

    parser_classes = [MultiPartParser]

    @extend_schema(
        request={"multipart/form-data": NewFilePageSerializer}, responses={201: FullPageSerializer}
    )
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access, query = enter_query(self.person(), slug, pk)
        given = self.read(NewFilePageSerializer)
        page = collecting.collect_file(query=query, actor=access.user, **given)
        return Response(FullPageSerializer(page).data, status=201)


class OnePage(Route):
    """A page with its text and blocks."""

    @extend_schema(responses=FullPageSerializer)
    def get(self, request: Request, slug: str, pk: int, page_pk: int) -> Response:
        access, _ = enter_query(self.person(), slug, pk)
        return Response(FullPageSerializer(get_page(access, page_pk)).data)


class Segments(Route):
    """Cutting a piece of a page: one segment, one aspect."""

    @extend_schema(request=NewSegmentSerializer, responses={201: SegmentSerializer})
    def post(self, request: Request, slug: str, pk: int, page_pk: int) -> Response:
        access, query = enter_query(self.person(), slug, pk)
        page = get_page(access, page_pk)
        given = self.read(NewSegmentSerializer)
        given["aspect"] = present_aspect(query, given["aspect"])
        given["text"] = given["text"] or None
        gold, overlaps = collecting.add_segment(query=query, page=page, actor=access.user, **given)
        made = {"gold": gold, "overlaps": overlaps}
        return Response(SegmentSerializer(made).data, status=201)


_QUERY = "b/<slug:slug>/queries/<int:pk>"
urlpatterns = [
    path(f"{_QUERY}/fetches/", Fetches.as_view(), name="api-fetches"),
    path(f"{_QUERY}/fetches/<int:fetch_pk>/stop/", FetchStop.as_view(), name="api-fetch-stop"),
    path(f"{_QUERY}/pages/", Pages.as_view(), name="api-pages"),
    path(f"{_QUERY}/pages/files/", PageFiles.as_view(), name="api-page-files"),
    path(f"{_QUERY}/pages/<int:page_pk>/", OnePage.as_view(), name="api-page"),
    path(f"{_QUERY}/pages/<int:page_pk>/segments/", Segments.as_view(), name="api-segments"),
]
