"""What holds for the pairs of a corpus version: given there, or carried by the cleanings behind it.

Nothing is copied: a label stays where it was given. The imported gold and what was given since are
carried apart, so that the base, the refined and the expert view of a derived version follow from
them as they do everywhere (evaluation/exporters/records.py). docs/cleaning.md tells the rules.

What holds for one pair of a corpus version, and how it came there (holding.py)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import Q

from corpus.judgments.models import PRECEDENCE
from corpus.judgments.shown import shown_labels
from corpus.marcus.carrying import label_of
from corpus.models import CorpusVersion, Judgment, Source
from corpus.versions.rows import reached

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


def holding(version: CorpusVersion, *, about: Q | None = None, shown_only: bool = False) -> Holding:
    """The labels that count in a version, through any number of cleanings.

    `about` narrows the judgments, by their query; `shown_only` leaves out those that may not be
    shown while people vote on their pair (shown.py). Of a label given for a derived passage itself
    and one carried to it the weightier stands, of equal ones the one given there.
    """
    own = _own(version, about, shown_only)
    if not version.is_derived or version.parent is None:
        return Holding(own)
    before = holding(version.parent, about=about, shown_only=shown_only)
    found = _through(version, before)
    for pair, held in own.items():
        found.pairs[pair] = _beside(found.pairs.get(pair), held)
    return found


def _own(version: CorpusVersion, about: Q | None, shown_only: bool) -> dict[Pair, Held]:
    rows = Judgment.objects.filter(
        about or Q(), query__domain__benchmark=version.benchmark_id
    ).order_by("pk")
    # Whose passage it is, is told here: asked in SQL, PostgreSQL may begin with all passages.
    inside = set(version.layers)
    columns = ("query_id", "passage_id", "passage__version_id", "label", "source", "practice", "pk")
    base: dict[Pair, int] = {}
    given: dict[Pair, Word] = {}
    since = shown_labels(rows.standing()) if shown_only else rows.standing()
    for part in (rows.original(), since):
        for query, passage, layer, *word in part.values_list(*columns).iterator(chunk_size=2000):
            if layer not in inside:
                continue
            if word[1] == Source.ORIGINAL:
                base[query, passage] = word[0]
            else:
                given[query, passage] = Word(*word)
    pairs = sorted(base.keys() | given.keys())
    return {pair: Held(*pair, base.get(pair), given.get(pair)) for pair in pairs}


def _through(version: CorpusVersion, before: Holding) -> Holding:
    by_query: dict[int, dict[int, Held]] = defaultdict(dict)
    for (query, passage), held in before.pairs.items():
        by_query[query][passage] = held
    forward, holds = reached(version, {passage for _, passage in before.pairs})
    found = Holding(lost=list(before.lost))
    for query, known in sorted(by_query.items()):
        taken: set[int] = set()
        for new in sorted({new for key in known for new in forward.get(key, ())}):
            carried = _carried(version, query, new, known, holds[new])
            if carried is not None:
                found.pairs[query, new] = carried
                taken |= {each.held.passage for each in speaking(carried)}
        for key, each in sorted(known.items()):
            if key not in taken:
                found.lost.append(Lost(each, _why(each.label, key in forward)))
    return found


def _carried(
    version: CorpusVersion,
    query: int,
    passage: int,
    known: Mapping[int, Held],
    holds: Sequence[tuple[int, bool]],
) -> Held | None:
    """What a passage takes over for one query; None where nothing can be said."""
    parts = tuple(Part(carries, known[key]) for key, carries in holds if key in known)
    gold = {key: each.base for key, each in known.items() if each.base is not None}
    base = label_of(gold, holds)
    label = label_of({key: each.label for key, each in known.items()}, holds)
    carriage = Carriage(version.pk, len(holds), parts)
    if label is None and (base or 0) > 0:
        # All that made it gold was taken back since, beside text that nobody judged: the import
        # still says gold, and what took it back goes along.
        label = 0
    given = None if label is None else _teller(label, parts)
    if base is None and given is None:
        return None
    return Held(query, passage, base, given, carriage)


def _teller(label: int, parts: Sequence[Part]) -> Word | None:
    """Whose word since the import the label is; None where the imported gold alone speaks.

    Of a label above 0 the weightiest of those who gave it. Of 0 whoever took back what the import
    calls gold, the lightest of them: all of them had to. Practice makes practice.
    """
    if label > 0:
        words = [
            each.held.given
            for each in parts
            if each.carries and each.held.given and each.held.label == label
        ]
        best = max(words, key=lambda word: word.weight, default=None)
    else:
        words = [each.held.given for each in parts if each.held.given]
        back = [
            each.held.given
            for each in parts
            if each.carries and each.held.given and (each.held.base or 0) > 0
        ]
        best = min(back, key=lambda word: word.weight) if back else None
        best = best or max(words, key=lambda word: word.weight, default=None)
    if best is None:
        return None
    practice = best.practice or (label <= 0 and any(word.practice for word in words))
    return Word(label, best.source, practice)


def _beside(carried: Held | None, own: Held) -> Held:
    """A pair that was judged here; what was carried to it stays the base, and counts by weight."""
    if carried is None:
        return own
    here, there = own.given, carried.given
    stands, other = here, there
    if here and there and there.weight > here.weight:
        stands, other = there, here
    if here is None:
        stands, other = there, None
    return Held(own.query, own.passage, carried.base, stands, carried.carried, other)


def _why(label: int, has_text: bool) -> str:
    if not has_text:
        return "nothing of its text is in this version"
    if label > 0:
        return "too little of its text is in any passage of this version"
    return "its text stands in a passage together with text that nobody judged"
