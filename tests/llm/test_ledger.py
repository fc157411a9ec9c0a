"""The ledger on the real database: what is written before, what after, and what stands."""

import threading
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connections
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from kit.runs.models import worker_id
from llm.errors import Permanent, Transient
from llm.ledger import writing
from llm.ledger.reading import transcript
from llm.ledger.writing import Intent
from llm.models import Call
from llm.requests import Reply, Request, Usage
from tests.llm.stub import ask

pytestmark = pytest.mark.django_db

USAGE = Usage(input=100, cached_input=40, output=20, reasoning=5)
ANSWER = Reply("yes", USAGE, 1.5, "stop", [{"token": "yes", "logprob": -0.1}])


def intend(*requests: Request, subject: str = "debate:1") -> list[int]:
    return writing.intend([Intent(request, subject) for request in requests])


def settle(call_id: int, result: Any = ANSWER) -> Reply | None:
    return writing.settle([(call_id, result)])[0]


def test_intent_is_written_with_everything_that_will_be_sent() -> None:
    request, begun = ask(seed=7, max_tokens=50), timezone.now()
    (call_id,) = writing.intend([Intent(request, "debate:12:r1:A", practice=True)])
    call = Call.objects.get(pk=call_id)
    assert (call.key, call.attempt, call.status) == (request.key, 1, "intent")
    assert (call.subject, call.owner, call.practice) == ("debate:12:r1:A", worker_id(), True)
    assert (call.endpoint, call.model, call.role) == ("stub", "stub-1", "debate_turn")
    assert call.request == {
        "messages": [{"role": "user", "content": "Is it so?"}],
        "schema_name": "debate_turn",
        "replicate": 0,
        "temperature": 0.0,
        "max_tokens": 50,
        "seed": 7,
    }
    assert call.text is None
    assert call.settled_at is None
    assert begun <= call.created_at <= timezone.now()


def test_answer_is_replayed_as_it_was_paid() -> None:
    (call_id,) = intend(ask())
    paid = settle(call_id)
    expected = replace(ANSWER, call_id=call_id)
    assert paid == expected
    replayed, other = writing.look_up([ask().key, ask("other").key])
    assert replayed is not None
    assert replayed.replayed
    assert other is None
    assert (replayed.text, replayed.usage, replayed.call_id) == ("yes", USAGE, call_id)


def test_attempts_are_numbered_by_key() -> None:
    ids = intend(ask("a"), ask("b"), ask("a")) + intend(ask("a"))
    attempts = [Call.objects.get(pk=call_id).attempt for call_id in ids]
    assert attempts == [1, 1, 2, 3]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (Permanent("HTTP 401"), "failed"),
        (Transient("HTTP 429", retry_after=3), "failed"),
        (Transient("No answer", maybe_paid=True), "possibly_paid"),
    ],
)
def test_failure_is_kept_with_its_reason(error: Exception, status: str) -> None:
    (call_id,) = intend(ask())
    assert settle(call_id, error) is None
    call = Call.objects.get(pk=call_id)
    assert (call.status, call.error, call.text) == (status, str(error), None)
    assert call.settled_at is not None
    assert writing.look_up([ask().key]) == [None]


def test_unknown_usage_stays_unknown() -> None:
    (call_id,) = intend(ask())
    settle(call_id, Reply("yes", None, 1.0))
    assert Call.objects.get(pk=call_id).input_tokens is None
    (reply,) = writing.look_up([ask().key])
    assert reply is not None
    assert reply.usage is None


def test_second_answer_to_a_key_is_kept_but_does_not_stand() -> None:
    first, second = intend(ask(), ask())
    settle(first)
    reply = settle(second, Reply("no", USAGE, 1.0))
    assert reply is not None
    assert (reply.text, reply.call_id, reply.replayed) == ("yes", first, True)
    call = Call.objects.get(pk=second)
    assert (call.status, call.text, call.input_tokens) == ("possibly_paid", "no", 100)
    assert call.error.startswith("Answered twice")


def test_second_answer_in_the_same_group_does_not_stand_either() -> None:
    first, second = intend(ask(), ask())
    outcomes = [(first, ANSWER), (second, Reply("no", USAGE, 1.0))]
    replies = writing.settle(outcomes)
    assert [reply and (reply.text, reply.replayed) for reply in replies] == [
        ("yes", False),
        ("yes", True),
    ]
    assert list(Call.objects.answered().values_list("pk", flat=True)) == [first]


