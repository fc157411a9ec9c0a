"""Building pools as long work: nothing half is shown, and a build can be stopped and taken over."""

from typing import Any

import pytest
from django.test import Client

from corpus.models import Pool, PoolBuild, PoolEntry, RankedList, RetrievalRun
from corpus.pools import builds as pool_builds
from corpus.pools import services as pools
from corpus.pools.builds import cancel_build, run_build, start_build
from corpus.tasks import build_pool
from kit.errors import Refused
from kit.models import Event
from kit.runs.models import RunStatus
from tests.annotate.world import hx
from tests.factories import (
    make_benchmark,
    make_member,
    make_passage,
    make_query,
    make_ranking,
)

pytestmark = pytest.mark.django_db(transaction=True)
QUERIES = 6


@pytest.fixture
def benchmark() -> Any:
    """Six queries, each with two passages ranked by two systems."""
    benchmark = make_benchmark()
    for number in range(QUERIES):
        query = make_query(benchmark, str(number))
        for place in "ab":
            make_passage(benchmark, f"{number}{place}", text=f"Text {place}.")
        make_ranking(query, f"{number}a", f"{number}b", name="bm25", scores=[2, 1])
        make_ranking(query, f"{number}b", name="dense", scores=[2])
    return benchmark


@pytest.fixture(autouse=True)
def _two_queries_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "_QUERIES", 2)


def start(benchmark: Any, **options: Any) -> PoolBuild:
    runs = list(RetrievalRun.objects.filter(benchmark=benchmark))
    return start_build(benchmark=benchmark, runs=runs, actor=None, **options)


def after(build: PoolBuild) -> PoolBuild:
    build.refresh_from_db()
    return build


def nothing_is_left() -> bool:
    return not Pool.everything.exists() and not PoolEntry.objects.exists()


def test_a_worker_builds_it_and_counts_queries(benchmark) -> None:
    build = start(benchmark, name=" Mine ")
    build_pool(build.pk)
    assert (after(build).status, build.done, build.total) == (RunStatus.DONE, QUERIES, QUERIES)
    assert (build.pool.name, build.pool.entries.count()) == ("Mine", 2 * QUERIES)
    verbs = list(Event.objects.order_by("pk").values_list("verb", flat=True))
    assert verbs == ["start pool build", "build pool"]
    build_pool(build.pk)  # delivered twice
    assert Pool.everything.count() == 1


def run_meeting(build: PoolBuild, monkeypatch: Any, what: Any) -> None:
    """Carry it out; its worker meets something between two groups of queries."""
    looked, look = [], pools._has_answers

    def meet(query: Any) -> bool:
        looked.append(query)
        if len(looked) == 3:
            what()
        return look(query)

    monkeypatch.setattr(pools, "_has_answers", meet)
    taken = PoolBuild.objects.get(pk=build.pk)
    assert taken.claim()
    run_build(taken)


def test_nobody_sees_half_of_it_and_a_cancel_leaves_nothing(benchmark, monkeypatch) -> None:
    build = start(benchmark)

    def cancel() -> None:
        assert Pool.everything.count() == 1
        assert PoolEntry.objects.exists()
        assert not Pool.objects.exists()
        cancel_build(run=PoolBuild.objects.get(pk=build.pk), actor=None)

    run_meeting(build, monkeypatch, cancel)
    assert after(build).status == RunStatus.CANCELLED
    assert nothing_is_left()
    with pytest.raises(Refused, match="over already"):
        cancel_build(run=build, actor=None)


class Killed(BaseException):
    """Stands for a SIGKILL: nothing is cleaned up after it."""


def test_what_a_dead_worker_left_is_dropped_and_begun_anew(benchmark, monkeypatch) -> None:
    build = start(benchmark)

    def die() -> None:
        raise Killed

    with pytest.raises(Killed):
        run_meeting(build, monkeypatch, die)
    assert PoolEntry.objects.exists()
    PoolBuild.objects.update(lease_until="2001-01-01T00:00:00Z")
    build_pool(build.pk)
    assert after(build).status == RunStatus.DONE
    assert Pool.everything.count() == 1
    assert PoolEntry.objects.count() == 2 * QUERIES


def test_a_dead_workers_build_is_cancelled_with_its_rows(benchmark, monkeypatch) -> None:
    build = start(benchmark)

    def die() -> None:
        raise Killed

    with pytest.raises(Killed):
        run_meeting(build, monkeypatch, die)
    PoolBuild.objects.update(lease_until="2001-01-01T00:00:00Z")
    cancel_build(run=build, actor=None)
    assert nothing_is_left()


