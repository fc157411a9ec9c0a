"""Pages that experts bring, and the pieces cut from them, as the API shows and takes them."""

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from annotate.serializers import GoldPassageSerializer
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
