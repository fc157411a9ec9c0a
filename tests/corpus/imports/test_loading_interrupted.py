"""What happens when a load is stopped, killed, overtaken, or runs beside people's work."""

import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from corpus.importers.formats import FORMATS, Format
from corpus.imports import texts as loading_texts
from corpus.imports.context import open_context
from corpus.imports.loading import load, sweep_dead_loads
from corpus.imports.services import cancel_import, queue_import
from corpus.imports.texts import TextLoader
from corpus.models import (
    Benchmark,
    CorpusVersion,
    Document,
    Domain,
    ImportRun,
    Passage,
    Query,
    VersionState,
)
from kit.runs.models import LostLease
from tests.corpus.import_files import bright_pro, claimed, imported, one_by_one

pytestmark = pytest.mark.django_db


class Stop(Exception):
    """Raised in the middle of a load."""


@pytest.fixture
def _small_chunks(monkeypatch) -> None:
    monkeypatch.setattr(loading_texts, "CHUNK", 1)


@pytest.fixture
def between(monkeypatch):
    """Call a function before each row that the Bright-Pro reader yields."""

    def install(act) -> None:
        real = FORMATS["bright_pro"]

        def read(path, *, qrels=None, meter=None):
            rows = one_by_one(real.read(path, qrels=qrels, meter=meter))
            for number, row in enumerate(rows):
                act(number)
                yield row

        monkeypatch.setitem(FORMATS, "bright_pro", Format(real.title, read, real.hint))

    return install


def nothing_is_left() -> bool:
    kept = (Query, Passage, Document, Domain, CorpusVersion)
    return not any(model.objects.exists() for model in kept)


def half_loaded(benchmark, folder) -> ImportRun:
    """What a killed process leaves: a running run with an expired lease, and rows."""
    run = claimed(benchmark, folder)
    texts = TextLoader(open_context(run))
    for row in one_by_one(FORMATS["bright_pro"].read(folder)):
        if hasattr(row, "pid") and hasattr(row, "text"):
            texts.add_passage(row)
    texts.flush()
    assert Passage.objects.count() == 3
    expire(run)
    return run


def expire(run) -> None:
    past = timezone.now() - timedelta(seconds=1)
    ImportRun.objects.filter(pk=run.pk).update(lease_until=past)


@pytest.mark.usefixtures("_small_chunks")
@pytest.mark.parametrize("error", [Stop, KeyboardInterrupt])
def test_an_error_in_the_middle_leaves_nothing(benchmark, tmp_path, between, error) -> None:
    seen = []

    def fail_late(number) -> None:
        seen.append(Passage.objects.count())
        if seen[-1] >= 2:
            raise error

    between(fail_late)
    run = claimed(benchmark, bright_pro(tmp_path))
    with pytest.raises(error):
        load(run)
    assert seen[-1] == 2  # it really was in the middle
    assert nothing_is_left()


@pytest.mark.usefixtures("_small_chunks")
def test_nothing_shows_before_the_end(benchmark, tmp_path, between) -> None:
    shown = set()

    def look(number) -> None:
        version = CorpusVersion.objects.current(benchmark)
        shown.add((version, Domain.objects.ready().count(), Query.objects.count()))

    between(look)
    imported(benchmark, bright_pro(tmp_path))
    assert shown == {(None, 0, 0)}
    assert CorpusVersion.objects.current(benchmark) is not None


def test_a_killed_load_is_invisible_and_swept_by_the_next(benchmark, tmp_path) -> None:
    folder = bright_pro(tmp_path)
    dead = half_loaded(benchmark, folder)
    assert CorpusVersion.objects.current(benchmark) is None
    assert not Domain.objects.ready().exists()
    run = imported(benchmark, folder)
    assert run.status == "done"
    assert CorpusVersion.objects.filter(state=VersionState.LOADING).count() == 0
    assert Passage.objects.count() == 3
    dead.refresh_from_db()
    assert dead.status == "queued"  # whoever looks next finds everything present


