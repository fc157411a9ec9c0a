"""Retrieval runs computed here: real lists in the database, caches, faults, restarts."""

import json
from contextlib import nullcontext
from pathlib import Path

import pytest

from corpus.computing import services as computing
from corpus.computing.methods import Asking
from corpus.computing.searching import Payer, Searcher
from corpus.models import (
    CorpusVersion,
    Judgment,
    Passage,
    RankedList,
    RetrievalRun,
    RunComputation,
    VersionState,
)
from kit.errors import Refused
from kit.models import Event
from kit.runs.models import RunStatus
from llm.endpoints import practice, practice_if_unconfigured
from llm.models import Call
from llm.practice.server import serve
from tests.corpus.cleaning.rooms import clean
from tests.factories import make_benchmark, make_gold, make_passage, make_query, make_ranking
from tests.llm.stub import Stub, status

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _indexes(settings, tmp_path: Path) -> None:
    settings.INDEXES = tmp_path / "indexes"


@pytest.fixture
def world():
    benchmark = make_benchmark("ranked", domains=("biology", "robotics"))
    make_query(benchmark, "1", "biology", text="Does mulch keep soil moist?", excluded_ids=["b3"])
    make_query(benchmark, "2", "biology", text="Which trees give shade?")
    make_query(benchmark, "3", "biology", text=" ")
    make_query(benchmark, "1", "robotics", text="How does a gripper hold an egg?")
    texts = {
        "b1": "Mulch keeps the soil moist.",
        "b2": "Trees that give shade: oak, beech.",
        "b3": "Mulch soil moist mulch soil moist.",
        "b4": "Nothing of that.",
        "b5": None,
        "b6": "  ",
    }
    for pid, text in texts.items():
        make_passage(benchmark, pid, "biology", text=text)
    make_passage(benchmark, "r1", "robotics", text="A gripper may hold an egg softly.")
    make_passage(benchmark, "r2", "robotics", title="Egg", text="Boil it.")
    return benchmark


def compute(benchmark, method="bm25", **options) -> RunComputation:
    computation = computing.start(
        benchmark=benchmark, method=method, actor=None, claimed=True, **options
    )
    computing.run_computation(computation)
    computation.refresh_from_db()
    return computation


def lists(run: RetrievalRun) -> dict[str, list[str]]:
    rows = RankedList.objects.filter(run=run).select_related("query__domain")
    return {str(row.query): row.pids for row in rows}


def test_bm25_run_is_like_one_that_was_uploaded(world) -> None:
    done = compute(world)
    assert (done.status, done.error) == ("done", "")
    run = RetrievalRun.objects.get()
    assert lists(run) == {
        "biology-1": ["b1"],
        "biology-2": ["b2"],
        "robotics-1": ["r1", "r2"],
    }
    assert (run.name, run.query_count, run.depth, len(run.digest)) == ("BM25", 3, 2, 64)
    assert run.provenance["config"] == {"method": "bm25", "depth": 1000, "k1": 0.9, "b": 0.4}
    assert run.provenance["domains"]["biology"]["queries_without_text"] == 1
    assert run.provenance["domains"]["biology"]["passages"] == 4
    assert done.done == done.total == 10
    verbs = list(Event.objects.order_by("pk").values_list("verb", flat=True))
    assert verbs == ["start retrieval run", "compute retrieval run"]


def test_index_is_kept_under_the_hash_of_the_corpus(world, settings) -> None:
    compute(world)
    second = compute(world, config={"depth": 1}, name="again")
    assert second.report["domains"]["biology"]["index_was_kept"] is True
    assert RetrievalRun.objects.get(name="again").depth == 1
    make_passage(world, "b7", "biology", text="Moist soil.")
    third = compute(world, name="third")
    assert third.report["domains"]["biology"]["index_was_kept"] is False
    assert third.report["domains"]["robotics"]["index_was_kept"] is True
    assert sorted(lists(third.run)["biology-1"]) == ["b1", "b7"]
    assert not [p for p in settings.INDEXES.iterdir() if p.name.startswith(".")]


