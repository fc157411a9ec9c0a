"""The text index: what words find, on the database that the suite runs on, and how it is filled."""

from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection

from corpus.models import CorpusVersion, Passage, PassageIndexRun
from corpus.tasks import index_passages
from corpus.texts import index as textindex
from corpus.texts import indexing
from corpus.texts.finding import begins_with, find_passages, passages_called
from kit.runs.models import LostLease, RunStatus, Stopping, stopping
from tests.factories import index_texts, make_benchmark, make_passage, make_version

pytestmark = pytest.mark.django_db
TEXTS = {
    "moths": "Moths circle a lamp; they don't fly AT it.",
    "lamps": "A lamplighter's tale, about 3.14 metres of wick.",
    "café": "Le café noir, Straße und Ångström_units, see https://lamp.example/moth-1",
    "short": "ab abc",
}


@pytest.fixture
def benchmark():
    made = make_benchmark(domains=("biology", "robotics"))
    for pid, text in TEXTS.items():
        make_passage(made, pid, "biology", text=text)
    make_passage(made, "other", "robotics", text="Robots circle a lamp.")
    make_passage(made, "lost", "biology", text=None)
    return made


def version_of(benchmark) -> CorpusVersion:
    return CorpusVersion.objects.current(benchmark)


def found(benchmark, words: str, domain: str = "") -> list[str]:
    chosen = benchmark.domains.filter(name=domain).first()
    rows = find_passages(words, version=version_of(benchmark), domain=chosen)
    return sorted(rows.values_list("pid", flat=True))


@pytest.mark.parametrize(
    ("words", "pids"),
    [
        ("moths", ["moths"]),
        ("MOTHS Lamp", ["moths"]),
        ("lamp", ["café", "lamps", "moths", "other"]),
        ("lam", ["café", "lamps", "moths", "other"]),
        ("la", ["lamps"]),  # no word; the beginning of an id
        ("circle lamp", ["moths", "other"]),
        ("don't", ["moths"]),
        ("3.14", ["lamps"]),
        ("straße", ["café"]),
        ("CAFE\u0301", ["café"]),
        ("units", ["café"]),
        ("moth-1", ["café"]),
        ("ab", ["short"]),
        ("zebra", []),
        ("moths zebra", []),
    ],
)
def test_words_find_their_passages(benchmark, words: str, pids: list[str]) -> None:
    index_texts(benchmark)
    assert found(benchmark, words) == pids


@pytest.mark.parametrize(
    "words",
    [
        *('"', "'", "' & !", '" OR body:*', "NOT AND OR", "(", ":*", "\\", "* * *", "%s %", "_"),
        "v1 OR scope:d1",
        "a\u0301b",
        # Letters that SQLite does not know as such part this word in two.
        "\U0001e900\u00e9\U0001df00a",
        *("\u0915\u094d\u0937\u093f", "\ud55c\uad6d"),
    ],
)
def test_no_input_breaks_the_search(benchmark, words: str) -> None:
    index_texts(benchmark)
    assert isinstance(found(benchmark, words), list)


def test_search_stays_in_its_domain_and_version(benchmark) -> None:
    index_texts(benchmark)
    assert found(benchmark, "circle", "robotics") == ["other"]
    elsewhere = make_benchmark("elsewhere")
    make_passage(elsewhere, "theirs", text="Moths circle.")
    index_texts(elsewhere)
    assert found(benchmark, "circle") == ["moths", "other"]
    assert found(elsewhere, "circle") == ["theirs"]


def test_search_goes_through_the_layers_of_a_version(benchmark) -> None:
    first = version_of(benchmark)
    second = make_version(benchmark, "more")
    second.layers = [first.pk, second.pk]
    second.save()
    make_passage(benchmark, "late", "biology", text="Late moths.")
    index_texts(benchmark)
    assert found(benchmark, "moths") == ["late", "moths"]


def test_words_inside_the_index_of_scopes_are_no_words(benchmark) -> None:
    """Version and domain stand in the index too, where no search for words may find them."""
    index_texts(benchmark)
    version = version_of(benchmark)
    for word in (f"v{version.pk}", f"d{version.pk}", f" v{version.pk}"):
        assert textindex.matching(word, versions=[version.pk], most=10) == []


def test_search_gives_no_more_than_it_is_asked_for(benchmark) -> None:
    index_texts(benchmark)
    layers = version_of(benchmark).layers
    assert len(textindex.matching("lamp", versions=layers, most=2)) == 2


def test_beginnings_of_ids_are_found_without_the_index(benchmark) -> None:
    for pid in ("a/1", "a/10", "a/2", "b/1", "A/1", "a%", "a_1", "\U0010ffff", "\ud7ff"):
        make_passage(benchmark, pid)

    def called(prefix: str) -> list[str]:
        keys = passages_called(prefix, version=version_of(benchmark))
        return sorted(Passage.objects.filter(pk__in=keys).values_list("pid", flat=True))

    assert called("a/1") == ["a/1", "a/10"]
    assert called("A") == ["A/1"]
    assert called("a%") == ["a%"]
    assert called("a_") == ["a_1"]
    assert called("\ud7ff") == ["\ud7ff"]
    assert called("\U0010ffff") == ["\U0010ffff"]
    assert called("lost") == ["lost"]
    assert called("nothing") == []


def test_id_lookup_uses_an_index(benchmark) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL rightly reads so small a table whole")
    rows = Passage.objects.in_version(version_of(benchmark))
    rows = rows.filter(begins_with("pid", "a/"), domain__in=[1, 2]).order_by()
    plan = rows.values("pk").explain()
    assert "pid>? AND pid<?" in plan


