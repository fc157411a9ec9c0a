"""Calls of tests that fail are tried again soon."""

import pytest


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits of hundredths of a second, and at most a moment where an endpoint asks for hours."""
    monkeypatch.setattr("llm.limits.FIRST_WAIT_S", 0.01)
    monkeypatch.setattr("llm.limits.LONGEST_WAIT_S", 0.02)
    monkeypatch.setattr("llm.limits.LONGEST_RETRY_AFTER_S", 0.3)
