"""Queries, pages, passages and corpus versions: imported or made, never edited in place."""

from collections.abc import Iterable
from datetime import date
from typing import Self, TypeVar

from django.db import models
from django.db.models import Avg, Q, Value
from django.db.models.functions import Coalesce, Length, NullIf

from corpus.benchmarks.models import Benchmark, Domain
from kit.database.prepared import Prepared
from kit.runs.models import TrackedRun


class VersionState(models.TextChoices):
    """A version is invisible until its one UPDATE to ready.

    `growing` is the one version of a benchmark that holds what experts cut from pages they
    collect: its passages are gold, but no corpus, until a release or an admin makes one with them.
    """

    LOADING = "loading"
    READY = "ready"
    GROWING = "growing"


# `recipe["kind"]` of a version that an import made; every other kind of version names its own.
LOADED = "loaded"
# That of one a cleaning made: an admin may take it up as the benchmark's current one.
CLEANED = "cleaned"
# `recipe["pages"]`: whether ids number the pieces of a page, as BRIGHT's do, or pages are given.
NUMBERED, GIVEN = "numbered", "given"


class CorpusVersionQuerySet(models.QuerySet["CorpusVersion"]):
    """Vocabulary for reading corpus versions."""

    def ready(self) -> Self:
        """Versions whose load is over."""
        return self.filter(state=VersionState.READY)

    def current(self, benchmark: Benchmark) -> "CorpusVersion | None":
        """What pools, runs, debates and releases are of unless they name another version.

        The derived version that was made current, else the texts as they were loaded.
        """
        if benchmark.taken_up_id is None:
            return self.loaded(benchmark)
        return self.ready().filter(benchmark=benchmark, pk=benchmark.taken_up_id).first()

    def choices(self, benchmark: Benchmark) -> list["CorpusVersion"]:
        """What can be pooled, ranked, scored and released: the loaded texts and what was derived.

        The loaded ones first; a load that another one extended since is no choice.
        """
        rows = list(self.ready().filter(benchmark=benchmark).order_by("pk"))
        loaded = [each for each in rows if each.recipe.get("kind") in (None, LOADED)]
        return [*loaded[-1:], *(each for each in rows if each.is_derived)]

    def growing(self, benchmark: Benchmark) -> "CorpusVersion | None":
        """The version of what experts collect, if anything was collected yet."""
        return self.filter(state=VersionState.GROWING, benchmark=benchmark).first()

    def loaded(self, benchmark: Benchmark) -> "CorpusVersion | None":
        """The version that a load extends: the newest that holds the texts as they were given."""
        return _LOADED.first(benchmark=benchmark.pk)


