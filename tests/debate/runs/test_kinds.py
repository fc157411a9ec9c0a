"""Runs of every kind: over real HTTP against the practice model, on the real database."""

import json

import pytest
from django.db import IntegrityError, transaction

from annotate.models import CaseKind, EscalationCase
from corpus.models import Judgment, Pool
from debate.baselines.calibrations import OnlineModel
from debate.baselines.lara import label_batch, simulate
from debate.filters.services import filter_report, filter_sheets, keep_pairs
from debate.models import Debate, DebateRun, DebateStatus, RunKind, Turn
from debate.runs.configuration import (
    BadConfig,
    LaraOptions,
    ModelChoice,
    RunConfig,
    as_json,
    read_config,
)
from debate.runs.planning import plan_run
from debate.runs.services import retry_failed, start_run
from debate.tasks import close_run, run_debates
from kit.errors import Refused
from kit.runs.models import RunStatus
from llm import endpoints
from llm.models import Call
from tests.debate.answering import answering, turn
from tests.debate.runs.making import drive, hold, outcomes, pool_of
from tests.factories import (
    make_gold,
    make_member,
    make_passage,
    make_pool,
    make_query,
)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _write_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llm.pump.GROUP_SECONDS", 0.01)


def labels() -> set[tuple]:
    rows = Judgment.objects.exclude(source="original")
    return set(rows.values_list("passage__pid", "label", "source", "status"))


# Debates as configured.


def test_plain_run_freezes_its_whole_configuration(benchmark, endpoint) -> None:
    run = hold(pool_of(benchmark, 3), endpoint)
    assert (run.kind, run.is_trial, run.preset) == ("debate", False, "")
    seat = {"model": "practice-1", "endpoint": "practice"}
    assert run.config["agents"] == [
        {**seat, "stance": "relevant"},
        {**seat, "stance": "irrelevant"},
    ]
    assert run.config["prompts"] == {"debate_turn": run.prompt_sha256}


def test_run_made_before_there_were_configurations_is_driven_as_it_was(benchmark, endpoint) -> None:
    run = start_run(
        benchmark=benchmark, pool=pool_of(benchmark, 3, 6), endpoint=endpoint, actor=None
    )
    DebateRun.objects.update(config={})
    run_debates(run.pk)
    assert outcomes(run) == {"p3": ("agreed", 0), "p6": ("escalated", None)}


def test_run_whose_other_prompt_changed_fails_and_its_pairs_wait(benchmark, endpoint) -> None:
    config = RunConfig(adjudicator=ModelChoice("practice-1", "practice"))
    run = start_run(
        benchmark=benchmark,
        pool=pool_of(benchmark, 6),
        endpoint=endpoint,
        actor=None,
        config=config,
    )
    run.config["prompts"]["adjudication"] = "0" * 64
    run.save()
    run_debates(run.pk)
    run.refresh_from_db()
    assert (run.status, Debate.objects.waiting().count()) == (RunStatus.FAILED, 1)
    assert "prompt changed" in run.error


def test_adjudicator_gives_the_disputed_label_as_its_own(benchmark, endpoint) -> None:
    config = RunConfig(adjudicator=ModelChoice("practice-1", "practice"))
    run = hold(pool_of(benchmark, 3, 5, 6), endpoint, config)
    assert outcomes(run) == {
        "p3": ("agreed", 0),
        "p5": ("adjudicated", 0),
        "p6": ("adjudicated", 1),
    }
    assert labels() == {
        ("p3", 0, "debate", "standing"),
        ("p5", 0, "llm_adjudicator", "standing"),
        ("p6", 1, "llm_adjudicator", "standing"),
    }
    assert not EscalationCase.objects.exists()
    last = Turn.objects.filter(agent="adjudicator").first()
    assert (last.round, last.stance) == (3, "")
    assert last.prompt_sha256 == run.config["prompts"]["adjudication"] != run.prompt_sha256


