"""The labels that count in a corpus version: given there, or inherited through cleanings.

Nothing is copied: a label stays where it was given, and is read through the chain of parents. The
imported gold and the labels given since are inherited apart, so that the base, the refined and the
expert view of a derived version follow from them as they do everywhere
(evaluation/exporters/records.py). docs/cleaning.md has the rules.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Q

from corpus.access import Access
from corpus.judgments.models import NOTHING_LEFT_OUT, PRECEDENCE, LeftOut
from corpus.judgments.shown import shown_labels
from corpus.marcus.inheritance import inherited_label
from corpus.marcus.parts import Aspects
from corpus.models import CorpusVersion, Judgment, Passage, Query, Source
from corpus.versions.crosswalk import CHUNK, crosswalk_of

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class GivenLabel:
    """A label given since the import; `judgment` is its row, None where it is inherited."""

    label: int
    source: str
    practice: bool
    judgment: int | None = None

    @property
    def weight(self) -> tuple[bool, int]:
        """As judgments.services.weigh: the greater counts."""
        return not self.practice, PRECEDENCE[self.source]


@dataclass(frozen=True, slots=True)
class SourcePassage:
    """A judged passage of the parent version whose text is in this one; `carries` is whether this
    one inherits its label."""

    carries: bool
    effective: "EffectiveLabel"


@dataclass(frozen=True, slots=True)
class Inheritance:
    """How a pair inherited its labels: by the cleaning that made `version`.

    `sources` are those of the `of` older passages in it that have a label for the query.
    """

    version: int
    of: int
    sources: tuple[SourcePassage, ...]


@dataclass(frozen=True, slots=True)
class EffectiveLabel:
    """The labels of one pair: that of the imported gold, the one given since, or both."""

    query: int
    passage: int
    base: int | None
    given: GivenLabel | None
    # Where `base`, and `given` without a judgment of its own, come from; None: given right here.
    inherited: Inheritance | None = None
    # The lighter one of a label given here and an inherited one.
    outweighed: GivenLabel | None = None

    @property
    def label(self) -> int:
        """The one that counts: what was given since, else the imported gold."""
        return self.given.label if self.given else self.base or 0

    @property
    def is_gold(self) -> bool:
        """Whether the passage is relevant by either of its labels."""
        return self.label > 0 or (self.base or 0) > 0

    @property
    def deciding(self) -> list[SourcePassage]:
        """The source passages that an inherited label follows from."""
        sources = self.inherited.sources if self.inherited else ()
        if self.label > 0:
            return [each for each in sources if each.carries and each.effective.label > 0]
        return list(sources)

    @property
    def given_for(self) -> tuple[int, ...]:
        """The passages that were judged themselves."""
        if self.inherited is None or (self.given and self.given.judgment is not None):
            return (self.passage,)
        return tuple(sorted({pk for each in self.deciding for pk in each.effective.given_for}))


@dataclass(frozen=True, slots=True)
class LostLabel:
    """The label of a judged passage that no passage of the version inherits, and why."""

    query: int
    passage: int
    label: int
    is_gold: bool
    why: str


@dataclass
class EffectiveLabels:
    """The labels of every pair of a version, and those that it does not inherit."""

    pairs: dict[Pair, EffectiveLabel] = field(default_factory=dict)
    lost: list[LostLabel] = field(default_factory=list)

    @property
    def labels(self) -> list[EffectiveLabel]:
        """In the order of queries and passages."""
        return [effective for _, effective in sorted(self.pairs.items())]


def effective_labels(
    version: CorpusVersion,
    *,
    about: Q | None = None,
    shown_only: bool = False,
    shown_to: Access | None = None,
    without: LeftOut = NOTHING_LEFT_OUT,
) -> EffectiveLabels:
    """The labels that count in a version, through any number of cleanings.

    `about` narrows the judgments, by their query; `shown_only` leaves out those that may not be
    shown while people vote on their pair, `shown_to` those that this person may not see (shown.py).
    `without` names labels that do not count.
    Of a label given for a derived passage itself and an inherited one the weightier counts, of
    equal ones the one given there.
    """
    shown_only = shown_only or shown_to is not None
    own = _own(version, about, shown_only, shown_to, without)
    if not version.is_derived or version.parent is None:
        return EffectiveLabels(own)
    narrowed: Any = {"about": about, "shown_only": shown_only, "shown_to": shown_to}
    before = effective_labels(version.parent, **narrowed, without=without)
    found = _inherit(version, before)
    for pair, effective in own.items():
        found.pairs[pair] = _combined(found.pairs.get(pair), effective)
    return found


# Readers of what passages support; a room further left knows it.
_aspects: list[Callable[[CorpusVersion], Aspects]] = []
_aspect_texts: list[Callable[[Collection[int]], Iterable[tuple[int, str]]]] = []


def tell_aspects(
    read: Callable[[CorpusVersion], Aspects],
    texts: Callable[[Collection[int]], Iterable[tuple[int, str]]],
) -> None:
    """Let cleanings ask which aspects the gold of a version supports, and what aspects say."""
    _aspects.append(read)
    _aspect_texts.append(texts)


def aspects_of(version: CorpusVersion) -> Aspects:
    """The (query, aspect) pairs that each gold passage of the version supports."""
    return {passage: pairs for read in _aspects for passage, pairs in read(version).items()}


def aspect_texts(queries: Collection[int]) -> dict[int, list[str]]:
    """What the aspects of these queries say, by query."""
    found: dict[int, list[str]] = defaultdict(list)
    for read in _aspect_texts:
        for query, text in read(queries):
            found[query].append(text)
    return found


def gold_of(version: CorpusVersion) -> dict[int, list[int]]:
    """The queries that each passage of the version is gold for."""
    found: dict[int, list[int]] = defaultdict(list)
    for each in effective_labels(version).labels:
        if each.label > 0:
            found[each.passage].append(each.query)
    return dict(found)


def _own(
    version: CorpusVersion,
    about: Q | None,
    shown_only: bool,
    shown_to: Access | None,
    without: LeftOut,
) -> dict[Pair, EffectiveLabel]:
    rows = Judgment.objects.filter(
        about or Q(), query__domain__benchmark=version.benchmark_id
    ).order_by("pk")
    # Versions are compared here: in SQL, PostgreSQL may begin with all passages.
    inside = set(version.layers)
    columns = ("query_id", "passage_id", "passage__version_id", "label", "source", "practice", "pk")
    base: dict[Pair, int] = {}
    given: dict[Pair, GivenLabel] = {}
    standing = rows.standing(without)
    since = shown_labels(standing, shown_to) if shown_only else standing
    for part in (rows.original(), since):
        for query, passage, layer, *label in part.values_list(*columns).iterator(chunk_size=2000):
            if layer not in inside:
                continue
            if label[1] == Source.ORIGINAL:
                base[query, passage] = label[0]
            else:
                given[query, passage] = GivenLabel(*label)
    pairs = sorted(base.keys() | given.keys())
    return {pair: EffectiveLabel(*pair, base.get(pair), given.get(pair)) for pair in pairs}


def _inherit(version: CorpusVersion, before: EffectiveLabels) -> EffectiveLabels:
    by_query: dict[int, dict[int, EffectiveLabel]] = defaultdict(dict)
    for (query, passage), effective in before.pairs.items():
        by_query[query][passage] = effective
    newer, older = crosswalk_of(version, {passage for _, passage in before.pairs})
    found = EffectiveLabels(lost=list(before.lost))
    for query, known in sorted(by_query.items()):
        taken: set[int] = set()
        for new in sorted({new for key in known for new in newer.get(key, ())}):
            inherited = _inherited(version, query, new, known, older[new])
            if inherited is not None:
                found.pairs[query, new] = inherited
                taken |= {each.effective.passage for each in inherited.deciding}
        for key, each in sorted(known.items()):
            if key not in taken:
                why = _why(each.label, key in newer)
                found.lost += [
                    LostLabel(query, judged, each.label, each.is_gold, why)
                    for judged in each.given_for
                ]
    return found


def _inherited(
    version: CorpusVersion,
    query: int,
    passage: int,
    known: Mapping[int, EffectiveLabel],
    older: Sequence[tuple[int, bool]],
) -> EffectiveLabel | None:
    """What a passage inherits for one query; None where its sources do not tell a label."""
    sources = tuple(SourcePassage(carries, known[key]) for key, carries in older if key in known)
    gold = {key: each.base for key, each in known.items() if each.base is not None}
    base = inherited_label(gold, older)
    label = inherited_label({key: each.label for key, each in known.items()}, older)
    inheritance = Inheritance(version.pk, len(older), sources)
    if label is None and (base or 0) > 0:
        # All that made it gold was taken back since, next to text that nobody judged: the import
        # still has it as gold, and what took it back is inherited too.
        label = 0
    given = None if label is None else _given(label, sources)
    if base is None and given is None:
        return None
    return EffectiveLabel(query, passage, base, given, inheritance)


def _given(label: int, sources: Sequence[SourcePassage]) -> GivenLabel | None:
    """Who gave the inherited label since the import; None where only the imported gold has it.

    Of a label above 0 the weightiest assessor that gave it. Of 0 those who took back what the
    import has as gold, the lightest of them: all of them had to. Practice makes practice.
    """
    if label > 0:
        labels = [
            each.effective.given
            for each in sources
            if each.carries and each.effective.given and each.effective.label == label
        ]
        best = max(labels, key=lambda each: each.weight, default=None)
    else:
        labels = [each.effective.given for each in sources if each.effective.given]
        back = [
            each.effective.given
            for each in sources
            if each.carries and each.effective.given and (each.effective.base or 0) > 0
        ]
        best = min(back, key=lambda each: each.weight) if back else None
        best = best or max(labels, key=lambda each: each.weight, default=None)
    if best is None:
        return None
    practice = best.practice or (label <= 0 and any(each.practice for each in labels))
    return GivenLabel(label, best.source, practice)


def _combined(inherited: EffectiveLabel | None, own: EffectiveLabel) -> EffectiveLabel:
    """A pair that was judged here: what it inherited stays the base, and counts by weight."""
    if inherited is None:
        return own
    here, there = own.given, inherited.given
    if there and (here is None or there.weight > here.weight):
        here, there = there, here
    return EffectiveLabel(own.query, own.passage, inherited.base, here, inherited.inherited, there)


def _why(label: int, has_text: bool) -> str:
    if not has_text:
        return "nothing of its text is in this version"
    if label > 0:
        return "too little of its text is in any passage of this version"
    return "its text stands in a passage together with text that nobody judged"


def gold_before_after(
    query: Query, first: CorpusVersion, second: CorpusVersion, *, shown_to: Access
) -> list[dict[str, Any]]:
    """Each relevant `passage` of the first version, and those of the second that inherit its label
    (`after`), or `why` none does; labels that may not be shown to this person now are left out.
    Empty where both are one."""
    if first == second:
        return []
    about = Q(query=query)
    one = effective_labels(first, about=about, shown_to=shown_to)
    other = effective_labels(second, about=about, shown_to=shown_to)
    inheriting: dict[int, list[int]] = {}
    for (_, passage), effective in other.pairs.items():
        if effective.is_gold:
            for judged in effective.given_for:
                inheriting.setdefault(judged, []).append(passage)
    whys = {lost.passage: lost.why for lost in other.lost}
    gold = [each for each in one.labels if each.is_gold]
    after = {
        each.passage: sorted({new for key in each.given_for for new in inheriting.get(key, ())})
        for each in gold
    }
    keys = {*after, *(pk for pks in after.values() for pk in pks)}
    passages = Passage.objects.defer("text").in_bulk(keys)
    return [
        {
            "passage": passages[each.passage],
            "after": [passages[pk] for pk in after[each.passage]],
            # Shown only where no passage is after.
            "why": next((whys[key] for key in each.given_for if key in whys), ""),
        }
        for each in gold
    ]


def inherit_values(version: CorpusVersion, values: Mapping[Pair, int]) -> dict[Pair, int]:
    """Labels of any source by pair, as the version has them: by the rule of inheritance, apart
    from all other labels. Those of passages outside its chain of parents are left out."""
    # All weigh the same.
    given = {pair: GivenLabel(label, Source.EXPERT, False) for pair, label in values.items()}
    return {pair: each.label for pair, each in inherit_given(version, given).items()}


def inherit_given(
    version: CorpusVersion, given: Mapping[Pair, GivenLabel]
) -> dict[Pair, GivenLabel]:
    """The same with who gave each label; pairs may be of anything (an aspect) and a passage.

    Of a label given for the passage itself and an inherited one the weightier counts, of equal ones
    the one given there; of several that are inherited the weightiest, with its `judgment`.
    """
    keys = sorted({passage for _, passage in given})
    layers: dict[int, int] = {}
    for start in range(0, len(keys), CHUNK):
        rows = Passage.objects.filter(pk__in=keys[start : start + CHUNK]).order_by()
        layers.update(rows.values_list("pk", "version_id"))
    own = {pair: each for pair, each in given.items() if layers[pair[1]] in version.layers}
    if not version.is_derived or version.parent is None:
        return own
    by_first: dict[int, dict[int, GivenLabel]] = defaultdict(dict)
    for (first, passage), each in inherit_given(version.parent, given).items():
        by_first[first][passage] = each
    newer, older = crosswalk_of(version, {key for known in by_first.values() for key in known})
    found: dict[Pair, GivenLabel] = {}
    for first, known in by_first.items():
        labels = {key: each.label for key, each in known.items()}
        for new in {new for key in known for new in newer.get(key, ())}:
            label = inherited_label(labels, older[new])
            if label is None:
                continue
            said = (
                known[key]
                for key, carries in older[new]
                if labels.get(key) == label and (carries or label <= 0)
            )
            found[first, new] = max(said, key=lambda each: each.weight)
    for pair, each in own.items():
        if pair not in found or each.weight >= found[pair].weight:
            found[pair] = each
    return found
