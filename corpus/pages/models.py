"""Pages that experts bring: as they came, and as text."""

from django.conf import settings
from django.db import models

from corpus.benchmarks.models import Benchmark
from corpus.texts.models import Document, Query
from kit.runs.models import TrackedRun


class CollectedPage(models.Model):
    """A page an expert brought. Its text is a Document outside every corpus version.

    The bytes are kept under their hash (`sha256`, of the unpacked body); `spans` are the blocks of
    the document's text as [start, end, kind, level, is_main], in code points.
    """

    class Origin(models.TextChoices):
        """How it came here."""

        FETCHED = "fetched", "fetched from its address"
        PASTED = "pasted", "pasted"
        UPLOADED = "uploaded", "uploaded"

    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="pages")
    document = models.OneToOneField(Document, on_delete=models.PROTECT, related_name="page")
    origin = models.CharField(max_length=8, choices=Origin.choices)
    # The address in the form that tells whether two are the same; "" where none is known.
    url_key = models.CharField(max_length=2000, blank=True, default="")
    content_type = models.CharField(max_length=100)
    sha256 = models.CharField(max_length=64)
    size = models.PositiveIntegerField()
    spans = models.JSONField(default=list)
    # MinHash of its main text, to find the same text at another address.
    signature = models.JSONField(default=list)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["benchmark", "url_key"], name="collected_page_url")]
        constraints = [
            models.UniqueConstraint(fields=["benchmark", "sha256"], name="collected_page_once"),
        ]

    def __str__(self) -> str:
        return self.document.title or self.document.source_url or self.document.doc_id


class PageFetch(TrackedRun):
    """A page that an expert brought to a query: long work until it is fetched and read.

    `given` is what came, to be read: its `sha256` in the folder of pages, `content_type`,
    `charset`, `url`, `title` and `origin`; null before it came, and for what was here already.
    """

    task_name = "corpus.fetch_page"
    of_benchmark = "query__domain__benchmark"
    at_screen = True

    query = models.ForeignKey(Query, on_delete=models.PROTECT, related_name="fetches")
    # As it was typed; "" for a page that was pasted or uploaded without its address.
    url = models.CharField(max_length=2000, blank=True, default="")
    given = models.JSONField(null=True)
    page = models.ForeignKey(
        CollectedPage, null=True, on_delete=models.PROTECT, related_name="fetches"
    )

    class Meta:
        ordering = ["-pk"]

    @property
    def is_by_address(self) -> bool:
        """Whether its address leads to it; that of an uploaded file only says where it stands."""
        origin = (self.given or {}).get("origin", CollectedPage.Origin.FETCHED)
        return bool(self.url) and origin == CollectedPage.Origin.FETCHED

    def __str__(self) -> str:
        return self.url or (self.given or {}).get("title") or f"page {self.page_id or ''}".strip()
