"""What a release is made of: one frozen query with its labels and aspects; how much of it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property

ORIGINAL = "original"
EXPERT = "expert"


@dataclass(frozen=True, slots=True)
class Label:
    """One labelled (query, passage) pair: what the original gold says and what was given since.

    `base` is the label in the current original gold, `given` the current one since the
    import, made by `source`; None where there is none, and one of them is always there. The
    refined and the expert view follow from these two (docs/protocol.md 2.7).
    """

    passage: str
    passage_pk: int
    base: int | None
    given: int | None = None
    source: str = ORIGINAL
    practice: bool = False
    loaded: bool = True
    # Where the original gold judged subtopics: the label of each.
    subtopics: Mapping[str, int] | None = field(default=None, hash=False)

    @property
    def refined(self) -> int:
        """Base plus holes: what was given since adds to an original label, never lowers it."""
        return max(each for each in (self.base, self.given) if each is not None)

    @property
    def expert(self) -> int:
        """The refined label, but an expert's 0 counts against an original one too."""
        is_refused = self.source == EXPERT and self.given is not None and self.given <= 0
        return 0 if is_refused else self.refined

    @property
    def is_hole(self) -> bool:
        """Relevant, but not in the original gold."""
        return self.refined > 0 and not (self.base or 0) > 0

    @property
    def is_contested(self) -> bool:
        """In the original gold, while the label given since says not relevant."""
        return (self.base or 0) > 0 and self.given is not None and self.given <= 0

    @property
    def is_dropped(self) -> bool:
        """In the original gold, but taken out of the expert view."""
        return (self.base or 0) > 0 and self.expert <= 0

    @property
    def decided_by(self) -> str:
        """Whose word the expert view follows; a contested original label is still the gold's."""
        return ORIGINAL if self.is_contested and not self.is_dropped else self.source


@dataclass(frozen=True, slots=True)
class MachineGold:
    """A passage that machines or voters tie to one aspect of a query, and no expert assigned.

    `models` are those that said so, where models did; `key` is that of the label of support.
    """

    passage: str
    passage_pk: int
    source: str
    round: int | None = None
    models: tuple[str, ...] = ()
    key: int = 0


@dataclass(frozen=True, slots=True)
class AspectRecord:
    """One present aspect with its raw weight; `passages` support it, in the order of assignment.

    `machine` is beside them, and part of no experts' file.

    The weight of the scale `shares` is in hundredths.

    While nobody chose a weight, it is the middle of the scale and `weighed` false. `subtopic` is
    the name in the imported judgments of what it is there, and `listed` the passages that these
    list under it and that no expert assigned or refused: each may be listed under several.
    """

    k: int
    content: str
    weight: int
    scale: str
    passages: tuple[str, ...] = ()
    weighed: bool = True
    subtopic: str = ""
    listed: tuple[str, ...] = ()
    machine: tuple[MachineGold, ...] = ()

    @property
    def supporting(self) -> tuple[str, ...]:
        """Every passage that counts as support of it."""
        return self.passages + self.listed


@dataclass(frozen=True)
class QueryRecord:
    """One query of a split; labels are sorted by passage id, aspects by their number."""

    pk: int
    qid: str
    text: str
    answers: tuple[str, ...] = ()
    reference_answer: str = ""
    # Of what the answer cites in brackets, the ids of passages of the domain.
    cited: frozenset[str] = frozenset()
    # Citations that no passage of a derived corpus version takes over; they stay as written.
    lost_citations: tuple[str, ...] = ()
    practice_answer: bool = False
    # Ids that a ranking for this query leaves out (docs/protocol.md 1.5 rule 2).
    excluded: tuple[str, ...] = ()
    labels: tuple[Label, ...] = ()
    aspects: tuple[AspectRecord, ...] = ()

    @cached_property
    def relevant(self) -> tuple[str, ...]:
        """Passage ids of the refined positives: the original gold and every hole."""
        return tuple(each.passage for each in self.labels if each.refined > 0)

    @cached_property
    def accepted(self) -> tuple[str, ...]:
        """Passage ids of the expert view's positives."""
        return tuple(each.passage for each in self.labels if each.expert > 0)

    @cached_property
    def supporting(self) -> tuple[str, ...]:
        """Passage ids that support any aspect, aspect by aspect, each once; listed ones last, so
        that the numbers of the others in answers stay."""
        assigned = [pid for aspect in self.aspects for pid in aspect.passages]
        listed = [pid for aspect in self.aspects for pid in aspect.listed]
        return tuple(dict.fromkeys(assigned + listed))

    @property
    def has_equal_subtopics(self) -> bool:
        """Whether its aspects are subtopics as imported, none weighed: they weigh the same."""
        return bool(self.aspects) and all(a.subtopic and not a.weighed for a in self.aspects)

    @cached_property
    def machine_gold(self) -> dict[str, MachineGold]:
        """Machine gold of all aspects by passage id: each supports one alone."""
        return {each.passage: each for aspect in self.aspects for each in aspect.machine}

    @property
    def gold_ids(self) -> tuple[str, ...]:
        """The published gold: that of the aspects (docs/protocol.md 3.2), else the accepted."""
        return self.supporting if self.aspects else self.accepted


@dataclass(frozen=True)
class ReleaseSchema:
    """What must be equal over all splits of a release, decided before the first is written."""

    integer_ids: bool
    with_answers: bool
    with_excluded: bool = False
    # Whether any weight is a share, which is published as a fraction.
    with_shares: bool = False
    # Whether any aspect is a subtopic of imported judgments.
    with_subtopics: bool = False


def published_weight(weight: int, scale: str) -> float:
    """A raw weight as releases write it: shares as fractions, not in hundredths."""
    return weight / 100 if scale == "shares" else weight


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
