"""Workers at a reranking that die: nothing that was answered is asked twice."""

import json
from collections import Counter

import pytest

from corpus.models import RankedList, RerankRun
from corpus.tasks import RERANKINGS
from kit.runs.moves import pause_run, resume_run
from llm import endpoints
from llm.models import Call
from tests.corpus.reranking.room import Room, driven, make_room
from tests.debate.answering import answering
from tests.factories import make_query
from tests.killing import live_until_killed

pytestmark = pytest.mark.django_db(transaction=True)
QUERIES = 12


@pytest.fixture
def room(settings, tmp_path) -> Room:
    # So few in flight that what kills may repeat is a small part of all calls.
    settings.ASSAY_CALLS_IN_FLIGHT = 2
    room = make_room(settings, tmp_path)
    ranked = RankedList.objects.get(run=room.source, query=room.first)
    for n in range(QUERIES):
        query = make_query(room.benchmark, f"more{n}", "biology", text=f"Moist soil, {n} times?")
        RankedList.objects.create(
            run=room.source, query=query, pids=ranked.pids, scores=ranked.scores
        )
    return room


def reclaimed(run: RerankRun) -> RerankRun:
    again = RerankRun.objects.select_related("benchmark", "source", "second").get(pk=run.pk)
    assert again.claim()
    return again


def times(stub) -> Counter[str]:
    return Counter(json.dumps(body["messages"]) for body in stub.asked)


@pytest.mark.slow
@pytest.mark.parametrize("steps", [(1, 2), (2, 1)])
def test_a_killed_reranking_asks_nothing_twice_and_ends_the_same(
    room, settings, monkeypatch, steps
) -> None:
    with answering(settings, "Relevance score: 7.") as stub:
        run, kills = room.start("pointwise", endpoints.for_role("judge")), 0
        for each in steps:
            live_until_killed(run, RERANKINGS.drive, monkeypatch, each)
            kills += 1
            run = reclaimed(run)
        run = driven(run)
        assert (run.status, run.error, run.done) == ("done", "", run.total)
        asked = times(stub)
        # Only what was on its way when a worker died can be asked again, each with its row.
        again = asked.total() - len(asked)
        assert again <= kills * run.calls_in_flight < len(asked)
        assert Call.objects.answered().filter(role="rerank_point").count() == len(asked)
        peaceful = driven(room.start("pointwise", endpoints.for_role("judge")))
        assert times(stub) == asked
    assert peaceful.run.digest == run.run.digest


@pytest.mark.slow
def test_a_paused_reranking_goes_on_where_it_stopped(room, settings) -> None:
    with answering(settings, "Relevance score: 7.") as stub:
        run = room.start("pointwise", endpoints.for_role("judge"))
        run.release()
        pause_run(run=run, actor=None)
        assert not run.claim()
        resume_run(run=run, actor=None, pause_reason="")
        RERANKINGS.take_part(run.pk)  # as a worker does
        run.refresh_from_db()
        assert (run.status, run.done) == ("done", run.total)
        assert max(times(stub).values()) == 1
        RERANKINGS.take_part(run.pk)  # delivered twice
        assert max(times(stub).values()) == 1
