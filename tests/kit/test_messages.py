"""How often workers are told of a due run."""

from kit.runs.polling import MAX_WAITING, Key, Messages

ONE: Key = ("debate.run", 1, False, 0)
HELPED: Key = ("debate.run", 1, True, 0)


def tell(messages: Messages, due: list[Key], now: float) -> int:
    wanted = messages.to_send(due, now=now)
    for key in wanted:
        messages.note_sent(key, now=now)
    return len(wanted)


def told_in_an_hour(messages: Messages, due: list[Key]) -> int:
    return sum(tell(messages, due, 5.0 * look) for look in range(720))


def test_what_waits_in_the_own_queue_is_not_sent_again() -> None:
    due = [("debate.run", n, False, 0) for n in range(20)]
    assert told_in_an_hour(Messages(own_queue=True), due) == 20


def test_own_queue_never_holds_more_than_a_bounded_number() -> None:
    due = [("debate.run", n, False, 0) for n in range(10 * MAX_WAITING)]
    assert told_in_an_hour(Messages(own_queue=True), due) == MAX_WAITING


def test_at_a_broker_the_waits_grow() -> None:
    messages = Messages(own_queue=False)
    told = [now for now in range(200) if tell(messages, [ONE], now)]
    assert told == [0, 5, 15, 35, 75, 155]
    # 0, 5, 15, ... 2,555
    assert told_in_an_hour(Messages(own_queue=False), [ONE]) == 10


def test_run_that_loses_its_leader_is_told_of_at_once() -> None:
    for own_queue in (True, False):
        messages = Messages(own_queue=own_queue)
        told_in_an_hour(messages, [HELPED])
        assert tell(messages, [ONE], 3600) == 1
        assert tell(messages, [ONE], 3601) == 0


def test_run_that_was_claimed_and_given_back_between_two_looks_is_told_of_at_once() -> None:
    for own_queue in (True, False):
        messages = Messages(own_queue=own_queue)
        told_in_an_hour(messages, [ONE])
        claimed = (*ONE[:3], 1)
        assert [tell(messages, [claimed], now) for now in (3600, 3601)] == [1, 0]


def test_message_that_was_taken_without_effect_is_sent_again_after_a_while() -> None:
    messages = Messages(own_queue=True)
    tell(messages, [ONE], 0)
    messages.note_received(*ONE[:2])
    assert [tell(messages, [ONE], now) for now in (1, 4, 5, 6)] == [0, 0, 1, 0]


def test_run_that_was_taken_and_is_due_again_is_sent_at_once() -> None:
    messages = Messages(own_queue=True)
    tell(messages, [ONE], 0)
    messages.note_received(*ONE[:2])
    assert tell(messages, [], 1) == 0
    assert tell(messages, [ONE], 2) == 1


def test_message_that_could_not_be_sent_is_tried_at_the_next_look() -> None:
    messages = Messages(own_queue=False)
    tell(messages, [ONE], 0)
    messages.note_unsent(ONE)
    assert tell(messages, [ONE], 1) == 1
