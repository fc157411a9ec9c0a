"""Two-sided hints: the prompt, both sides over real HTTP, what is frozen and what never is."""

import json
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotate.models import PanelStatus, ReferencePanel
from annotate.panels import services as panels
from annotate.panels.services import close_panel, open_panel
from debate.baselines.hints import argue
from debate.baselines.judges import JudgeConfig, line_up_judges
from debate.dream import Pair
from debate.hints import services as verbs
from debate.models import HintRun, HintStatus
from debate.references import reference_called
from debate.tasks import HINTS, write_hints
from kit.errors import Refused
from kit.runs.models import RunStatus
from kit.runs.moves import cancel_run, pause_run
from llm import endpoints
from llm.ledger.accounts import set_budget
from llm.models import Call
from tests.annotate.panels.drawing import (
    access_of,
    first_item,
    give,
    make_panel,
    make_panel_world,
    practise,
)
from tests.debate.answering import answering
from tests.debate.baselines.test_prompts_judges import conversation

SNAPSHOTS = Path(__file__).parents[1] / "snapshots"
PAIR = Pair("Why?", ("Because of the light.",), "It is because of the light. Nobody knows more.")
CONFIG = JudgeConfig(judges=line_up_judges([("m", "e")]), prompts={"hint": verbs.hint_prompt()})
FOR = json.dumps({"reference": ["because of the light"], "reason": "It names the light."})
AGAINST = json.dumps({"reference": ["invented words"], "reason": "It does not say how."})


def answered(*rounds: list[str]) -> Any:
    """The verdict of the rule when its requests are answered so, round by round."""
    steps = argue(PAIR, CONFIG, b"key")
    asked = [next(steps)]
    try:
        for texts in rounds:
            asked.append(steps.send(texts))
    except StopIteration as end:
        return end.value, asked
    raise AssertionError("it goes on asking")


def test_prompt_reads_as_pinned() -> None:
    pinned = (SNAPSHOTS / "hint.txt").read_text(encoding="utf-8")
    assert conversation(verbs.hint_prompt()) == pinned


def test_prompt_holds_the_eight_rules_of_the_debate() -> None:
    from debate.dream import default_prompt

    def rules(text: str) -> list[str]:
        return [line for line in text.splitlines() if line[:1].isdigit()]

    assert rules(verbs.hint_prompt().system) == rules(default_prompt().system)


def test_each_side_is_asked_for_by_itself() -> None:
    _, (questions, *_) = answered([FOR, AGAINST])
    systems = [each.messages[0]["content"] for each in questions]
    assert "Your side is: the chunk fully answers" in systems[0]
    assert "Your side is: the chunk does so for none" in systems[1]
    assert [each.as_llm_request().schema_name for each in questions] == ["hint_for", "hint_against"]


def test_both_sides_become_turns_with_their_quotes_checked() -> None:
    verdict, _ = answered([FOR, AGAINST])
    assert (verdict.status, verdict.label) == ("argued", None)
    assert [(t.stance, t.response, t.reason) for t in verdict.turns] == [
        ("relevant", "yes", "It names the light."),
        ("irrelevant", "no", "It does not say how."),
    ]
    assert [turn.references[0].found for turn in verdict.turns] == [True, False]


def test_an_unreadable_side_is_asked_once_more_and_then_both_are_dropped() -> None:
    verdict, asked = answered([FOR, "no JSON"], [AGAINST])
    assert (verdict.status, len(asked[1])) == ("argued", 1)
    verdict, _ = answered([FOR, "no JSON"], ["nor this"])
    assert (verdict.status, verdict.turns) == ("unreadable", ())
    verdict, _ = answered([FOR, '{"reason": "  "}'], ['{"reason": 3}'])
    assert verdict.status == "unreadable"


@pytest.fixture
def world(transactional_db):
    return make_panel_world(queries=2)


@pytest.fixture
def panel(world):
    return make_panel(world, open_it=False, shows_hints=True, per_domain=2)


def start(world, panel, endpoint, **more) -> HintRun:
    access = access_of(world, world.admin)
    return verbs.start_hints(
        panel=panel, endpoint=endpoint, actor=world.admin, access=access, **more
    )


def test_the_practice_model_writes_both_sides_into_every_item(world, panel) -> None:
    with endpoints.practice_if_unconfigured() as endpoint:
        run = start(world, panel, endpoint)
        write_hints(run.pk)
        write_hints(run.pk)  # delivered twice
    run.refresh_from_db()
    assert (run.status, run.done, run.total) == (RunStatus.DONE, 4, 4)
    assert Call.objects.count() == 8
    for item in panel.items.select_related("case"):
        snapshot = item.case.snapshot
        assert [each["response"] for each in snapshot["positions"]] == ["yes", "no"]
        assert all(each["reason"] for each in snapshot["positions"])
        assert snapshot["practice"] is True
        assert item.hints == {
            "model": "practice-1",
            "endpoint": "practice",
            "practice": True,
            "prompt_version": 1,
            "prompt_sha256": verbs.hint_prompt().sha256,
            "run": run.pk,
        }
    assert set(Call.objects.values_list("subject", flat=True)) >= {
        f"hint:{run.hints.first().pk}:r1:relevant"
    }


