"""Dense search here beside the bare numpy product, in blocks of the same file.

python -m tests.bench.dense [--rows 526319] [--queries 739]. Both read the same memory-mapped
vectors of 384 numbers, in turn; the bare product keeps nothing of what it multiplies.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from corpus.retrieval.vectors import VectorWriter, load_vectors, search, unit
from tests.bench.loading_data import FULL
from tests.bench.retrieval import DEPTH, QUERIES

WIDTH, ROUNDS = 384, 3
BLOCK = 40_000


def main() -> None:
    """Print the figures that docs/measurements.md quotes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=FULL)
    parser.add_argument("--queries", type=int, default=QUERIES)
    wanted, _ = parser.parse_known_args()
    chance = np.random.default_rng(1)
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        writer = VectorWriter(Path(folder), wanted.rows)
        for start in range(0, wanted.rows, BLOCK):
            size = min(BLOCK, wanted.rows - start)
            writer.add(chance.standard_normal((size, WIDTH), np.float32))
        writer.close()
        documents = load_vectors(Path(folder))
        queries = unit(chance.standard_normal((wanted.queries, WIDTH), np.float32))
        order = np.arange(wanted.rows)
        print(f"{wanted.rows:,} x {WIDTH}, {wanted.queries} queries, the best {DEPTH:,} of each")
        for _ in range(ROUNDS):
            bare = _timed(lambda: _bare(documents, queries))
            ours = _timed(lambda: search(documents, queries, DEPTH, order))
            print(
                f"search: {ours[0]:.1f} s, {ours[0] / bare[0]:.2f} of the bare product "
                f"({bare[0]:.1f} s); processor time {ours[1] / bare[1]:.2f}"
            )


def _bare(documents: Any, queries: Any) -> None:
    for start in range(0, len(documents), BLOCK):
        queries @ documents[start : start + BLOCK].T


def _timed(act: Callable[[], object]) -> tuple[float, float]:
    begun = time.perf_counter(), time.process_time()
    act()
    return time.perf_counter() - begun[0], time.process_time() - begun[1]


if __name__ == "__main__":
    main()