def test_rounds_one_to_three_share_every_turn(benchmark, endpoint) -> None:
    pool = pool_of(benchmark, 3, 4, 5, 6, 10)
    judge = ModelChoice("practice-1", "practice")
    calls = []
    for rounds in (3, 2, 1):
        hold(pool, endpoint, RunConfig(rounds=rounds, adjudicator=judge, trial=True))
        calls.append(Call.objects.filter(role="debate_turn").count())
    # p3 and p10 take one round, p4 two, p5 and p6 all three; two calls a round. Nothing since.
    assert calls == [2 * (1 + 1 + 2 + 3 + 3)] * 3


def test_agreed_pairs_are_debated_on_and_keep_their_verdict(benchmark, endpoint) -> None:
    run = hold(pool_of(benchmark, 3, 6), endpoint, RunConfig(continue_to=5))
    debates = {d.passage.pid: d for d in run.debates.select_related("passage")}
    assert (debates["p3"].status, debates["p3"].round) == ("agreed", 1)
    assert debates["p3"].turns.count() == 10
    assert debates["p6"].turns.count() == 4


def test_four_agents_of_two_models_are_asked_and_stored(benchmark, settings) -> None:
    pool = make_pool(benchmark, (make_query(benchmark), make_passage(benchmark)))
    with answering(settings, turn("yes")):
        seats = tuple(ModelChoice(model, "default") for model in ("llama", "llama", "qwen", "qwen"))
        run = hold(pool, endpoints.get("default"), RunConfig(agents=seats))
    # Agents of one model and stance ask under names of their own: nothing is shared.
    assert Call.objects.count() == 4
    assert (run.model, Turn.objects.count()) == ("llama", 4)
    stored = Turn.objects.order_by("agent").values_list("agent", "stance", "call__model")
    assert list(stored) == [
        ("A", "relevant", "llama"),
        ("B", "irrelevant", "llama"),
        ("C", "relevant", "qwen"),
        ("D", "irrelevant", "qwen"),
    ]
    judgment = Judgment.objects.get()
    assert judgment.provenance["models"] == ["llama", "llama", "qwen", "qwen"]


def test_swapped_order_gives_the_first_agent_the_other_stance(benchmark, endpoint) -> None:
    run = hold(pool_of(benchmark, 6), endpoint, RunConfig(first="irrelevant"))
    stances = Turn.objects.filter(round=1).order_by("agent").values_list("stance", flat=True)
    assert list(stances) == ["irrelevant", "relevant"]
    assert run.config["first"] == "irrelevant"


def test_people_may_be_shown_the_passage_alone(benchmark, endpoint) -> None:
    hold(pool_of(benchmark, 6), endpoint, RunConfig(history_for_people=False))
    case = EscalationCase.objects.get()
    assert (case.kind, case.snapshot["positions"], case.snapshot["rounds"]) == ("dispute", [], 0)


def test_trial_run_leaves_labels_on_trial_and_asks_nobody(benchmark, endpoint) -> None:
    run = hold(pool_of(benchmark, 3, 6), endpoint, RunConfig(trial=True))
    assert outcomes(run) == {"p3": ("agreed", 0), "p6": ("escalated", None)}
    assert labels() == {("p3", 0, "debate", "trial")}
    assert not EscalationCase.objects.exists()


# Baselines.


def test_single_judge_labels_every_pair_on_trial(benchmark, endpoint) -> None:
    run = hold(pool_of(benchmark, 3, 9, 10), endpoint, RunConfig(kind="llmjudge"))
    assert outcomes(run) == {"p3": ("judged", 0), "p9": ("judged", 0), "p10": ("judged", 1)}
    assert {row[2:] for row in labels()} == {("llmjudge", "trial")}
    assert Call.objects.count() == 3


def test_judges_garbage_is_invalid_or_coerced_and_never_a_judgment(benchmark, settings) -> None:
    pool = make_pool(benchmark, (make_query(benchmark), make_passage(benchmark)))
    with answering(settings, "no idea", "no idea again"):
        strict = hold(pool, endpoints.get("default"), RunConfig(kind="llmjudge"))
        coerced = hold(pool, endpoints.get("default"), RunConfig(kind="llmjudge", coerce=True))
    assert [row[0] for row in outcomes(strict).values()] == ["unreadable"]
    assert list(outcomes(coerced).values()) == [("judged", 0)]
    assert not Judgment.objects.exists()
    assert not EscalationCase.objects.exists()
    assert "coerced" in coerced.debates.get().turns.get().flags


