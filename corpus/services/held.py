"""What holds for one pair of a corpus version, and how it came there (holding.py)."""

from dataclasses import dataclass, field

from corpus.models.labels import PRECEDENCE

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Word:
    """A label given since the import; `judgment` is its row, None where it was carried."""

    label: int
    source: str
    practice: bool
    judgment: int | None = None

    @property
    def weight(self) -> tuple[bool, int]:
        """As label_rules.weigh: the greater stands."""
        return not self.practice, PRECEDENCE[self.source]


@dataclass(frozen=True, slots=True)
class Part:
    """A judged passage of the version before whose text is in this one; do its labels carry?"""

    carries: bool
    held: "Held"


@dataclass(frozen=True, slots=True)
class Carriage:
    """How a pair came by its labels: by the cleaning that made `version`.

    `parts` are those of the `of` older passages in it that have a label for the query.
    """

    version: int
    of: int
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Held:
    """One pair: its label in the imported gold, and the one that stands since; one is there."""

    query: int
    passage: int
    base: int | None
    given: Word | None
    # Where `base`, and `given` without a judgment of its own, come from; None: given right here.
    carried: Carriage | None = None
    # What another word outweighs: carried beside one given here, or given beside a carried one.
    outweighed: Word | None = None

    @property
    def label(self) -> int:
        """The one that counts: what was given since, else the imported gold."""
        return self.given.label if self.given else self.base or 0

    @property
    def given_for(self) -> tuple[int, ...]:
        """The passages that were judged themselves."""
        if self.carried is None or (self.given and self.given.judgment is not None):
            return (self.passage,)
        return tuple(sorted({pk for each in speaking(self) for pk in each.held.given_for}))


@dataclass(frozen=True, slots=True)
class Lost:
    """A pair whose label holds for no passage of the version, and why."""

    held: Held
    why: str


@dataclass
class Holding:
    """Every pair of a version that a label holds for, and what could not be carried to it."""

    pairs: dict[Pair, Held] = field(default_factory=dict)
    lost: list[Lost] = field(default_factory=list)


def speaking(held: Held) -> list[Part]:
    """Those of the parts that the label of a carried pair is made from."""
    parts = held.carried.parts if held.carried else ()
    if held.label > 0:
        return [each for each in parts if each.carries and each.held.label > 0]
    return list(parts)
