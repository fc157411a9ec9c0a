"""What a release holds for others' tools: MTEB, ir_datasets, RankLLM.

MTEB needs torch: where it is installed it opens the release, elsewhere the task runs on a bare base
class, and pytrec_eval, with which MTEB computes, gives the figures.
"""

import json
import runpy
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import pytrec_eval
from django.core.management import call_command

from corpus.models import Benchmark
from evaluation.exporters.ready import instruction
from evaluation.metrics.profiles import REFERENCE
from evaluation.verification.folder import verify
from tests.evaluation.conftest import release_into, scores_of
from tests.factories import make_benchmark, make_gold, make_passage, make_query

pytestmark = pytest.mark.django_db(transaction=True)


class Bare:
    """As much of MTEB's task as loading needs."""

    data_loaded = False


@pytest.fixture
def mteb(monkeypatch: pytest.MonkeyPatch) -> None:
    """MTEB, or what stands in its place."""
    try:
        import mteb  # noqa: F401
    except ImportError:
        for name, holds in (
            ("mteb", {}),
            ("mteb.abstasks", {"AbsTaskRetrieval": Bare}),
            ("mteb.abstasks.task_metadata", {"TaskMetadata": SimpleNamespace}),
        ):
            module = ModuleType(name)
            vars(module).update(holds)
            monkeypatch.setitem(sys.modules, name, module)


@pytest.fixture
def moths(settings, tmp_path: Path) -> Benchmark:
    """Ids with blanks, as BRIGHT's, a graded label, a query without gold, and equal scores."""
    settings.INDEXES = tmp_path / "indexes"
    benchmark = make_benchmark("two-words", ["earth-science", "biology"])
    pids = [f"{n} moth.txt" for n in range(12)]
    earth = {pid: make_passage(benchmark, pid, "earth-science", text="moth") for pid in pids}
    for n in range(4):
        out = ["11 moth.txt"] if n == 0 else []
        query = make_query(benchmark, f"q{n}", "earth-science", text="which moth", excluded_ids=out)
        make_gold(query, earth[pids[n]], label=1 + n)
        make_gold(query, earth[pids[n + 5]])
    make_gold(make_query(benchmark, "none", "earth-science"), earth[pids[0]], label=0)
    titled = make_passage(benchmark, "b0", "biology", text="It is.", title="On frost")
    make_gold(make_query(benchmark, "b", "biology", text="frost"), titled)
    return benchmark


def tasks(folder: Path, **given: Any) -> dict[str, Any]:
    """The tasks of the release's program by split, loaded."""
    found = runpy.run_path(str(folder / "tools/mteb_tasks.py"))["tasks"](given)
    for task in found:
        task.load_data()
    return {task.split: task for task in found}


def test_a_task_for_each_split_holds_texts_queries_labels(moths, mteb, tmp_path) -> None:
    release_into(moths, tmp_path / "out")
    found = tasks(tmp_path / "out", biology="Find it")
    about = {split: (task.metadata.name, task.metadata.prompt) for split, task in found.items()}
    told = "Given a query about earth science, retrieve passages that help answer it"
    assert about == {
        "biology": ("TwoWordsBiologyRetrieval", {"query": "Find it"}),
        "earth_science": ("TwoWordsEarthScienceRetrieval", {"query": told}),
    }
    data = found["biology"].dataset["default"]["test"]
    assert data["corpus"][:] == {"id": ["b0"], "title": ["On frost"], "text": ["It is."]}
    assert data["queries"][:] == {"id": ["b"], "text": ["frost"]}
    assert (data["relevant_docs"], data["top_ranked"]) == ({"b": {"b0": 1}}, None)
    data = found["earth_science"].dataset["default"]["test"]
    assert data["queries"]["id"][:] == ["q0", "q1", "q2", "q3"]
    assert data["relevant_docs"]["q2"] == {"2 moth.txt": 3, "7 moth.txt": 1}
    allowed = {qid: len(pids) for qid, pids in data["top_ranked"].items()}
    assert allowed == {"q0": 11, "q1": 12, "q2": 12, "q3": 12}
    assert "11 moth.txt" not in data["top_ranked"]["q0"]


