"""Aspects and their gold passages as they hold in a corpus version that a cleaning made."""

from collections import defaultdict
from dataclasses import dataclass

from django.db.models import Q

from annotate.models import GoldPassage
from corpus.models import CorpusVersion
from corpus.services.crosswalk import targets


@dataclass
class CarriedGold:
    """Passages of the version by aspect; `lost` are gold passages that none of them holds."""

    by_aspect: dict[int, list[int]]
    lost: list[tuple[int, int]]


def gold_in(version: CorpusVersion, *, about: Q | None = None) -> CarriedGold:
    """Standing gold passages of every aspect, read through the version's crosswalks.

    What experts collected from the web is in no version that was loaded; it stays as it is. What
    asks for a new aspect, because its own was split or merged, supports none until it has one.
    `about` narrows the gold passages.
    """
    rows = GoldPassage.objects.standing().filter(
        about or Q(),
        query__domain__benchmark=version.benchmark_id,
        aspect__removed_at=None,
    )
    pairs = list(
        rows.order_by("pk").values_list("aspect_id", "passage_id", "passage__version__state")
    )
    reached = targets(version, {passage for _, passage, _ in pairs})
    found: dict[int, list[int]] = defaultdict(list)
    lost: list[tuple[int, int]] = []
    for aspect, passage, state in pairs:
        there = [passage] if state == "growing" else reached[passage]
        found[aspect] += [each for each in there if each not in found[aspect]]
        if not there:
            lost.append((aspect, passage))
    return CarriedGold(dict(found), lost)