def test_settling_again_changes_nothing() -> None:
    (call_id,) = intend(ask())
    first = settle(call_id)
    before = Call.objects.values().get(pk=call_id)
    assert settle(call_id, Reply("no", None, 9.0)) == first
    assert settle(call_id, Transient("late", maybe_paid=True)) == first
    assert Call.objects.values().get(pk=call_id) == before


def test_failed_attempt_stays_failed() -> None:
    (call_id,) = intend(ask())
    settle(call_id, Permanent("HTTP 401"))
    assert settle(call_id) is None
    assert Call.objects.get(pk=call_id).status == "failed"


def test_one_settlement_of_many_takes_few_statements(
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    ids = intend(*(ask(str(number)) for number in range(64)))
    # Savepoint and release, the rows, the answers that stand, and the updates.
    with django_assert_max_num_queries(10):
        writing.settle([(call_id, ANSWER) for call_id in ids])
    assert Call.objects.answered().count() == 64


def test_intents_of_a_group_take_few_statements(
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    with django_assert_max_num_queries(8):
        intend(*(ask(str(number)) for number in range(64)))


def test_lost_attempts_are_listed_and_a_late_answer_still_counts() -> None:
    old, young = intend(ask("old"), ask("young"))
    settled = intend(ask("settled"))[0]
    settle(settled)
    hour_ago = timezone.now() - timedelta(hours=1)
    Call.objects.filter(pk__in=[old, settled]).update(created_at=hour_ago)
    assert writing.list_lost_calls(older_than=timedelta(minutes=5)) == 1
    assert list(Call.objects.filter(status="possibly_paid").values_list("pk", flat=True)) == [old]
    reply = settle(old)
    assert reply is not None
    assert reply.text == "yes"
    call = Call.objects.get(pk=old)
    assert (call.status, call.error) == ("answered", "")
    assert Call.objects.get(pk=young).status == "intent"


def test_database_refuses_a_second_standing_answer() -> None:
    first, second = intend(ask(), ask())
    settle(first)
    with pytest.raises(IntegrityError):
        Call.objects.filter(pk=second).update(status="answered", text="no")


def test_database_refuses_an_answer_without_text() -> None:
    (call_id,) = intend(ask())
    with pytest.raises(IntegrityError):
        Call.objects.filter(pk=call_id).update(status="answered")


def test_calls_are_found_by_what_they_are_about() -> None:
    for number, subject in enumerate(["debate:1", "debate:1:r1:A", "debate:12", "debate:1x"]):
        intend(ask(str(number)), subject=subject)
    found = Call.objects.about("debate:1").values_list("subject", flat=True)
    assert sorted(found) == ["debate:1", "debate:1:r1:A"]


@pytest.mark.parametrize("rounds", [1, 3])
def test_a_conversation_is_read_in_one_query(
    rounds: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    request = ask("Begin.")
    intend(request)
    for n in range(rounds):
        request = request.followed_by({"role": "user", "content": f"Go on {n}."})
        (call_id,) = intend(request)
    call = Call.objects.get(pk=call_id)
    with django_assert_num_queries(1):
        said = [message["content"] for message in transcript(call)]
    assert said == ["Begin.", *(f"Go on {n}." for n in range(rounds))]


def test_a_part_of_a_conversation_that_another_asked_first_is_found() -> None:
    first = ask("Begin.")
    second = first.followed_by({"role": "user", "content": "Go on."})
    intend(first, subject="")
    intend(second, subject="agent:1")
    (call_id,) = intend(second.followed_by({"role": "user", "content": "And?"}), subject="agent:2")
    said = transcript(Call.objects.get(pk=call_id))
    assert [message["content"] for message in said] == ["Begin.", "Go on.", "And?"]


@pytest.mark.django_db(transaction=True)
def test_workers_at_the_same_key_are_all_written_down_and_one_answer_stands() -> None:
    replies: list[Reply | None] = []
    together = threading.Barrier(4)

    def work(number: int) -> None:
        try:
            together.wait(240)
            (call_id,) = intend(ask())
            together.wait(240)
            replies.append(settle(call_id, Reply(f"answer {number}", USAGE, 1.0)))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(Call.objects.values_list("attempt", flat=True)) == [1, 2, 3, 4]
    assert Call.objects.answered().count() == 1
    assert len({reply.text for reply in replies if reply}) == 1
    assert [reply.replayed for reply in replies if reply].count(False) == 1
