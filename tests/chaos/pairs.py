"""Pairs of every outcome, many at once."""

from corpus.models import CorpusVersion, Passage, Pool, PoolEntry
from tests.factories import make_benchmark, make_query

# Ten answer words: their number in a passage is what the practice model goes by
# (docs/protocol.md 8), so that pairs agree early, late or never.
WORDS = ["moths", "roll", "their", "backs", "toward", "any", "lamp", "and", "fly", "loops"]
_PER_QUERY = 50


def make_pairs(count: int) -> Pool:
    """A benchmark with a pool of that many pairs, up to 50 for a query."""
    benchmark = make_benchmark()
    version = CorpusVersion.objects.current(benchmark)
    queries = [
        make_query(benchmark, qid=str(number), answers=[" ".join(WORDS)])
        for number in range(-(-count // _PER_QUERY))
    ]
    passages = Passage.objects.bulk_create(
        Passage(version=version, domain=queries[0].domain, pid=f"p{number}", text=_text(number))
        for number in range(count)
    )
    pool = Pool.objects.create(benchmark=benchmark, name="pairs")
    PoolEntry.objects.bulk_create(
        PoolEntry(pool=pool, query=queries[number // _PER_QUERY], passage=passage)
        for number, passage in enumerate(passages)
    )
    return pool


def _text(number: int) -> str:
    return f"{' '.join(WORDS[: number % 11])} beside other things, {number}."