def test_a_worker_that_lost_it_leaves_the_others_rows_alone(benchmark, monkeypatch) -> None:
    build = start(benchmark)

    def lose() -> None:
        PoolBuild.objects.update(lease_until="2001-01-01T00:00:00Z")
        build_pool(build.pk)  # another one, from beginning to end

    run_meeting(build, monkeypatch, lose)
    assert after(build).status == RunStatus.DONE
    assert build.pool.entries.count() == 2 * QUERIES


def test_a_list_that_cannot_be_read_is_named(benchmark) -> None:
    RankedList.objects.filter(query__qid="3", run__name="bm25").update(scores=[1.0])
    build = start(benchmark)
    build_pool(build.pk)
    assert after(build).status == RunStatus.FAILED
    assert "bm25, query biology-3: 2 ids and 1 scores" in build.error
    assert nothing_is_left()


def test_an_error_of_ours_says_how_far_it_came_and_leaves_nothing(benchmark, monkeypatch) -> None:
    build = start(benchmark)

    def fail() -> None:
        raise ZeroDivisionError

    run_meeting(build, monkeypatch, fail)
    assert after(build).status == RunStatus.FAILED
    assert f"after 2 of {QUERIES} queries" in build.error
    assert nothing_is_left()


def test_of_two_of_one_name_the_second_fails_in_words(benchmark) -> None:
    first, second = start(benchmark, name="Mine"), start(benchmark, name="Mine")
    build_pool(first.pk)
    build_pool(second.pk)
    assert after(second).status == RunStatus.FAILED
    assert "named 'Mine' already" in second.error
    assert Pool.everything.count() == 1


def test_an_empty_pool_is_refused_in_the_same_words_everywhere(benchmark) -> None:
    PoolEntry.objects.all().delete()
    for query in benchmark.domains.get().queries.all():
        query.answers = []
        query.save()
    build = start(benchmark)
    build_pool(build.pk)
    assert "6 queries without answers" in after(build).error
    runs = list(RetrievalRun.objects.all())
    with pytest.raises(Refused, match="6 queries without answers"):
        pool_builds.build_pool(benchmark=benchmark, runs=runs, actor=None)
    assert nothing_is_left()


def test_deep_runs_are_read_a_query_at_a_time(benchmark, monkeypatch) -> None:
    monkeypatch.setattr(pools, "_QUERIES", 50)
    runs = list(RetrievalRun.objects.all())
    assert pools._group_size(runs) == 50
    for run in runs:
        run.depth = 60_000
    assert pools._group_size(runs) == 1


def test_the_page_shows_progress_stops_it_and_leads_to_the_pool(benchmark) -> None:
    client = Client()
    client.force_login(make_member(benchmark, "ada", "admin"))
    build, other = start(benchmark, name="One"), start(benchmark, name="Two")
    page = f"/b/demo/pools/builds/{build.pk}/"
    assert "Waiting to begin" in client.get(page).content.decode()
    assert "One" in client.get("/b/demo/pools/").content.decode()
    PoolBuild.objects.filter(pk=build.pk).update(done=2, total=6)
    fragment = client.get(page, **hx("progress")).content.decode()
    assert "2 of 6 queries" in fragment
    assert "<html" not in fragment
    client.post(f"{page}cancel/")
    assert "Nothing of it was kept" in client.get(page).content.decode()
    build_pool(other.pk)
    answer = client.get(f"/b/demo/pools/builds/{other.pk}/")
    assert answer["Location"] == f"/b/demo/pools/{after(other).pool_id}/"


def test_the_api_starts_shows_and_stops_it(benchmark) -> None:
    client = Client()
    client.force_login(make_member(benchmark, "ada", "admin"))
    runs = list(RetrievalRun.objects.values_list("pk", flat=True))
    made = client.post("/api/b/demo/pools/", {"runs": runs}, "application/json").json()
    url = f"/api/b/demo/pools/builds/{made['id']}/"
    assert client.get(url).json()["status"] == "queued"
    listed = client.get("/api/b/demo/pools/builds/").json()["results"]
    assert [each["id"] for each in listed] == [made["id"]]
    assert client.post(f"{url}cancel/").json()["status"] == "cancelled"
    assert client.post(f"{url}cancel/").status_code == 409
