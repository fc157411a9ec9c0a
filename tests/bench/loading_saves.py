"""Somebody who saves while a benchmark is loaded."""

import sqlite3
import statistics
import threading
import time
from pathlib import Path


class Saving(threading.Thread):
    """Saves every 50 ms beside the process that loads, and how long each save waits."""

    def __init__(self, database: Path) -> None:
        super().__init__()
        self.database = database
        self.waits: list[float] = []
        self.over = threading.Event()

    def __enter__(self) -> "Saving":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.join()

    def run(self) -> None:
        """Save until the load is over; a save that waits 20 seconds fails, as in the product."""
        person = sqlite3.connect(self.database, isolation_level=None, timeout=20)
        while not self.over.wait(0.05):
            started = time.perf_counter()
            person.execute("BEGIN IMMEDIATE")
            person.execute("UPDATE corpus_benchmark SET description = description || '.'")
            person.execute("COMMIT")
            self.waits.append(time.perf_counter() - started)
        person.close()

    def report(self) -> None:
        """Milliseconds."""
        median, slow = (1000 * each for each in (statistics.median(self.waits), self._slow()))
        print(
            f"saves meanwhile: {len(self.waits)}, median {median:.0f} ms, p95 {slow:.0f} ms, "
            f"longest {1000 * max(self.waits):.0f} ms"
        )

    def _slow(self) -> float:
        return statistics.quantiles(self.waits, n=20)[-1]
