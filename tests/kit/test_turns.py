"""Short requests follow one another; nobody waits for a long one."""

import threading

import pytest

from kit.turns import Turns


class Application:
    """Notes how many requests it answers at once; one that is told to waits until it is let go."""

    def __init__(self) -> None:
        self.at_once = self.most = self.answered = 0
        self.guard, self.let_go, self.begun = threading.Lock(), threading.Event(), threading.Event()

    def __call__(self, environ, start_response) -> list[bytes]:
        with self.guard:
            self.at_once += 1
            self.most = max(self.most, self.at_once)
        if environ.get("waits"):
            self.begun.set()
            assert self.let_go.wait(240)
        if environ.get("fails"):
            self.at_once -= 1
            raise ZeroDivisionError
        sum(range(20_000))
        with self.guard:
            self.at_once -= 1
            self.answered += 1
        return [b"done"]


def ask(turns: Turns, **environ: bool) -> threading.Thread:
    thread = threading.Thread(target=turns, args=(environ, None))
    thread.start()
    return thread


def test_short_requests_are_answered_one_at_a_time(monkeypatch) -> None:
    monkeypatch.setattr("kit.turns.PATIENCE", 60)  # however slow the machine is
    application = Application()
    turns = Turns(application)
    for each in [ask(turns) for _ in range(20)]:
        each.join(240)
    assert (application.most, application.answered) == (1, 20)


def test_nobody_waits_for_a_long_one() -> None:
    application = Application()
    turns = Turns(application)
    long = ask(turns, waits=True)
    assert application.begun.wait(240)
    for each in [ask(turns) for _ in range(5)]:
        each.join(240)
    assert (application.answered, long.is_alive()) == (5, True)
    application.let_go.set()
    long.join(240)
    assert application.answered == 6


def test_a_request_that_fails_gives_its_turn_back(monkeypatch) -> None:
    monkeypatch.setattr("kit.turns.PATIENCE", 60)
    application = Application()
    turns = Turns(application)
    with pytest.raises(ZeroDivisionError):
        turns({"fails": True}, None)
    after = ask(turns)
    after.join(240)
    assert application.answered == 1
