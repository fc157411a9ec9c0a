"""`manage.py compute_run` as people type it."""

import io
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from corpus.models import RankedList
from tests.factories import make_benchmark, make_passage, make_query

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
