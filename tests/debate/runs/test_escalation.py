"""Endpoints that answer badly: what cannot be read goes to people, what broke says why."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotate.models import CaseKind, EscalationCase
from corpus.models import Judgment
from debate.models import Debate, DebateRun, Turn
from llm.models import Call
from tests.debate.answering import SOON, answering, turn
from tests.factories import make_benchmark, make_member, make_passage, make_pool, make_query
from tests.llm.stub import status

pytestmark = pytest.mark.django_db(transaction=True)
TEXT = "Moths roll their backs to the light. 😀 Nobody knows why."
GARBAGE = "I would rather not <b>say</b>."


@pytest.fixture(autouse=True)
def _write_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outcomes are gathered for a moment before they are written; a test has none to gather."""
    monkeypatch.setattr("llm.pump.GROUP_SECONDS", 0.01)


@pytest.fixture
def benchmark() -> Any:
    benchmark = make_benchmark()
    make_pool(benchmark, (make_query(benchmark), make_passage(benchmark, text=TEXT)))
    return benchmark


def hold() -> Debate:
    """The one debate of a run over the benchmark, from the shell."""
    call_command("run_debates", benchmark="demo", json=True)
    return Debate.objects.get()


def pages(benchmark: Any, debate: Debate) -> list[str]:
    """An admin's view of the run, of the list of pairs that broke, and of the debate."""
    client = Client()
    client.force_login(make_member(benchmark, "admin", "admin"))
    run = reverse("debate-run", args=["demo", debate.run_id])
    urls = [run, f"{run}pairs/?status=broken", f"{run}pairs/{debate.pk}/"]
    return [client.get(url).content.decode() for url in urls]


