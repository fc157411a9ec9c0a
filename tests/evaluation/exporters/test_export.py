"""The export of what was imported: the command, and what it refuses."""

import io
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from corpus.benchmarks.services import create_benchmark
from corpus.models import Benchmark, CorpusVersion, Judgment, Passage, Query, Source
from evaluation.exporters import files as exporters_files
from evaluation.releases.exporting import FORMATS, file_name
from tests.corpus.import_files import imported, write_lines
from tests.evaluation.leaderboard.test_matched_pool import derive, rank
from tests.factories import make_benchmark, make_gold, make_passage, make_query

pytestmark = pytest.mark.django_db
DEMO = Path(__file__).parents[3] / "corpus/demo"


@pytest.fixture
def benchmark(tmp_path) -> Benchmark:
    made = create_benchmark(name="Light", slug="light", actor=None)
    folder = tmp_path / "nq"
    texts = [
        {"_id": "=1+1", "title": "T", "text": "a </TEXT> b", "metadata": {"url": "u"}},
        {"_id": "b c", "text": "na\u00efve\r\n"},
    ]
    write_lines(folder / "corpus.jsonl", texts)
    write_lines(folder / "queries.jsonl", [{"_id": "q", "text": "Why?", "items": [1]}])
    (folder / "qrels").mkdir()
    (folder / "qrels/test.tsv").write_text("q\t=1+1\t2\nq\tb c\t0\n")
    assert imported(made, folder, "beir").status == "done"
    return made


def content(benchmark: Benchmark) -> tuple[list, list]:
    texts = Passage.objects.filter(version__benchmark=benchmark).order_by("pk")
    labels = Query.objects.filter(domain__benchmark=benchmark).order_by("pk")
    return (
        list(texts.values_list("pid", "text", "title", "extra")),
        list(
            labels.values_list(
                "qid", "text", "extra", "judgments__passage__pid", "judgments__label"
            )
        ),
    )


@pytest.mark.parametrize("format", ["beir", "trec"])
def test_an_export_loads_as_the_same_benchmark(benchmark, tmp_path, format, capsys) -> None:
    call_command("export_benchmark", "light", format=format, out=tmp_path / "out", json=True)
    counts = json.loads(capsys.readouterr().out)
    assert (counts["queries"], counts["passages"], counts["judgments"]) == (1, 2, 2)
    again = create_benchmark(name="Again", slug="again", actor=None)
    run = imported(again, tmp_path / "out" / "nq", format)
    assert (run.status, run.problems) == ("done", [])
    assert content(again) == content(benchmark)


