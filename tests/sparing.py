"""What `make test` leaves out, and what begins first.

`few(n)`: of a test's cases the first n (one, where no number is given) are quick, the others slow.
"""

from collections import Counter

import pytest

# Their tests take longest and begin first: begun last, one process would end long after the others.
_LONGEST = {"test_blind_walk.py", "test_starting.py", "test_embedded.py", "test_said.py"}
_CASES = pytest.StashKey[Counter[str]]()


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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in _LONGEST)