@pytest.mark.slow
def test_ndcg_over_a_task_is_that_of_the_app(moths, mteb, tmp_path) -> None:
    call_command("compute_run", "--benchmark", "two-words", "--method", "bm25", "--name", "words")
    release_into(moths, tmp_path / "out")
    [run] = moths.retrieval_runs.all()
    lists = run.lists.filter(query__domain__name="earth-science")
    ranked = {
        qid: dict(zip(pids, scores, strict=True))
        for qid, pids, scores in lists.values_list("query__qid", "pids", "scores")
    }
    labels = tasks(tmp_path / "out")["earth_science"].dataset["default"]["test"]["relevant_docs"]
    theirs = pytrec_eval.RelevanceEvaluator(labels, {"ndcg_cut_10"}).evaluate(
        {qid: found for qid, found in ranked.items() if qid in labels}
    )
    values = [each["ndcg_cut_10"] for each in theirs.values()]
    ours = scores_of(moths, "nDCG@10", "expert", REFERENCE)["words"]["earth_science"]
    assert len(values) == 4
    assert ours.metrics["nDCG@10"].mean == pytest.approx(sum(values) / 4, abs=1e-6)


@pytest.mark.slow
def test_rerankers_get_what_bm25_found(moths, tmp_path, capsys) -> None:
    release_into(moths, tmp_path / "none")
    assert not (tmp_path / "none/rankllm").exists()
    call_command("compute_run", "--benchmark", "two-words", "--method", "bm25", "--name", "words")
    release_into(moths, tmp_path / "out", "0.2.0")
    lines = (tmp_path / "out/rankllm/biology.jsonl").read_text().splitlines()
    [request] = map(json.loads, lines)
    score = request["candidates"][0].pop("score")
    assert isinstance(score, float)
    passage = {"docid": "b0", "doc": {"title": "On frost", "text": "It is."}}
    assert request == {"query": {"text": "frost", "qid": "b"}, "candidates": [passage]}
    earth = (tmp_path / "out/rankllm/earth_science.jsonl").read_text()
    asked = {each["query"]["qid"]: each for each in map(json.loads, earth.splitlines())}
    assert "11 moth.txt" not in {each["docid"] for each in asked["q0"]["candidates"]}
    assert "rankllm/{split}.jsonl" in (tmp_path / "out/README.md").read_text()
    # Of any other run an export has them, with the gold as it was loaded.
    call_command("export_benchmark", "two-words", format="rankllm", out=tmp_path / "again")
    assert (tmp_path / "again/runs/words/earth-science.jsonl").read_text() == earth
    assert "q3 0 3 moth.txt 4" in (tmp_path / "again/qrels/earth-science.txt").read_text().replace(
        "\t", " "
    )


def test_programs_that_ran_leave_a_release_that_verifies(moths, tmp_path) -> None:
    release_into(moths, tmp_path / "out")
    (tmp_path / "out/tools/__pycache__").mkdir()
    (tmp_path / "out/tools/__pycache__/irds.cpython-311.pyc").write_bytes(b"compiled")
    assert verify(tmp_path / "out").differences == []
    (tmp_path / "out/tools/irds.py").write_text("import os")
    [found] = verify(tmp_path / "out").differences
    assert (found.file, found.why) == ("tools/irds.py", "its checksum is another")


@pytest.mark.slow
def test_ir_datasets_reads_every_split(moths, tmp_path, monkeypatch) -> None:
    pytest.importorskip("ir_datasets")
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    release_into(moths, tmp_path / "out")
    import ir_datasets

    names = runpy.run_path(str(tmp_path / "out/tools/irds.py"))["NAMES"]
    opened = ir_datasets.load(names["earth_science"])
    assert opened.docs_store().get("3 moth.txt").text == "moth"
    assert {each.query_id for each in opened.queries_iter()} == {"q0", "q1", "q2", "q3", "none"}
    assert ("q2", "2 moth.txt", 3) in set(opened.qrels_iter())
    assert verify(tmp_path / "out").differences == []


def test_a_split_that_is_alone_says_nothing_of_a_topic() -> None:
    assert instruction("") == "Given a query, retrieve passages that help answer it"
