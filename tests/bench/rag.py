"""The RAG board of 25 systems by 3,657 queries with three graders, and the pages behind it, read
from stored sheets.

python -m tests.bench.rag [--systems 25] [--queries 3657]. The goal is 300 ms a page.
"""

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

from tests.bench.loading import environment, prepare
from tests.bench.server import ROOT

PAGES = 10


def main() -> None:
    """Print the lines that docs/measurements.md quotes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--systems", type=int, default=25)
    parser.add_argument("--queries", type=int, default=3_657)
    parser.add_argument("--once", action="store_true")
    wanted, _ = parser.parse_known_args()
    if wanted.once:
        once(wanted.systems, wanted.queries)
        return
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        data = Path(folder)
        url = f"sqlite:///{data / 'bench.sqlite3'}"
        prepare(data, url)
        command = [sys.executable, "-m", "tests.bench.rag", "--once"]
        command += ["--systems", str(wanted.systems), "--queries", str(wanted.queries)]
        subprocess.run(command, cwd=ROOT, env=environment(data, url), check=True)


def once(systems: int, queries: int) -> None:
    """Fill the scratch database with sheets, and ask for the board in one process."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    os.environ.setdefault("ASSAY_PLAIN_STATIC", "1")  # nothing is collected here
    django.setup()
    from django.test import Client

    sheets = import_module("tests.evaluation.rag.boards").Sheets(queries)
    rng = random.Random(3)

    def drawn() -> list[float]:
        return [float(rng.random() < 0.5) for _ in range(queries)]

    names = ("hit@10", "nDCG@10", "recall@10")
    rows = [sheets.source("none", "no retrieval", drawn()), sheets.source("gold", "gold", drawn())]
    for n in range(systems):
        views = {view: {name: drawn() for name in names} for view in ("base", "refined")}
        rows.append(sheets.system(f"system {n}", drawn(), views))
    for number in range(3):
        sheets.graded(f"grader {number}", {row: drawn() for row in rows})
    import_module("config.wsgi")  # imported as the server does, which settles the collector
    client = Client(headers={"Host": "127.0.0.1"})
    client.force_login(sheets.admin)
    here = f"/b/{sheets.benchmark.slug}"
    pages = {
        "the RAG board": (f"{here}/rag-board/", b"RAGAlign"),
        "a cell of it": (f"{here}/rag-board/cells/{rows[-1].pk}/", b"system"),
        "Judges": (f"{here}/judges/", b"grader 2"),
    }
    print(f"{systems} systems by {queries:,} queries, three graders")
    for name, (path, words) in pages.items():
        answer = client.get(path)
        assert answer.status_code == 200, path
        assert words in answer.content, path
        times, used = [], []
        for _ in range(PAGES):
            started, before = time.perf_counter(), time.process_time()
            client.get(path)
            times.append(1000 * (time.perf_counter() - started))
            used.append(1000 * (time.process_time() - before))
        print(
            f"{name}: {statistics.median(times):.0f} ms a page ({min(times):.0f} to "
            f"{max(times):.0f}), {statistics.median(used):.0f} ms of it at work"
        )


if __name__ == "__main__":
    main()