def test_unreadable_answers_never_become_text(world, panel, settings) -> None:
    with answering(settings, *["Sorry, no JSON today."] * 16):
        run = start(world, panel, endpoints.available()[0], claimed=True)
        HINTS.drive(run)
    run.refresh_from_db()
    assert run.status == RunStatus.DONE
    assert set(run.hints.values_list("status", flat=True)) == {HintStatus.UNREADABLE}
    assert panel.items.without_hints().count() == 4
    assert {str(item.case.snapshot["positions"]) for item in panel.items.all()} == {"[]"}
    # Another model may write them.
    with endpoints.practice_if_unconfigured() as endpoint:
        settings.OPENAI_BASE_URL = ""
        again = start(world, panel, endpoint, claimed=True, model="practice-1")
        assert again.total == 4


def test_one_run_writes_at_a_time_and_only_what_is_missing(world, panel) -> None:
    with endpoints.practice_if_unconfigured() as endpoint:
        run = start(world, panel, endpoint)
        with pytest.raises(Refused, match="already"):
            start(world, panel, endpoint)
        write_hints(run.pk)
        with pytest.raises(Refused, match="has its reasons"):
            start(world, panel, endpoint)


def test_a_run_pauses_resumes_and_is_cancelled(world, panel) -> None:
    with endpoints.practice_if_unconfigured() as endpoint:
        run = start(world, panel, endpoint)
        pause_run(run=run, actor=world.admin)
        write_hints(run.pk)
        assert Call.objects.count() == 0
        verbs.resume_hints(run=run, actor=world.admin)
        write_hints(run.pk)
        run.refresh_from_db()
        assert run.status == RunStatus.DONE
        with pytest.raises(Refused):
            cancel_run(run=run, actor=world.admin)


def test_nothing_is_written_once_the_panel_is_open(world, panel) -> None:
    access = access_of(world, world.admin)
    with endpoints.practice_if_unconfigured() as endpoint:
        run = start(world, panel, endpoint)
        open_panel(panel=panel, access=access, without_hints=True)
        write_hints(run.pk)
        run.refresh_from_db()
        assert (run.status, Call.objects.count()) == (RunStatus.DONE, 0)
        assert panel.items.without_hints().count() == 4
        with pytest.raises(Refused, match="does not change"):
            start(world, panel, endpoint)


def test_a_budget_without_room_pauses_the_run_in_words(world, panel, settings, tmp_path) -> None:
    row = {"endpoint": "*", "model": "stub-1", "valid_from": "2026-01-01", "input": "10"}
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps([row | {"cached": "10", "output": "50"}]))
    settings.ASSAY_PRICES = str(prices)
    with answering(settings, FOR):
        run = start(world, panel, endpoints.available()[0], budget_usd=Decimal("0.01"))
        write_hints(run.pk)
        run.refresh_from_db()
        assert run.status == RunStatus.PAUSED
        assert "The budget of $0.01 has no room" in run.pause_reason
        assert Call.objects.count() == 0
        set_budget(run, Decimal("9.00"), actor=world.admin, scope="")
        verbs.resume_hints(run=run, actor=world.admin)
        write_hints(run.pk)
        run.refresh_from_db()
        assert (run.status, run.done) == (RunStatus.DONE, 4)
        assert run.spent_usd > 0


def test_the_shell_draws_has_them_written_opens_and_reports(world) -> None:
    out = StringIO()
    call_command("reference_panel", "garden", "--per-domain=1", "--name=shell", stdout=out)
    drawn = ReferencePanel.objects.get()
    assert "biology: 1 of 2 pooled queries" in out.getvalue()
    call_command("write_hints", str(drawn.pk), stdout=out)
    assert "2 of 2 asked, 0 items without reasons" in out.getvalue()
    with pytest.raises(CommandError, match="--as"):
        call_command("reference_panel", "garden", f"--panel={drawn.pk}", "--open", stdout=out)
    named = ("garden", f"--panel={drawn.pk}", "--as=admin")
    call_command("reference_panel", *named, "--open", stdout=out)
    drawn.refresh_from_db()
    assert drawn.is_open
    report = StringIO()
    call_command("reference_panel", *named, stdout=report)
    assert "Reference labels" in report.getvalue()


def test_the_labels_are_a_truth_that_runs_are_held_against(world) -> None:
    panel = make_panel(world)
    practise(world, panel, world.voters[0])
    item = first_item(panel)
    pair = (item.case.query_id, item.case.passage_id)
    experts = reference_called(world.benchmark, "experts")
    assert pair not in experts.truths()
    give(world, item, world.voters[0], 1)
    assert experts.truths() == {pair: 1}


def test_closing_a_panel_leaves_the_run_as_it_was(world, panel) -> None:
    access = access_of(world, world.admin)
    with endpoints.practice_if_unconfigured() as endpoint:
        run = start(world, panel, endpoint)
        write_hints(run.pk)
    close_panel(panel=panel, access=access)
    assert panel.status == PanelStatus.CLOSED
    assert run.hints.filter(item=None).count() == 4
    assert panels.ReferenceItem.objects.count() == 0