def words(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def test_unreadable_after_one_repair_is_a_case_and_never_a_label(benchmark, settings) -> None:
    with answering(settings, GARBAGE) as stub:
        debate = hold()
    assert (debate.status, debate.label, debate.round) == ("unreadable", None, None)
    assert len(stub.asked) == 4  # two agents, each asked once and once more
    case = EscalationCase.objects.get()
    assert (case.kind, case.status, debate.case) == (CaseKind.UNREADABLE, "open", case)
    assert [p["response"] for p in case.snapshot["positions"]] == ["", ""]
    assert not Judgment.objects.exists()
    assert set(Turn.objects.values_list("response", "label")) == {("", None)}


def test_unreadable_answers_are_kept_and_shown_as_text(benchmark, settings) -> None:
    with answering(settings, GARBAGE):
        debate = hold()
    assert set(Call.objects.values_list("text", flat=True)) == {GARBAGE}
    run, pairs, one = pages(benchmark, debate)
    assert "Unreadable, to people 1" in words(run)
    assert "unreadable –" in words(pairs)
    assert "I would rather not &lt;b&gt;say&lt;/b&gt;." in one
    assert one.count("no readable answer") == 2


def test_voters_judge_an_unreadable_case(benchmark, settings) -> None:
    with answering(settings, GARBAGE):
        hold()
    for n in range(1, 4):
        client = Client()
        client.force_login(make_member(benchmark, f"annotator-{n}", "annotator"))
        case = reverse("vote-case", args=["demo", EscalationCase.objects.get().public_id])
        assert "Moths roll their backs" in client.get(case).content.decode()
        client.post(case, {"label": "1"})  # from the passage alone
        client.post(case, {"label": "1"})  # having seen what the agents sent
    assert Judgment.objects.values_list("label", "source").get() == (1, "human")


def test_answer_mended_by_the_repair_counts(benchmark, settings) -> None:
    with answering(settings, GARBAGE, GARBAGE, turn("yes", "Moths roll")):
        debate = hold()
    assert (debate.status, debate.label, debate.round) == ("agreed", 1, 1)
    assert all("repaired" in flags for flags in Turn.objects.values_list("flags", flat=True))


def test_labels_of_a_real_endpoint_are_not_practice(benchmark, settings) -> None:
    with answering(settings, turn("no")) as stub:
        debate = hold()
    assert (debate.run.endpoint, debate.run.model, debate.run.practice) == (
        "default",
        "stub-1",
        False,
    )
    assert Judgment.objects.values_list("label", "practice").get() == (0, False)
    assert {body["model"] for body in stub.asked} == {"stub-1"}
    assert {headers["Authorization"] for headers in stub.headers} == {"Bearer sk-stub"}


def test_server_error_fails_the_pair_and_says_so(benchmark, settings) -> None:
    with answering(settings, status(500, headers=SOON)), pytest.raises(SystemExit):
        hold()
    debate = Debate.objects.get()
    assert (debate.status, debate.label, debate.case) == ("failed", None, None)
    assert "HTTP 500" in debate.error
    assert not Judgment.objects.exists()
    assert not EscalationCase.objects.exists()
    run, pairs, one = pages(benchmark, debate)
    assert "Failed 1" in words(run)
    assert "failed –" in words(pairs)
    assert "HTTP 500" in one


def test_refused_key_stops_the_run_at_once_without_being_shown(benchmark, settings) -> None:
    body = {"error": {"message": "Incorrect key sk-stub given.", "type": "auth"}}
    with answering(settings, status(401, body=body)) as stub, pytest.raises(SystemExit):
        hold()
    debate = Debate.objects.get()
    assert (debate.status, debate.run.status) == ("waiting", "failed")
    assert "refuses the key" in debate.run.error
    assert len(stub.asked) == 2
    assert "sk-stub" not in "".join(pages(benchmark, debate))
    assert "sk-stub" not in str(list(Call.objects.values()) + list(DebateRun.objects.values()))


def test_failed_pair_can_be_debated_in_another_run(benchmark, settings) -> None:
    with answering(settings, status(400)), pytest.raises(SystemExit):
        hold()
    with answering(settings, turn("yes", "Moths roll")):
        call_command("run_debates", benchmark="demo", json=True)
    assert list(Debate.objects.values_list("status", "label")) == [("failed", None), ("agreed", 1)]


def outcome(folder: Path) -> dict[str, Any]:
    """What --out says about one pair over TEXT."""
    row = {"id": 1, "query": "Why?", "answers": ["backs to the light"], "passage": TEXT}
    pairs, out = folder / "pairs.jsonl", folder / "out.jsonl"
    pairs.write_text(json.dumps(row))
    call_command("run_debates", pairs=pairs, out=out, json=True)
    return json.loads(out.read_text(encoding="utf-8"))


def test_outcome_file_gives_no_label_and_no_response_where_nothing_could_be_read(
    tmp_path, settings
) -> None:
    with answering(settings, GARBAGE):
        found = outcome(tmp_path)
    assert (found["status"], found["label"], found["round"]) == ("unreadable", None, None)
    assert [(said["response"], said["reference"]) for said in found["turns"]] == [(None, [])] * 2


def test_outcome_file_marks_quotes_that_are_not_in_the_passage(tmp_path, settings) -> None:
    last = "😀 Nobody knows why."
    with answering(settings, turn("yes", "Moths  roll", "Moths rolled", last)):
        found = outcome(tmp_path)
    assert found["turns"][1]["reference"] == [
        {"text": "Moths  roll", "start": 0, "end": 10},
        {"text": "Moths rolled", "start": None, "end": None},
        {"text": last, "start": 37, "end": 56},
    ]
    assert TEXT[37:56] == last


def test_positions_of_four_agents_are_all_shown_and_only_two_have_a_key() -> None:
    from annotate.voting.snapshot import read_snapshot

    quote = {"text": "light", "start": 0, "end": 5}
    positions = [{"agent": name, "response": "yes", "references": [quote]} for name in "ABCD"]
    shown = read_snapshot({"positions": positions}, "light").positions
    assert [(each.agent, each.side) for each in shown] == [
        ("A", "a"),
        ("B", "b"),
        ("C", "a"),
        ("D", "b"),
    ]
    assert [each.first_found is not None for each in shown] == [True, True, False, False]
