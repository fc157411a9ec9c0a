"""One passage and one aspect as the query workspace shows them."""

from dataclasses import dataclass

from annotate.models import Aspect
from annotate.models.aspects import RUBRIC
from annotate.neighbours import Piece
from annotate.services.gold import DiscardReason
from annotate.wording import MOST_SENTENCES, count_sentences
from corpus.models import Judgment, Passage

COLOURS = 6


@dataclass(frozen=True)
class Row:
    """One passage of the query and the verdict that stands on it."""

    passage: Passage
    is_original: bool
    aspect: Aspect | None = None
    label: Judgment | None = None
    # An import assigned it, but the gold that is current now does not list it any more.
    is_unlisted: bool = False
    # Tags of what is wrong with it (Problem), and the neighbours it touches on its page.
    problems: tuple[str, ...] = ()
    touches: tuple[Piece, ...] = ()

    @property
    def is_asking(self) -> bool:
        """Whether its aspect was split or merged, and nobody said yet where it belongs now."""
        return self.aspect is not None and self.aspect.removed_at is not None

    @property
    def into(self) -> str:
        """The id of the passage that it became part of, "" for none."""
        return str(self.label.provenance.get("into", "")) if self.label else ""

    @property
    def into_name(self) -> str:
        """The last part of that id, which fits into a line."""
        return self.into.rpartition("/")[2]

    @property
    def sources(self) -> list[str]:
        """Ids of the passages it was made of."""
        return [each["pid"] for each in (self.passage.extra or {}).get("sources", ())]

    @property
    def others(self) -> list[str]:
        """The last parts of its neighbours' ids, short enough for a button."""
        return [each.pid.rpartition("/")[2] for each in self.touches]

    @property
    def with_others(self) -> str:
        """The query string that offers it with its neighbours for merging."""
        return "?" + "&".join(f"with={each.pk}" for each in self.touches)

    @property
    def is_discarded(self) -> bool:
        """Whether experts said that it is no gold."""
        return self.aspect is None and self.label is not None and self.label.label == 0

    @property
    def is_decided(self) -> bool:
        """Whether a verdict stands."""
        if self.is_asking:
            return False
        return (self.aspect is not None and not self.is_unlisted) or self.is_discarded

    @property
    def reason(self) -> str:
        """Why it was discarded, in words."""
        kept = self.label.provenance.get("reason", "") if self.label else ""
        return str(dict(DiscardReason.choices).get(kept, kept)).lower()

    @property
    def note(self) -> str:
        """What the expert added to the reason."""
        return str(self.label.provenance.get("note", "")) if self.label else ""


@dataclass(frozen=True)
class Card:
    """One aspect with its number on screen, its share and how many passages support it."""

    aspect: Aspect
    number: int
    share: float
    passages: int
    # Numbers of the aspects that say nearly the same.
    close: tuple[int, ...] = ()

    @property
    def sentences(self) -> int:
        """How many sentences it has, where they are more than usual; else 0."""
        count = count_sentences(self.aspect.content)
        return count if count > MOST_SENTENCES else 0

    @property
    def css(self) -> str:
        """Colour class; after six aspects the colours begin again."""
        return f"n{(self.number - 1) % COLOURS + 1}"

    @property
    def rubric(self) -> list[tuple[int, str]]:
        """Every point of the scale with its meaning, from 1 up."""
        return sorted(RUBRIC[self.aspect.scale].items())

    @property
    def slot(self) -> str:
        """Where a conflict about this aspect is shown."""
        return f"aspect-{self.aspect.pk}"

    @property
    def meaning(self) -> str:
        """What the chosen weight means."""
        return RUBRIC[self.aspect.scale].get(self.aspect.weight, "")
