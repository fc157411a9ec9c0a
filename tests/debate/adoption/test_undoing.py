"""Undoing an adoption: what stood before stands again, nothing is lost, people's work stays."""

from collections import Counter

import pytest

from annotate.models import EscalationCase
from annotate.voting.services import cast_vote
from corpus.judgments.services import record_judgment
from corpus.models import Judgment, Source, Status
from debate.adoption import services as undoing
from debate.adoption.services import (
    adopt_run,
    preview_adoption,
    undo_adoption,
    why_not,
    with_effect,
)
from debate.runs.configuration import RunConfig
from kit.errors import Refused
from kit.models import Event
from llm import endpoints
from tests.debate.adoption.test_adoption import standing
from tests.debate.answering import answering, turn
from tests.debate.runs.making import hold, pool_of
from tests.factories import make_member, make_passage, make_pool, make_query

pytestmark = pytest.mark.django_db(transaction=True)
TRIAL = RunConfig(trial=True)


@pytest.fixture(autouse=True)
def _write_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llm.pump.GROUP_SECONDS", 0.01)


@pytest.fixture
def admin(benchmark):
    return make_member(benchmark, "ada", "admin")


def label(debate, value: int, source: str, *, practice: bool = True) -> Judgment:
    return record_judgment(
        query=debate.query,
        passage=debate.passage,
        label=value,
        source=source,
        practice=practice,
        provenance={},
    )


@pytest.mark.slow
def test_preview_tells_what_the_adoption_then_does(benchmark, endpoint, admin) -> None:
    run = hold(pool_of(benchmark, 1, 2, 3, 6, 10), endpoint, TRIAL)
    by_pid = {debate.passage.pid: debate for debate in run.debates.select_related("passage")}
    label(by_pid["p1"], 1, Source.FILTER)  # weighs less
    label(by_pid["p2"], 1, Source.HUMAN)  # weighs more
    label(by_pid["p3"], 1, Source.FILTER, practice=False)  # real: weighs more
    told = preview_adoption(run)
    assert told == {
        "stands": {"relevant": 1, "irrelevant": 0, "total": 1},
        "replaces": {"relevant": 0, "irrelevant": 1, "total": 1},
        "weaker": {"relevant": 0, "irrelevant": 2, "total": 2},
        "cases": 1,
        "joined": 0,
    }
    found = {
        effect: sorted(
            with_effect(run, run.debates.all(), effect).values_list("passage__pid", flat=True)
        )
        for effect in ("stands", "replaces", "weaker", "cases")
    }
    assert found == {"stands": ["p10"], "replaces": ["p1"], "weaker": ["p2", "p3"], "cases": ["p6"]}
    assert adopt_run(run=run, actor=admin) == Counter(standing=2, weaker=2, cases=1)
    after = preview_adoption(run)
    assert [after[name]["total"] for name in ("stands", "replaces", "weaker")] == [0, 0, 0]
    assert after["cases"] == 0


def test_case_of_an_earlier_run_is_joined_not_opened(benchmark, endpoint, admin) -> None:
    pool = pool_of(benchmark, 6)
    hold(pool, endpoint)
    run = hold(pool, endpoint, TRIAL)
    told = preview_adoption(run)
    assert (told["stands"]["total"], told["cases"], told["joined"]) == (0, 1, 1)
    assert adopt_run(run=run, actor=admin) == Counter()
    assert undo_adoption(run=run, actor=admin) == Counter()
    assert EscalationCase.objects.count() == 1


def test_what_stood_before_stands_again_and_nothing_is_deleted(benchmark, endpoint, admin) -> None:
    run = hold(pool_of(benchmark, 1, 2, 6, 10), endpoint, TRIAL)
    by_pid = {debate.passage.pid: debate for debate in run.debates.select_related("passage")}
    earlier = label(by_pid["p1"], 1, Source.FILTER)
    label(by_pid["p2"], 1, Source.HUMAN)
    before, rows = standing(), set(Judgment.objects.values_list("pk", flat=True))
    adopt_run(run=run, actor=admin)
    assert standing() == before | {"p1": (0, "debate"), "p10": (1, "debate")}
    done = undo_adoption(run=run, actor=admin)
    assert done == Counter(waiting=3, stood=2, restored=1, cases=1)
    assert standing() == before
    assert rows < set(Judgment.objects.values_list("pk", flat=True))
    again = Judgment.objects.standing().get(passage__pid="p1")
    assert again.provenance["restored"] == earlier.pk
    assert not EscalationCase.objects.exists()
    assert run.is_provisional
    told = Event.objects.get(verb="undo adoption of debate run", actor=admin)
    assert told.data == {"waiting": 3, "stood": 2, "restored": 1, "cases": 1}
    assert Event.objects.filter(verb="take back adopted label", actor=admin).count() == 3
    assert Event.objects.filter(verb="withdraw case", actor=admin).count() == 1
    assert why_not(run) == "This run is not adopted."


