"""A small run beside a large one on the only worker, counted in calls and never in seconds."""

from dataclasses import replace

import pytest

from corpus.models import Pool
from debate.models import DebateRun
from llm.models import Call
from tests.factories import make_benchmark, make_passage, make_pool, make_query
from tests.services.conftest import start, undisturbed
from tests.services.pairs import is_over, make_pairs, result_of
from tests.services.processes import Site, wait_until

pytestmark = pytest.mark.services
LARGE, SMALL = 600, 20


def make_small(benchmark) -> Pool:
    query = make_query(
        benchmark, qid="small", text="Which way do small runs go?", answers=["first of all"]
    )
    # Texts of its own: no answer of another run serves it.
    name = benchmark.slug
    texts = [f"{name}: first of {'all' * (n % 2)} they go, {n}." for n in range(SMALL)]
    pairs = [
        (query, make_passage(benchmark, f"s{number}", text=text))
        for number, text in enumerate(texts)
    ]
    return make_pool(benchmark, *pairs, name="small")


def calls_of(run: DebateRun):
    run.refresh_from_db()
    return Call.objects.filter(account=run.account_id) if run.account_id else Call.objects.none()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_small_run_goes_at_once_and_the_large_one_ends_the_same(
    site: Site, monkeypatch, workers: int
) -> None:
    monkeypatch.setenv("ASSAY_RUNS_AT_ONCE", "1")
    expected = undisturbed(LARGE)
    pool = make_pairs(LARGE)
    large = start(pool)
    for _ in range(workers):
        site.start_worker(sweep_s=0.25)
    wait_until(lambda: calls_of(large).count() >= 400)
    for benchmark in (make_benchmark("other"), pool.benchmark):
        small = start(make_small(benchmark))
        wait_until(lambda small=small: is_over(small))
        assert (small.status, small.done) == ("done", SMALL)
        # A slice is told in seconds, and how many calls that is depends on the machine: counted is
        # from when it is over, and that the large one is far from its end.
        assert not is_over(large)
        both = (small.started_at, small.ended_at)
        meanwhile = calls_of(large).filter(created_at__range=both).count()
        # What the large run had in hand, twice its 16 calls of at most 7 a pair, for each worker.
        assert meanwhile <= workers * 300, f"beside {calls_of(small).count()} calls"
    wait_until(lambda: is_over(large))
    assert (large.status, large.done) == ("done", LARGE)
    found = result_of(large)
    assert found.debates == expected.debates
    assert found.turns == expected.turns
    assert replace(found, labels=expected.labels).answered >= expected.answered
