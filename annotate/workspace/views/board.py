"""What the query workspace shows: passages with their verdicts, aspects with their shares.

Read from the database after every write; a handful of queries whatever the size of the query.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from django.db.models import QuerySet

from annotate.loaders import get_domain_passage
from annotate.models import Aspect, GoldPassage, Scale
from annotate.voting.majority import REMADE
from annotate.workspace.aspects import normalised_weights
from annotate.workspace.gold import DiscardReason
from annotate.workspace.models import RUBRIC, SCALE_TOP
from annotate.workspace.neighbours import Piece
from annotate.workspace.problems import problems_of
from annotate.workspace.remaking import touching
from annotate.workspace.wording import MOST_SENTENCES, close_pairs, count_sentences
from corpus.models import Judgment, Passage, Query, Source

COLOURS = 6
_Row = TypeVar("_Row", GoldPassage, Judgment)


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
    # Numbers of the aspects that the imported judgments list it under, while nobody decided.
    listed: tuple[str, ...] = ()

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


@dataclass
class Board:
    """The whole workspace of one query."""

    query: Query
    cards: list[Card]
    originals: list[Row]
    others: list[Row]
    current: Row | None = None
    # Tags of the query's gold as a whole.
    problems: tuple[str, ...] = ()
    rows: list[Row] = field(init=False)

    def __post_init__(self) -> None:
        self.rows = self.originals + self.others

    @property
    def undecided(self) -> int:
        """Original gold passages without a verdict."""
        return sum(not row.is_decided for row in self.originals)

    @property
    def decided(self) -> int:
        """Original gold passages with a verdict."""
        return len(self.originals) - self.undecided

    @property
    def stale(self) -> list[Row]:
        """Attached passages outside the original gold that need a verdict anew."""
        return [row for row in self.others if not row.is_decided]

    @property
    def bare(self) -> list[Card]:
        """Aspects that no passage supports yet."""
        return [card for card in self.cards if not card.passages]

    @property
    def top(self) -> int:
        """The highest point of the scale."""
        return SCALE_TOP[self.cards[0].aspect.scale] if self.cards else 5

    @property
    def rubric(self) -> list[tuple[int, str]]:
        """Every point of the scale with its meaning, from the top down."""
        scale = self.cards[0].aspect.scale if self.cards else Scale.LIKERT5
        return sorted(RUBRIC[scale].items(), reverse=True)

    def _neighbour(self, step: int) -> Row | None:
        """The row after (1) or before (-1) the open one, for the keys J and K."""
        if self.current not in self.rows:
            return self.rows[0] if self.rows else None
        place = self.rows.index(self.current) + step
        return self.rows[place] if 0 <= place < len(self.rows) else None

    @property
    def following(self) -> Row | None:
        """The row below the open one."""
        return self._neighbour(1)

    @property
    def preceding(self) -> Row | None:
        """The row above the open one."""
        return self._neighbour(-1)


def read_board(query: Query, *, open_pk: int | None = None, open_next: bool = False) -> Board:
    """The workspace; `open_pk` names the passage to open, `open_next` the first undecided one.

    A passage of the domain that is not attached to the query yet opens as a candidate.
    """
    standing = GoldPassage.objects.standing().filter(query=query).select_related("aspect")
    verdicts = {gold.passage_id: gold for gold in _with_passages(standing)}
    expert = Judgment.objects.standing().filter(query=query, source=Source.EXPERT)
    labels = {label.passage_id: label for label in _with_passages(expert)}
    original = Judgment.objects.original().filter(query=query, label__gt=0)
    imported = {label.passage_id: label for label in _with_passages(original)}
    originals = {pk: label.passage for pk, label in imported.items()}
    attached = {pk: gold.passage for pk, gold in verdicts.items()}
    attached |= {pk: label.passage for pk, label in labels.items()}

    tags = problems_of(query)
    added = [each for pk, each in attached.items() if pk in verdicts and pk not in originals]
    supported = {pk: gold.aspect_id for pk, gold in verdicts.items()}
    near = _neighbours([*originals.values(), *added], labels, supported)
    cards = _cards(query, verdicts.values())

    def row(pk: int, passage: Passage) -> Row:
        gold, is_original = verdicts.get(pk), pk in originals
        is_unlisted = gold is not None and gold.judgment_id is None and not is_original
        aspect = gold.aspect if gold else None
        of = imported[pk].subtopics if is_original and not gold and pk not in labels else None
        return Row(
            passage=passage,
            is_original=is_original,
            aspect=aspect,
            label=labels.get(pk),
            is_unlisted=is_unlisted,
            problems=tuple(tags.get(pk, ())),
            touches=tuple(near.get(pk, ())),
            listed=tuple(
                f"a{card.aspect.k}"
                for card in cards
                if of and card.aspect.subtopic and of.get(card.aspect.subtopic, 0) > 0
            ),
        )

    board = Board(
        query=query,
        cards=cards,
        originals=[row(*each) for each in originals.items()],
        others=[row(*each) for each in sorted(attached.items()) if each[0] not in originals],
        problems=tuple(tags.get(None, ())),
    )
    board.current = _open(board, open_pk, open_next)
    return board


def _open(board: Board, open_pk: int | None, open_next: bool) -> Row | None:
    if open_pk is not None:
        found = next((row for row in board.rows if row.passage.pk == open_pk), None)
        return found or Row(get_domain_passage(board.query, open_pk), is_original=False)
    waiting = (row for row in board.rows if not row.is_decided)
    return next(waiting, None) if open_next else None


def _cards(query: Query, gold: Iterable[GoldPassage]) -> list[Card]:
    standing = Counter(each.aspect_id for each in gold)
    aspects = list(Aspect.objects.filter(query=query).present())
    shares = normalised_weights(aspects)
    close: dict[int, list[int]] = {}
    for one, other in close_pairs([aspect.content for aspect in aspects]):
        close.setdefault(aspects[one].pk, []).append(aspects[other].k)
        close.setdefault(aspects[other].pk, []).append(aspects[one].k)
    return [
        Card(aspect, number, share, standing[aspect.pk], tuple(close.get(aspect.pk, ())))
        for number, (aspect, share) in enumerate(zip(aspects, shares, strict=True), start=1)
    ]


def _neighbours(
    passages: list[Passage], labels: dict[int, Judgment], aspects: dict[int, int]
) -> dict[int, list[Piece]]:
    """For each passage the others of its run on the page; what was merged already is left out."""
    merged = {pk for pk, label in labels.items() if label.provenance.get("rule") == REMADE}
    found: dict[int, list[Piece]] = {}
    for run in touching([each for each in passages if each.pk not in merged], aspects):
        for piece in run:
            found[piece.pk] = [each for each in run if each.pk != piece.pk]
    return found


def _with_passages(rows: QuerySet[_Row]) -> QuerySet[_Row]:
    return rows.select_related("passage__document", "passage__version").order_by("pk")