def test_index_is_filled_in_steps_and_goes_on_where_it_stopped(benchmark, monkeypatch) -> None:
    monkeypatch.setattr(indexing, "_CHUNK", 2)
    run = indexing.request_index(version_of(benchmark))
    assert (run.status, run.total) == (RunStatus.QUEUED, 0)
    assert indexing.searchable(version_of(benchmark)) == {"done": 0, "total": 0, "is_ready": False}
    added = textindex.add

    def stop_at_the_second(*args: int) -> int:
        if PassageIndexRun.objects.get().done:
            raise Stopping
        return added(*args)

    assert run.claim()
    monkeypatch.setattr(textindex, "add", stop_at_the_second)
    with pytest.raises(Stopping):
        indexing.index(run)
    run.refresh_from_db()
    assert run.done == 2
    assert found(benchmark, "lamp") == ["lamps", "moths"]
    assert indexing.searchable(version_of(benchmark)) == {"done": 2, "total": 5, "is_ready": False}
    monkeypatch.setattr(textindex, "add", added)
    run.release()
    index_passages(run.pk)
    run.refresh_from_db()
    assert (run.status, run.done) == (RunStatus.DONE, 5)
    assert found(benchmark, "lamp") == ["café", "lamps", "moths", "other"]
    assert indexing.is_ready(version_of(benchmark))


def test_worker_that_lost_the_run_adds_nothing(benchmark) -> None:
    run = indexing.request_index(version_of(benchmark))
    assert run.claim()
    PassageIndexRun.objects.update(fence=run.fence + 1)
    with pytest.raises(LostLease):
        indexing.index(run)
    assert found(benchmark, "lamp") == ["lamps"]  # by its id
    indexing.run_index(run)
    run.refresh_from_db()
    assert run.status == RunStatus.RUNNING


def test_worker_that_is_shut_down_leaves_the_run(benchmark) -> None:
    run = indexing.request_index(version_of(benchmark))
    assert run.claim()
    stopping.set()
    try:
        indexing.run_index(run)
    finally:
        stopping.clear()
    run.refresh_from_db()
    assert (run.status, run.done) == (RunStatus.RUNNING, 0)


def test_failure_is_told_and_tried_again_when_asked(benchmark, monkeypatch) -> None:
    run = indexing.request_index(version_of(benchmark))
    assert run.claim()
    with monkeypatch.context() as broken:
        broken.setattr(indexing, "_CHUNK", "many")
        indexing.run_index(run)
    run.refresh_from_db()
    assert run.status == RunStatus.FAILED
    assert "error of ours" in run.error
    assert indexing.request_index(version_of(benchmark)).status == RunStatus.QUEUED
    index_passages(run.pk)
    assert indexing.is_ready(version_of(benchmark))


def test_delivered_twice_nothing_is_added_twice(benchmark) -> None:
    run = indexing.request_index(version_of(benchmark))
    index_passages(run.pk)
    assert indexing.request_index(version_of(benchmark)).status == RunStatus.DONE
    index_passages(run.pk)
    index_passages(10**6)
    layers = version_of(benchmark).layers
    keys = textindex.matching("lamp", versions=layers, most=100)
    assert len(keys) == len(set(keys)) == 4


def test_text_that_came_later_is_found_too(benchmark) -> None:
    index_texts(benchmark)
    lost = Passage.objects.get(pid="lost")
    Passage.objects.filter(pk=lost.pk).update(text="Found at last.")
    indexing.index_filled([lost.pk])
    assert found(benchmark, "last") == ["lost"]
    assert indexing.searchable(version_of(benchmark)) == {"done": 6, "total": 6, "is_ready": True}


def test_text_that_the_run_has_yet_to_reach_is_left_to_it(benchmark) -> None:
    lost = Passage.objects.get(pid="lost")
    run = indexing.request_index(version_of(benchmark))
    Passage.objects.filter(pk=lost.pk).update(text="Found at last.")
    indexing.index_filled([lost.pk])
    assert found(benchmark, "last") == []
    index_passages(run.pk)
    layers = version_of(benchmark).layers
    assert textindex.matching("last", versions=layers, most=10) == [lost.pk]
    assert indexing.searchable(version_of(benchmark)) == {"done": 6, "total": 6, "is_ready": True}


def test_version_that_nobody_asked_to_index_is_not_ready(benchmark) -> None:
    assert indexing.searchable(version_of(benchmark)) == {"done": 0, "total": 5, "is_ready": False}
    assert indexing.is_ready(None)


def test_command_indexes_in_this_process(benchmark) -> None:
    out = StringIO()
    call_command("index_passages", "--benchmark", "demo", stdout=out)
    assert "demo, corpus version as loaded: done, 5 of 5 passages." in out.getvalue()
    assert found(benchmark, "circle") == ["moths", "other"]
    call_command("index_passages", stdout=out)
    assert "indexed already" in out.getvalue()


@pytest.mark.django_db(transaction=True)
def test_an_index_that_a_backup_left_out_is_filled_as_far_as_its_runs_had_come(benchmark) -> None:
    index_texts(benchmark)
    make_passage(benchmark, "later", "biology", text="Moths that came later.")
    runs = list(PassageIndexRun.objects.values())
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            name = textindex.TABLE
            cursor.execute(f"INSERT INTO {name}({name}) VALUES ('delete-all')")
        else:
            cursor.execute(f"TRUNCATE {textindex.TABLE}")
    assert found(benchmark, "moths") == ["moths"]  # by its id
    indexing.index_again()
    assert found(benchmark, "circle lamp") == ["moths", "other"]
    assert found(benchmark, "came") == []
    assert list(PassageIndexRun.objects.values()) == runs