def test_graded_judge_keeps_the_grade(benchmark, endpoint) -> None:
    run = hold(pool_of(benchmark, 1, 3, 6, 10), endpoint, RunConfig(kind="graded"))
    assert outcomes(run) == {
        "p1": ("judged", 0),
        "p3": ("judged", 0),
        "p6": ("judged", 1),
        "p10": ("judged", 1),
    }
    assert list(Turn.objects.order_by("debate").values_list("score", flat=True)) == [0, 1, 2, 3]
    assert Judgment.objects.get(passage__pid="p6").provenance["scores"] == [2.0]


def test_votes_are_draws_of_their_own(benchmark, endpoint) -> None:
    config = RunConfig(kind="vote", samples=3, temperature=0.6)
    run = hold(pool_of(benchmark, 6, 7), endpoint, config)
    assert outcomes(run) == {"p6": ("judged", 0), "p7": ("judged", 1)}
    assert Call.objects.count() == 6
    assert {row[2:] for row in labels()} == {("llmjudge", "trial")}
    assert {label.provenance["share"] for label in Judgment.objects.all()} <= {2 / 3, 1.0}


def test_people_alone_get_every_pair_and_no_model_is_asked(benchmark, endpoint) -> None:
    run = hold(pool_of(benchmark, 3, 10), endpoint, RunConfig(kind="human_only"))
    assert {status for status, _ in outcomes(run).values()} == {"escalated"}
    cases = EscalationCase.objects.all()
    assert [case.kind for case in cases] == [CaseKind.HUMAN_ONLY] * 2
    assert {(case.snapshot["rounds"], case.snapshot["practice"]) for case in cases} == {(0, False)}
    assert not Call.objects.exists()
    assert run.practice is False


# The filter.


def test_filter_leaves_a_pool_of_what_not_all_called_false(benchmark, settings) -> None:
    query = make_query(benchmark)
    passages = [make_passage(benchmark, f"p{n}") for n in range(2)]
    pool = make_pool(benchmark, *((query, each) for each in passages))
    entries = list(pool.entries.all())
    entries[1].systems = [{"system": "bm25", "rank": 1, "score": 2.0}]
    entries[1].same_text_as = entries[0]
    entries[1].save()
    seats = tuple(ModelChoice(model, "default") for model in ("m1", "m2", "m3"))
    config = RunConfig(kind="filter", agents=seats)
    no, yes = '{"is_supported": false}', '{"is_supported": true}'
    settings.ASSAY_CALLS_IN_FLIGHT = 1
    with answering(settings, no, no, no, no, yes, no):
        run = hold(pool, endpoints.get("default"), config)
    statuses = sorted(outcomes(run).values(), key=str)
    report = filter_report(run)
    assert sum(report.patterns.values()) == 2
    assert (report.discarded, report.kept) == (1, 1), statuses
    assert run.debates.filter(status=DebateStatus.JUDGED, label=0).count() == 1
    assert report.patterns["FFF"] == 1
    models, overlaps, _ = filter_sheets(run)
    assert sum(row[-1].value for row in models.rows) == 2
    assert sorted(row[-1].value for row in overlaps.rows) == [0.5, 0.5, 1.0]
    assert {row[1:] for row in labels()} == {(0, "filter", "trial")}
    kept = keep_pairs(run=run, actor=None)
    left = run.debates.get(status="kept")
    entry = kept.entries.get()
    assert entry.passage_id == left.passage_id
    assert entry.systems == pool.entries.get(passage=left.passage).systems
    assert (kept.provenance["discarded"], kept.provenance["pairs"]) == (1, 1)
    with pytest.raises(Refused, match="already"):
        keep_pairs(run=run, name=kept.name, actor=None)


