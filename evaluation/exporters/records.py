"""What a release is made of: one frozen query with its labels and aspects."""

from collections.abc import Mapping
from dataclasses import dataclass, field
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
class AspectRecord:
    """One present aspect with its raw weight; `passages` support it, in the order of assignment.

    The weight of the scale `shares` is in hundredths.

    While nobody chose a weight, it is the middle of the scale and `weighed` false.
    """

    k: int
    content: str
    weight: int
    scale: str
    passages: tuple[str, ...] = ()
    weighed: bool = True


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
        """Passage ids that support any aspect, aspect by aspect, each once."""
        return tuple(dict.fromkeys(pid for aspect in self.aspects for pid in aspect.passages))

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


def published_weight(weight: int, scale: str) -> float:
    """A raw weight as releases write it: shares as fractions, not in hundredths."""
    return weight / 100 if scale == "shares" else weight