def test_collected_gold_is_ranked_and_other_collected_text_is_not(world) -> None:
    version = CorpusVersion.objects.create(
        benchmark=world, name="collected", state=VersionState.GROWING
    )
    domain = world.domains.get(name="biology")
    gold, other = (
        Passage.objects.create(version=version, domain=domain, pid=pid, text="Shade trees.")
        for pid in ("c1", "c2")
    )
    query = domain.queries.get(qid="2")
    Judgment.objects.create(query=query, passage=gold, label=1, source="expert")
    Judgment.objects.create(query=query, passage=other, label=0, source="expert")
    assert sorted(lists(compute(world).run)["biology-2"]) == ["b2", "c1"]


@pytest.mark.parametrize("method", ["tfidf", "lsa"])
def test_other_methods_of_words(world, method) -> None:
    done = compute(world, method)
    assert done.status == "done", done.error
    assert lists(done.run)["biology-2"][0] == "b2"
    assert "b3" not in lists(done.run)["biology-1"]


def test_the_same_run_twice_has_the_same_digest(world, settings, tmp_path) -> None:
    first = compute(world, "lsa").run.digest
    settings.INDEXES = tmp_path / "elsewhere"
    assert compute(world, "lsa", name="b").run.digest == first


@pytest.fixture
def model(settings):
    with serve() as url:
        settings.ASSAY_PRACTICE_URL = url
        yield practice(url)


def test_embeddings_go_through_the_ledger_and_are_paid_once(
    world, model, settings, tmp_path
) -> None:
    done = compute(world, "embeddings")
    assert done.status == "done", done.error
    assert lists(done.run)["biology-2"][0] == "b2"
    assert len(lists(done.run)["biology-1"]) == 3
    assert done.practice
    assert done.run.provenance["practice"]
    calls = Call.objects.all()
    assert {call.role for call in calls} == {"embedding"}
    assert {call.subject for call in calls} == {f"run-computation:{done.pk}"}
    assert all("messages" not in call.request for call in calls)
    assert all(call.account_id == done.account_id for call in calls)
    before = calls.count()
    settings.INDEXES = tmp_path / "deleted"
    again = compute(world, "embeddings", name="again")
    assert again.run.digest == done.run.digest
    assert Call.objects.count() == before


@pytest.fixture
def asked(monkeypatch) -> list[str]:
    """The texts that vectors were asked for, in order."""
    texts: list[str] = []
    whole = Asking._ask

    async def ask(self, batches):
        texts.extend(text for batch in batches for text in batch)
        return await whole(self, batches)

    monkeypatch.setattr(Asking, "_ask", ask)
    return texts


def test_instructions_name_the_domain_that_they_are_for(world, model, asked) -> None:
    prefixes = {"query_prefix": "Find {domain}: ", "document_prefix": "{domain} says: "}
    done = compute(world, "embeddings", config=prefixes)
    assert done.status == "done", done.error
    assert [text.partition(": ")[0] for text in asked] == [
        *["biology says"] * 4,
        *["Find biology"] * 2,
        *["robotics says"] * 2,
        "Find robotics",
    ]
    assert done.run.provenance["config"]["query_prefix"] == prefixes["query_prefix"]


def test_each_domain_may_have_an_instruction_of_its_own(world, model, asked) -> None:
    lines = "biology: Given a Biology post, find help.\n\nrobotics: Given a robot: find {domain}."
    done = compute(world, "embeddings", config={"instructions": lines})
    assert (done.status, done.error) == ("done", "")
    assert asked[4:6] == [
        "Given a Biology post, find help. Does mulch keep soil moist?",
        "Given a Biology post, find help. Which trees give shade?",
    ]
    assert asked[-1] == "Given a robot: find robotics. How does a gripper hold an egg?"
    assert done.config["instructions"]["biology"] == "Given a Biology post, find help."
    own = {"biology": "A", "robotics": "B"}
    prefix = "Instruct: {instruction}\nQuery: "
    for given in (own, json.dumps(own)):
        asked.clear()
        config = {"instructions": given, "query_prefix": prefix}
        again = compute(world, "embeddings", config=config, name=f"{type(given)}")
        assert asked == [  # the passages are those of before
            "Instruct: A\nQuery: Does mulch keep soil moist?",
            "Instruct: A\nQuery: Which trees give shade?",
            "Instruct: B\nQuery: How does a gripper hold an egg?",
        ]
    # An index asked later is asked in the same words.
    asked.clear()
    domain = world.domains.get(name="robotics")
    searcher = Searcher(again.run, domain, 1, payer=Payer(), step=lambda done: None)
    searcher.search("egg")
    assert asked == ["Instruct: B\nQuery: egg"]


