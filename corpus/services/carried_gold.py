"""What became of a query's gold from one corpus version to another."""

from dataclasses import dataclass

from django.db.models import Q

from corpus.models import CorpusVersion, Passage, Query
from corpus.services.held import Held
from corpus.services.holding import holding


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
