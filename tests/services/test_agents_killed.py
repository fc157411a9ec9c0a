"""Search agents and their judge while workers are killed: every round, nothing paid twice.

The gate kills a few times. The drill of docs/reliability.md: `AGENT_KILLS=100 AGENT_QUERIES=175
python -m pytest -m services tests/services/test_agents_killed.py`.
"""

import os
import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pytest

from annotate.workspace.aspects import add_aspect
from evaluation.agents.judging import start_judging
from evaluation.agents.models import AgentRun
from evaluation.agents.services import candidates, start_agent
from evaluation.tasks import AGENTS
from kit.runs.models import OVER, RunStatus, TrackedRun
from llm import endpoints
from llm.ledger.accounts import AskingRun
from llm.ledger.reading import spending
from llm.models import Call
from tests.evaluation.agents.room import Place, make_place
from tests.factories import make_query
from tests.services.processes import Site, practice_process, wait_until

KILLS = int(os.environ.get("AGENT_KILLS", "3"))
QUERIES = int(os.environ.get("AGENT_QUERIES", "12"))
ROUNDS, IN_FLIGHT, LATENCY_MS = 3, 2, 150
MODEL = "gpt-5-mini"


def make_queries(place: Place) -> None:
    """As many as are asked for, each in words of its own, with an aspect."""
    room = place.room
    for n in range(QUERIES - candidates(room.benchmark).count()):
        text = f"Why do {n} insects circle lamp {n} at night, and what of its light and warm air?"
        query = make_query(room.benchmark, f"more-{n}", "biology", text=text)
        add_aspect(query=query, actor=room.author, content="Warm air rises.", weight=3)


def start(place: Place, **options: Any) -> AgentRun:
    return start_agent(
        benchmark=place.room.benchmark,
        queries=candidates(place.room.benchmark),
        retriever=place.retriever,
        endpoint=endpoints.available()[0],
        actor=None,
        rounds=ROUNDS,
        **options,
    )


def survive(
    site: Site,
    run: AskingRun,
    rng: random.Random,
    *,
    expected: int,
    kills: int = KILLS,
    at_once: int = IN_FLIGHT,
    prepared: Callable[[], int] = lambda: 0,
) -> int:
    """Kill either of two workers at random moments of the run until it is over; how often.

    A moment is a share of the expected calls that are answered. `prepared` counts what a run makes
    before its first call.
    """
    answered = Call.objects.filter(account=run.account).answered()
    type(run).objects.filter(pk=run.pk).update(calls_in_flight=at_once)
    shares = sorted(rng.uniform(0.02, 0.9) for _ in range(kills))
    moments = [partial(lambda share: answered.count() >= share * expected, each) for each in shares]
    return outlive(site, run, moments, prepared=prepared)


def outlive(
    site: Site,
    run: TrackedRun,
    moments: Sequence[Callable[[], bool]],
    *,
    prepared: Callable[[], int] = lambda: 0,
) -> int:
    """Kill one of two workers, then the other, at each of these moments of the run, until it is
    over; how often. `prepared` as in `survive`."""
    workers, landed = [site.start_worker(sweep_s=0.25) for _ in range(2)], 0

    def is_over() -> bool:
        run.refresh_from_db()
        return run.status in (*OVER, RunStatus.PAUSED)

    def story() -> str:
        said = "\n\n".join(each.said[-3000:] for each in workers)
        return f"{run.status} {run.done}/{run.total} {run.error}\n{said}"

    def made() -> int:
        return Call.objects.answered().count() + prepared()

    def wait(condition: Callable[[], bool]) -> None:
        """However long it takes, as long as answers come in."""
        while not condition():
            seen = made()

            def goes_on(seen: int = seen) -> bool:
                return condition() or made() > seen

            wait_until(goes_on, pause=0.1, saw=story)

    for is_due in moments:
        wait(lambda is_due=is_due: is_over() or is_due())
        if is_over():
            break
        victim = landed % 2
        workers[victim].kill()
        landed += 1
        workers[victim] = site.start_worker(sweep_s=0.25)
    wait(is_over)
    assert (run.status, run.error, run.done) == ("done", "", run.total), story()
    for each in workers:
        each.stop()
    return landed


def traces(run: AgentRun) -> list[Any]:
    """What each query came to; the numbers of calls are those of the ledger, and differ."""
    found = []
    for turns, answers, state in run.items.order_by("query_id").values_list(
        "turns", "answers", "state"
    ):
        said = [(turn["round"], turn["text"], turn["uses"]) for turn in turns]
        found.append((said, [(each["round"], each["text"]) for each in answers], state))
    return found


@pytest.fixture
def paid(site: Site, settings, monkeypatch) -> Iterator[Site]:
    """The practice model as somebody's endpoint that costs money, here and for the workers.

    It takes long enough that no run is over before the last kill.
    """
    with practice_process(LATENCY_MS, model=MODEL) as url:
        for name, value in {
            "OPENAI_BASE_URL": url,
            "OPENAI_API_KEY": "key",
            "ASSAY_MODEL": MODEL,
        }.items():
            monkeypatch.setenv(name, value)
            setattr(settings, name, value)
        yield site
        site.close()


@pytest.mark.services
def test_agents_and_judge_survive_workers_that_are_killed(paid: Site, settings, tmp_path) -> None:
    site = paid
    site.lease_s = 2.0
    rng = random.Random(5)
    place = make_place(settings, tmp_path)
    make_queries(place)
    run = start(place)
    # The practice agent stops early, so its later answers are the first again: four calls a query,
    # and one answer to judge.
    kills = survive(site, run, rng, expected=4 * QUERIES)
    judge = start_judging(
        benchmark=place.room.benchmark,
        agent_run=run,
        endpoint=endpoints.available()[0],
        actor=None,
    )
    kills += survive(site, judge, rng, expected=QUERIES)
    assert kills >= KILLS

    items = list(run.items.all())
    assert len(items) == QUERIES
    assert all([each["round"] for each in item.answers] == [1, 2, 3] for item in items)
    assert judge.verdicts.filter(state="judged").count() == judge.total
    calls = Call.objects.all()
    keys = list(calls.answered().values_list("key", flat=True))
    assert len(keys) == len(set(keys))
    assert calls.exclude(pk__in=calls.answered()).count() <= (kills + site.lost_leases) * IN_FLIGHT
    for each in (run, judge):
        each.refresh_from_db()
        assert each.spent_usd == spending(calls.filter(account=each.account)).usd > 0

    # An undisturbed run of the same asks nothing more, and comes to the same.
    again = start(place, name="in peace", claimed=True)
    AGENTS.drive(again)
    assert traces(again) == traces(run)
    assert Call.objects.answered().count() == len(keys)
    broken = [each.said for each in site.workers if "Traceback" in each.said]
    assert not broken, "\n\n".join(broken)[-20_000:]
