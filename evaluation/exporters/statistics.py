"""How much is in a release: per split, and added up."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields

from evaluation.exporters.records import QueryRecord


@dataclass(frozen=True)
class Statistics:
    """Counts of one split, or of a whole release.

    `gold` counts the published gold ids, `base` the original positives, `holes` the relevant
    pairs outside them (docs/protocol.md 2.7; base and holes make the refined view), `dropped` the
    original positives that experts took out of the expert view, `judged` all labelled pairs.
    `sources` maps whom the expert view follows to its [relevant, not relevant] pairs, `contested`
    the source of a standing label to the original positives that it calls not relevant.
    """

    queries: int = 0
    aspects: int = 0
    gold: int = 0
    base: int = 0
    holes: int = 0
    dropped: int = 0
    judged: int = 0
    documents: int = 0
    sources: dict[str, list[int]] = field(default_factory=dict)
    contested: dict[str, int] = field(default_factory=dict)

    @property
    def growth(self) -> float | None:
        """Holes over the original positives; undefined without any."""
        return self.holes / self.base if self.base else None

    def as_json(self) -> dict[str, object]:
        """How releases keep it."""
        return asdict(self)


COUNTS = [each.name for each in fields(Statistics) if each.type in (int, "int")]


def count(queries: Sequence[QueryRecord], documents: int) -> Statistics:
    """Statistics of one split."""
    labels = [label for query in queries for label in query.labels]
    found = Counter((label.decided_by, label.expert > 0) for label in labels)
    sources = sorted({source for source, _ in found})
    return Statistics(
        queries=len(queries),
        aspects=sum(len(query.aspects) for query in queries),
        gold=sum(len(query.gold_ids) for query in queries),
        base=sum((label.base or 0) > 0 for label in labels),
        holes=sum(label.is_hole for label in labels),
        dropped=sum(label.is_dropped for label in labels),
        judged=len(labels),
        documents=documents,
        sources={source: [found[source, True], found[source, False]] for source in sources},
        contested=dict(sorted(Counter(e.source for e in labels if e.is_contested).items())),
    )


def total(parts: Iterable[Statistics]) -> Statistics:
    """The splits added up."""
    given = list(parts)
    counts = {name: sum(getattr(part, name) for part in given) for name in COUNTS}
    sources = sorted({source for part in given for source in part.sources})
    by_source = {
        source: [sum(part.sources.get(source, (0, 0))[side] for part in given) for side in (0, 1)]
        for source in sources
    }
    contested = sum((Counter(part.contested) for part in given), Counter[str]())
    return Statistics(**counts, sources=by_source, contested=dict(sorted(contested.items())))
