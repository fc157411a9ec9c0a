"""Adopting a run: which labels stand then, which cases are opened, and that twice is once."""

from collections import Counter
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from annotate.models import CaseKind, EscalationCase
from corpus.judgments.services import adopt_judgments, record_judgment
from corpus.models import Judgment, Source, Status
from debate.adoption.services import adopt_run
from debate.models import DebateRun
from debate.runs.configuration import LaraOptions, ModelChoice, RunConfig
from debate.runs.services import start_run
from kit.errors import Refused
from kit.models import Event
from llm import endpoints
from tests.debate.answering import answering, turn
from tests.debate.runs.making import hold, pool_of
from tests.factories import (
    make_gold,
    make_member,
    make_passage,
    make_pool,
    make_query,
)

pytestmark = pytest.mark.django_db(transaction=True)
TRIAL = RunConfig(trial=True)


@pytest.fixture(autouse=True)
def _write_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llm.pump.GROUP_SECONDS", 0.01)


@pytest.fixture
def admin(benchmark):
    return make_member(benchmark, "ada", "admin")


def standing() -> dict[str, tuple[int, str]]:
    rows = Judgment.objects.standing().values_list("passage__pid", "label", "source")
    return {pid: (label, source) for pid, label, source in rows}


def test_adopted_labels_stand_and_disputes_come_before_people(benchmark, endpoint, admin) -> None:
    run = hold(pool_of(benchmark, 3, 6, 10), endpoint, TRIAL)
    assert (standing(), EscalationCase.objects.count()) == ({}, 0)
    assert adopt_run(run=run, actor=admin) == Counter(standing=2, weaker=0, cases=1)
    assert standing() == {"p3": (0, "debate"), "p10": (1, "debate")}
    case = EscalationCase.objects.get()
    assert (case.kind, case.passage.pid) == (CaseKind.DISPUTE, "p6")
    assert [position["agent"] for position in case.snapshot["positions"]] == ["A", "B"]
    assert case.snapshot["positions"][0]["references"][0]["start"] is not None
    assert run.debates.get(passage__pid="p6").case == case


def test_case_of_an_adopted_run_shows_what_one_of_a_standing_run_does(benchmark, endpoint) -> None:
    pool = pool_of(benchmark, 6)
    hold(pool, endpoint)
    shown = EscalationCase.objects.get().snapshot
    EscalationCase.objects.get()
    run = hold(pool, endpoint, TRIAL)
    DebateRun.objects.exclude(pk=run.pk).first().debates.update(case=None)
    EscalationCase.objects.all().delete()
    adopt_run(run=run, actor=None)
    assert EscalationCase.objects.get().snapshot == shown


def test_adoption_is_told_in_events_in_the_same_transaction(benchmark, endpoint, admin) -> None:
    run = hold(pool_of(benchmark, 3, 10), endpoint, TRIAL)
    adopt_run(run=run, actor=admin)
    told = Event.objects.filter(verb="adopt label", actor=admin, scope="demo")
    assert sorted(event.data["status"] for event in told) == ["standing", "standing"]
    whole = Event.objects.get(verb="adopt debate run")
    assert whole.data == {"standing": 2, "weaker": 0, "cases": 0}
    assert (run.adopted_by, run.is_provisional) == (admin, False)


def test_adopting_twice_changes_nothing(benchmark, endpoint, admin) -> None:
    run = hold(pool_of(benchmark, 3, 6), endpoint, TRIAL)
    adopt_run(run=run, actor=admin)
    before = (standing(), Event.objects.count(), EscalationCase.objects.count())
    assert adopt_run(run=run, actor=admin) == Counter()
    assert (standing(), Event.objects.count(), EscalationCase.objects.count()) == before


def test_adoption_cut_short_is_finished_by_the_next(
    benchmark, endpoint, admin, monkeypatch
) -> None:
    run = hold(pool_of(benchmark, 1, 2, 3, 6, 10), endpoint, TRIAL)
    monkeypatch.setattr("debate.adoption.services._CHUNK", 1)
    done = []

    def dies(**given: object) -> tuple[int, int]:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(adopt_judgments(**given))  # type: ignore[arg-type]
        return done[-1]

    monkeypatch.setattr("debate.adoption.services.adopt_judgments", dies)
    with pytest.raises(KeyboardInterrupt):
        adopt_run(run=run, actor=admin)
    assert (len(standing()), run.adopted_at) == (2, None)
    monkeypatch.setattr("debate.adoption.services.adopt_judgments", adopt_judgments)
    assert adopt_run(run=run, actor=admin) == Counter(standing=2, weaker=0, cases=1)
    assert len(standing()) == 4
    assert Event.objects.filter(verb="adopt label").count() == 4


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("source", "real", "winner"),
    # What stands beside a practice label of a debate: anything real, or a weightier source.
    [
        (Source.EXPERT, True, Source.EXPERT),
        (Source.HUMAN, False, Source.HUMAN),
        (Source.FILTER, True, Source.FILTER),
        (Source.FILTER, False, Source.DEBATE),
        (Source.DEBATE, False, Source.DEBATE),
    ],
)
def test_weightier_labels_stay(benchmark, endpoint, admin, source, real, winner) -> None:
    run = hold(pool_of(benchmark, 3), endpoint, TRIAL)
    debate = run.debates.get()
    earlier = record_judgment(
        query=debate.query,
        passage=debate.passage,
        label=1,
        source=source,
        practice=not real,
        provenance={},
    )
    counts = adopt_run(run=run, actor=admin)
    assert standing() == {"p3": (0 if winner == Source.DEBATE else 1, winner)}
    adopted = Judgment.objects.get(pk=debate.judgment_id)
    earlier.refresh_from_db()
    if winner == Source.DEBATE:
        assert (counts["standing"], earlier.superseded_by) == (1, adopted)
    else:
        assert (counts["weaker"], adopted.status) == (1, Status.SUPERSEDED)
        assert adopted.superseded_by == earlier