def test_a_killed_load_that_is_cancelled_leaves_nothing(benchmark, tmp_path) -> None:
    run = half_loaded(benchmark, bright_pro(tmp_path))
    cancel_import(run=run, actor=None)
    assert nothing_is_left()


def test_a_worker_that_only_seemed_dead_writes_nothing_more(benchmark, tmp_path) -> None:
    folder = bright_pro(tmp_path)
    run = claimed(benchmark, folder)
    texts = TextLoader(open_context(run))
    given = one_by_one(FORMATS["bright_pro"].read(folder))
    rows = [row for row in given if hasattr(row, "page_id")]
    texts.add_passage(rows[0])
    texts.flush()
    expire(run)
    assert sweep_dead_loads(benchmark) == 1
    texts.add_passage(rows[1])
    with pytest.raises(LostLease):
        texts.flush()
    assert nothing_is_left()


def test_the_sweep_leaves_living_loads_and_other_work_alone(benchmark, tmp_path) -> None:
    cleaning = CorpusVersion.objects.create(benchmark=benchmark, name="c", recipe={"cleaning": 1})
    run = half_loaded(benchmark, bright_pro(tmp_path))
    ImportRun.objects.filter(pk=run.pk).update(lease_until=timezone.now() + timedelta(minutes=1))
    assert sweep_dead_loads(benchmark) == 0
    assert Passage.objects.count() == 3
    assert CorpusVersion.objects.filter(pk=cleaning.pk).exists()


@pytest.mark.usefixtures("_small_chunks")
def test_cancel_stops_a_load_and_keeps_nothing(benchmark, tmp_path, between) -> None:
    run = claimed(benchmark, bright_pro(tmp_path))

    def cancel(number) -> None:
        if Passage.objects.count() == 2 and not ImportRun.objects.get(pk=run.pk).is_over:
            cancel_import(run=ImportRun.objects.get(pk=run.pk), actor=None)

    between(cancel)
    with pytest.raises(LostLease):
        load(run)
    run.refresh_from_db()
    assert run.status == "cancelled"
    assert nothing_is_left()


def test_a_load_that_was_overtaken_begins_anew_on_the_newer_version(
    benchmark, tmp_path, between
) -> None:
    others = [imported(benchmark, bright_pro(tmp_path / "first")).version]
    more = bright_pro(
        tmp_path / "b", examples=[], aspects=[], documents=[{"id": "b", "content": "b"}]
    )

    def overtake(number) -> None:
        if len(others) == 1:
            rival = CorpusVersion.objects.create(
                benchmark=benchmark, name="rival", state=VersionState.READY
            )
            rival.layers = [*others[0].layers, rival.pk]
            rival.save()
            others.append(rival)

    between(overtake)
    run = imported(benchmark, more)
    assert run.status == "done"
    assert run.version.parent == others[1]
    assert run.version.layers == [others[0].pk, others[1].pk, run.version.pk]
    assert Passage.objects.filter(pid="b").count() == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_small_chunks")
def test_people_save_while_a_load_runs(benchmark, tmp_path, between) -> None:
    """From another connection, between any two rows: no transaction is left open meanwhile."""
    failures: list[Exception] = []
    saved = []

    def save(number) -> None:
        try:
            Benchmark.objects.filter(pk=benchmark.pk).update(description=f"{number}")
            saved.append(number)
        except Exception as error:
            failures.append(error)
        finally:
            connection.close()

    def from_elsewhere(number) -> None:
        person = threading.Thread(target=save, args=(number,))
        person.start()
        person.join()

    between(from_elsewhere)
    run = imported(benchmark, bright_pro(tmp_path))
    assert (run.status, failures) == ("done", [])
    benchmark.refresh_from_db()
    assert benchmark.description == str(saved[-1])
    assert len(saved) > 5


def test_an_import_is_taken_once(benchmark, tmp_path) -> None:
    folder = bright_pro(tmp_path)
    run = queue_import(
        benchmark=benchmark, actor=None, format="bright_pro", path=folder, claim=True
    )
    assert run.status == "running"
    assert not ImportRun.objects.get(pk=run.pk).claim()
