"""What a run's labels are compared with: an imported gold, or what people judged."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q, QuerySet

from annotate.models import CaseStatus, EscalationCase, SupportLabel
from annotate.voting.cases import is_undecided
from corpus.judgments.models import GoldVersion
from corpus.models import Benchmark, Judgment, Pool, Source
from corpus.texts.finding import one_of
from corpus.versions.effective import inherit_values
from debate.measures import Comparison, Judged, compare
from debate.models import DebateRun, DebateStatus

PEOPLE, EXPERTS, GOLD = "people", "experts", "gold"
_GOLD = "gold-"


@dataclass(frozen=True)
class Reference:
    """A source of labels of a benchmark; labels above 0 count as relevant."""

    benchmark: Benchmark
    key: str
    name: str

    def judgments(self) -> QuerySet[Judgment]:
        """Its labels. Of pairs that people still judge, the imported gold alone."""
        rows = Judgment.objects.in_benchmark(self.benchmark).order_by()
        if self.key == GOLD:
            return rows.original()
        if self.key.startswith(_GOLD):
            return rows.filter(gold_version_id=int(self.key.removeprefix(_GOLD)))
        sources = (Source.EXPERT,) if self.key == EXPERTS else (Source.EXPERT, Source.HUMAN)
        return rows.standing().filter(source__in=sources).exclude(is_undecided())

    def truths(self, pool: Pool | None = None) -> dict[tuple[int, int], int]:
        """1 or 0 by (query, passage).

        For a pool of a derived corpus version, as inherited there; a pair that people
        still judge there has none but the imported gold's. For a pool of aspects by (aspect,
        passage), of which no imported gold says anything.
        """
        if pool is not None and pool.of_aspects:
            labels = self._support().values_list("aspect_id", "passage_id", "label")
            return {(aspect, passage): label for aspect, passage, label in labels}
        rows = self.judgments().values_list("query_id", "passage_id", "label")
        found = {(query, passage): int(label > 0) for query, passage, label in rows}
        version = pool.corpus_version if pool else None
        if version is None:
            return found
        found = inherit_values(version, found)
        if self.is_gold:
            return found
        cases = EscalationCase.objects.about_pairs().filter(query__domain__benchmark=self.benchmark)
        undecided = set(
            cases.exclude(status=CaseStatus.CLOSED).values_list("query_id", "passage_id")
        )
        return {pair: truth for pair, truth in found.items() if pair not in undecided}

    def _support(self) -> QuerySet[SupportLabel]:
        """What people say of the support of aspects."""
        sources = [Source.EXPERT] if self.key == EXPERTS else [Source.EXPERT, Source.HUMAN]
        rows = SupportLabel.objects.in_benchmark(self.benchmark).standing().order_by()
        return rows.none() if self.is_gold else rows.filter(source__in=sources)

    @property
    def is_gold(self) -> bool:
        """Whether it is an imported gold."""
        return self.key == GOLD or self.key.startswith(_GOLD)

    def holding(self, truth: int, pool: Pool | None = None) -> Exists:
        """Condition on an outer queryset of debates: the reference calls what they ask so."""
        if pool is not None and pool.of_aspects:
            of_aspect = {"aspect": OuterRef("aspect"), "passage": OuterRef("passage")}
            return Exists(self._support().filter(label=truth, **of_aspect))
        if pool is not None and pool.corpus_version_id is not None:
            truths = self.truths(pool)
            called = {
                (query, passage) for (query, passage), each in truths.items() if each == truth
            }
            entries = pool.entries.values_list("pk", "query_id", "passage_id")
            kept = [pk for pk, *pair in entries.iterator(chunk_size=2000) if tuple(pair) in called]
            of_pair = pool.entries.filter(
                one_of(kept), query=OuterRef("query_id"), passage=OuterRef("passage_id")
            )
            return Exists(of_pair)
        rows = self.judgments().filter(query=OuterRef("query_id"), passage=OuterRef("passage_id"))
        return Exists(rows.filter(Q(label__gt=0) if truth else Q(label__lte=0)))


def references(benchmark: Benchmark) -> list[Reference]:
    """Every reference that the benchmark offers, people first."""
    golds = GoldVersion.objects.filter(domain__benchmark=benchmark).select_related("domain")
    return [
        Reference(benchmark, PEOPLE, "people: votes and experts"),
        Reference(benchmark, EXPERTS, "experts alone"),
        Reference(benchmark, GOLD, "the imported gold of every domain"),
        *(Reference(benchmark, f"{_GOLD}{gold.pk}", f"gold of {gold}") for gold in golds),
    ]


def reference_called(benchmark: Benchmark, key: str) -> Reference | None:
    """The reference of that key; None where the benchmark has none."""
    return next((each for each in references(benchmark) if each.key == key), None)


def judged(run: DebateRun, truths: dict[tuple[int, int], int]) -> Iterator[tuple[int, Judged]]:
    """(debate, pair with its truth) of every pair of the run that has both.

    `truths` are those of the run's pool (Reference.truths).
    """
    about = "aspect_id" if run.pool.of_aspects else "query_id"
    columns = ("pk", about, "passage_id", "status", "label", "case__label")
    rows = run.debates.exclude(status=DebateStatus.WAITING).order_by()
    for pk, key, passage, status, label, settled in rows.values_list(*columns).iterator():
        truth = truths.get((key, passage))
        if truth is not None:
            escalated = status == DebateStatus.ESCALATED
            yield pk, Judged(truth, label, escalated, settled if escalated else None)


def against_known_labels(run: DebateRun) -> Comparison:
    """The run's labels beside those that people gave, or else the imported gold (protocol 6.9)."""
    truths = Reference(run.benchmark, GOLD, "").truths(run.pool)
    truths |= Reference(run.benchmark, PEOPLE, "").truths(run.pool)
    return compare(item for _, item in judged(run, truths))
