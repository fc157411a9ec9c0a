"""run_debates over a benchmark's pool, its options, and which endpoint answers."""

import json
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from corpus.models import Judgment, Passage, Query, Source
from debate.models import DebateRun
from kit.runs.models import RunStatus
from llm import endpoints
from llm.practice.server import serve
from tests.debate.answering import answering, turn
from tests.factories import make_benchmark, make_gold, make_passage, make_pool, make_query
from tests.llm.stub import status

ROW = {"id": 1, "query": "Why?", "answers": ["the light"], "passage": "By the light."}
live = pytest.mark.django_db(transaction=True)
quick = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _write_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outcomes are gathered for a moment before they are written; a test has none to gather."""
    monkeypatch.setattr("llm.pump.GROUP_SECONDS", 0.01)


@pytest.fixture
def benchmark() -> Any:
    """Two pools of one pair each: the older agrees on relevant, the newer on not relevant."""
    benchmark = make_benchmark()
    query = make_query(benchmark, answers=["the light of a lamp"])
    yes = make_passage(benchmark, "yes", text="By the light of a lamp.")
    make_pool(benchmark, (query, yes), name="older")
    make_pool(benchmark, (query, make_passage(benchmark, "no", text="Nothing.")), name="newer")
    return benchmark


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps(ROW))
    return path


def run(**options: Any) -> str:
    out = StringIO()
    call_command("run_debates", stdout=out, **options)
    return out.getvalue()


def refusal(**options: Any) -> str:
    with pytest.raises(CommandError) as refused:
        run(**options)
    assert refused.value.returncode == 1
    assert not DebateRun.objects.exists()
    return str(refused.value)


@live
def test_benchmark_is_debated_by_the_practice_model_where_nothing_is_configured(benchmark) -> None:
    summary = json.loads(run(benchmark="demo", pool="older", json=True))
    spent = summary.pop("spending")
    assert (spent["calls"], spent["usd"], spent["unpriced"]) == (2, "0.000000000000", 0)
    assert summary == {
        "run": DebateRun.objects.get().pk,
        "benchmark": "demo",
        "status": "done",
        "kind": "debate",
        "preset": "",
        "trial": False,
        "total": 1,
        "agreed_1": 1,
        "agreed_later": 0,
        "escalated": 0,
        "unreadable": 0,
        "failed": 0,
        "skipped": 0,
        "waiting": 0,
        "practice": True,
    }
    assert Judgment.objects.values_list("label", "practice").get() == (1, True)
    assert endpoints.available() == []  # the practice model ended with the command


@live
def test_labels_of_people_go_before_the_gold_that_a_run_is_measured_by(benchmark) -> None:
    query = Query.objects.get()
    yes, no = (Passage.objects.get(pid=pid) for pid in ("yes", "no"))
    pool = make_pool(benchmark, (query, yes), (query, no), name="both")
    assert "accuracy" not in json.loads(run(benchmark="demo", pool="both", json=True))
    make_gold(query, yes)
    found = json.loads(run(benchmark="demo", pool="both", json=True))["accuracy"]
    assert (found["known_labels"], found["accuracy"]["value"]) == (1, 1.0)
    # No pair is known to be not relevant.
    assert found["recall_irrelevant"] == {"value": None, "low": None, "high": None}
    assert found["balanced_accuracy"]["value"] is None
    expert = {"source": Source.EXPERT, "label": 0, "status": "standing"}
    Judgment.objects.filter(query=query, passage=yes).standing().update(status="superseded")
    Judgment.objects.create(query=query, passage=yes, **expert)
    found = json.loads(run(benchmark="demo", pool="both", json=True))["accuracy"]
    assert (found["known_labels"], found["recall_irrelevant"]["value"]) == (1, 0.0)
    assert pool.entries.count() == 2
    assert "  recall relevant    -\n" in run(benchmark="demo", pool="both")


@live
def test_newest_pool_with_work_is_taken_and_the_outcome_said_in_words(benchmark) -> None:
    text = run(benchmark="demo")
    assert f"Run {DebateRun.objects.get().pk} (demo): done" in text
    assert DebateRun.objects.get().pool.name == "newer"
    assert Judgment.objects.get().label == 0
    Judgment.objects.update(practice=False)
    run(benchmark="demo")
    assert DebateRun.objects.first().pool.name == "older"


@live
def test_somebodys_endpoint_is_used_and_its_labels_are_not_practice(benchmark, settings) -> None:
    with answering(settings, turn("no")):
        summary = json.loads(run(benchmark="demo", json=True))
    assert (summary["status"], summary["practice"]) == ("done", False)
    assert Judgment.objects.values_list("label", "practice").get() == (0, False)
    assert DebateRun.objects.values_list("endpoint", "model").get() == (
        "default",
        "stub-1",
    )


@live
def test_practice_model_behind_a_configured_address_stays_practice(benchmark, settings) -> None:
    with serve() as url:
        settings.OPENAI_BASE_URL, settings.ASSAY_MODEL = url, "practice-1"
        summary = json.loads(run(benchmark="demo", json=True))
    assert (summary["status"], summary["practice"]) == ("done", True)
    assert Judgment.objects.get().practice


@live
def test_real_label_takes_the_place_of_a_practice_one(benchmark, settings) -> None:
    run(benchmark="demo", json=True)
    with answering(settings, turn("no")):
        run(benchmark="demo", json=True)
    rows = Judgment.objects.order_by("pk").values_list("status", "practice")
    assert list(rows) == [("superseded", True), ("standing", False)]


@live
def test_rounds_bound_the_debate(benchmark) -> None:
    query = make_query(benchmark, "2", answers=["one two three four five six seven eight nine ten"])
    text = "one two three four five six seven."
    make_pool(benchmark, (query, make_passage(benchmark, "p", text=text)), name="late")
    assert json.loads(run(benchmark="demo", rounds=1, json=True))["escalated"] == 1
    again = run(benchmark="demo", pool="late", rounds=2, json=True)
    assert json.loads(again)["agreed_later"] == 1


@live
def test_run_that_stops_on_the_way_exits_1_and_writes_nothing(
    pairs, tmp_path, monkeypatch, capsys
) -> None:
    def stop(run: DebateRun) -> None:
        run.finish(RunStatus.FAILED, error="The run stopped.")

    monkeypatch.setattr(
        "debate.management.commands.run_debates.DEBATES", SimpleNamespace(drive=stop)
    )
    with pytest.raises(SystemExit) as end:
        run(pairs=pairs, out=tmp_path / "out.jsonl", json=True)
    assert end.value.code == 1
    assert "The run stopped." in capsys.readouterr().err
    assert not (tmp_path / "out.jsonl").exists()


@live
def test_pairs_that_all_fail_are_told_with_the_reason_and_exit_1(
    benchmark, settings, capsys
) -> None:
    with answering(settings, status(400)), pytest.raises(SystemExit) as end:
        run(benchmark="demo", json=True)
    assert end.value.code == 1
    assert "1 of 1 pairs failed: The endpoint “default” refused this request" in (
        capsys.readouterr().err
    )


@quick
@pytest.mark.parametrize("given", [{}, {"benchmark": "demo", "pairs": Path("p")}])
def test_exactly_one_source_of_pairs(given: dict[str, Any]) -> None:
    assert "either --benchmark SLUG or --pairs" in refusal(**given)


@quick
def test_pairs_need_a_place_for_the_outcomes(pairs) -> None:
    assert "--out" in refusal(pairs=pairs)


@quick
def test_options_that_would_be_ignored_are_refused(pairs, tmp_path) -> None:
    out = tmp_path / "out.jsonl"
    assert "--pool" in refusal(pairs=pairs, out=out, pool="x")
    assert "--out goes with --pairs" in refusal(benchmark="demo", out=out)


@quick
def test_place_that_cannot_be_written_is_refused_before_anything_is_paid(pairs, tmp_path) -> None:
    assert "in a folder that exists" in refusal(pairs=pairs, out=tmp_path / "no" / "out.jsonl")
    assert "in a folder that exists" in refusal(pairs=pairs, out=tmp_path)


@quick
def test_pairs_are_not_overwritten(pairs, tmp_path) -> None:
    assert "overwrite" in refusal(pairs=pairs, out=tmp_path / "." / "pairs.jsonl")
    assert json.loads(pairs.read_text()) == ROW


@quick
def test_missing_file_of_pairs_is_named(tmp_path) -> None:
    message = refusal(pairs=tmp_path / "nowhere.jsonl", out=tmp_path / "out.jsonl")
    assert "nowhere.jsonl is not a file" in message


@quick
def test_unknown_benchmark_and_pool_are_named(benchmark) -> None:
    assert "no benchmark 'nowhere'" in refusal(benchmark="nowhere")
    assert "demo has no pool of pairs named 'x'" in refusal(benchmark="demo", pool="x")
    make_benchmark("bare")
    assert "bare has no pool of pairs." in refusal(benchmark="bare")


@quick
@pytest.mark.parametrize("rounds", [0, 6])
def test_rounds_outside_1_to_5_are_refused(benchmark, rounds: int) -> None:
    assert "1 to 5 rounds" in refusal(benchmark="demo", rounds=rounds)


@live
def test_lara_with_people_stops_where_it_waits_for_them(benchmark, capsys) -> None:
    told = run(benchmark="demo", preset="lara@50", people="live", batch=1)
    made = DebateRun.objects.get()
    assert (made.config["lara"]["mode"], made.config["lara"]["batch"]) == ("live", 1)
    assert (made.status, made.awaits_people) == (RunStatus.QUEUED, True)
    assert "queued" in told
    assert "waits for people (0 of 1 pairs labelled, 1 before them)" in capsys.readouterr().err


@quick
def test_people_are_asked_by_lara_alone(benchmark, pairs, tmp_path) -> None:
    assert "preset of LARA" in refusal(benchmark="demo", preset="llmjudge", people="live")
    assert "preset of LARA" in refusal(benchmark="demo", batch=3)
    out = tmp_path / "out.jsonl"
    assert "annotators" in refusal(pairs=pairs, out=out, preset="lara@50", people="live")


@live
def test_a_debates_checks_of_itself_are_options(benchmark) -> None:
    run(benchmark="demo", pool="older", audit=1, decoys=2)
    made = DebateRun.objects.get()
    assert (made.config["audit"], made.config["decoys"], made.audits.count()) == (1, 2, 1)
