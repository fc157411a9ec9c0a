"""An import whose worker is killed in the middle: all of it, once, by another worker."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

import psycopg
import pytest
from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.db import connection

from annotate.workspace.loading import run_import
from corpus.imports.services import queue_import
from corpus.models import Benchmark, CorpusVersion, Domain, GoldVersion, ImportRun, Query
from kit.models import Event
from kit.runs.models import RunStatus
from tests.services.processes import Site, database_url, wait_until

pytestmark = pytest.mark.services

DEMO = settings.BASE_DIR / "corpus" / "demo"
# Where the worker is held and killed: before its first text, with its texts written but nothing
# published, and inside the publishing transaction.
MOMENTS = ("corpus_passage", "corpus_benchmark", "annotate_aspect")


@pytest.fixture
def benchmark(site: Site) -> Benchmark:
    if connection.vendor != "postgresql":
        pytest.skip("needs PostgreSQL: make test-services")
    return Benchmark.objects.create(slug="demo", name="Demo")


def begin(benchmark: Benchmark, *, claim: bool = False) -> ImportRun:
    return queue_import(
        benchmark=benchmark, actor=None, format="bright_pro", path=DEMO, claim=claim
    )


def contents() -> Counter[str]:
    """Rows by table, and what the gold amounts to."""
    rooms = ("corpus", "annotate")
    models = [m for m in apps.get_models() if m._meta.app_label in rooms and m is not ImportRun]
    rows = Counter({m._meta.label: m._default_manager.count() for m in models})
    rows.update(GoldVersion.objects.values_list("digest", flat=True))
    rows.update(Event.objects.values_list("verb", flat=True))
    return rows


@contextmanager
def held(table: str) -> Iterator[None]:
    """Nobody else writes to the table, and whoever locks its rows waits."""
    with psycopg.connect(database_url()) as link:
        link.execute(f"LOCK TABLE {table} IN EXCLUSIVE MODE")
        yield
        link.rollback()


def somebody_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        return bool(cursor.fetchone()[0])


def nothing_shows(benchmark: Benchmark) -> bool:
    shown = (Query.objects.in_benchmark(benchmark), Domain.objects.ready())
    return CorpusVersion.objects.current(benchmark) is None and not any(
        rows.exists() for rows in shown
    )


def test_an_import_survives_every_kill(benchmark: Benchmark, site: Site) -> None:
    run_import(begin(benchmark, claim=True))
    expected = contents()
    call_command("flush", interactive=False, verbosity=0)
    benchmark = Benchmark.objects.create(slug="demo", name="Demo")
    run = begin(benchmark)
    site.lease_s = 2.0
    worker = site.start_worker(sweep_s=0.3)
    for table in MOMENTS:
        with held(table):
            wait_until(somebody_waits)
            standby = site.start_worker(sweep_s=0.3)
            worker.kill()
            worker = standby
        assert nothing_shows(benchmark)
    wait_until(lambda: ImportRun.objects.get(pk=run.pk).is_over)
    run.refresh_from_db()
    assert (run.status, run.error, run.problems) == (RunStatus.DONE, "", [])
    assert run.fence > len(MOMENTS)
    assert contents() == expected


@pytest.mark.parametrize("seed", [1, 2])
def test_two_kills_in_a_row_at_any_moment_leave_one_whole_import(
    benchmark: Benchmark, site: Site, seed: int
) -> None:
    """Wherever they strike, if they do: what stands at last is what one undisturbed load gives."""
    run_import(begin(benchmark, claim=True))
    expected = contents()
    call_command("flush", interactive=False, verbosity=0)
    run = begin(Benchmark.objects.create(slug="demo", name="Demo"))
    site.lease_s = 2.0
    chance = Random(seed)
    for _ in range(2):
        worker = site.start_worker(sweep_s=0.3)
        wait_until(lambda: ImportRun.objects.get(pk=run.pk).status != RunStatus.QUEUED)
        time.sleep(chance.uniform(0, 0.5))
        worker.kill()
        whole = ImportRun.objects.get(pk=run.pk).is_over
        assert whole or nothing_shows(run.benchmark)
    site.start_worker(sweep_s=0.3)
    wait_until(lambda: ImportRun.objects.get(pk=run.pk).is_over)
    run.refresh_from_db()
    assert (run.status, run.error, run.problems) == (RunStatus.DONE, "", [])
    assert contents() == expected
