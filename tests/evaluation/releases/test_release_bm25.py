"""BM25 over a release finds and scores what it does in the app: the same texts, titles joined to
them in the same way, the same ids left out."""

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from django.core.management import call_command

from corpus.models import Benchmark, Judgment, Passage, Source
from corpus.retrieval.postings import BM25
from corpus.retrieval.toplist import order_of
from corpus.texts.models import VersionState
from evaluation.metrics.gold import Gold
from evaluation.metrics.profiles import STRICT
from evaluation.metrics.run import Run
from evaluation.metrics.scoring import score
from tests.corpus.import_files import imported
from tests.evaluation.conftest import make_aspect, make_support, release_into, scores_of
from tests.factories import make_benchmark, make_gold, make_passage, make_query

pytestmark = pytest.mark.django_db(transaction=True)
METRICS = "nDCG@3,MRR,recall@2"
WORDS = ["mulch", "soil", "shade", "rain", "roots", "frost"]


@pytest.fixture
def ranked(settings, tmp_path: Path) -> Benchmark:
    """Titles decide: of every two passages with the same text the titled one is gold."""
    settings.INDEXES = tmp_path / "indexes"
    benchmark = make_benchmark("ranked")
    for n, word in enumerate(WORDS):
        query = make_query(benchmark, str(n), text=f"What does {word} do?", excluded_ids=["x"])
        text = f"It is said to {WORDS[n - 1]} the garden, {'and more ' * n}every year."
        make_passage(benchmark, f"{n}/plain.txt", text=text)
        titled = make_passage(
            benchmark,
            f"{n}/titled.txt",
            text=text,
            title=f"On {word}",
            source_url=f"https://example.org/{word}",
            fetched_on=date(2024, 5, n + 1),
        )
        make_gold(query, titled)
    make_passage(benchmark, "blank", text="  ")
    make_passage(benchmark, "x", text=" ".join(WORDS), title=" ".join(WORDS))
    # Collected and kept: not in the loaded corpus, but ranked and released.
    growing = benchmark.versions.create(name="collected", state=VersionState.GROWING)
    fields = {"domain": query.domain, "text": "Frost bites.", "title": "Of rain and frost"}
    collected = Passage.objects.create(version=growing, pid="5/extraction_1.txt", **fields)
    Judgment.objects.create(query=query, passage=collected, label=1, source=Source.EXPERT)
    aspect = make_aspect(query, 1)
    make_support(aspect, titled)
    make_support(aspect, collected)
    call_command("compute_run", "--benchmark", "ranked", "--method", "bm25", "--name", "bm25")
    return benchmark


def in_app(benchmark: Benchmark, view: str = "expert") -> dict[str, list]:
    [scores] = scores_of(benchmark, METRICS, view=view)["bm25"].values()
    return {name: list(each.rows()) for name, each in scores.metrics.items()}


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def beir(folder: Path) -> Iterator[tuple[str, str, str]]:
    yield from ((row["_id"], row["title"], row["text"]) for row in lines(folder / "corpus.jsonl"))


def searched(rows: Iterator[tuple[str, str, str]]) -> dict[str, str]:
    """What docs/releases.md says is searched; passages without a word are nobody's."""
    joined = {pid: f"{title}\n{text}" if title else text for pid, title, text in rows}
    return {pid: text for pid, text in joined.items() if text.strip()}


def scores_over(folder: Path, texts: dict[str, str], place: Path) -> dict[str, list]:
    """BM25 and its scores from the files of a release alone."""
    place.mkdir()
    index, pids = BM25(place), list(texts)
    index.index(texts.values())
    run = {}
    for query in lines(folder / "queries.jsonl"):
        [found] = index.search([query["text"]], 1000, order_of(pids))
        listed = {pids[n]: float(v) for n, v in zip(*found, strict=True)}
        out = query["excluded_ids"]
        run[query["_id"]] = {pid: v for pid, v in listed.items() if pid not in out}
    labels: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels/test.tsv").read_text().splitlines()[1:]:
        qid, pid, value = line.split("\t")
        labels.setdefault(qid, {})[pid] = int(value)
    scores = score(Run.of(run), Gold.of(labels), METRICS, STRICT)
    return {name: list(each.rows()) for name, each in scores.metrics.items()}


def close(found: dict[str, list], expected: dict[str, list]) -> None:
    assert found.keys() == expected.keys()
    for name, rows in expected.items():
        assert [row[0] for row in found[name]] == [row[0] for row in rows]
        values = [row[1] for row in rows]
        assert [row[1] for row in found[name]] == pytest.approx(values, abs=1e-9)


def test_the_files_of_a_release_give_the_score_of_the_app(ranked, tmp_path) -> None:
    expected = in_app(ranked)
    release_into(ranked, tmp_path / "out")
    folder = tmp_path / "out/beir/biology"
    texts = searched(beir(folder))
    close(scores_over(folder, texts, tmp_path / "beir"), expected)
    table = pq.read_table(tmp_path / "out/documents/biology.parquet").to_pylist()
    rows = ((row["id"], row["title"], row["content"]) for row in table)
    assert searched(rows) == texts
    assert lines(tmp_path / "out/bridge/biology_corpus.jsonl") == lines(folder / "corpus.jsonl")
    # A release without titles would not do: their words are what finds the gold.
    bare = searched((pid, "", text) for pid, _, text in beir(folder))
    assert scores_over(folder, bare, tmp_path / "bare") != expected


def test_a_release_that_is_imported_gives_the_score_of_the_app(ranked, tmp_path, capsys) -> None:
    release_into(ranked, tmp_path / "out")
    other = make_benchmark("again")
    run = imported(other, tmp_path / "out")
    assert run.status == "done", run.error
    call_command("compute_run", "--benchmark", "again", "--method", "bm25", "--name", "bm25")
    # An index is kept by the hash of what it searches: ids, titles and texts are the same.
    assert "the index from before" in capsys.readouterr().out
    # Its gold are the aspects' passages, so that its original labels are the expert view.
    close(in_app(other, "base"), in_app(ranked))
    columns = ("pid", "title", "source_url", "fetched_on", "text")
    before, after = (
        set(Passage.objects.filter(domain__benchmark=each).values_list(*columns))
        for each in (ranked, other)
    )
    assert after == before
