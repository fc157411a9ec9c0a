"""Calls that nobody heard of again are listed once nobody can hear of them any more."""

from datetime import timedelta

import pytest
from django.utils import timezone

from debate.runs.services import start_run
from debate.tasks import run_debates
from kit.runs.periodic import PeriodicTasks
from llm import endpoints
from llm.ledger import writing
from llm.ledger.writing import Intent, list_lost_calls
from llm.models import CALL_DEADLINE_S, LOST_AFTER, Call
from llm.requests import Request
from tests.factories import make_benchmark, make_passage, make_pool, make_query

pytestmark = pytest.mark.django_db(transaction=True)


def sent(word: str, ago: timedelta) -> int:
    """The row of a call whose worker died that long ago."""
    request = Request(
        endpoint=endpoints.PRACTICE,
        model=endpoints.PRACTICE_MODEL,
        role="debate_turn",
        messages=({"role": "user", "content": word},),
        schema_name="debate_turn",
        schema={"type": "object"},
    )
    (pk,) = writing.intend([Intent(request, f"debate:0:r1:{word}")])
    Call.objects.filter(pk=pk).update(created_at=timezone.now() - ago)
    return pk


def status(pk: int) -> str:
    return Call.objects.get(pk=pk).status


def test_only_calls_past_every_deadline_are_listed() -> None:
    lost, awaited = sent("lost", LOST_AFTER), sent("awaited", timedelta(seconds=CALL_DEADLINE_S))
    assert list_lost_calls() == 1
    assert (status(lost), status(awaited)) == ("possibly_paid", "intent")
    assert list_lost_calls() == 0


def test_a_run_lists_what_was_lost_before_it() -> None:
    lost = sent("lost", LOST_AFTER)
    benchmark = make_benchmark()
    pool = make_pool(benchmark, (make_query(benchmark), make_passage(benchmark)))
    with endpoints.practice_if_unconfigured() as endpoint:
        run = start_run(benchmark=benchmark, pool=pool, endpoint=endpoint, actor=None)
        run_debates(run.pk)
    run.refresh_from_db()
    assert run.status == "done"
    assert status(lost) == "possibly_paid"


def test_every_worker_lists_them_from_time_to_time() -> None:
    lost = sent("lost", LOST_AFTER)
    assert "lost calls" in PeriodicTasks().do_due(0.0)
    assert status(lost) == "possibly_paid"
