"""BM25 over the passages of one domain, out of the text index.

Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009), with the
idf of Lucene, log(1 + (N - n + 0.5) / (n + 0.5)), k1 = 0.9 and b = 0.4.

The index tells which passages hold a word, but not how often. So passages are taken in the order
of the most that they could score, idf times (k1 + 1) summed over their words, and scored by their
texts, until no passage left could come among the best: the ranking is exact, unless it stops
before, at `_MAX_READ` texts.
"""

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.core.cache import cache
from django.db.models import Avg
from django.db.models.functions import Length

from corpus.benchmarks.overview import passages_counted
from corpus.models import CorpusVersion, Crosswalk, Domain, Passage
from corpus.texts import index as textindex
from corpus.texts.finding import excerpt, one_of

K1, B = 0.9, 0.4
# A word of more passages than this says little, and its list is long: it is left out.
_MAX_HOLDING = 5_000
_MAX_WORDS = 32
_BATCH, _MAX_READ = 100, 1_000
_SAMPLE = 500
# English words of the grammar; in other languages the limit above does their work.
_GRAMMAR = """
a an and are as at be been but by can could do does for from had has have how i if in into is it
its may more most no not of on one or our out over so some such than that the their them then
there these they this those to under up was we were what when where which while who why will
with would you your
"""
_STOP = frozenset(_GRAMMAR.split())


@dataclass(frozen=True)
class Hit:
    """A passage with its score, and which words of the search it holds."""

    passage: Passage
    score: float
    words: frozenset[str]


@dataclass(frozen=True)
class _Scorer:
    """What a score needs to know: each word's idf, and the mean number of words of a passage."""

    idf: dict[str, float]
    mean_length: float

    def score(self, text: str) -> tuple[float, frozenset[str]]:
        """BM25 of a text, and which of the words stand in it."""
        found = textindex.words_of(text)
        counts = Counter(word for word in found if word in self.idf)
        norm = K1 * (1 - B + B * len(found) / self.mean_length)
        score = sum(self.idf[w] * n * (K1 + 1) / (n + norm) for w, n in counts.items())
        return score, frozenset(counts)


def best_passages(
    text: str, *, version: CorpusVersion | None, domain: Domain, most: int = 20
) -> list[Hit]:
    """The passages of the domain that score best for the words of a text, the best first.

    Words match whole and in any case; passages that are not indexed yet are not found.
    """
    words = search_words(text)
    if version is None or not words:
        return []
    holders = {
        word: textindex.passages_with(
            word, versions=version.layers, domain=domain.pk, most=_MAX_HOLDING
        )
        for word in words
    }
    known = {word: pks for word, pks in holders.items() if 0 < len(pks) < _MAX_HOLDING}
    if not known:  # nothing but frequent words: their first passages are better than none
        known = {word: pks for word, pks in holders.items() if pks}
    total = passages_counted(version, domain) or _MAX_HOLDING
    scorer = _Scorer(
        idf={word: idf(len(pks), max(total, len(pks))) for word, pks in known.items()},
        mean_length=_mean_length(version, domain),
    )
    ceilings: dict[int, float] = defaultdict(float)
    for word, pks in known.items():
        ceiling = (K1 + 1) * scorer.idf[word]
        for pk in pks:
            ceilings[pk] += ceiling
    return _rank(ceilings, scorer, most)


def search_words(text: str) -> list[str]:
    """The different words that a search looks for, without those of the grammar."""
    found = dict.fromkeys(textindex.words_of(text))
    telling = [word for word in found if word not in _STOP] or list(found)
    return telling[:_MAX_WORDS]


def idf(holding: int, total: int) -> float:
    """The weight of a word that `holding` of `total` passages contain."""
    return math.log(1 + (total - holding + 0.5) / (holding + 0.5))


def _rank(ceilings: dict[int, float], scorer: _Scorer, most: int) -> list[Hit]:
    """The best of these passages, of each of which is given the most that it could score."""
    order = heapq.nlargest(_MAX_READ, ((ceiling, -pk) for pk, ceiling in ceilings.items()))
    best: list[Hit] = []
    for start in range(0, len(order), _BATCH):
        batch = order[start : start + _BATCH]
        if len(best) >= most and best[most - 1].score >= batch[0][0]:
            break
        rows = Passage.objects.filter(one_of([-pk for _, pk in batch])).with_text()
        for passage in rows.select_related("document"):
            score, words = scorer.score(f"{passage.title} {passage.text}")
            best.append(Hit(passage, score, words))
        best.sort(key=lambda hit: (-hit.score, hit.passage.pk))
        del best[most:]
    return best


def _mean_length(version: CorpusVersion, domain: Domain) -> float:
    """Mean words of a passage, from its first passages: a version that is ready never changes."""
    key = f"mean-length:{version.pk}:{domain.pk}"
    known = cache.get(key)
    if known is None:
        own = Passage.objects.in_version(version).filter(domain=domain).with_text()
        sample = own.order_by("pk")[:_SAMPLE]
        letters = sample.aggregate(mean=Avg(Length("text")))["mean"] or 0.0
        # English words have about five letters, and a blank.
        known = max(letters / 6, 1.0)
        cache.set(key, known, None)
    return float(known)


MAX_SHOWN = 30


def search_version(
    words: str, *, version: CorpusVersion, domains: Sequence[Domain], most: int = MAX_SHOWN
) -> list[dict[str, Any]]:
    """The passages of these domains that score best for the words, by BM25 within each domain.

    Each as `hit`, `pieces` (the part where the words stand) and `came_from`, (key, id) before it.
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
        found.append({"hit": hit, "pieces": pieces, "came_from": before[hit.passage.pk]})
    return found
