"""Periodic tasks of a worker: done about as often as asked; one that fails keeps no other back."""

import pytest

from kit.runs import periodic


@pytest.fixture(autouse=True)
def _own(monkeypatch):
    monkeypatch.setattr(periodic, "_tasks", {})


def test_done_when_due_and_no_sooner() -> None:
    told: list[str] = []
    periodic.every(60, "sweep", lambda: told.append("sweep"))
    periodic.every(10, "dust", lambda: told.append("dust"))
    worker = periodic.PeriodicTasks()
    assert worker.do_due(now=100.0) == ["sweep", "dust"]
    assert worker.do_due(now=105.0) == []
    assert worker.do_due(now=110.0) == ["dust"]
    assert worker.do_due(now=160.0) == ["sweep", "dust"]
    assert told == ["sweep", "dust", "dust", "sweep", "dust"]


def test_one_that_fails_is_logged_and_the_others_are_done(caplog) -> None:
    told: list[str] = []

    def fail() -> None:
        raise RuntimeError("broken")

    periodic.every(60, "fails", fail)
    periodic.every(60, "works", lambda: told.append("works"))
    worker = periodic.PeriodicTasks()
    assert worker.do_due(now=0.0) == ["fails", "works"]
    assert told == ["works"]
    assert "periodic task: fails failed" in caplog.text