def test_filter_keeps_what_it_could_not_read_or_ask(benchmark, endpoint, settings) -> None:
    query = make_query(benchmark)
    pool = make_pool(
        benchmark,
        (query, make_passage(benchmark, "garbage")),
        (query, make_passage(benchmark, "unloaded", text=None)),
        (make_query(benchmark, "2", answers=[]), make_passage(benchmark, "none")),
    )
    with answering(settings, *["no idea"] * 2):
        run = hold(pool, endpoints.get("default"), RunConfig(kind="filter"))
    assert outcomes(run) == {
        "garbage": ("kept", None),
        "unloaded": ("failed", None),
        "none": ("skipped_no_answer", None),
    }
    kept = keep_pairs(run=run, name="rest", actor=None)
    assert {row.passage.pid for row in kept.entries.all()} == {"garbage", "unloaded"}
    assert kept.provenance["skipped_no_answer"] == 1
    assert filter_report(run).patterns == {"???": 1}
    assert {row[-1].value for row in filter_sheets(run)[1].rows} == {None}


def test_twins_stay_linked_in_the_pool_that_a_filter_leaves(benchmark, endpoint) -> None:
    pool = pool_of(benchmark, 10, 9, 3)
    first, second, _ = pool.entries.order_by("pk")
    second.same_text_as = first
    second.save()
    # p10 is supported and kept; the practice model calls the others false three times over.
    run = hold(pool, endpoint, RunConfig(kind="filter"))
    assert outcomes(run)["p10"] == ("kept", None)
    kept = keep_pairs(run=run, actor=None)
    assert [(row.passage.pid, row.same_text_as) for row in kept.entries.all()] == [("p10", None)]


def test_only_a_finished_filter_leaves_a_pool(benchmark, endpoint) -> None:
    pool = pool_of(benchmark, 3)
    with pytest.raises(Refused, match="filter run"):
        keep_pairs(run=hold(pool, endpoint), actor=None)
    waiting = start_run(
        benchmark=benchmark,
        pool=pool,
        endpoint=endpoint,
        actor=None,
        config=RunConfig(kind="filter"),
    )
    with pytest.raises(Refused, match="not done"):
        keep_pairs(run=waiting, actor=None)
    with pytest.raises(Refused, match="kept nothing"):
        keep_pairs(run=hold(pool, endpoint, RunConfig(kind="filter")), actor=None)
    assert Pool.objects.count() == 1


# LARA.


def lara_pool(benchmark) -> Pool:
    """p0 to p10, relevant from seven tenths on; every pair has a label in the gold."""
    pool = pool_of(benchmark, *range(11))
    for entry in pool.entries.select_related("passage"):
        make_gold(entry.query, entry.passage, label=int(int(entry.passage.pid[1:]) >= 7))
    return pool


def test_lara_gives_people_the_least_certain_and_labels_the_rest(benchmark, endpoint) -> None:
    pool = lara_pool(benchmark)
    config = RunConfig(kind="lara", lara=LaraOptions(budget=0.25))
    run = hold(pool, endpoint, config)
    # The practice model's P(yes): .99 - .44 |x - .6| / .6 away from its turning point, so p6
    # and its neighbours are least certain; 11 pairs x .25 = 3 picks (2.75 rounded).
    pi = list(Turn.objects.order_by("debate").values_list("score", flat=True))
    import numpy as np

    truth = [int(n >= 7) for n in range(11)]
    expected = simulate(label_batch(OnlineModel(np.array(pi)), 3), truth)
    picked = {d.measures["pick"]: d.passage.pid for d in run.debates.filter(status="escalated")}
    assert picked == {n: f"p{pick}" for n, pick in enumerate(expected.picks, start=1)}
    assert len(picked) == 3
    judged = {d.passage.pid: d.label for d in run.debates.filter(status="judged")}
    assert judged == {f"p{n}": expected.labels[n] for n in range(11) if n not in expected.picks}
    assert {row[2:] for row in labels()} == {("lara", "trial")}
    assert len(labels()) == 8
    assert not EscalationCase.objects.exists()
    assert (run.status, run.done) == (RunStatus.DONE, 11)


