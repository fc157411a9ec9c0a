"""The gateway against a scripted endpoint: replay, retry, single flight, and what is committed."""

import asyncio
from typing import Any

import pytest

from kit.runs.models import worker_id
from llm.endpoints import Endpoint, practice
from llm.errors import Permanent, Transient
from llm.gateway import Gateways
from llm.models import Call
from llm.practice.server import serve
from llm.prompts import fence
from llm.requests import Reply
from tests.llm.stub import Step, Stub, after, ask, page, status, through

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quick")]


def rows() -> list[tuple[int, str]]:
    return list(Call.objects.order_by("pk").values_list("attempt", "status"))


async def one(stub: Stub, gateways: Gateways) -> tuple[Reply, int]:
    return await gateways.complete(ask(), "debate:1"), len(stub.asked)


async def begun(stub: Stub, gateways: Gateways) -> "asyncio.Task[Reply]":
    """A call that the stub was asked and has not answered."""
    task = asyncio.create_task(gateways.complete(ask(), ""))
    while not stub.asked:
        await asyncio.sleep(0.005)
    return task


async def call_off(task: "asyncio.Task[Reply]") -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_answer_is_written_down_before_it_is_handed_out() -> None:
    reply, asked = through(one, "yes")
    call = Call.objects.get()
    assert (reply.text, reply.call_id, reply.replayed) == ("yes", call.pk, False)
    assert (call.status, call.text, call.subject) == ("answered", "yes", "debate:1")
    assert call.owner == worker_id()
    assert (call.endpoint, call.practice) == ("stub", False)
    assert asked == 1


def test_paid_answer_is_replayed_and_costs_nothing() -> None:
    first, _ = through(one, "yes")
    second, asked = through(one, "no")
    assert (second.text, second.call_id, second.usage) == ("yes", first.call_id, first.usage)
    assert second.replayed
    assert asked == 0
    assert rows() == [(1, "answered")]


FAULTS = {
    "429": (status(429), "failed"),
    "500": (status(500), "possibly_paid"),
    "a proxy's page": (page("<html>"), "possibly_paid"),
    "no choices": (status(200, body={"choices": []}), "possibly_paid"),
    "timeout": (after(5), "possibly_paid"),
}


@pytest.mark.parametrize(("fault", "left"), FAULTS.values(), ids=FAULTS.keys())
def test_passing_fault_is_retried_in_a_new_row(fault: Step, left: str) -> None:
    is_late = fault is FAULTS["timeout"][0]
    reply, asked = through(one, fault, "yes", deadline_s=0.3 if is_late else 60)
    assert reply.text == "yes"
    assert asked == 2
    assert rows() == [(1, left), (2, "answered")]


def test_retry_after_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look_on(stub: Stub, gateways: Gateways) -> int:
        refused = asyncio.create_task(gateways.complete(ask(), ""))
        while await asyncio.to_thread(rows) != [(1, "failed")]:
            await asyncio.sleep(0.005)
        for _ in range(20):  # what does not wait is asked again by now
            await asyncio.sleep(0.005)
        refused.cancel()
        return len(stub.asked)

    an_hour = status(429, headers={"Retry-After": "3600"})
    monkeypatch.setattr("llm.limits.LONGEST_RETRY_AFTER_S", 3600)
    assert through(look_on, an_hour, "yes") == 1


def test_retry_after_is_capped() -> None:
    reply, _ = through(one, status(429, headers={"Retry-After": "3600"}), "yes")
    assert reply.text == "yes"


def test_last_error_is_raised_when_the_attempts_are_used_up() -> None:
    with pytest.raises(Transient, match="HTTP 503"):
        through(one, status(500), status(500), status(503), attempts=3)
    assert rows() == [(1, "possibly_paid"), (2, "possibly_paid"), (3, "failed")]


@pytest.mark.parametrize(
    ("fault", "attempts", "deadline_s"),
    [(status(500), 5, 60), (status(429), 8, 60), (after(5), 3, 0.05), (page("<html>"), 3, 60)],
    ids=["trouble there", "too much at a time", "timeout", "a proxy's page"],
)
def test_each_kind_of_fault_has_its_number_of_attempts(
    fault: Step, attempts: int, deadline_s: float
) -> None:
    with pytest.raises(Transient):
        through(one, fault, deadline_s=deadline_s)
    assert Call.objects.count() == attempts


