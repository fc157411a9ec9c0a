"""What a run checks of itself: an audit that nothing tells apart, decoys, canaries."""

from typing import Any

import pytest

from annotate.models import CaseKind, EscalationCase
from debate.models import AuditItem, DebateRun, TrialItem, TrialKind
from debate.runs.configuration import BadConfig, RunConfig, check
from debate.tasks import close_run
from kit.runs.models import RunStatus
from tests.annotate.world import masked, signed_in
from tests.debate.runs.making import hold, pool_of
from tests.factories import make_member

pytestmark = pytest.mark.django_db(transaction=True)

# Overlaps of 6 tenths are disputed by the practice model, the others agreed on.
DISPUTED, AGREED = [6], [1, 2, 3, 9]


@pytest.fixture(autouse=True)
def _write_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llm.pump.GROUP_SECONDS", 0.01)


def run_with(benchmark: Any, endpoint: Any, *overlaps: int, **checks: int) -> DebateRun:
    return hold(pool_of(benchmark, *overlaps), endpoint, RunConfig(**checks))


def many_disputes(benchmark: Any) -> Any:
    """A pool of 24 disputed pairs and 4 agreed ones."""
    from corpus.models import PoolEntry
    from tests.debate.runs.making import WORDS
    from tests.factories import make_passage

    pool = pool_of(benchmark, *AGREED)
    query = pool.entries.first().query
    for number in range(24):
        text = " ".join(WORDS[:6]) + " beside other things."
        passage = make_passage(benchmark, f"d{number}", text=text)
        PoolEntry.objects.create(pool=pool, query=query, passage=passage)
    return pool


def test_nothing_is_checked_unless_asked_for(benchmark, endpoint) -> None:
    run = run_with(benchmark, endpoint, *DISPUTED, *AGREED)
    assert run.status == RunStatus.DONE
    assert not AuditItem.objects.exists()
    assert not TrialItem.objects.exists()
    (case,) = EscalationCase.objects.all()
    assert case.snapshot["positions"]


def test_the_audit_is_drawn_once_when_the_run_ends(benchmark, endpoint) -> None:
    run = run_with(benchmark, endpoint, *DISPUTED, *AGREED, audit=2)
    (sample,) = run.audits.all()
    assert (sample.items.count(), sample.population, sample.created_by) == (2, 4, None)
    assert EscalationCase.objects.filter(kind=CaseKind.AUDIT).count() == 2
    DebateRun.objects.update(status="running", fence=run.fence)
    run.refresh_from_db()
    close_run(run)
    assert run.audits.count() == 1


def test_a_run_without_agreed_pairs_ends_all_the_same(benchmark, endpoint) -> None:
    run = run_with(benchmark, endpoint, *DISPUTED, audit=5, canaries=5, decoys=5)
    assert (run.status, run.audits.count(), run.trials.count()) == (RunStatus.DONE, 0, 0)


def test_so_many_disputes_are_shown_from_the_passage_alone(benchmark, endpoint) -> None:
    run = hold(many_disputes(benchmark), endpoint, RunConfig(audit=3, decoys=4))
    disputes = EscalationCase.objects.filter(kind=CaseKind.DISPUTE)
    alone = [case for case in disputes if not case.snapshot["positions"]]
    assert (len(disputes), len(alone), run.debates.filter(is_decoy=True).count()) == (24, 4, 4)
    marked = set(run.debates.filter(is_decoy=True).values_list("case_id", flat=True))
    assert marked == {case.pk for case in alone}


@pytest.mark.slow
def test_an_audited_pair_and_a_decoy_look_the_same_to_a_voter(benchmark, endpoint) -> None:
    hold(many_disputes(benchmark), endpoint, RunConfig(audit=3, decoys=4))
    voter = make_member(benchmark, "ada", "annotator")
    client = signed_in(voter)
    audits = EscalationCase.objects.filter(kind=CaseKind.AUDIT)
    alone = [
        case
        for case in EscalationCase.objects.filter(kind=CaseKind.DISPUTE)
        if not case.snapshot["positions"]
    ]
    pages = {
        page_of(client, case, path)
        for case in [*audits, *alone]
        for path in (f"/b/demo/vote/{case.public_id}/", f"/b/demo/disputes/{case.public_id}/")
    }
    assert len(pages) == 2  # one of each kind of page, whatever the case is
    keys = {tuple(sorted(case.snapshot)) for case in [*audits, *alone]}
    snapshots = {
        str({name: case.snapshot[name] for name in ("practice", "rounds", "positions")})
        for case in [*audits, *alone]
    }
    assert (len(keys), len(snapshots)) == (1, 1)


def page_of(client: Any, case: EscalationCase, path: str) -> Any:
    """The page without what names the case itself and its passage."""
    page = str(masked(client.get(path)))
    found = {
        str(case.public_id): "ID",
        f"/{case.passage_id}/": "/P/",
        case.passage.pid: "PID",
        case.passage.text or "": "TEXT",
        f"{len((case.passage.text or '').split())} words": "",
    }
    for own, general in found.items():
        page = page.replace(own, general)
    return page


def test_canaries_are_started_with_the_runs_end(benchmark, endpoint) -> None:
    run = run_with(benchmark, endpoint, *DISPUTED, *AGREED, canaries=2)
    (trial,) = run.trials.all()
    assert (trial.kind, trial.total, trial.created_by) == (TrialKind.ADVERSARIAL, 2, None)
    assert run.status == RunStatus.DONE


@pytest.mark.parametrize("name", ["audit", "decoys", "canaries"])
def test_numbers_that_cannot_be_are_refused(name: str) -> None:
    for config in (
        RunConfig(**{name: -1}),
        RunConfig(**{name: 5_000}),
        RunConfig(**{name: 1}, trial=True),
        RunConfig(**{name: 1}, kind="llmjudge"),
    ):
        with pytest.raises(BadConfig) as fault:
            check(config)
        assert fault.value.field == name
    check(RunConfig(**{name: 1}))
