"""Searching in the index of a computed run: what the run ranked, any words find."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from corpus.computing import searching
from corpus.computing.searching import Payer, Searcher
from corpus.computing.services import run_computation, start
from corpus.models import Benchmark, Passage, Query, RankedList, RetrievalRun
from kit.errors import Refused
from llm import endpoints
from tests.factories import make_benchmark, make_passage, make_query, make_ranking

pytestmark = pytest.mark.django_db(transaction=True)
TEXTS = {
    "mulch": "Mulch keeps the soil moist.",
    "trees": "Trees give shade to the soil.",
    "moths": "Moths fly in loops around lamps.",
    "wind": "Wind dries the soil.",
}


@pytest.fixture
def benchmark(settings, tmp_path: Path) -> Benchmark:
    settings.INDEXES = tmp_path / "indexes"
    searching._corpora.clear()
    made = make_benchmark("searched")
    make_query(made, text="Does mulch keep soil moist?")
    for pid, text in TEXTS.items():
        make_passage(made, pid, text=text)
    return made


def computed(benchmark: Benchmark, method: str, **config) -> RetrievalRun:
    made = start(benchmark=benchmark, method=method, config=config, actor=None, claimed=True)
    run_computation(made)
    made.refresh_from_db()
    assert made.run is not None, made.error
    return made.run


def searcher(run: RetrievalRun, k: int = 3) -> Searcher:
    domain = run.benchmark.domains.get(name="biology")
    return Searcher(run, domain, k, payer=Payer(), step=lambda _: None)


@pytest.mark.parametrize("method", ["bm25", "tfidf", "lsa", "embeddings", "hybrid"])
def test_a_search_in_the_words_of_a_query_is_the_runs_own_list(benchmark, method) -> None:
    with endpoints.practice_if_unconfigured("embedder"):
        config = {"dimensions": 2} if method == "lsa" else {}
        if method == "hybrid":
            config = {"runs": [computed(benchmark, each).pk for each in ("bm25", "tfidf")]}
        run = computed(benchmark, method, **config)
        row = RankedList.objects.get(run=run)
        found = searcher(run).search("Does mulch keep soil moist?")
    assert [pid for pid, _ in found] == row.pids[:3]
    assert [score for _, score in found] == pytest.approx(row.scores[:3])


def test_excluded_ids_are_left_out_before_the_list_is_cut(benchmark) -> None:
    opened = searcher(computed(benchmark, "bm25"), k=2)
    assert [pid for pid, _ in opened.search("soil", excluded=["wind"])] == ["mulch", "trees"]
    assert opened.search("  ") == []
    assert opened.search("xylophone") == []
    assert opened.texts(["mulch", "none"]) == {"mulch": TEXTS["mulch"]}


@pytest.mark.slow
@pytest.mark.parametrize("method", ["bm25", "embeddings"])
def test_many_callers_share_an_index_and_get_what_one_gets(benchmark, method) -> None:
    words = ["soil", "moths", "lamps", "shade soil"]
    with endpoints.practice_if_unconfigured("embedder"):
        opened = searcher(computed(benchmark, method))
        with ThreadPoolExecutor(8) as pool:
            many = list(pool.map(opened.search, words * 25))
        assert many == [opened.search(each) for each in words] * 25


def test_a_run_that_nobody_computed_here_has_no_index(benchmark) -> None:
    query = Query.objects.get()
    run = make_ranking(query, "mulch", name="imported").run
    with pytest.raises(Refused, match="was not computed here"):
        searcher(run)


def test_a_corpus_that_changed_is_not_searched_in_its_place(benchmark) -> None:
    run = computed(benchmark, "bm25")
    Passage.objects.filter(pid="wind").update(text="Wind blows.")
    with pytest.raises(Refused, match="are not those that BM25 ranked"):
        searcher(run)
