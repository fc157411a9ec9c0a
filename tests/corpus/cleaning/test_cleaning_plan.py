"""The plan of a cleaning with agents: every page once, whatever is held at a time."""

from collections import Counter

import pytest

from corpus.cleaning import plan as cleaning_plan
from corpus.cleaning.services import start_cleaning
from corpus.models import Benchmark, CleaningRun, CorpusVersion, Passage
from llm.endpoints import Endpoint
from tests.factories import make_benchmark, make_passage

pytestmark = pytest.mark.django_db


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Benchmark:
    """Seven pages of three pieces, page by page and then scattered; two domains share a name."""
    monkeypatch.setattr(cleaning_plan, "_ROWS", 4)
    monkeypatch.setattr("kit.runs.sharing.GROUP", 2)
    made = make_benchmark(domains=("biology", "earth"))
    for n in range(3):
        for piece in range(3):
            make_passage(made, f"f/p{n}_{piece}.txt", text="Ferns.")
    for piece in range(3):
        for n in range(3, 6):
            make_passage(made, f"f/p{n}_{piece}.txt", text="Moths.")
    make_passage(made, "f/p0_0.txt", domain="earth", text="Elsewhere.")
    make_passage(made, "f/gone_0.txt", text=None)
    return made


def claimed(benchmark: Benchmark) -> CleaningRun:
    source = CorpusVersion.objects.current(benchmark)
    endpoint = Endpoint("paper", "http://127.0.0.1:9/v1", "", False, "m")
    return start_cleaning(
        benchmark=benchmark, source=source, preset="marcus", endpoint=endpoint, actor=None,
        claimed=True,
    )  # fmt: skip


def pages(run: CleaningRun) -> dict[tuple[str, str], list[str]]:
    pids = dict(Passage.objects.values_list("pk", "pid"))
    rows = run.pages.order_by("pk").values_list("domain__name", "page_id", "passages")
    return {(domain, page): [pids[pk] for pk in own] for domain, page, own in rows}


def test_pages_that_reach_over_many_batches_are_whole(benchmark) -> None:
    version = CorpusVersion.objects.current(benchmark)
    domain = benchmark.domains.get(name="biology")
    version.documents.create(domain=domain, doc_id="f/p1.txt", text="Of pieces that are there.")
    version.documents.create(domain=domain, doc_id="alone.txt", text="Without a piece.")
    run = claimed(benchmark)
    cleaning_plan.plan(run)
    wanted = {
        ("biology", f"f/p{n}.txt"): [f"f/p{n}_{piece}.txt" for piece in range(3)] for n in range(6)
    }
    found = pages(run)
    assert found == wanted | {("earth", "f/p0.txt"): ["f/p0_0.txt"], ("biology", "alone.txt"): []}
    assert (run.total, run.pages.count()) == (8, 8)


def test_a_plan_that_a_killed_leader_left_is_finished(benchmark) -> None:
    run = claimed(benchmark)
    cleaning_plan.plan(run)
    whole = list(run.groups.order_by("pk").values_list("after", "up_to", "total"))
    assert sum(total for *_, total in whole) == run.pages.count()
    run.groups.filter(pk__gte=run.groups.order_by("pk")[1].pk).delete()
    cleaning_plan.plan(run)
    again = list(run.groups.order_by("pk").values_list("after", "up_to", "total"))
    assert again == whole
    cleaning_plan.plan(run)
    assert Counter(run.groups.values_list("up_to", flat=True)) == Counter(up for _, up, _ in whole)
