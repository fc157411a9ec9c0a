"""The export of what was imported: the command, and what it refuses."""

import json

import pytest
from django.core.management import CommandError, call_command

from corpus.benchmarks.services import create_benchmark
from corpus.models import Benchmark, Passage, Query
from evaluation.releases.exporting import FORMATS, file_name
from tests.corpus.import_files import imported, write_lines

pytestmark = pytest.mark.django_db


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
