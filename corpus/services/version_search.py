"""Searching the texts of one corpus version, the best first, with where each came from."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from corpus.models import CorpusVersion, Crosswalk, Domain
from corpus.services.excerpts import excerpt
from corpus.services.ranked_search import Hit, best_passages

MOST_SHOWN = 30


@dataclass(frozen=True)
class FoundText:
    """A passage with the part of it where the words stand; `came_from` are (key, id) before it."""

    hit: Hit
    pieces: tuple[tuple[str, bool], ...]
    came_from: tuple[tuple[int, str], ...]


def search_version(
    words: str, *, version: CorpusVersion, domains: Sequence[Domain], most: int = MOST_SHOWN
) -> list[FoundText]:
    """The passages of these domains that score best for the words, by BM25 within each domain.

    Scores of several domains stand in one order, though each is by the rarity of its words there.
    """
    hits: list[Hit] = []
    for domain in domains:
        hits += best_passages(words, version=version, domain=domain, most=most)
    hits.sort(key=lambda hit: (-hit.score, hit.passage.pk))
    names = {domain.pk: domain for domain in domains}
    before: dict[int, list[tuple[int, str]]] = defaultdict(list)
    links = Crosswalk.objects.filter(new_id__in=[hit.passage.pk for hit in hits[:most]])
    for new, old, pid in links.order_by("old__pid").values_list("new_id", "old_id", "old__pid"):
        before[new].append((old, pid))
    found = []
    for hit in hits[:most]:
        hit.passage.domain = names[hit.passage.domain_id]
        pieces = tuple(excerpt(hit.passage.text or "", hit.words))
        found.append(FoundText(hit, pieces, tuple(before[hit.passage.pk])))
    return found