class CorpusVersion(models.Model):
    """One state of a benchmark's corpus.

    A load that adds passages makes a version that extends its parent: `layers` lists the versions
    whose passages belong to it (itself included), so that nothing is copied. A cleaned or re-cut
    corpus has its parent and recipe too, but only its own layer. `recipe["kind"]` tells them apart:
    loads extend loaded versions only, whatever was made of them since.
    """

    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="versions")
    parent = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=80)
    recipe = models.JSONField(default=dict)
    layers = models.JSONField(default=list)
    # Own passages by domain id, null until they are counted: a version that is ready neither gains
    # nor loses any, so that once is enough (overview.py).
    passage_counts = models.JSONField(null=True)
    state = models.CharField(
        max_length=8, choices=VersionState.choices, default=VersionState.LOADING
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = CorpusVersionQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["benchmark"],
                condition=Q(state=VersionState.GROWING),
                name="one_growing_version",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_derived(self) -> bool:
        """Whether its labels are read through a crosswalk."""
        return self.recipe.get("kind") == CLEANED

    @property
    def root(self) -> "CorpusVersion":
        """The loaded texts that its cleanings began with; itself where none made it."""
        at = self
        while at.is_derived and at.parent is not None:
            at = at.parent
        return at

    @property
    def numbers_pages(self) -> bool:
        """Whether `page_3.txt` is a piece of `page.txt` here; loads of old did not record it."""
        return bool(self.recipe.get("pages", NUMBERED) == NUMBERED)

    @property
    def apart(self) -> frozenset[str]:
        """Pages that ids name here although their texts do not follow one another."""
        return frozenset(self.recipe.get("apart", ()))

    @property
    def key(self) -> int | None:
        """How pools, runs, sheets and releases name it: null stands for the loaded texts.

        So whatever is of the loaded texts stays so when a later load extends them.
        """
        return self.pk if self.is_derived else None


def _loaded(benchmark: int) -> models.QuerySet[CorpusVersion]:
    given = Q(recipe__kind=LOADED) | Q(recipe__kind__isnull=True)
    ready = CorpusVersion.objects.ready().filter(given, benchmark=benchmark)
    return ready.order_by("-pk")[:1]


_LOADED = Prepared(_loaded)  # asked with nearly every page


class QueryQuerySet(models.QuerySet["Query"]):
    """Vocabulary for reading queries."""

    def in_benchmark(self, benchmark: Benchmark) -> Self:
        """Every query of the benchmark's ready domains, by domain and arrival."""
        domains = {"domain__benchmark": benchmark, "domain__is_ready": True}
        return self.filter(**domains).select_related("domain")

    def in_domains(self, domain_ids: set[int]) -> Self:
        """Only queries of these domains."""
        return self.filter(domain_id__in=domain_ids)


class Query(models.Model):
    """An information need. `qid` is unique inside its domain only (docs/protocol.md 1.1).

    `text` is "" where judgments name a query that no file gave yet; a later load fills it in.
    """

    domain = models.ForeignKey(Domain, on_delete=models.PROTECT, related_name="queries")
    qid = models.CharField(max_length=200)
    text = models.TextField()
    # Whether the first line of `text` is a title, as in formats that have one (BRIGHT).
    has_title = models.BooleanField(default=False, db_default=False)
    # What a TREC topic says beside its title.
    description = models.TextField(blank=True, default="")
    narrative = models.TextField(blank=True, default="")
    # Short answers a passage must support in a debate (BRIDGE).
    answers = models.JSONField(default=list)
    # Long answers of the community: {text, url, score, accepted} (Bright-Pro's starting point).
    community_answers = models.JSONField(default=list)
    gold_answer = models.TextField(blank=True, default="")
    reasoning = models.TextField(blank=True, default="")
    reference_answer = models.TextField(blank=True, default="")
    gold_ids_long = models.JSONField(default=list)
    excluded_ids = models.JSONField(default=list)
    # Fields of the file that have no name here.
    extra = models.JSONField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = QueryQuerySet.as_manager()

    class Meta:
        ordering = ["domain__name", "pk"]
        constraints = [models.UniqueConstraint(fields=["domain", "qid"], name="query_once")]

    def __str__(self) -> str:
        return f"{self.domain.name}-{self.qid}"

    @property
    def title(self) -> str:
        """Its title where it has one, else all of it on one line, or that there is no text yet."""
        text = self.text.strip()
        shown = text.partition("\n")[0] if self.has_title else " ".join(text.split())
        return shown or f"Query {self.qid} (text not loaded)"

    @property
    def body(self) -> str:
        """What follows the title; "" where `title` says all."""
        return self.text.strip().partition("\n")[2].strip() if self.has_title else ""


class Document(models.Model):
    """A page. Exists only where a page was given, fetched or rebuilt.

    Pages that experts collect stand outside every corpus version (version is null).
    """

    version = models.ForeignKey(
        CorpusVersion, null=True, on_delete=models.PROTECT, related_name="documents"
    )
    domain = models.ForeignKey(Domain, on_delete=models.PROTECT, related_name="documents")
    doc_id = models.CharField(max_length=500)
    title = models.TextField(blank=True, default="")
    source_url = models.CharField(max_length=2000, blank=True, default="")
    fetched_on = models.DateField(null=True)
    text = models.TextField()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["version", "domain", "doc_id"], name="document_once"),
        ]

    def __str__(self) -> str:
        return self.doc_id


