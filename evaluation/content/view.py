"""The view of a benchmark that scores and releases are read from: its domains, its corpus version.

Everything is meant to be read inside `frozen()`.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q

from annotate.models import Aspect, GoldPassage, Scale
from corpus.judgments.models import JudgmentQuerySet
from corpus.models import Benchmark, CorpusVersion, Domain, Judgment, Passage, Query
from corpus.texts.models import PassageQuerySet
from evaluation.content.unconfirmed import NOTHING, Unconfirmed, unconfirmed
from evaluation.exporters.names import are_integers, split_names
from evaluation.exporters.records import ReleaseSchema


@contextmanager
def frozen() -> Iterator[None]:
    """Every read inside sees the same moment; nothing can be written inside.

    Inside a transaction of the caller that transaction is the frozen view.
    """
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "sqlite":
        with _sqlite_snapshot():
            yield
    else:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield


@contextmanager
def _sqlite_snapshot() -> Iterator[None]:
    # atomic() would begin IMMEDIATE here and keep everybody from saving until we have read all;
    # a deferred transaction holds a WAL snapshot and no lock.
    with connection.cursor() as cursor:
        cursor.execute("BEGIN DEFERRED")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ROLLBACK")


@dataclass(frozen=True)
class View:
    """One benchmark at one moment: its ready domains by split name, in the order of their names."""

    benchmark: Benchmark
    corpus: CorpusVersion | None
    # What experts cut from pages they collected, if they did: part of the release where it is gold.
    collected: CorpusVersion | None
    splits: Mapping[str, Domain]
    shape: ReleaseSchema
    # Without labels that would tell voters how a pair stands that they vote on.
    shown_only: bool = False
    # What does not count because nobody confirmed that it is theirs.
    left_out: Unconfirmed = NOTHING
    # Labels of the domain that was read last (inherited_view.py).
    kept: dict[int, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def is_derived(self) -> bool:
        """Whether labels and aspects are read through the crosswalks of cleanings."""
        return self.corpus is not None and self.corpus.is_derived

    @property
    def layers(self) -> list[int]:
        """Ids of the corpus versions whose passages belong to the current one, collected last."""
        own = self.corpus.layers if self.corpus else []
        return [*own, self.collected.pk] if self.collected else own

    @property
    def lineage(self) -> list[int]:
        """The same with the versions that a derived one was made of: labels are read from all."""
        found, at = list(self.layers), self.corpus
        while at is not None and at.is_derived:
            at = at.parent
            found += at.layers if at else []
        return found

    @property
    def passages(self) -> PassageQuerySet:
        """Passages of the current corpus version in released domains, and collected gold."""
        found: PassageQuerySet = Passage.objects.filter(
            version_id__in=self.layers, domain__in=self.splits.values()
        )
        if self.collected is None or self.collected.pk in (
            self.corpus.layers if self.corpus else ()
        ):
            return found
        kept = GoldPassage.objects.standing().exclude(pk__in=self.left_out.gold)
        kept = kept.filter(passage=OuterRef("pk"))
        # Beside the list of versions, not in its place: the indexes begin with the version.
        return found.filter(~Q(version=self.collected) | Exists(kept))

    def labels(self, domain: Domain) -> JudgmentQuerySet:
        """Every label between a query and a passage of this domain and corpus version.

        Given right there: what a derived version has by its cleanings is not among them.
        """
        found: JudgmentQuerySet = Judgment.objects.filter(query__domain=domain)
        if self.left_out.labels.labels:
            found = found.exclude(pk__in=self.left_out.labels.labels)
        return found.filter(passage__domain=domain, passage__version_id__in=self.layers)


def view_of(
    benchmark: Benchmark,
    version: CorpusVersion | None = None,
    *,
    shown_only: bool = False,
    confirmed_only: bool = False,
) -> View:
    """The benchmark as it is now, in a corpus version, by default the current one.

    With `shown_only` as voters may see it: labels given since the import do not count while
    their pair is voted on (corpus/judgments/shown.py).
    With `confirmed_only` without what nobody confirmed to have decided (unconfirmed.py).
    Raises NameClash where two domains share a split name.
    """
    domains = {each.name: each for each in benchmark.domains.ready()}
    names = split_names(sorted(domains))
    return View(
        benchmark=benchmark,
        corpus=version or CorpusVersion.objects.current(benchmark),
        collected=CorpusVersion.objects.growing(benchmark),
        splits={names[name]: domains[name] for name in sorted(domains)},
        shape=_shape(benchmark),
        shown_only=shown_only,
        left_out=unconfirmed(benchmark) if confirmed_only else NOTHING,
    )


def _shape(benchmark: Benchmark) -> ReleaseSchema:
    queries = Query.objects.filter(domain__benchmark=benchmark, domain__is_ready=True).order_by()
    aspects = Aspect.objects.present().filter(query__in=queries)
    return ReleaseSchema(
        integer_ids=are_integers(queries.values_list("qid", flat=True).iterator()),
        with_answers=any(map(bool, queries.values_list("answers", flat=True).iterator())),
        with_excluded=any(map(bool, queries.values_list("excluded_ids", flat=True).iterator())),
        with_shares=aspects.filter(scale=Scale.SHARES).exists(),
        with_subtopics=aspects.exclude(subtopic="").exists(),
    )