@pytest.mark.parametrize("code", [401, 422])
def test_refusal_is_raised_at_once(code: int) -> None:
    with pytest.raises(Permanent, match=f"HTTP {code}: scripted {code}"):
        through(one, status(code))
    assert rows() == [(1, "failed")]


def test_next_run_goes_on_counting_attempts() -> None:
    with pytest.raises(Permanent):
        through(one, status(400))
    through(one, "yes")
    assert rows() == [(1, "failed"), (2, "answered")]


def test_the_same_question_at_the_same_time_is_paid_once() -> None:
    async def both(stub: Stub, gateways: Gateways) -> list[Reply]:
        return await asyncio.gather(*(gateways.complete(ask(), f"s{n}") for n in range(5)))

    replies = through(both, after(0.1, "yes"))
    assert [reply.text for reply in replies] == ["yes"] * 5
    assert sorted(reply.replayed for reply in replies) == [False] + [True] * 4
    assert rows() == [(1, "answered")]


def test_failure_is_shared_as_well() -> None:
    async def both(stub: Stub, gateways: Gateways) -> list[Any]:
        calls = [gateways.complete(ask(), "") for _ in range(2)]
        return await asyncio.gather(*calls, return_exceptions=True)

    assert [type(result) for result in through(both, status(400))] == [Permanent] * 2
    assert rows() == [(1, "failed")]


def test_calls_in_flight_are_bounded_and_everything_is_stored() -> None:
    async def many(stub: Stub, gateways: Gateways) -> int:
        await asyncio.gather(*(gateways.complete(ask(str(n)), "") for n in range(30)))
        return stub.most_in_flight

    assert through(many, after(0.05), concurrency=4) == 4
    assert Call.objects.answered().count() == 30


def test_intent_is_committed_before_the_request_is_sent() -> None:
    async def look_while_it_waits(stub: Stub, gateways: Gateways) -> list[tuple[int, str]]:
        task = await begun(stub, gateways)
        seen = await asyncio.to_thread(rows)
        await task
        return seen

    assert through(look_while_it_waits, after(0.3)) == [(1, "intent")]


def test_one_of_two_waiters_leaving_does_not_disturb_the_other() -> None:
    async def leave(stub: Stub, gateways: Gateways) -> Reply:
        first = asyncio.create_task(gateways.complete(ask(), ""))
        other = await begun(stub, gateways)
        first.cancel()
        return await other

    assert through(leave, after(0.2, "yes")).text == "yes"
    assert rows() == [(1, "answered")]


@pytest.mark.parametrize("is_called_off", [True, False], ids=["called off", "left alone"])
def test_call_that_the_gateway_is_left_with_is_possibly_paid(is_called_off: bool) -> None:
    async def leave(stub: Stub, gateways: Gateways) -> None:
        task = await begun(stub, gateways)
        if is_called_off:
            await call_off(task)

    through(leave, after(5))
    assert rows() == [(1, "possibly_paid")]


def test_question_called_off_and_asked_again_is_one_call() -> None:
    async def again(stub: Stub, gateways: Gateways) -> Reply:
        await call_off(await begun(stub, gateways))
        return await gateways.complete(ask(), "")

    assert through(again, after(0.2, "yes"), "no").text == "yes"
    assert rows() == [(1, "answered")]


def test_intent_without_a_sending_is_withdrawn_as_not_paid() -> None:
    async def leave_before_sending(stub: Stub, gateways: Gateways) -> int:
        task = asyncio.create_task(gateways.complete(ask(), ""))
        while not gateways._intents._waiting:
            await asyncio.sleep(0)
        await call_off(task)
        return len(stub.asked)

    assert through(leave_before_sending, "yes") == 0
    assert rows() == [(1, "failed")]


def test_practice_model_is_asked_like_any_other_and_marked() -> None:
    chunk = fence("chunk", "Clear nights bring frost.", b"key")
    prompt = fence("answer", "(1) clear nights bring frost", b"key") + "\n" + chunk

    async def run(endpoint: Endpoint) -> Reply:
        request = ask(prompt, endpoint="practice", model="practice-1", schema_name="is_supported")
        async with Gateways(known=[endpoint], concurrency=2) as gateways:
            return await gateways.complete(request, "filter:1")

    with serve() as url:
        reply = asyncio.run(run(practice(url)))
    assert reply.text == '{"is_supported": true}'
    assert Call.objects.get().practice