def test_second_run_over_the_same_pairs_may_be_adopted_in_place_of_the_first(
    benchmark, settings, admin
) -> None:
    query, passage = make_query(benchmark), make_passage(benchmark)
    pool = make_pool(benchmark, (query, passage))
    with answering(settings, turn("yes"), turn("yes"), turn("no")):
        first = hold(pool, endpoints.get("default"))
        second = hold(pool, endpoints.get("default"), RunConfig(temperature=0.6))
    assert standing() == {passage.pid: (1, "debate")}
    adopt_run(run=second, actor=admin)
    assert standing() == {passage.pid: (0, "debate")}
    with pytest.raises(Refused, match="are current already"):
        adopt_run(run=first, actor=admin)


def test_run_that_is_not_done_is_refused(benchmark, endpoint, admin) -> None:
    pool = pool_of(benchmark, 3)
    run = start_run(benchmark=benchmark, pool=pool, endpoint=endpoint, actor=None, config=TRIAL)
    with pytest.raises(Refused, match="done"):
        adopt_run(run=run, actor=admin)


def test_adopted_filter_labels_the_discarded_and_asks_nobody(benchmark, endpoint, admin) -> None:
    run = hold(pool_of(benchmark, 3, 10), endpoint, RunConfig(kind="filter"))
    assert adopt_run(run=run, actor=admin) == Counter(standing=1)
    assert standing() == {"p3": (0, "filter")}


def test_adopted_judges_garbage_becomes_a_persons_case(benchmark, settings, admin) -> None:
    pool = make_pool(benchmark, (make_query(benchmark), make_passage(benchmark)))
    with answering(settings, "no idea"):
        run = hold(pool, endpoints.get("default"), RunConfig(kind="llmjudge"))
    assert adopt_run(run=run, actor=admin) == Counter(cases=1)
    assert EscalationCase.objects.get().kind == CaseKind.UNREADABLE
    assert standing() == {}


def test_laras_picks_come_before_people_without_a_position(benchmark, endpoint, admin) -> None:
    pool = pool_of(benchmark, 1, 5, 6, 10)
    for entry in pool.entries.select_related("query", "passage"):
        make_gold(entry.query, entry.passage, label=1)
    run = hold(pool, endpoint, RunConfig(kind="lara", lara=LaraOptions(budget=0.25)))
    assert adopt_run(run=run, actor=admin) == Counter(standing=3, cases=1)
    case = EscalationCase.objects.get()
    assert (case.kind, case.snapshot["positions"]) == (CaseKind.HUMAN_ONLY, [])


def test_adjudicators_label_is_weightier_than_the_agents(benchmark, endpoint, admin) -> None:
    judge = ModelChoice("practice-1", "practice")
    pool = pool_of(benchmark, 5)
    run = hold(pool, endpoint, RunConfig(adjudicator=judge, trial=True))
    adopt_run(run=run, actor=admin)
    assert standing() == {"p5": (0, "llm_adjudicator")}


@pytest.mark.slow
def test_many_labels_cost_few_statements(
    benchmark, endpoint, admin, django_assert_max_num_queries
) -> None:
    query = make_query(benchmark, answers=["lamp"])
    pairs = [(query, make_passage(benchmark, f"n{n}", text=f"No {n}")) for n in range(60)]
    run = hold(make_pool(benchmark, *pairs), endpoint, RunConfig(kind="llmjudge"))
    with django_assert_max_num_queries(40):
        assert adopt_run(run=run, actor=admin) == Counter(standing=60)


def test_command_adopts_and_takes_a_filters_pool(benchmark, endpoint) -> None:
    pool = pool_of(benchmark, 3, 10)
    trial = hold(pool, endpoint, TRIAL)
    sieve = hold(pool, endpoint, RunConfig(kind="filter"))
    out = StringIO()
    call_command("adopt_run", str(trial.pk), stdout=out)
    call_command("adopt_run", str(sieve.pk), keep=True, name="rest", stdout=out)
    assert "2 labels stand now, 0 gave way to weightier ones, 0 cases were opened" in out.getvalue()
    assert "(rest): 1 pairs kept" in out.getvalue()
    assert standing() == {"p3": (0, "debate"), "p10": (1, "debate")}


@pytest.mark.parametrize(
    ("options", "complaint"),
    [({}, "no run 999"), ({"keep": True}, "no run 999")],
)
def test_command_says_what_is_missing(benchmark, options: dict, complaint: str) -> None:
    with pytest.raises(CommandError, match=complaint):
        call_command("adopt_run", "999", **options)


def test_command_refuses_a_name_without_a_pool(benchmark, endpoint) -> None:
    run = hold(pool_of(benchmark, 3), endpoint)
    with pytest.raises(CommandError, match="--keep makes"):
        call_command("adopt_run", str(run.pk), name="rest")
    with pytest.raises(CommandError, match="are current already"):
        call_command("adopt_run", str(run.pk))