def test_texts_are_cut_by_a_named_tokenizer_and_counted(world, model, asked) -> None:
    make_passage(world, "b7", "biology", text="leaf " * 30_000)
    done = compute(world, "embeddings")
    assert (done.report["cut_texts"], len(asked[4])) == (1, 24_000)
    asked.clear()
    by_words = {"tokenizer": "words", "document_tokens": 16, "query_tokens": 16}
    done = compute(world, "embeddings", config={**by_words, "query_prefix": "q " * 14}, name="w")
    assert done.report["cut_texts"] == 1 + 3  # and what is behind two words of each query
    assert asked[4] == ("leaf " * 16).strip()
    assert asked[5:7] == ["q " * 14 + "Does mulch", "q " * 14 + "Which trees"]
    # Passages that are cut otherwise have another index.
    assert done.report["domains"]["robotics"]["index_was_kept"] is False
    asked.clear()
    compute(world, "embeddings", config={"query_tokens": 8_192}, name="longer queries")
    assert len(asked) == 3


def test_hybrid_is_the_protocols(world) -> None:
    query = world.domains.get(name="biology").queries.get(qid="1")
    a = make_ranking(query, "a", "b", "c", name="dense", scores=[0.9, 0.7, 0.5])
    b = make_ranking(query, "b", "d", "a", name="words", scores=[10, 6, 2])
    done = compute(world, "hybrid", config={"runs": [a.run_id, b.run_id]})
    row = RankedList.objects.get(run=done.run)
    assert row.pids == ["b", "a", "d", "c"]
    assert row.scores == pytest.approx([0.75, 0.5, 0.25, 0.0])
    assert done.run.name == "dense + words"


@pytest.mark.parametrize(
    ("method", "config", "field"),
    [
        ("bm26", {}, "method"),
        ("bm25", {"k1": "0.9"}, "k1"),
        ("bm25", {"k1": float("nan")}, "k1"),
        ("bm25", {"b": 1.5}, "b"),
        ("bm25", {"depth": 0}, "depth"),
        ("bm25", {"model": "x"}, "model"),
        ("lsa", {"dimensions": 0}, "dimensions"),
        ("hybrid", {"runs": [1]}, "runs"),
        ("hybrid", {"runs": [1, 2]}, "runs"),
        ("hybrid", {"runs": None}, "runs"),
        ("embeddings", {"endpoint": "nowhere"}, "endpoint"),
    ],
)
def test_settings_that_cannot_be_are_refused_with_their_field(world, method, config, field) -> None:
    with pytest.raises(Refused) as refused:
        computing.start(benchmark=world, method=method, config=config, actor=None)
    assert refused.value.field == field
    assert not RunComputation.objects.exists()


@pytest.mark.parametrize(
    ("config", "field", "words"),
    [
        ({"tokenizer": "x"}, "tokenizer", "no tokenizer"),
        ({"document_tokens": 1}, "document_tokens", "from 16"),
        ({"instructions": "biology: a"}, "instructions", "No instruction for robotics."),
        ({"instructions": "biology: a\nrobotics: b\nx: c"}, "instructions", "No domain x."),
        ({"instructions": "biology: a\nbiology: b"}, "instructions", "Each line"),
        ({"instructions": "biology\nrobotics: b"}, "instructions", "Each line"),
        ({"instructions": "{biology"}, "instructions", "no JSON"),
        ({"instructions": {"biology": 1, "robotics": "b"}}, "instructions", "a text"),
        ({"instructions": ["biology"]}, "instructions", "a text"),
        (
            {"instructions": "biology: a\nrobotics: b", "query_prefix": "Find: "},
            "query_prefix",
            "{instruction}",
        ),
    ],
)
def test_what_a_dense_retriever_cannot_be_told(world, model, config, field, words) -> None:
    with pytest.raises(Refused) as refused:
        computing.start(benchmark=world, method="embeddings", config=config, actor=None)
    assert refused.value.field == field
    assert words in refused.value.message