def test_lara_closed_twice_changes_nothing(benchmark, endpoint) -> None:
    run = hold(lara_pool(benchmark), endpoint, RunConfig(kind="lara"))
    before = (outcomes(run), labels(), Judgment.objects.count())
    DebateRun.objects.update(status="running", fence=run.fence)
    run.refresh_from_db()
    close_run(run)
    assert (outcomes(run), labels(), Judgment.objects.count()) == before


def test_lara_of_any_option_ends_every_pair(benchmark, endpoint) -> None:
    pool = lara_pool(benchmark)
    paid = None
    for options in (
        {"variant": "lara_logistic", "budget": 0.5},
        {"smooth": True, "groups": 2},
        {"budget": 1.0},
    ):
        run = hold(pool, endpoint, RunConfig(kind="lara", lara=LaraOptions(**options)))
        assert {status for status, _ in outcomes(run).values()} <= {"judged", "escalated"}
        assert paid in (None, Call.objects.count())  # one measurement serves all
        paid = Call.objects.count()
    assert set(outcomes(run).values()) == {("escalated", None)}


def test_lara_needs_labels_to_be_simulated_by(benchmark, endpoint) -> None:
    pool = pool_of(benchmark, 3, 6, 9)
    entry = pool.entries.first()
    make_gold(entry.query, entry.passage)
    with pytest.raises(Refused, match="2 of the pool's 3 pairs have none"):
        hold(pool, endpoint, RunConfig(kind="lara"))
    assert not DebateRun.objects.exists()


def test_endpoint_without_logprobs_is_asked_for_a_confidence(benchmark, settings) -> None:
    query, passage = make_query(benchmark), make_passage(benchmark)
    make_gold(query, passage)
    told = json.dumps({"answer": "no", "confidence": 90})
    with answering(settings, '{"answer": "no"}', told):
        config = RunConfig(kind="lara", lara=LaraOptions(budget=0.0))
        pool = make_pool(benchmark, (query, passage))
        run = hold(pool, endpoints.get("default"), config)
    turn_row = Turn.objects.get()
    assert turn_row.score == pytest.approx(0.1)
    assert turn_row.prompt_sha256 == run.config["prompts"]["relevance_confidence"]
    # One pair: a budget of none is all but one, so people are asked for it.
    assert outcomes(run) == {passage.pid: ("escalated", None)}


def test_failed_pairs_of_a_baseline_are_tried_again(benchmark, endpoint) -> None:
    passage = make_passage(benchmark, text=None)
    pool = make_pool(benchmark, (make_query(benchmark, answers=["lamp"]), passage))
    run = hold(pool, endpoint, RunConfig(kind="llmjudge"))
    assert outcomes(run) == {passage.pid: ("failed", None)}
    type(passage).objects.update(text="A lamp.")
    retry_failed(run=run, actor=make_member(benchmark, "ada", "admin"))
    assert run.claim()
    assert outcomes(drive(run)) == {passage.pid: ("judged", 1)}


# Configurations.


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"kind": "poem"}, "kind"),
        ({"rounds": 0}, "rounds"),
        ({"rounds": True}, "rounds"),
        ({"continue_to": 6}, "continue_to"),
        ({"temperature": 2.1}, "temperature"),
        ({"reasoning_effort": "hard"}, "reasoning_effort"),
        ({"temperature": float("nan")}, "temperature"),
        ({"agents": (ModelChoice("m", ""),)}, "agents"),
        ({"agents": (ModelChoice("m", ""),) * 7}, "agents"),
        ({"agents": (ModelChoice("", ""), ModelChoice("m", ""))}, "agents"),
        ({"agents": (ModelChoice("m", "", "neutral"), ModelChoice("m", ""))}, "agents"),
        ({"kind": "llmjudge", "agents": (ModelChoice("m", ""),) * 2}, "agents"),
        ({"kind": "human_only", "agents": (ModelChoice("m", ""),)}, "agents"),
        ({"kind": "llmjudge", "adjudicator": ModelChoice("m", "")}, "adjudicator"),
        ({"samples": 10}, "samples"),
        ({"threshold": 0}, "threshold"),
        ({"first": "RF"}, "first"),
        ({"profile": "paper"}, "profile"),
        ({"rule": "quorum"}, "rule"),
        ({"coerce": "yes"}, "coerce"),
        ({"lara": LaraOptions(budget=1.5)}, "lara"),
        ({"lara": LaraOptions(variant="x")}, "lara"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"agents": (ModelChoice("m", "nowhere"), ModelChoice("m", ""))}, "agents"),
    ],
)
def test_configuration_that_cannot_be_is_refused_by_field(
    benchmark, endpoint, changes: dict, field: str
) -> None:
    with pytest.raises(Refused) as refused:
        hold(pool_of(benchmark, 3), endpoint, RunConfig(**changes))
    assert refused.value.field == field
    assert not DebateRun.objects.exists()


