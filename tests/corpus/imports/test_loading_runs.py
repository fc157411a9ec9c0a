"""Runs on their way in: what is kept, what is counted, what is refused."""

import gzip
import json

import pytest
from django.core.management import CommandError, call_command

from corpus.benchmarks.services import create_benchmark
from corpus.imports import rankings as loading_runs
from corpus.imports.loading import load, sweep_dead_loads
from corpus.imports.services import queue_import
from corpus.models import CorpusVersion, Domain, ImportRun, Query, RankedList, RetrievalRun
from tests.corpus.import_files import bright_pro, claimed, imported
from tests.corpus.imports.test_loading_interrupted import expire

pytestmark = pytest.mark.django_db
IN, OUT = "light/Moth_0.txt", "elsewhere.txt"


@pytest.fixture
def benchmark(tmp_path):
    made = create_benchmark(name="Light", slug="light", actor=None)
    imported(made, bright_pro(tmp_path / "collection"))
    return made


def run_file(folder, *lines: str, name: str = "biology.run"):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def bm25(folder, name: str = "biology.run"):
    return run_file(folder, f"7 Q0 {OUT} 1 2.5 bm25", f"7 Q0 {IN} 2 1.25 bm25", name=name)


def oddities(run) -> dict[str, int]:
    return {each["what"]: each["count"] for each in run.summary["oddities"]}


def messages(run) -> list[str]:
    return [each["message"] for each in run.problems]


def test_a_run_is_kept_in_the_order_of_its_file(benchmark, tmp_path) -> None:
    run = imported(benchmark, bm25(tmp_path), "trec_run")
    stored = RetrievalRun.objects.get()
    ranking = stored.lists.get()
    assert (run.status, stored.name, ranking.query) == ("done", "bm25", Query.objects.get())
    assert (ranking.pids, ranking.scores) == ([OUT, IN], [2.5, 1.25])
    assert (stored.query_count, stored.depth, stored.unknown_count) == (1, 2, 1)
    assert stored.provenance["files"] == ["biology.run"]


def test_a_run_is_summed_up(benchmark, tmp_path) -> None:
    summary = imported(benchmark, bm25(tmp_path), "trec_run").summary
    assert summary["rankings"] == {"added": 1, "present": 0}
    assert summary["runs"] == [
        {"name": "bm25", "state": "new", "queries": 1, "depth": 2, "unknown": 1}
    ]


def test_a_bare_ranking_has_no_scores(benchmark, tmp_path) -> None:
    path = run_file(tmp_path, json.dumps({"7": [IN, OUT]}), name="biology.json")
    imported(benchmark, path, "score_json")
    stored = RankedList.objects.get()
    assert (stored.pids, stored.scores, stored.run.name) == ([IN, OUT], None, "biology")


def test_a_run_makes_no_corpus_version_and_no_domain(benchmark, tmp_path) -> None:
    before = CorpusVersion.objects.count(), Domain.objects.count()
    run = imported(benchmark, bm25(tmp_path), "trec_run")
    assert (CorpusVersion.objects.count(), Domain.objects.count()) == before
    assert run.version is None


def test_the_same_run_again_changes_nothing(benchmark, tmp_path) -> None:
    imported(benchmark, bm25(tmp_path), "trec_run")
    again = imported(benchmark, bm25(tmp_path / "copy"), "trec_run")
    assert again.summary["rankings"] == {"added": 0, "present": 1}
    assert again.summary["runs"][0]["state"] == "here already"
    assert (RetrievalRun.everything.count(), RankedList.everything.count()) == (1, 1)


def test_other_rankings_under_a_taken_name_are_a_problem(benchmark, tmp_path) -> None:
    imported(benchmark, bm25(tmp_path), "trec_run")
    other = run_file(tmp_path / "b", f"7 Q0 {IN} 1 9 bm25")
    run = imported(benchmark, other, "trec_run")
    assert run.status == "failed"
    assert "A run named bm25 is here already with other rankings." in messages(run)[0]
    assert RankedList.objects.get().pids == [OUT, IN]


def test_unknown_queries_beside_known_ones_are_left_out_and_counted(benchmark, tmp_path) -> None:
    path = run_file(tmp_path, f"7 Q0 {IN} 1 9 t", f"8 Q0 {IN} 1 9 t", f"9 Q0 {IN} 1 9 t")
    run = imported(benchmark, path, "trec_run")
    assert oddities(run)[loading_runs.UNKNOWN_QUERIES] == 2
    assert RetrievalRun.objects.get().query_count == 1


def test_a_run_of_none_of_our_queries_is_a_problem(benchmark, tmp_path) -> None:
    run = imported(benchmark, run_file(tmp_path, f"8 Q0 {IN} 1 9 t"), "trec_run")
    assert messages(run) == ["None of the queries of this run is a query of biology."]
    assert not RetrievalRun.everything.exists()


def test_a_file_that_is_named_after_no_domain_needs_to_be_told(benchmark, tmp_path) -> None:
    path = bm25(tmp_path, name="output.run")
    told = imported(benchmark, path, "trec_run")
    assert "There is no domain output." in messages(told)[0]
    assert "here are: biology" in messages(told)[0]
    run = queue_import(
        benchmark=benchmark, actor=None, format="trec_run", path=path, domain="biology", claim=True
    )
    load(run)
    assert (run.status, RankedList.objects.count()) == ("done", 1)