@pytest.mark.slow
def test_run_whose_adoption_was_undone_can_be_adopted_again(benchmark, endpoint, admin) -> None:
    run = hold(pool_of(benchmark, 1, 6, 10), endpoint, TRIAL)
    first = adopt_run(run=run, actor=admin)
    once = standing()
    for _ in range(2):
        undo_adoption(run=run, actor=admin)
        assert standing() == {}
        assert adopt_run(run=run, actor=admin) == first
        assert standing() == once
    assert EscalationCase.objects.count() == 1


@pytest.mark.slow
def test_adoptions_are_undone_in_any_order(benchmark, settings, admin) -> None:
    pool = make_pool(benchmark, (make_query(benchmark), passage := make_passage(benchmark)))
    with answering(settings, turn("yes"), turn("yes"), turn("no")):
        plain = hold(pool, endpoints.get("default"), TRIAL)
        other = hold(pool, endpoints.get("default"), RunConfig(trial=True, temperature=0.6))
    debate = plain.debates.get()
    label(debate, 1, Source.FILTER, practice=False)
    base = {passage.pid: (1, "filter")}
    for first in (plain, other):
        adopt_run(run=plain, actor=admin)
        adopt_run(run=other, actor=admin)
        assert standing() == {passage.pid: (0, "debate")}
        undo_adoption(run=first, actor=admin)
        last = other if first == plain else plain
        assert standing() == {passage.pid: (last.debates.get().label, "debate")}
        undo_adoption(run=last, actor=admin)
        assert standing() == base


def test_labels_of_people_given_since_stay(benchmark, endpoint, admin) -> None:
    run = hold(pool_of(benchmark, 1, 10), endpoint, TRIAL)
    adopt_run(run=run, actor=admin)
    label(run.debates.get(passage__pid="p10"), 0, Source.EXPERT, practice=False)
    assert undo_adoption(run=run, actor=admin) == Counter(waiting=2, stood=1)
    assert standing() == {"p10": (0, "expert")}
    assert Judgment.objects.filter(status=Status.TRIAL).count() == 2


def test_votes_since_refuse_the_undo_whole(benchmark, endpoint, admin) -> None:
    run = hold(pool_of(benchmark, 1, 6), endpoint, TRIAL)
    adopt_run(run=run, actor=admin)
    voter = make_member(benchmark, "vera", "annotator")
    cast_vote(case=EscalationCase.objects.get(), voter=voter, label=1)
    with pytest.raises(Refused, match="voted since on 1 of the cases"):
        undo_adoption(run=run, actor=admin)
    assert standing() == {"p1": (0, "debate")}
    assert run.adopted_at is not None


@pytest.mark.slow
def test_case_that_another_run_shares_stays(benchmark, endpoint, admin) -> None:
    pool = pool_of(benchmark, 6)
    run = hold(pool, endpoint, TRIAL)
    adopt_run(run=run, actor=admin)
    later = hold(pool, endpoint)
    assert undo_adoption(run=run, actor=admin) == Counter()
    assert later.debates.get().case == EscalationCase.objects.get()
    assert run.debates.get().case is None


@pytest.mark.slow
def test_undo_cut_short_is_finished_by_the_next(benchmark, endpoint, admin, monkeypatch) -> None:
    run = hold(pool_of(benchmark, 1, 2, 3), endpoint, TRIAL)
    adopt_run(run=run, actor=admin)
    monkeypatch.setattr("debate.adoption.services._CHUNK", 1)
    real, done = undoing.unadopt_judgments, []

    def dies(**given):
        if len(done) == 1:
            raise KeyboardInterrupt
        done.append(1)
        return real(**given)

    monkeypatch.setattr(undoing, "unadopt_judgments", dies)
    with pytest.raises(KeyboardInterrupt):
        undo_adoption(run=run, actor=admin)
    assert (len(standing()), run.adopted_at is None) == (2, False)
    monkeypatch.setattr(undoing, "unadopt_judgments", real)
    assert undo_adoption(run=run, actor=admin) == Counter(waiting=2, stood=2)
    assert (standing(), run.adopted_at) == ({}, None)


@pytest.mark.slow
def test_undo_of_many_labels_costs_few_statements(
    benchmark, endpoint, admin, django_assert_max_num_queries
) -> None:
    query = make_query(benchmark, answers=["lamp"])
    pairs = [(query, make_passage(benchmark, f"n{n}", text=f"No {n}")) for n in range(60)]
    run = hold(make_pool(benchmark, *pairs), endpoint, RunConfig(kind="llmjudge"))
    adopt_run(run=run, actor=admin)
    with django_assert_max_num_queries(50):
        assert undo_adoption(run=run, actor=admin)["stood"] == 60
