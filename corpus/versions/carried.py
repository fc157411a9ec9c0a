"""What became of a query's gold from one corpus version to another.

Carrying labels of any one source to a derived version, by the rule that carries them all."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.db.models import Q

from corpus.marcus.carrying import label_of
from corpus.models import CorpusVersion, Passage, Query
from corpus.versions.holding import Held, Pair, holding
from corpus.versions.rows import CHUNK, reached


@dataclass(frozen=True)
class GoldMoved:
    """A passage that is relevant in the first version, and those that hold its label in the second.

    `why` says why there is none.
    """

    passage: Passage
    after: tuple[Passage, ...]
    why: str = ""


def gold_before_after(query: Query, first: CorpusVersion, second: CorpusVersion) -> list[GoldMoved]:
    """The relevant passages of the first version and what they are in the second; labels that may
    not be shown now are left out. Empty where both are one."""
    if first == second:
        return []
    about = Q(query=query)
    one = holding(first, about=about, shown_only=True)
    other = holding(second, about=about, shown_only=True)
    roots: dict[int, list[int]] = {}
    for (_, passage), held in other.pairs.items():
        if _is_gold(held):
            for root in held.given_for:
                roots.setdefault(root, []).append(passage)
    whys = {root: lost.why for lost in other.lost for root in lost.held.given_for}
    gold = [(passage, held) for (_, passage), held in sorted(one.pairs.items()) if _is_gold(held)]
    after = {
        passage: sorted({new for root in held.given_for for new in roots.get(root, ())})
        for passage, held in gold
    }
    wanted = {*after, *(pk for pks in after.values() for pk in pks)}
    passages = Passage.objects.defer("text").in_bulk(wanted)
    return [
        GoldMoved(
            passages[passage],
            tuple(passages[pk] for pk in after[passage]),
            "" if after[passage] else next((whys[r] for r in held.given_for if r in whys), ""),
        )
        for passage, held in gold
    ]


def _is_gold(held: Held) -> bool:
    return held.label > 0 or (held.base or 0) > 0


def carried_values(version: CorpusVersion, values: Mapping[Pair, int]) -> dict[Pair, int]:
    """Labels of any source by pair, as they hold in the version: by the same rule, told apart from
    all others. Those of passages of another line of versions are left out."""
    passages = {passage for _, passage in values}
    layers = _layers(passages)
    own = {pair: label for pair, label in values.items() if layers[pair[1]] in version.layers}
    if not version.is_derived or version.parent is None:
        return own
    by_query: dict[int, dict[int, int]] = defaultdict(dict)
    for (query, passage), label in carried_values(version.parent, values).items():
        by_query[query][passage] = label
    forward, holds = reached(version, {key for known in by_query.values() for key in known})
    found: dict[Pair, int] = {}
    for query, known in by_query.items():
        for new in {new for key in known for new in forward.get(key, ())}:
            taken = label_of(known, holds[new])
            if taken is not None:
                found[query, new] = taken
    return found | own


def _layers(passages: Collection[int]) -> dict[int, int]:
    keys = sorted(passages)
    found: dict[int, int] = {}
    for start in range(0, len(keys), CHUNK):
        rows = Passage.objects.filter(pk__in=keys[start : start + CHUNK]).order_by()
        found.update(rows.values_list("pk", "version_id"))
    return found
