"""One measured load in a process of its own: prints seconds, processor seconds and peak memory.

python -m tests.bench.loading_once {raw|ours} FOLDER [FORMAT], with ASSAY_DATA and
DATABASE_URL set to an empty, migrated database.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from django.db import connection, transaction  # noqa: E402

from corpus.benchmarks.services import create_benchmark  # noqa: E402
from corpus.imports.loading import load  # noqa: E402
from corpus.imports.services import queue_import  # noqa: E402
from corpus.models import Benchmark, CorpusVersion, Domain, Passage  # noqa: E402
from tests.bench.loading_data import columns_of  # noqa: E402
from tests.bench.processor import own_peak  # noqa: E402

_COLUMNS = "version_id, domain_id, pid, text"


def main(kind: str, folder: Path, format: str = "bright_pro") -> None:
    """Print one line of JSON."""
    benchmark = create_benchmark(name="Bench", slug="bench", actor=None)
    act = ours(benchmark, folder, format) if kind == "ours" else raw(benchmark, folder)
    wall, cpu = time.perf_counter(), time.process_time()
    act()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(
        json.dumps({"wall": wall, "cpu": cpu, "peak": own_peak(), "rows": Passage.objects.count()})
    )


def ours(benchmark: Benchmark, folder: Path, format: str) -> Callable[[], None]:
    """What `load_benchmark` does, from files to a visible version."""
    run = queue_import(benchmark=benchmark, actor=None, format=format, path=folder, claim=True)
    return lambda: load(run)


def raw(benchmark: Benchmark, folder: Path) -> Callable[[], None]:
    """The driver alone: the same rows, in memory already, in one transaction."""
    version = CorpusVersion.objects.create(benchmark=benchmark, name="raw").pk
    rows = [
        (version, domain, pid, text)
        for name, columns in columns_of(folder).items()
        for domain in [Domain.objects.create(benchmark=benchmark, name=name).pk]
        for pid, text in zip(*columns, strict=True)
    ]
    return (lambda: copied(rows)) if connection.vendor == "postgresql" else lambda: many(rows)


def many(rows: list[tuple[int, int, str, str]]) -> None:
    """sqlite3's executemany; foreign keys are not checked, as the driver has it by default."""
    driver = connection.connection
    driver.execute("PRAGMA foreign_keys = OFF")
    driver.execute("BEGIN IMMEDIATE")
    driver.executemany(f"INSERT INTO corpus_passage ({_COLUMNS}) VALUES (?, ?, ?, ?)", rows)
    driver.execute("COMMIT")


def copied(rows: list[tuple[int, int, str, str]]) -> None:
    """psycopg's COPY, row by row."""
    sql = f"COPY corpus_passage ({_COLUMNS}) FROM STDIN"
    with transaction.atomic(), connection.cursor() as cursor, cursor.cursor.copy(sql) as copy:
        for row in rows:
            copy.write_row(row)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