def test_frozen_form_reads_back_the_same() -> None:
    config = RunConfig(
        agents=(ModelChoice("a", "x", "relevant"), ModelChoice("b", "y", "irrelevant")),
        adjudicator=ModelChoice("c", "z"),
        temperature=0.6,
        lara=LaraOptions(groups=3),
    )
    assert read_config(json.loads(json.dumps(as_json(config)))) == config


@pytest.mark.parametrize(
    "data",
    [{"sauce": 1}, {"agents": 3}, {"agents": [{"model": "m"}]}, {"lara": {"beta": 1}}, {"lara": 3}],
)
def test_frozen_form_with_something_unknown_is_refused(data: dict) -> None:
    with pytest.raises(BadConfig):
        read_config(data)


def test_only_a_debate_has_an_agent_that_is_first(benchmark, endpoint) -> None:
    pool = pool_of(benchmark, 1)
    for kind in ("filter", "llmjudge", "graded", "vote"):
        with pytest.raises(Refused) as refusal:
            hold(pool, endpoint, RunConfig(kind=kind, first="irrelevant"))
        assert refusal.value.field == "first"
    plan = plan_run(
        benchmark=benchmark, pool=pool, endpoint=endpoint, preset="stance-if",
        settings={"kind": "filter", "agents": [{"model": "m"}]},
    )  # fmt: skip
    assert plan.config.first == "relevant"  # the preset's is of debates
    # What began with it before still goes on.
    assert read_config({"kind": "filter", "first": "irrelevant"}).first == "irrelevant"


def test_label_stands_on_labelled_outcomes_and_no_others(benchmark, endpoint) -> None:
    run = start_run(benchmark=benchmark, pool=pool_of(benchmark, 3), endpoint=endpoint, actor=None)
    for status, label in (("kept", 1), ("measured", 0), ("judged", None), ("adjudicated", None)):
        with pytest.raises(IntegrityError), transaction.atomic():
            run.debates.update(status=status, label=label)


def test_every_kind_has_its_rule_and_its_prompts() -> None:
    from debate.runs.kinds import ROLES, prompts_of

    assert ROLES.keys() == set(RunKind.values)
    for kind in RunKind.values:
        for role, prompt in prompts_of(RunConfig(kind=kind)).items():
            assert prompt.role == role


def test_debates_alone_can_be_asked_how_they_debate(benchmark, endpoint) -> None:
    from debate.dream import default_prompt
    from debate.runs.kinds import debate_config, prompts_of

    pool = pool_of(benchmark, 3)
    run = hold(pool, endpoint, RunConfig(rounds=3, temperature=0.6))
    held = debate_config(run)
    assert (held.rounds, held.temperature, held.prompt) == (3, 0.6, default_prompt())
    with pytest.raises(ValueError, match="no debate"):
        debate_config(hold(pool, endpoint, RunConfig(kind="llmjudge")))
    other = prompts_of(RunConfig(kind="graded"))["graded"]
    assert prompts_of(RunConfig(), debate_turn=other) == {"debate_turn": other}
    assert "debate_turn" not in prompts_of(RunConfig(kind="graded"), debate_turn=other)
