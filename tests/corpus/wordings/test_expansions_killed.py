"""Workers at an expansion that die: nothing that was answered is asked twice."""

import json
from collections import Counter

import pytest

from corpus.models import ExpansionRound, ExpansionRun
from corpus.tasks import EXPANSIONS
from corpus.wordings import services as verbs
from kit.runs.moves import pause_run, resume_run
from llm import endpoints
from tests.corpus.reranking.room import Room, make_room
from tests.debate.answering import answering
from tests.factories import make_query
from tests.killing import live_until_killed

pytestmark = pytest.mark.django_db(transaction=True)
QUERIES = 10


@pytest.fixture
def room(settings, tmp_path) -> Room:
    # So few in flight that what kills may repeat is a small part of all calls.
    settings.ASSAY_CALLS_IN_FLIGHT = 2
    room = make_room(settings, tmp_path)
    for n in range(QUERIES):
        make_query(room.benchmark, f"more{n}", "biology", text=f"Moist soil, {n} times?")
    return room


def start(room: Room) -> ExpansionRun:
    return verbs.start_expansion(
        benchmark=room.benchmark,
        method="qexpand",
        retriever=room.source,
        endpoint=endpoints.for_role(verbs.ROLE),
        actor=None,
        claimed=True,
        passages=1,
    )


def driven(run: ExpansionRun) -> ExpansionRun:
    EXPANSIONS.drive(run)
    run.refresh_from_db()
    return run


def times(stub) -> Counter[str]:
    return Counter(json.dumps(body["messages"]) for body in stub.asked)


@pytest.mark.slow
@pytest.mark.parametrize("steps", [(1, 2), (2, 1)])
def test_a_killed_expansion_asks_nothing_twice_and_ends_the_same(
    room, settings, monkeypatch, steps
) -> None:
    with answering(settings, "A garden with bees in summer.") as stub:
        run, kills = start(room), 0
        for each in steps:
            live_until_killed(run, EXPANSIONS.drive, monkeypatch, each)
            kills += 1
            run = ExpansionRun.objects.select_related("benchmark", "retriever").get(pk=run.pk)
            assert run.claim()
        run = driven(run)
        assert (run.status, run.error, run.done) == ("done", "", run.total)
        asked = times(stub)
        # Only what was on its way when a worker died can be asked again.
        assert asked.total() - len(asked) <= kills * run.calls_in_flight < len(asked)
        rounds = ExpansionRound.objects.filter(item__run=run)
        assert rounds.count() == rounds.values("item", "number").distinct().count()
        peaceful = driven(start(room))
        assert times(stub) == asked
    assert peaceful.source.digest == run.source.digest
    assert peaceful.run.digest == run.run.digest


@pytest.mark.slow
def test_a_paused_expansion_goes_on_where_it_stopped(room, settings) -> None:
    with answering(settings, "A garden with bees in summer.") as stub:
        run = start(room)
        run.release()
        pause_run(run=run, actor=None)
        assert not run.claim()
        resume_run(run=run, actor=None, pause_reason="")
        EXPANSIONS.take_part(run.pk)  # as a worker does
        run.refresh_from_db()
        assert (run.status, run.done) == ("done", run.total)
        EXPANSIONS.take_part(run.pk)  # delivered twice
        assert max(times(stub).values()) == 1