def test_a_run_without_scores_cannot_be_added_up(world) -> None:
    query = world.domains.get(name="biology").queries.get(qid="1")
    runs = [make_ranking(query, "a", name=name).run_id for name in ("x", "y")]
    with pytest.raises(Refused, match="no scores"):
        computing.start(benchmark=world, method="hybrid", config={"runs": runs}, actor=None)


def test_taken_names_are_refused_and_made_up_ones_counted_on(world) -> None:
    compute(world)
    with pytest.raises(Refused, match="already"):
        computing.start(benchmark=world, method="bm25", name="BM25", actor=None)
    assert compute(world).name == "BM25 2"  # the same once more


def test_runs_are_named_by_what_is_set_otherwise(world) -> None:
    named = [
        ("bm25", {"k1": 1.2, "b": 0.75}, "BM25, k1 1.2, b 0.75"),
        ("tfidf", {"depth": 100}, "TF-IDF, depth 100"),
        ("lsa", {"dimensions": 2, "depth": 7}, "LSA 2, depth 7"),
    ]
    runs = [compute(world, method, config=config).run for method, config, _ in named]
    assert [run.name for run in runs] == [name for _, _, name in named]
    of_two = {"runs": [run.pk for run in runs[:2]], "weights": [0.3, 0.7]}
    hybrid = computing.start(benchmark=world, method="hybrid", config=of_two, actor=None)
    assert hybrid.name == "BM25, k1 1.2, b 0.75 + TF-IDF, depth 100 at 0.3 and 0.7"


def test_a_name_taken_meanwhile_ends_in_words(world) -> None:
    computation = computing.start(benchmark=world, method="bm25", actor=None, claimed=True)
    make_ranking(world.domains.get(name="biology").queries.get(qid="1"), "b1", name="BM25")
    computing.run_computation(computation)
    computation.refresh_from_db()
    assert computation.status == "failed"
    assert "came in meanwhile" in computation.error
    assert RetrievalRun.everything.count() == 1


def test_another_worker_starts_anew_and_nothing_is_left_behind(world) -> None:
    computation = computing.start(benchmark=world, method="bm25", actor=None, claimed=True)
    left = RetrievalRun.everything.create(benchmark=world, name="BM25", is_ready=False)
    RunComputation.objects.update(run=left, lease_until="2020-01-01T00:00Z")
    again = RunComputation.objects.get()
    assert again.claim()
    computing.run_computation(again)
    # The first worker wakes up: it lost its lease, and takes nothing away from the second.
    computing.run_computation(computation)
    assert RetrievalRun.everything.count() == RetrievalRun.objects.count() == 1
    assert RunComputation.objects.get().status == "done"


def test_cancelled_leaves_nothing(world) -> None:
    computation = computing.start(benchmark=world, method="bm25", actor=None, claimed=True)
    computing.cancel(run=RunComputation.objects.get(), actor=None)
    computing.run_computation(computation)
    assert not RetrievalRun.everything.exists()
    assert RunComputation.objects.get().status == RunStatus.CANCELLED
    with pytest.raises(Refused, match="over already"):
        computing.cancel(run=computation, actor=None)


def test_domains_without_passages_say_so_and_can_be_tried_again(world) -> None:
    Passage.objects.filter(domain__name="robotics").delete()
    failed = compute(world)
    assert failed.status == "failed"
    assert "robotics has queries but no passage" in failed.error
    make_passage(world, "r1", "robotics", text="A gripper.")
    computing.retry(run=failed, actor=None)
    assert failed.claim()
    computing.run_computation(failed)
    assert RunComputation.objects.get().status == "done"
    with pytest.raises(Refused):
        computing.retry(run=failed, actor=None)