class PassageQuerySet(models.QuerySet["Passage"]):
    """Vocabulary for reading passages."""

    def in_version(self, version: CorpusVersion | None) -> Self:
        """Passages of this corpus version, through its layers."""
        return self.filter(version_id__in=version.layers if version else [])

    def shown(self) -> Self:
        """Passages that people may see: of versions that are ready, and what was collected."""
        return self.filter(version__state__in=(VersionState.READY, VersionState.GROWING))

    def with_text(self) -> Self:
        """Passages whose text is loaded."""
        return self.filter(text__isnull=False)

    def mean_length(self, queries: Iterable["Query"]) -> int:
        """Characters of a passage, over the newest 500 of the queries' domains; 0 without any."""
        known = self.with_text().filter(domain__in={query.domain_id for query in queries})
        newest = list(known.order_by("-pk").values_list("pk", flat=True)[:500])
        rows = self.filter(pk__in=newest).order_by()
        return int(rows.aggregate(mean=Avg(Length("text")))["mean"] or 0)

    def with_source(self) -> Self:
        """With `from_address` and `from_day`: what `address` and `fetched` say of each."""
        own = Coalesce(NullIf("source_url", Value("")), "document__source_url", Value(""))
        return self.annotate(
            from_address=own, from_day=Coalesce("fetched_on", "document__fetched_on")
        )


class Passage(models.Model):
    """A retrieval unit. `text` is null for a gold id whose text was never loaded."""

    # Its index gives a version's passages in the order of their keys, which long work walks along.
    version = models.ForeignKey(CorpusVersion, on_delete=models.PROTECT, related_name="passages")
    domain = models.ForeignKey(Domain, on_delete=models.PROTECT, related_name="passages")
    pid = models.CharField(max_length=500)
    title = models.TextField(blank=True, default="", db_default="")
    # Where a passage that came without its page says it is from.
    source_url = models.CharField(max_length=2000, blank=True, default="", db_default="")
    fetched_on = models.DateField(null=True)
    text = models.TextField(null=True)
    document = models.ForeignKey(
        Document, null=True, on_delete=models.PROTECT, related_name="passages"
    )
    # Code points [start, end) of the document's text, where the passage is a slice of it.
    start = models.PositiveIntegerField(null=True)
    end = models.PositiveIntegerField(null=True)
    # Fields of the file that have no name here.
    extra = models.JSONField(null=True)

    objects = PassageQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["version", "domain", "pid"], name="passage_once"),
            models.CheckConstraint(
                condition=Q(start__isnull=True) | Q(end__gte=models.F("start")),
                name="passage_slice_ordered",
            ),
        ]
        indexes = [
            models.Index(
                fields=["version", "domain", "pid"],
                condition=Q(text__isnull=True),
                name="passage_without_text",
            ),
        ]

    def __str__(self) -> str:
        return self.pid

    @property
    def is_loaded(self) -> bool:
        """Whether there is a text to read."""
        return self.text is not None

    @property
    def address(self) -> str:
        """Where it is from: its own address, else that of its page, else ""."""
        return self.source_url or (self.document.source_url if self.document else "")

    @property
    def fetched(self) -> date | None:
        """The day on which its source was fetched: its own, else that of its page."""
        return self.fetched_on or (self.document.fetched_on if self.document else None)


M = TypeVar("M", bound=models.Model)


class ReadyManager(models.Manager[M]):
    """Only rows whose load is over; `everything` has the others too.

    The first manager of a model is what its related managers read by: `benchmark.pools` leaves
    out what this leaves out.
    """

    flag = "is_ready"

    def get_queryset(self) -> models.QuerySet[M]:
        """Leave out what is still being loaded."""
        return super().get_queryset().filter(**{self.flag: True})


class OfReadyRunManager(ReadyManager[M]):
    """The same for rows whose run says it."""

    flag = "run__is_ready"


class PassageIndexRun(TrackedRun):
    """Fills the text index with one version's own layer; `done` counts passages.

    `last_id` is how far it came: a run that was killed goes on behind it.
    """

    task_name = "corpus.index_passages"
    of_benchmark = "version__benchmark"

    version = models.OneToOneField(
        CorpusVersion, on_delete=models.CASCADE, related_name="index_run"
    )
    last_id = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"text index of version {self.version_id}"
