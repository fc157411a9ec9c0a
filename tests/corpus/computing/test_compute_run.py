"""`manage.py compute_run` as people type it."""

import io
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from corpus.models import Benchmark, RankedList, RetrievalRun, RunComputation
from llm.practice.server import serve
from tests.factories import make_benchmark, make_member, make_passage, make_query
from tests.markup import one_line

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _world(settings, tmp_path: Path) -> None:
    settings.INDEXES = tmp_path / "indexes"
    benchmark = make_benchmark("ranked")
    make_query(benchmark, text="Does mulch keep soil moist?")
    make_passage(benchmark, "mulch", text="Mulch keeps the soil moist.")
    make_passage(benchmark, "trees", text="Trees give shade.")


def said(*arguments: str) -> str:
    out = io.StringIO()
    call_command("compute_run", "--benchmark", "ranked", *arguments, stdout=out)
    return out.getvalue()


def test_hybrid_of_two_runs_by_the_names_that_were_printed() -> None:
    names = [said("--method", method).partition(":")[0] for method in ("bm25", "tfidf")]
    told = json.loads(said("--method", "hybrid", "--runs", *names, "--json"))
    assert told["name"] == " + ".join(names)
    assert RankedList.objects.get(run=told["run"]).pids[0] == "mulch"


@pytest.mark.parametrize(
    ("runs", "reason"),
    [
        ((), "--runs NAME NAME"),
        (("--runs", "none", "such"), "no retrieval run 'none'; it has none"),
    ],
)
def test_hybrid_without_runs_is_refused_with_what_to_do(runs: tuple[str, ...], reason: str) -> None:
    with pytest.raises(CommandError, match=reason):
        said("--method", "hybrid", *runs)


def test_instructions_come_from_a_file(tmp_path: Path) -> None:
    lines = tmp_path / "instructions.txt"
    lines.write_text("biology: Find what helps.", encoding="utf-8")
    given = ("--method", "embeddings", "--query-tokens", "8192", "--instructions")
    told = json.loads(said(*given, str(lines), "--json"))
    config = RetrievalRun.objects.get(pk=told["run"]).provenance["config"]
    assert (config["instructions"], config["query_prefix"], config["query_tokens"]) == (
        {"biology": "Find what helps."},
        "{instruction} ",
        8192,
    )
    with pytest.raises(CommandError, match="cannot be read"):
        said(*given, str(tmp_path / "none"))


def test_the_form_takes_them_too(settings) -> None:
    admin = Client()
    admin.force_login(make_member(Benchmark.objects.get(), "admin", "admin"))
    address = "/b/ranked/retrieval/compute/"
    with serve() as url:
        settings.ASSAY_PRACTICE_URL = url
        assert "Instruction of each domain" in one_line(admin.get(f"{address}?method=embeddings"))
        sent = {
            "method": "embeddings",
            "depth": 10,
            "endpoint": "practice",
            "instructions": '{"biology": "Find it."}',
            "query_tokens": 100,
            "document_tokens": 200,
            "tokenizer": "words",
        }
        wrong = admin.post(address, sent | {"instructions": "pony: Find it."})
        assert "No instruction for biology." in one_line(wrong)
        made = admin.post(address, sent)
        config = RunComputation.objects.get().config
        assert "instructions of biology" in one_line(admin.get(made.url))
    assert config["instructions"] == {"biology": "Find it."}
    assert (config["tokenizer"], config["document_tokens"]) == ("words", 200)
