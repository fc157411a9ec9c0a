"""LARA with people: it asks, waits for their votes without a worker, learns, and goes on."""

from typing import Any

import numpy as np
import pytest

from annotate.models import CaseKind, EscalationCase
from annotate.voting.services import cast_vote
from corpus.judgments.services import record_judgment
from corpus.models import Judgment, Pool, Source
from debate.baselines.calibrations import OnlineModel
from debate.baselines.lara import label_batch, label_batches, simulate
from debate.lara import services as lara
from debate.models import DebateRun, Turn
from debate.runs.configuration import BadConfig, LaraOptions, RunConfig, check
from debate.tasks import run_debates
from kit.runs.models import RunStatus
from kit.runs.moves import cancel_run, pause_run, resume_run
from tests.debate.runs.making import hold, pool_of
from tests.factories import make_member

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _write_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llm.pump.GROUP_SECONDS", 0.01)


@pytest.fixture
def voters(benchmark) -> list[Any]:
    return [make_member(benchmark, f"voter-{n}", "annotator") for n in range(3)]


@pytest.fixture
def pool(benchmark) -> Pool:
    return pool_of(benchmark, *range(11))


def truth_of(pid: str) -> int:
    """What people say: relevant from seven tenths on."""
    return int(int(pid[1:]) >= 7)


def live(pool: Pool, endpoint: Any, **options: Any) -> DebateRun:
    options = {"budget": 0.5, "mode": "live", "batch": 2} | options
    return hold(pool, endpoint, RunConfig(kind="lara", lara=LaraOptions(**options)))


def go_on(run: DebateRun) -> DebateRun:
    run_debates(run.pk)
    run.refresh_from_db()
    return run


def decide(case: EscalationCase, voters: list[Any]) -> None:
    for voter in voters:
        cast_vote(case=case, voter=voter, label=truth_of(case.passage.pid))


def decide_all(voters: list[Any]) -> int:
    cases = list(EscalationCase.objects.open())
    for case in cases:
        decide(case, voters)
    return len(cases)


def see_through(run: DebateRun, voters: list[Any]) -> list[int]:
    """To the end, people deciding whatever they are asked; the sizes of the batches."""
    sizes = []
    while run.status != RunStatus.DONE:
        sizes.append(decide_all(voters))
        assert sizes[-1]
        go_on(run)
    return sizes


def picks(run: DebateRun) -> dict[int, int]:
    """Number of the passage by number of the pick."""
    rows = run.debates.filter(status="escalated")
    return {row.measures["pick"]: int(row.passage.pid[1:]) for row in rows}


def machine_labels(run: DebateRun) -> dict[int, int]:
    rows = run.debates.filter(status="judged")
    return {int(row.passage.pid[1:]): row.label for row in rows}


def model_of(run: DebateRun) -> OnlineModel:
    scores = Turn.objects.filter(debate__run=run).order_by("debate").values_list("score", flat=True)
    return OnlineModel(np.array(list(scores)))


TRUTH = [truth_of(f"p{n}") for n in range(11)]


@pytest.mark.slow
def test_it_waits_for_people_and_holds_no_worker(pool, endpoint, voters) -> None:
    run = live(pool, endpoint)
    assert (run.status, run.awaits_people, run.lease_until) == (RunStatus.QUEUED, True, None)
    assert lara.budget_progress(run) == {"labelled": 0, "open": 2, "budget": 6}
    assert {case.kind for case in EscalationCase.objects.all()} == {CaseKind.HUMAN_ONLY}
    assert all(not case.snapshot["positions"] for case in EscalationCase.objects.all())
    first, second = EscalationCase.objects.all()
    assert not DebateRun.objects.due().exists()
    decide(first, voters)
    cast_vote(case=second, voter=voters[0], label=1)
    assert not DebateRun.objects.due().exists()
    assert lara.budget_progress(run) == {"labelled": 1, "open": 1, "budget": 6}
    assert not go_on(run).debates.filter(status="judged").exists()
    for voter in voters[1:]:
        cast_vote(case=second, voter=voter, label=1)
    assert list(DebateRun.objects.due()) == [run]
    go_on(run)
    assert (EscalationCase.objects.count(), run.awaits_people) == (4, True)


BATCHES = [{"batch": 1}, {"batch": 4}, {"mode": "at_once"}]
VARIANTS = [{}, {"variant": "lara_logistic"}, {"smooth": True}]


