"""BM25 here beside the bare library: building the index, and one search for each query.

python -m tests.bench.retrieval [--rows 526319] [--queries 739]. Ours and bm25s read the same
texts, each in a process of its own, in turn, three times; read the ratios. The best ten of every
query have to be the same, but for equal scores.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.bench.loading_data import FULL, columns_of, make_folder
from tests.bench.processor import own_peak

QUERIES, DEPTH, ROUNDS, SEEN = 739, 1000, 3, 10


def main() -> None:
    """Print the figures that docs/measurements.md quotes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=FULL)
    parser.add_argument("--queries", type=int, default=QUERIES)
    parser.add_argument("--once", choices=("ours", "theirs"))
    parser.add_argument("--source", type=Path)
    wanted, _ = parser.parse_known_args()
    if wanted.once:
        act = ours if wanted.once == "ours" else theirs
        print(json.dumps(act(*made(wanted.source, wanted.queries))))
        return
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        make_folder(Path(folder), wanted.rows)
        rounds = [
            [_once(name, Path(folder), wanted.queries) for name in ("ours", "theirs")]
            for _ in range(ROUNDS)
        ]
    print(f"{wanted.rows:,} passages, {wanted.queries} queries, the best {DEPTH:,} of each")
    for name in ("build", "search", "whole", "cpu", "peak"):
        pairs = [(one[name], other[name]) for one, other in rounds]
        ratios = [one / other for one, other in pairs]
        one, other = (statistics.median(each) for each in zip(*pairs, strict=True))
        print(
            f"{name}: {statistics.median(ratios):.2f} of bm25s without numba "
            f"({min(ratios):.2f} to {max(ratios):.2f}; {one:.1f} and {other:.1f})"
        )
    tops = zip(*(each["top"] for each in rounds[0]), strict=True)
    print(f"queries with another best ten: {sum(not _same(*each) for each in tops)}")


def _once(name: str, source: Path, queries: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.bench.retrieval", "--once", name]
    command += ["--source", str(source), "--queries", str(queries)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def made(source: Path, queries: int) -> tuple[list[str], list[str]]:
    """The texts, and queries that are pieces of them."""
    texts = [text for _, each in columns_of(source).values() for text in each]
    chance = random.Random(739)
    pieces = [chance.choice(texts).split()[:40] for _ in range(queries)]
    return texts, [" ".join(words) for words in pieces]


def ours(texts: list[str], queries: list[str]) -> dict[str, Any]:
    """As a computation does it, on the disk between."""
    from corpus.retrieval.postings import BM25
    from corpus.retrieval.toplist import order_of

    order = order_of([str(number) for number in range(len(texts))])
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter(), time.process_time()
        BM25(Path(folder)).index(texts)
        built = time.perf_counter()
        found = list(BM25(Path(folder)).search(queries, DEPTH, order))
    return _told(begun, built, found)


def theirs(texts: list[str], queries: list[str]) -> dict[str, Any]:
    """The library by its book."""
    import bm25s
    import Stemmer

    stem = Stemmer.Stemmer("porter")
    options = {"stopwords": "en", "stemmer": stem, "show_progress": False}
    begun = time.perf_counter(), time.process_time()
    index = bm25s.BM25(k1=0.9, b=0.4, method="lucene")
    index.index(bm25s.tokenize(texts, **options), show_progress=False)
    built = time.perf_counter()
    tokens = bm25s.tokenize(queries, **options)
    numbers, scores = index.retrieve(tokens, k=DEPTH, show_progress=False)
    return _told(begun, built, list(zip(numbers, scores, strict=True)))


def _told(begun: tuple[float, float], built: float, found: Sequence[Any]) -> dict[str, Any]:
    ended = time.perf_counter()
    return {
        "build": built - begun[0],
        "search": ended - built,
        "whole": ended - begun[0],
        "cpu": time.process_time() - begun[1],
        "peak": own_peak(),
        "top": [[numbers[:SEEN].tolist(), scores[:SEEN].tolist()] for numbers, scores in found],
    }


def _same(one: Any, other: Any) -> bool:
    """The same scores, and the same passages above the last of them."""
    alike = bool(np.allclose(one[1], other[1], rtol=1e-5))
    above = [{n for n, score in zip(*each, strict=True) if score > each[1][-1] * 1.00001}
             for each in (one, other)]  # fmt: skip
    return alike and above[0] == above[1]


if __name__ == "__main__":
    main()