def test_names_of_files_are_looked_at_before_any_is_read(benchmark, tmp_path) -> None:
    bm25(tmp_path / "runs")
    run_file(tmp_path / "runs", "broken", name="zoology.run")
    run = imported(benchmark, tmp_path / "runs", "trec_run")
    assert [each["file"] for each in run.problems] == ["zoology.run"]
    assert "There is no domain zoology." in messages(run)[0]
    assert run.done == 0


def test_paths_name_domains_and_runs(benchmark, tmp_path) -> None:
    for name in ("one", "two"):
        run_file(tmp_path / "runs" / name, f"7 Q0 {IN} 1 9 tag", name="input.biology")
    given = str(tmp_path / "runs"), "--format", "trec_run", "--benchmark", "light"
    call_command("load_benchmark", *given, "--domain-from", "{run}/input.{domain}")
    stored = RetrievalRun.objects.order_by("name")
    assert [(each.name, each.query_count) for each in stored] == [("one", 1), ("two", 1)]
    with pytest.raises(CommandError, match="either --domain or --domain-from"):
        call_command("load_benchmark", *given, "--domain", "x", "--domain-from", "{domain}/{run}")
    for wrong in ("biology", "input.{run}", "{system}/{domain}"):
        with pytest.raises(CommandError, match=r"\{domain\}"):
            call_command("load_benchmark", *given, "--domain-from", wrong)


def test_the_files_of_a_folder_are_one_run_by_their_tag(benchmark, tmp_path) -> None:
    imported(benchmark, bright_pro(tmp_path / "more", task="pony", aspects=[]))
    folder = tmp_path / "runs"
    for name in ("biology", "pony"):
        path = bm25(folder, name=f"{name}.run")
        (folder / f"{name}.run.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    run = imported(benchmark, folder, "trec_run")
    assert (run.problems, RetrievalRun.objects.get().query_count) == ([], 2)


def test_files_without_a_tag_are_named_by_their_folder(benchmark, tmp_path) -> None:
    run_file(tmp_path / "dense", json.dumps({"7": [IN]}), name="biology.json")
    imported(benchmark, tmp_path / "dense", "score_json")
    assert RetrievalRun.objects.get().name == "dense"


def test_a_query_ranked_twice_in_a_run_is_a_problem(benchmark, tmp_path) -> None:
    folder = tmp_path / "runs"
    bm25(folder)
    bm25(folder, name="biology.txt")
    run = imported(benchmark, folder, "trec_run")
    assert messages(run) == ["Query 7 of biology is ranked twice in the run bm25."]
    assert not RankedList.everything.exists()


def test_a_tag_for_each_line_is_a_problem(benchmark, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(loading_runs, "_MAX_RUNS", 2)
    lines = [f"{n} Q0 {IN} 1 9 tag{n}" for n in (7, 8, 9)]
    run = imported(benchmark, run_file(tmp_path, *lines), "trec_run")
    assert messages(run) == ["More than 2 runs: each line seems to have its own tag."]
    assert not RetrievalRun.everything.exists()


def test_long_runs_are_written_piece_by_piece(benchmark, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(loading_runs, "_MAX_CHARACTERS", 10)
    benchmark_two = bright_pro(
        tmp_path / "more",
        task="pony",
        aspects=[],
        examples=[{"id": n, "query": f"{n}?", "gold_ids": [IN]} for n in range(5)],
    )
    imported(benchmark, benchmark_two)
    lines = [f"{n} Q0 {IN} 1 9 t" for n in range(5)]
    imported(benchmark, run_file(tmp_path, *lines, name="pony.run"), "trec_run")
    assert RetrievalRun.objects.get().lists.count() == 5


def test_a_run_that_is_still_being_written_is_seen_by_nobody(benchmark, tmp_path) -> None:
    stored = RetrievalRun.everything.create(benchmark=benchmark, name="bm25", is_ready=False)
    RankedList.everything.create(run=stored, query=Query.objects.get(), pids=[IN])
    assert not benchmark.retrieval_runs.exists()
    assert not Query.objects.get().ranked_lists.exists()
    assert not RankedList.objects.exists()


def test_a_killed_load_of_a_run_is_swept(benchmark, tmp_path, monkeypatch) -> None:
    def die(self) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(loading_runs.RunLoader, "show", die)
    monkeypatch.setattr("corpus.imports.loading._forget", lambda context: None)
    run = claimed(benchmark, bm25(tmp_path), "trec_run")
    with pytest.raises(KeyboardInterrupt):
        load(run)
    assert RankedList.everything.count() == 1
    expire(run)
    sweep_dead_loads(benchmark)
    assert not RetrievalRun.everything.exists()
    assert not RankedList.everything.exists()
    assert ImportRun.objects.get(pk=run.pk).staged == {}


def test_a_name_taken_meanwhile_is_found_before_anything_shows(
    benchmark, tmp_path, monkeypatch
) -> None:
    shown = []
    real = loading_runs.RunLoader.show

    def race(self) -> None:
        shown.append(RetrievalRun.objects.count())
        if len(shown) == 1:  # goes back with the transaction that finds it
            RetrievalRun.objects.create(benchmark=benchmark, name="bm25")
        real(self)

    monkeypatch.setattr(loading_runs.RunLoader, "show", race)
    run = imported(benchmark, bm25(tmp_path), "trec_run")
    assert (run.status, shown) == ("done", [0, 0])
    assert RetrievalRun.everything.count() == 1
