"""What is left out: cases beyond the few of `make test`, and what no database changes.

`few(n)`: of a test's cases the first n (one, where no number is given) are quick, the others slow.

`--database-only`: leave out what says the same on every database.

A test without a database fixture, mark or class cannot reach one: pytest-django forbids it. Those
of modules that start processes stay, because a process opens a database by itself; and those that
`make test` leaves out or tries with few examples, because they run in full nowhere else. What takes
longest begins first.
"""

from collections import Counter
from typing import Any

import pytest
from django.test import SimpleTestCase

_FIXTURES = {"django_db_setup", "db", "transactional_db", "live_server"}
_SPARED = "spared_tests"
# Their tests take longest and begin first: begun last, one process would end long after the others.
_LONGEST = {"test_blind_walk.py", "test_starting.py", "test_embedded.py", "test_said.py"}
_COUNT = pytest.StashKey[int]()
_CASES = pytest.StashKey[Counter[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--database-only", action="store_true", help="leave out what needs no database"
    )


def pytest_itemcollected(item: pytest.Item) -> None:
    """Cases are collected in their order, and each marks itself."""
    few = item.get_closest_marker("few")
    if few is None or item.parent is None or item.get_closest_marker("slow"):
        return
    seen = item.parent.stash.setdefault(_CASES, Counter())
    name = getattr(item, "originalname", item.name)
    seen[name] += 1
    if seen[name] > (few.args or (1,))[0]:
        item.add_marker(pytest.mark.slow)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect them, and count them where the controlling process finds the number."""
    items.sort(key=lambda item: item.path.name not in _LONGEST)
    if not config.getoption("--database-only"):
        return
    spared = [item for item in items if not is_needed(item)]
    items[:] = [item for item in items if is_needed(item)]
    config.hook.pytest_deselected(items=spared)
    if hasattr(config, "workeroutput"):
        config.workeroutput[_SPARED] = len(spared)


def is_needed(item: pytest.Item) -> bool:
    """Whether the run of the other tests on SQLite does not say what this test does here."""
    in_full_here = any(item.get_closest_marker(name) for name in ("slow", "hypothesis"))
    return in_full_here or may_reach_database(item)


def may_reach_database(item: pytest.Item) -> bool:
    """Whether the test, or a process that it starts, may open a database."""
    kind = getattr(item, "cls", None)
    return (
        bool(_FIXTURES.intersection(getattr(item, "fixturenames", ())))
        or item.get_closest_marker("django_db") is not None
        or (kind is not None and issubclass(kind, SimpleTestCase))
        or hasattr(getattr(item, "module", None), "subprocess")
    )


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Every worker of pytest-xdist collects the same tests, so any one's count is everybody's."""
    if _SPARED in getattr(node, "workeroutput", {}):
        node.config.stash[_COUNT] = node.workeroutput[_SPARED]


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say how many a run on several processes left out; without them pytest says so itself."""
    if count := config.stash.get(_COUNT, 0):
        terminalreporter.write_line(f"{count:,} tests that touch no database were left out")