@pytest.mark.few
@pytest.mark.parametrize(
    ("options", "more"),
    [
        # A batch with a variant, and the plain one with a batch that is cut short.
        pytest.param(
            *(options, more),
            marks=[] if (a, b) in ((1, 1), (1, 0)) else pytest.mark.slow,
        )
        for a, options in enumerate(BATCHES)
        for b, more in enumerate(VARIANTS)
    ],
)
def test_its_course_is_that_of_the_generator(pool, endpoint, voters, options, more) -> None:
    run = live(pool, endpoint, **options | more)
    size = {"at_once": 6}.get(options.get("mode", ""), options.get("batch"))
    sizes = see_through(run, voters)
    assert sizes == [size] * (6 // size) + ([6 % size] if 6 % size else [])
    asked, said = picks(run), machine_labels(run)
    assert sorted(asked) == [1, 2, 3, 4, 5, 6]
    assert sorted([*asked.values(), *said]) == list(range(11))
    if not more:
        batches = label_batches(model_of(run), 6, size)
        batch, order = next(batches), []
        while True:
            order += batch
            try:
                batch = batches.send([TRUTH[index] for index in batch])
            except StopIteration as end:
                course = end.value
                break
        assert [asked[number] for number in range(1, 7)] == order
        assert said == {n: course.labels[n] for n in range(11) if n not in order}
    rows = Judgment.objects.values_list("source", "status").distinct()
    assert set(rows) == {(Source.HUMAN, "standing"), (Source.LARA, "trial")}
    assert (run.done, run.awaits_people) == (11, False)


@pytest.mark.slow
def test_one_at_a_time_it_is_the_simulation(pool, endpoint, voters) -> None:
    run = live(pool, endpoint, batch=1)
    see_through(run, voters)
    course = simulate(label_batch(model_of(run), 6), TRUTH)
    assert [picks(run)[number] for number in range(1, 7)] == list(course.picks)


@pytest.mark.slow
def test_groups_take_turns_over_the_batches(pool, endpoint, voters) -> None:
    run = live(pool, endpoint, groups=3, batch=2)
    see_through(run, voters)
    assert len(picks(run)) == 6


@pytest.mark.slow
def test_a_batch_that_a_death_cut_short_is_made_whole(pool, endpoint, voters, monkeypatch) -> None:
    monkeypatch.setattr(lara, "_CHUNK", 1)
    run = live(pool, endpoint, batch=3)
    whole = picks(run)
    last = run.debates.get(measures__pick=3)
    case = last.case
    run.debates.filter(pk=last.pk).update(status="measured", measures={}, case=None)
    case.delete()
    decide_all(voters)
    assert list(DebateRun.objects.due()) == [run]
    go_on(run)
    assert picks(run) == whole
    assert (EscalationCase.objects.open().count(), run.awaits_people) == (1, True)


@pytest.mark.slow
def test_what_people_decided_before_is_not_asked_again(pool, endpoint, voters) -> None:
    for entry in pool.entries.select_related("query", "passage"):
        record_judgment(
            query=entry.query,
            passage=entry.passage,
            label=truth_of(entry.passage.pid),
            source=Source.EXPERT,
            provenance={},
        )
    run = live(pool, endpoint)
    assert (run.status, run.awaits_people) == (RunStatus.DONE, False)
    assert not EscalationCase.objects.open().exists()
    assert len(picks(run)) == 6


@pytest.mark.slow
def test_all_but_one_is_everything(pool, endpoint, voters) -> None:
    run = live(pool, endpoint, budget=0.9, batch=100)
    assert see_through(run, voters) == [11]
    assert list(picks(run).values()) == list(range(11))


def test_without_a_budget_nobody_is_asked(pool, endpoint) -> None:
    run = live(pool, endpoint, budget=0.0)
    assert (run.status, len(machine_labels(run))) == (RunStatus.DONE, 11)


@pytest.mark.slow
def test_it_is_paused_resumed_and_cancelled_as_any_run(pool, benchmark, endpoint, voters) -> None:
    admin = make_member(benchmark, "admin", "admin")
    run = live(pool, endpoint)
    pause_run(run=run, actor=admin)
    decide_all(voters)
    assert not DebateRun.objects.due().exists()
    resume_run(run=run, actor=admin)
    assert go_on(run).awaits_people
    cancel_run(run=run, actor=admin)
    decide_all(voters)
    assert not DebateRun.objects.due().exists()


@pytest.mark.parametrize("options", [{"mode": "x"}, {"batch": 0}, {"batch": True}])
def test_wrong_options_are_refused(options) -> None:
    with pytest.raises(BadConfig):
        check(RunConfig(kind="lara", lara=LaraOptions(**options)))
