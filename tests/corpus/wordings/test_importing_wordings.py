"""Other wordings on their way in and out: by folder, by file, again, and wrongly."""

import json
from pathlib import Path
from typing import Any

import pytest

from corpus.models import Benchmark, Domain, Query, QuerySource
from evaluation.releases.exporting import export_benchmark
from tests.corpus.import_files import imported, write_lines
from tests.factories import make_benchmark, make_passage, make_query

pytestmark = pytest.mark.django_db


@pytest.fixture
def benchmark() -> Benchmark:
    made = make_benchmark("worded", domains=("biology", "pony"))
    for qid, domain in (("1", "biology"), ("2", "biology"), ("1", "pony")):
        make_query(made, qid, domain, text=f"Query {qid} of {domain}.")
    make_passage(made, "p", "biology")
    return made


def rows(*texts: str) -> list[dict[str, Any]]:
    return [{"id": str(n), "query": text} for n, text in enumerate(texts, start=1)]


def bright(folder: Path) -> Path:
    """Two sources as BRIGHT has them, beside what is no source."""
    write_lines(folder / "gpt4_reason" / "biology.jsonl", rows("One.", "Two."))
    write_lines(folder / "gpt4_reason" / "pony.jsonl", rows("Of pony."))
    write_lines(folder / "grit_reason" / "biology.jsonl", rows("Uno.", "Due.", "Tre."))
    write_lines(folder / "examples" / "biology.jsonl", rows("As it is."))
    return folder


def texts(source: QuerySource) -> dict[str, str]:
    found = source.wordings.select_related("query__domain")
    return {str(each.query): each.text for each in found}


def test_each_folder_is_a_source(benchmark, tmp_path) -> None:
    run = imported(benchmark, bright(tmp_path), "wordings")
    assert run.status == "done"
    assert run.summary["wordings"] == {"added": 5, "present": 0}
    gpt, grit = QuerySource.objects.order_by("name")
    assert (gpt.name, grit.name) == ("gpt4", "grit")
    assert texts(gpt) == {"biology-1": "One.", "biology-2": "Two.", "pony-1": "Of pony."}
    assert (grit.query_count, grit.provenance["import"]) == (2, run.pk)
    # A query that is not here is left out and told; nothing but wordings came in.
    oddities = {each["what"]: each["examples"] for each in run.summary["oddities"]}
    assert oddities["wordings of queries that are not here, left out"] == ["biology-3"]
    assert (Query.objects.count(), Domain.objects.count()) == (3, 2)


def test_records_may_name_source_and_domain(benchmark, tmp_path) -> None:
    given = [
        {"source": "mine", "domain": "pony", "id": "1", "query": "Horses?"},
        {"domain": "biology", "id": "1", "query": "Plants?"},
    ]
    imported(benchmark, write_lines(tmp_path / "file.jsonl", given), "wordings")
    assert {each.name: texts(each) for each in QuerySource.objects.all()} == {
        "mine": {"pony-1": "Horses?"},
        "file": {"biology-1": "Plants?"},
    }


def test_the_same_again_changes_nothing_and_others_are_refused(benchmark, tmp_path) -> None:
    imported(benchmark, bright(tmp_path), "wordings")
    again = imported(benchmark, bright(tmp_path), "wordings")
    assert again.summary["wordings"] == {"added": 0, "present": 5}
    write_lines(tmp_path / "gpt4_reason" / "biology.jsonl", rows("Another."))
    other = imported(benchmark, tmp_path, "wordings")
    assert other.status == "failed"
    assert "gpt4 is here already with other wordings" in other.problems[0]["message"]
    assert QuerySource.objects.count() == 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([{"id": "1"}], "query"),
        ([{"id": "1", "query": "a"}, {"id": "1", "query": "b"}], "in other words"),
        ([{"id": "9", "query": "a"}], "None of the queries"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(benchmark, tmp_path, given, message) -> None:
    run = imported(benchmark, write_lines(tmp_path / "biology.jsonl", given), "wordings")
    assert run.status == "failed"
    assert message in json.dumps(run.problems[0])
    assert not QuerySource.objects.exists()


def test_an_export_is_read_again(benchmark, tmp_path) -> None:
    imported(benchmark, bright(tmp_path / "in"), "wordings")
    counts = export_benchmark(benchmark=benchmark, folder=tmp_path / "out", format="bright")
    assert counts["wordings"] == 5
    known = {each.name: (texts(each), each.digest) for each in QuerySource.objects.all()}
    QuerySource.objects.all().delete()
    imported(benchmark, tmp_path / "out" / "wordings", "wordings")
    assert known == {each.name: (texts(each), each.digest) for each in QuerySource.objects.all()}
