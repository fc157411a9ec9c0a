"""The presets of docs/protocol.md 2.8: every ablation there is, cheap where they share turns."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from corpus.models import Judgment
from debate.models import DebateRun, RunKind
from debate.runs.configuration import ModelChoice, RunConfig, check
from debate.runs.planning import plan_run, start_planned
from debate.runs.presets import PRESETS, equal_votes, preset_config
from kit.errors import Refused
from llm.models import Call
from tests.debate.answering import answering, turn
from tests.debate.runs.making import drive, hold, pool_of
from tests.factories import make_benchmark, make_gold, make_passage, make_pool, make_query

L, Q = ModelChoice("llama", "one"), ModelChoice("qwen", "two")


@pytest.fixture(autouse=True)
def _write_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llm.pump.GROUP_SECONDS", 0.01)


def config(name: str) -> RunConfig:
    return preset_config(name, models=[L, Q])


def models(name: str) -> str:
    letters = {"llama": "L", "qwen": "Q"}
    return "".join(letters[seat.model] for seat in config(name).with_models("", "").agents)


def test_every_row_of_the_table_has_its_presets() -> None:
    wanted = [
        "llmjudge", "lara@3.5", "lara@12.5", "lara@25", "lara@50", "human-only", "dream",
        "rounds-1+adjudicator", "rounds-2+adjudicator", "rounds-3+adjudicator", "rounds-2+human",
        "agents-4", "agents-2+2", "agents-other", "agents-main+other", "agents-other+main",
        "temperature-0", "temperature-0.6", "temperature-1", "stance-rf", "stance-if",
        "with-history", "without-history", "persistence",
    ]  # fmt: skip
    assert set(wanted) <= PRESETS.keys()
    assert all(PRESETS[name].published for name in wanted)


@pytest.mark.parametrize("name", PRESETS)
def test_preset_can_be_held_and_is_a_trial(name: str) -> None:
    made = config(name)
    check(made)
    assert made.preset == name
    assert made.is_trial is (made.kind != RunKind.HUMAN_ONLY)


@pytest.mark.parametrize(
    ("name", "seats"),
    [
        ("dream", "LL"),
        ("agents-4", "LLLL"),
        ("agents-2+2", "LLQQ"),
        ("agents-other", "QQ"),
        ("agents-main+other", "LQ"),
        ("agents-other+main", "QL"),
    ],
)
def test_models_sit_where_the_ablation_wants_them(name: str, seats: str) -> None:
    assert models(name) == seats
    stances = [seat.stance for seat in config(name).with_models("", "").agents]
    assert stances == ["relevant", "irrelevant"] * (len(seats) // 2)


def test_presets_change_what_their_name_says() -> None:
    assert config("temperature-0.6").temperature == 0.6
    assert config("stance-if").with_models("", "").agents[0].stance == "irrelevant"
    assert config("persistence").continue_to == 5
    assert config("without-history").history_for_people is False
    assert [config(f"rounds-{n}+adjudicator").rounds for n in (1, 2, 3)] == [1, 2, 3]
    assert config("lara@3.5").lara.budget == 0.035
    assert config("lara-logistic@50").lara.variant == "lara_logistic"
    assert config("vote-unanimity").rule == "unanimity"


def test_preset_that_compares_models_needs_both() -> None:
    with pytest.raises(Refused, match="compares 2 models"):
        preset_config("agents-2+2", models=[L])
    with pytest.raises(Refused, match="no preset 'poem'"):
        preset_config("poem", models=[L])


live = pytest.mark.django_db(transaction=True)


@live
@pytest.mark.slow  # test_kinds.py shares the turns of rounds one to three
def test_all_presets_of_one_model_run_over_one_pool_and_share_their_calls(endpoint) -> None:
    pool = pool_of(make_benchmark(), 3, 6, 10)
    for entry in pool.entries.select_related("query", "passage"):
        make_gold(entry.query, entry.passage)
    fresh = {}
    for name, preset in PRESETS.items():
        if preset.models > 1:
            continue
        before = Call.objects.count()
        plan = plan_run(benchmark=pool.benchmark, pool=pool, endpoint=endpoint, preset=name)
        run = start_planned(plan=plan, actor=None, claimed=True)
        assert drive(run).status == "done", name
        fresh[name] = Call.objects.count() - before
    # p3 and p10 agree at once, p6 never: 2 + 4 + 2 calls.
    assert fresh["dream"] == 2 + 4 + 2
    for name in ("rounds-2+human", "temperature-0", "stance-rf", "with-history"):
        assert fresh[name] == 0, name
    # One round of each is known; the adjudicator of p6 is asked once for each history.
    assert fresh["rounds-1+adjudicator"] == 1
    # Three rounds: p6 once more by both, and its adjudicator.
    assert fresh["rounds-3+adjudicator"] == 3
    # p3 and p10 for four rounds more by two agents.
    assert fresh["persistence"] == 2 * 4 * 2
    assert fresh["stance-if"] == 2 + 4 + 2
    assert [fresh[f"lara@{share}"] for share in ("3.5", "12.5", "25", "50")] == [3, 0, 0, 0]
    assert fresh["filter"] == 0  # the judge's question, and one model in all three seats
    assert fresh["human-only"] == 0
    assert not Judgment.objects.standing().exists()


@live
def test_votes_are_as_many_as_the_debate_costs(endpoint) -> None:
    pool = pool_of(make_benchmark(), 5, 6)
    assert equal_votes(pool) is None
    hold(pool, endpoint)
    # Both pairs take two rounds of two turns, so about four votes' worth; later turns cost more.
    assert equal_votes(pool) in (4, 5)
    plan = plan_run(benchmark=pool.benchmark, pool=pool, endpoint=endpoint, preset="vote-majority")
    run = start_planned(plan=plan, actor=None, claimed=True)
    assert run.config["samples"] == equal_votes(pool)


@live
def test_command_holds_a_preset_with_named_models(settings) -> None:
    benchmark = make_benchmark()
    make_pool(benchmark, (make_query(benchmark), make_passage(benchmark)))
    with answering(settings, turn("no")):
        out = StringIO()
        call_command(
            "run_debates",
            benchmark="demo",
            preset="agents-main+other",
            agents="llama@default, qwen",
            temperature=0.5,
            json=True,
            stdout=out,
        )
    run = DebateRun.objects.get()
    assert [seat["model"] for seat in run.model_choices] == ["llama", "qwen"]
    assert (run.preset, run.temperature, run.is_trial) == ("agents-main+other", 0.5, True)
    assert '"preset": "agents-main+other"' in out.getvalue()


@live
def test_command_seats_the_agents_it_is_given(settings) -> None:
    benchmark = make_benchmark()
    make_pool(benchmark, (make_query(benchmark), make_passage(benchmark)))
    with answering(settings, turn("no")):
        call_command("run_debates", benchmark="demo", agents="a,b,c@default", rounds=1)
    run = DebateRun.objects.get()
    assert [(seat["model"], seat["stance"]) for seat in run.model_choices] == [
        ("a", "relevant"),
        ("b", "irrelevant"),
        ("c", "relevant"),
    ]
    assert (run.rounds, run.is_trial) == (1, False)


@live
@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"agents": "a@"}, "not MODEL or MODEL@ENDPOINT"),
        ({"agents": "a,b@elsewhere"}, "elsewhere"),
        ({"agents": "a"}, "2 to 6 agents"),
        ({"preset": "poem"}, "no preset"),
        ({"preset": "agents-2+2"}, "compares 2 models"),
        ({"temperature": 3.0}, "temperature"),
        ({"preset": "lara@25"}, "have none"),
    ],
)
def test_command_refuses_what_cannot_be_held(settings, options: dict, complaint: str) -> None:
    benchmark = make_benchmark()
    make_pool(benchmark, (make_query(benchmark), make_passage(benchmark)))
    with answering(settings, turn("no")), pytest.raises(CommandError, match=complaint):
        call_command("run_debates", benchmark="demo", **options)
    assert not DebateRun.objects.exists()


@live
def test_commands_summary_counts_what_judges_said() -> None:
    benchmark = make_benchmark()
    query = make_query(benchmark, answers=["the light of a lamp"])
    pairs = [(query, make_passage(benchmark, pid)) for pid in ("one", "two")]
    make_pool(benchmark, *pairs)
    out = StringIO()
    call_command("run_debates", benchmark="demo", preset="llmjudge", json=True, stdout=out)
    assert json.loads(out.getvalue())["judged"] == 2
