"""An endpoint that goes away, settings that are wrong, and trying the failed pairs again."""

from collections import Counter
from typing import Any

import pytest

from corpus.models import Judgment
from debate.models import Debate, DebateRun, Turn
from debate.runs.services import retry_failed, start_run
from debate.tasks import DEBATES, run_debates
from kit.errors import Refused
from kit.models import Event
from kit.runs.models import LostLease, RunStatus
from kit.runs.moves import pause_run, resume_run
from llm import endpoints
from llm.models import Call
from tests.debate.answering import SOON, answering, turn
from tests.factories import make_passage, make_pool, make_query
from tests.llm.stub import Step, status

pytestmark = pytest.mark.django_db(transaction=True)
DOWN = status(503, headers=SOON)
NOWHERE = "http://127.0.0.1:9/v1"


@pytest.fixture(autouse=True)
def _without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outcomes are written at once, and what failed is tried again soon."""
    monkeypatch.setattr("llm.pump.GROUP_SECONDS", 0.01)
    monkeypatch.setattr("llm.limits.FIRST_WAIT_S", 0.01)
    monkeypatch.setattr("llm.limits.LONGEST_WAIT_S", 0.05)


def run_of(benchmark: Any, count: int) -> DebateRun:
    """A claimed run over so many pairs, debated one after another."""
    query = make_query(benchmark)
    pairs = [(query, make_passage(benchmark, f"p{n:02}")) for n in range(count)]
    start_run(
        benchmark=benchmark,
        pool=make_pool(benchmark, *pairs),
        endpoint=endpoints.get("default"),
        actor=None,
        claimed=True,
    )
    DebateRun.objects.update(calls_in_flight=1)
    return DebateRun.objects.get()


def drive(run: DebateRun) -> DebateRun:
    DEBATES.drive(run)
    run.refresh_from_db()
    return run


def statuses() -> set[str]:
    return set(Debate.objects.values_list("status", flat=True))


@pytest.mark.slow
def test_outage_stops_the_run_and_its_pairs_wait_for_the_resume(benchmark, admin, settings) -> None:
    with answering(settings, DOWN):
        run = drive(run_of(benchmark, 30))
    assert (run.status, run.done, statuses()) == (RunStatus.PAUSED, 0, {"waiting"})
    assert "“default” answered HTTP 503" in run.pause_reason
    assert "Resume the run" in run.pause_reason
    with answering(settings, turn("no")):
        resume_run(run=run, actor=admin)
        run_debates(run.pk)
    run.refresh_from_db()
    assert (run.status, run.done, run.error, statuses()) == (RunStatus.DONE, 30, "", {"agreed"})
    assert run.pause_reason == ""


def test_what_was_answered_before_the_outage_is_kept(benchmark, settings) -> None:
    with answering(settings, *[turn("no")] * 8, DOWN):
        run = drive(run_of(benchmark, 40))
    assert run.status == RunStatus.PAUSED
    assert statuses() == {"agreed", "waiting"}
    assert run.done == Judgment.objects.count() == Debate.objects.filter(status="agreed").count()
    assert run.done in (3, 4)


def test_endpoint_that_refuses_everything_stops_the_run_in_its_own_words(
    benchmark, settings
) -> None:
    with answering(settings, status(400)):
        run = drive(run_of(benchmark, 60))
    assert run.status == RunStatus.PAUSED
    assert "scripted 400" in run.pause_reason
    counts = Counter(Debate.objects.values_list("status", flat=True))
    assert counts["failed"] >= 10  # two calls each
    assert counts["waiting"] >= 30


@pytest.mark.slow
def test_refusals_between_answers_stop_nothing(benchmark, settings) -> None:
    script = [turn("no"), turn("no"), *[status(400)] * 2] * 25
    with answering(settings, *script, turn("no")):
        run = drive(run_of(benchmark, 50))
    assert run.status == RunStatus.DONE
    assert statuses() == {"agreed", "failed"}


def test_endpoint_that_is_away_for_a_while_costs_time_and_no_pair(benchmark, settings) -> None:
    with answering(settings, *[turn("no")] * 2, *[DOWN] * 20, turn("no")):
        run = drive(run_of(benchmark, 8))
    assert run.status == RunStatus.DONE
    assert statuses() == {"agreed"}


def test_unreachable_endpoint_stops_even_a_run_of_one_pair_without_its_address(
    benchmark, settings
) -> None:
    settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY = NOWHERE, "sk-hidden"
    run = drive(run_of(benchmark, 1))
    assert (run.status, statuses()) == (RunStatus.PAUSED, {"waiting"})
    assert "“default” cannot be reached" in run.pause_reason
    assert "127.0.0.1" not in run.pause_reason


@pytest.mark.parametrize(("code", "words"), [(401, "the key"), (403, "the key"), (404, "stub-1")])
def test_wrong_settings_stop_the_run_at_once(benchmark, settings, code, words) -> None:
    with answering(settings, status(code)) as stub:
        run = drive(run_of(benchmark, 30))
    assert (run.status, statuses()) == (RunStatus.FAILED, {"waiting"})
    assert words in run.error
    assert len(stub.asked) < 12


@pytest.mark.parametrize("code", [400, 422])
def test_refused_request_fails_its_pair_alone_and_names_no_address(
    benchmark, settings, code
) -> None:
    body = {"error": {"message": "Too long for http://10.1.2.3:80/x with sk-stub, sk-ab***yz."}}
    with answering(settings, *[status(code, body=body)] * 2, turn("no")) as stub:
        run = drive(run_of(benchmark, 3))
    errors = "".join(Debate.objects.values_list("error", flat=True))
    assert run.status == RunStatus.DONE
    assert statuses() == {"agreed", "failed"}
    assert f"HTTP {code}" in errors
    assert "Too long" in errors
    for secret in ("10.1.2.3", "sk-stub", "sk-ab", stub.endpoint.base_url):
        assert secret not in errors


def failed_run(benchmark: Any, settings: Any, *script: Step) -> DebateRun:
    """Two pairs: the first is refused, the second is agreed on."""
    with answering(settings, *script or [status(400), status(400), turn("no")]):
        return drive(run_of(benchmark, 2))


def test_failed_pairs_are_tried_again_and_nothing_else(benchmark, admin, settings) -> None:
    run = failed_run(benchmark, settings)
    assert (run.status, run.done) == (RunStatus.DONE, 2)
    calls = Call.objects.filter(status="answered").count()
    retry_failed(run=run, actor=admin)
    assert (run.status, run.done, Debate.objects.waiting().count()) == (RunStatus.QUEUED, 1, 1)
    with answering(settings, turn("yes", "What stands")) as stub:
        run_debates(run.pk)
    run.refresh_from_db()
    assert (run.status, run.done, statuses()) == (RunStatus.DONE, 2, {"agreed"})
    assert len(stub.asked) + calls == Call.objects.filter(status="answered").count()
    assert Turn.objects.count() == 4
    assert Event.objects.filter(verb="retry failed debates", actor=admin).count() == 1


@pytest.mark.few(2)
@pytest.mark.parametrize("state", ["queued", "running", "paused", "cancelled"])
def test_only_a_finished_or_failed_run_is_tried_again(benchmark, admin, settings, state) -> None:
    run = failed_run(benchmark, settings)
    DebateRun.objects.update(status=state)
    with pytest.raises(Refused, match=state):
        retry_failed(run=run, actor=admin)
    assert "failed" in statuses()


def test_without_failed_pairs_there_is_nothing_to_try_again(benchmark, admin, settings) -> None:
    run = failed_run(benchmark, settings, turn("no"))
    with pytest.raises(Refused, match="No pair"):
        retry_failed(run=run, actor=admin)
    run.refresh_from_db()
    assert run.status == RunStatus.DONE


def test_second_resume_leaves_a_running_run_to_its_worker(benchmark, admin, settings) -> None:
    settings.OPENAI_BASE_URL = NOWHERE
    run = run_of(benchmark, 1)
    with pytest.raises(Refused, match="running already"):
        resume_run(run=DebateRun.objects.get(), actor=admin)
    run.beat()
    pause_run(run=DebateRun.objects.get(), actor=admin)
    with pytest.raises(LostLease):
        run.beat()


def test_run_made_with_another_prompt_is_not_driven(benchmark, settings) -> None:
    with answering(settings, turn("no")) as stub:
        run_of(benchmark, 1)
        DebateRun.objects.update(prompt_sha256="0" * 64)
        run = drive(DebateRun.objects.get())
    assert (run.status, stub.asked, statuses()) == (RunStatus.FAILED, [], {"waiting"})
    assert run.error == "The prompt changed since this run was made; start a new run."
