"""BM25 here beside the bare library: building the index, and one search for each query.

python -m tests.bench.retrieval [--rows 526319] [--queries 739]. Ours and bm25s read the same
texts, each in a process of its own, in turn; read the ratios.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.loading_data import FULL, columns_of, make_folder
from tests.bench.processor import own_peak

QUERIES, DEPTH = 739, 1000


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
        found = {name: _once(name, Path(folder), wanted.queries) for name in ("theirs", "ours")}
    print(f"{wanted.rows:,} passages, {wanted.queries} queries, the best {DEPTH:,} of each")
    for name in ("build", "search", "whole"):
        one, other = found["ours"][name], found["theirs"][name]
        print(f"{name}: {one:.1f} s, {one / other:.2f} of bm25s without numba ({other:.1f} s)")
    cpu = found["ours"]["cpu"] / found["theirs"]["cpu"]
    print(f"processor time of both: {cpu:.2f}")
    print(f"peak memory: {found['ours']['peak']:.0f} MB against {found['theirs']['peak']:.0f} MB")


def _once(name: str, source: Path, queries: int) -> dict[str, float]:
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


def ours(texts: list[str], queries: list[str]) -> dict[str, float]:
    """As a computation does it, on the disk between."""
    from corpus.retrieval.analysis import count
    from corpus.retrieval.postings import Postings, build_bm25
    from corpus.retrieval.toplist import order_of

    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter(), time.process_time()
        build_bm25(count(texts), Path(folder))
        built = time.perf_counter()
        index = Postings.load(Path(folder))
        order = order_of([str(number) for number in range(len(texts))])
        for query in queries:
            index.search(query, DEPTH, order)
    return _times(begun, built)


def theirs(texts: list[str], queries: list[str]) -> dict[str, float]:
    """The library by its book."""
    import bm25s
    import Stemmer

    stem = Stemmer.Stemmer("porter")
    options = {"stopwords": "en", "stemmer": stem, "show_progress": False}
    begun = time.perf_counter(), time.process_time()
    index = bm25s.BM25(k1=0.9, b=0.4, method="lucene")
    index.index(bm25s.tokenize(texts, **options), show_progress=False)
    built = time.perf_counter()
    index.retrieve(bm25s.tokenize(queries, **options), k=DEPTH, show_progress=False)
    return _times(begun, built)


def _times(begun: tuple[float, float], built: float) -> dict[str, float]:
    ended = time.perf_counter()
    return {
        "build": built - begun[0],
        "search": ended - built,
        "whole": ended - begun[0],
        "cpu": time.process_time() - begun[1],
        "peak": own_peak(),
    }


if __name__ == "__main__":
    main()
