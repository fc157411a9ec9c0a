"""The figures of an empty database and of the same one filled: DATABASE ROWS."""

import os
import statistics
import sys
import time
from collections.abc import Iterator
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("LOG_LEVEL", "WARNING")
django.setup()

from django.conf import settings  # noqa: E402
from django.db import transaction  # noqa: E402
from django.test import Client  # noqa: E402

from corpus.models import PageFetch  # noqa: E402
from kit.database.bulk import analyze, copy_rows  # noqa: E402
from llm.models import Call  # noqa: E402
from tests.factories import make_benchmark, make_query  # noqa: E402

ROUNDS = 100
# Of so many rows one is not over.
ONE_OPEN_OF = 1_000
MOMENT = "2026-11-28 12:00:00+00:00"


def main(name: str, rows: int) -> None:
    """Print both medians and their ratio."""
    empty = median_ms()
    fill(rows)
    full = median_ms()
    print(f"{name}: empty {empty:.1f} ms, {rows:,} rows {full:.1f} ms, ratio {full / empty:.2f}")


def median_ms() -> float:
    """Of one request through all middleware."""
    key = {"Authorization": f"Bearer {settings.METRICS_KEY}"}
    client, taken = Client(headers=key, HTTP_HOST="localhost"), []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        answer = client.get("/-/metrics")
        taken.append(time.perf_counter() - began)
        assert answer.status_code == 200, answer.content
    return 1000 * statistics.median(taken)


def fill(rows: int) -> None:
    """So many calls and so many fetches."""
    query = make_query(make_benchmark("bench"), "q1")
    with transaction.atomic():
        columns = ("key", "attempt", "role", "model", "endpoint", "practice", "subject", "owner")
        columns += ("status", "request", "text", "finish_reason", "error", "created_at")
        copy_rows(Call, columns, _calls(rows))
        columns = ("query_id", "url", "status", "done", "total", "error", "owner", "fence")
        copy_rows(PageFetch, (*columns, "created_at"), _fetches(rows, query.pk))
    analyze(Call, PageFetch)


def _calls(rows: int) -> Iterator[tuple[Any, ...]]:
    for n in range(rows):
        status = "answered" if n % ONE_OPEN_OF else "intent"
        named = ("judge", "m", "default", False, f"pair:{n}", "")
        yield f"{n:064}", 1, *named, status, "{}", "yes", "", "", MOMENT


def _fetches(rows: int, query: int) -> Iterator[tuple[Any, ...]]:
    for n in range(rows):
        status = "done" if n % ONE_OPEN_OF else "queued"
        yield query, f"https://example.org/{n}", status, 0, 0, "", "", 0, MOMENT


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