def test_an_endpoint_that_refuses_ends_in_words(world, settings) -> None:
    import asyncio
    import threading

    ready, done, found = threading.Event(), threading.Event(), {}

    def run() -> None:
        async def main() -> None:
            async with Stub(status(401)) as stub:
                found["endpoint"] = stub.endpoint
                ready.set()
                while not done.is_set():
                    await asyncio.sleep(0.01)

        asyncio.run(main())

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert ready.wait(240), "the stub has not begun"
        settings.OPENAI_BASE_URL = found["endpoint"].base_url
        settings.OPENAI_API_KEY = "sk-secret"
        failed = compute(world, "embeddings")
    finally:
        done.set()
        thread.join()
    assert failed.status == "failed"
    assert "HTTP 40" in failed.error
    assert "sk-secret" not in failed.error
    assert not RetrievalRun.everything.exists()


@pytest.mark.few(2)
@pytest.mark.parametrize("method", ["bm25", "tfidf", "lsa", "embeddings"])
def test_documents_in_chunks_are_ranked_by_their_best_chunk(method: str) -> None:
    benchmark = make_benchmark()
    query = make_query(benchmark, "1", text="Does mulch keep soil moist?", excluded_ids=["d"])
    apart = "Trees give shade. Oaks give more shade. Beeches give most shade. "
    mulch = "Mulch keeps soil moist. Moist soil needs mulch. "
    # One document whose id looks like a chunk's, and one that the query excludes.
    long = {"a": apart * 2 + mulch, "b": apart * 3, "d": mulch * 4, "x#c1": mulch + apart * 2}
    for pid, text in {**long, "c": "Mulch is moist."}.items():
        make_passage(benchmark, pid, text=text)
    make_gold(query, Passage.objects.get(pid="a"))
    cut = clean(benchmark, preset="dchunk", options={"long_from": 16, "most": 16}).version
    assert Passage.objects.filter(version=cut).count() == 12
    model = practice_if_unconfigured() if method == "embeddings" else nullcontext()
    config = {"dimensions": 4} if method == "lsa" else {}
    with model:
        chunks = compute(benchmark, method, version=cut, config=config).run
        made = compute(
            benchmark, method, version=cut, config={**config, "by_document": True, "depth": 3}
        )
    assert (made.status, made.error) == ("done", "")
    run = made.run
    # Of the version that was cut, beside runs over whole documents.
    assert (run.corpus_version, chunks.corpus_version) == (None, cut)
    assert run.provenance["domains"]["biology"]["ranked"] == cut.name
    assert run.name.endswith(f"best chunk of {cut.name}")
    cut_from = dict(cut.crosswalk.values_list("new__pid", "old__pid"))
    (listed,) = RankedList.objects.filter(run=chunks)
    wanted: dict[str, float] = {}
    for pid, score in zip(listed.pids, listed.scores, strict=True):
        wanted[cut_from[pid]] = max(score, wanted.get(cut_from[pid], score))
    (found,) = RankedList.objects.filter(run=run)
    ranked = sorted(wanted.items(), key=lambda each: (-each[1], each[0]))[:3]
    assert list(zip(found.pids, found.scores, strict=True)) == ranked
    assert "d" not in wanted
    assert "x#c1" in wanted


def test_a_name_is_taken_in_the_version_that_a_run_will_be_of() -> None:
    benchmark = make_benchmark()
    make_gold(make_query(benchmark, "1"), make_passage(benchmark, "a", text="Mulch is moist. " * 9))
    cut = clean(benchmark, preset="dchunk", options={"long_from": 16, "most": 16}).version
    asked = {"benchmark": benchmark, "method": "bm25", "name": "mine", "actor": None}
    by_document = {"config": {"by_document": True}, "version": cut}
    computing.start(**asked)
    # That of the chunks stands apart; that of the documents would stand beside the first.
    computing.start(**asked, version=cut)
    with pytest.raises(Refused, match="mine"):
        computing.start(**asked, **by_document)


def test_only_chunks_have_documents_to_rank(world) -> None:
    with pytest.raises(Refused, match="semantic chunks"):
        computing.start(benchmark=world, method="bm25", config={"by_document": True}, actor=None)
    with pytest.raises(Refused, match="true or false"):
        computing.start(benchmark=world, method="bm25", config={"by_document": 1}, actor=None)