def files(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def load(slug: str, path: Path, format: str = "bright_pro") -> Benchmark:
    call_command("load_benchmark", str(path), format=format, benchmark=slug, stdout=io.StringIO())
    return Benchmark.objects.get(slug=slug)


def rich(root: Path) -> Path:
    """A folder in which every field of the format is used; weights that only say likert5 here."""
    about = {"title": "T\u00eftle", "source_url": "https://e.org/1", "fetched_on": "2024-05-31"}
    answer = {"text": "It is.", "url": "", "score": 3, "accepted": True}
    asked = {
        "id": 7,
        "query": "Why?\r\nBecause \u2028 {of} it.",
        "gold_ids": ["a/b_9.txt", "gone", "a/b_10.txt"],
        "reasoning": "So.",
        "gold_answer": "Yes",
        "reference_answer": "It [doc_1] is [a/b_10.txt].",
        "answers": ["one", "two"],
        "community_answers": [answer],
        "gold_ids_long": ["a/b.txt"],
        "excluded_ids": ["x"],
        "tags": ["kept", {"as": "it is"}],
    }
    bare = {"id": 8, "query": "Who?", "gold_ids": ["a/b_9.txt"]}
    aspects = [
        ("biology-7-a2", 1, ["a/b_10.txt"], "likert3"),
        ("biology-7-a1", 2, ["a/b_9.txt", "gone"], "likert5"),
    ]
    page = {"id": "a/b.txt", "content": "One. Two.", **about}
    texts = [
        {"id": "a/b_9.txt", "content": "One.", **about},
        {"id": "a/b_10.txt", "content": "Two. </TEXT>"},
        {"id": "x", "content": ""},
    ]
    licence = {"domain": "biology", "layer": "aspects", "licence": "CC0", "text": "All.\n"}
    write_lines(root / "examples/biology.jsonl", [asked, bare])
    names = ("id", "weight", "supporting_docs", "scale")
    rows = [{**dict(zip(names, each, strict=True)), "content": "A {point}."} for each in aspects]
    write_lines(root / "aspects/biology.jsonl", rows)
    write_lines(root / "pages/biology.jsonl", [page])
    write_lines(root / "documents/biology.jsonl", texts)
    write_lines(root / "licences.jsonl", [licence])
    return root


@pytest.mark.few
@pytest.mark.parametrize("of", ["every field", "the demo", "beir"])
def test_bright_pro_goes_out_and_comes_back_as_itself(benchmark, tmp_path, of) -> None:
    if of == "beir":
        load("light", tmp_path / "nq", "beir")
    else:
        load("light", rich(tmp_path / "in") if of == "every field" else DEMO)
    for slug, name in (("light", "one"), ("again", "two")):
        call_command("export_benchmark", slug, format="bright_pro", out=tmp_path / name)
        load("again", tmp_path / name)
    exported = files(tmp_path / "one")
    assert exported == files(tmp_path / "two")
    assert {name.split("/")[0] for name in exported} >= {"examples", "documents"}
    # Loaded over itself it is all there already.
    run = imported(Benchmark.objects.get(slug="light"), tmp_path / "two")
    assert (run.problems, run.summary["passages"]["added"]) == ([], 0)


def test_bright_pro_keeps_every_field(tmp_path) -> None:
    load("pro", rich(tmp_path / "in"))
    call_command("export_benchmark", "pro", format="bright_pro", out=tmp_path / "out")

    def read(root: Path, folder: str) -> list[dict]:
        [path] = (root / folder).iterdir()
        text = path.read_text("utf-8")
        lines = text.split("\n")[:-1]
        rows = json.loads(text) if path.suffix == ".json" else [json.loads(row) for row in lines]
        return sorted(rows, key=lambda row: str(row["id"]))

    for folder in ("examples", "aspects", "pages", "documents"):
        expected = read(tmp_path / "in", folder)
        if folder == "examples":
            # The number of a passage in this row's gold is kept as what it means.
            told = "It [a/b_9.txt] is [a/b_10.txt]."
            expected[0]["reference_answer"] = told
        assert read(tmp_path / "out", folder) == expected
    assert (tmp_path / "out/licences.jsonl").read_text() == (
        '{"domain":"biology","layer":"aspects","licence":"CC0","text":"All.\\n"}\n'
    )


def test_what_is_too_much_for_a_list_goes_out_as_lines(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(exporters_files, "MAX_OBJECTS", 2)
    path = tmp_path / "biology.json"
    assert exporters_files.write_list(path, [{"id": n} for n in range(2)]) == 2
    assert json.loads(path.read_text()) == [{"id": 0}, {"id": 1}]
    path.unlink()
    assert exporters_files.write_list(path, [{"id": n} for n in range(3)]) == 3
    assert [each.name for each in tmp_path.iterdir()] == ["biology.jsonl"]
    assert exporters_files.write_list(tmp_path / "none.json", []) == 0
    assert [each.name for each in tmp_path.iterdir()] == ["biology.jsonl"]


@pytest.mark.parametrize("format", FORMATS)
def test_a_folder_that_is_taken_is_left_alone(benchmark, tmp_path, format) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").touch()
    with pytest.raises(CommandError, match="not empty"):
        call_command("export_benchmark", "light", format=format, out=tmp_path / "out")
    assert [each.name for each in (tmp_path / "out").iterdir()] == ["mine"]


def test_ids_that_cannot_stand_in_a_line_are_refused_and_nothing_is_left(
    benchmark, tmp_path
) -> None:
    Passage.objects.filter(pid="b c").update(pid="b\tc")
    with pytest.raises(CommandError, match="cannot stand between tabs"):
        call_command("export_benchmark", "light", format="beir", out=tmp_path / "out")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["nq"]


def test_names_become_safe_file_names() -> None:
    names = ["earth_science", "nq (2).v1", "../x", ".hidden", "a/b", "=1"]
    found = [file_name(each) for each in names]
    assert found == ["earth_science", "nq (2).v1", "___x", "_hidden", "a_b", "_1"]


def test_a_cleaned_version_is_written_with_the_gold_it_inherits(tmp_path, capsys) -> None:
    benchmark = make_benchmark("light", ["nq"])
    for pid in ("gold", "half", "noise", "own"):
        make_passage(benchmark, pid, text=pid)
    query = make_query(benchmark, "q", excluded_ids=["own", "N/A"])
    old = {each.pid: each for each in Passage.objects.all()}
    make_gold(query, old["gold"])
    loaded = CorpusVersion.objects.loaded(benchmark)
    kept = {"gold": ["gold#1", "gold#2"], "half": ["half#1"], "own": ["own#1"]}
    after = derive(loaded, kept, name="clean")
    rank(benchmark, None, {"q": ["gold"]}, name="Old")
    rank(benchmark, after, {"q": ["gold#1"]}, name="New")
    # Given since: what a release is for.
    Judgment.objects.create(
        query=query, passage=old["half"], label=1, source=Source.EXPERT, status="standing"
    )
    out = tmp_path / "out"
    options = {"format": "bright", "out": out, "json": True, "corpus_version": "clean"}
    call_command("export_benchmark", "light", **options)
    counts = json.loads(capsys.readouterr().out)
    assert (counts["passages"], counts["judgments"], counts["rankings"]) == (4, 2, 1)
    (asked,) = map(json.loads, (out / "examples/nq.jsonl").read_text().splitlines())
    assert sorted(asked["gold_ids"]) == ["gold#1", "gold#2"]
    assert asked["excluded_ids"] == ["N/A", "own#1"]
    texts = map(json.loads, (out / "documents/nq.jsonl").read_text().splitlines())
    assert {row["id"] for row in texts} == {"gold#1", "gold#2", "half#1", "own#1"}
    assert [each.name for each in (out / "runs").iterdir()] == ["New"]
    again = create_benchmark(name="Again", slug="again", actor=None)
    assert imported(again, out, "bright").status == "done"
    call_command("export_benchmark", "light", format="beir", out=tmp_path / "loaded", json=True)
    assert json.loads(capsys.readouterr().out)["passages"] == 4
    assert [each.name for each in (tmp_path / "loaded/runs").iterdir()] == ["Old"]
    with pytest.raises(CommandError, match="no corpus version 'x'; there are"):
        call_command("export_benchmark", "light", **(options | {"corpus_version": "x"}))
