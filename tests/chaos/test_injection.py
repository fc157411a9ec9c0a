"""Passages that give orders to the judge, who obeys: only their own pair is touched."""

from collections import Counter

import pytest

from tests.chaos import invariants
from tests.chaos.conftest import StubMaker
from tests.chaos.injection import KINDS, leaks
from tests.chaos.obeying import Obeyed, obey_all
from tests.chaos.sql import Database

pytestmark = pytest.mark.slow


@pytest.fixture
def result(start_stub: StubMaker, database: Database) -> Obeyed:
    return obey_all(start_stub, database, hostile=len(KINDS), harmless=6)


def test_orders_in_passages_touch_their_own_pair_alone(result: Obeyed, database: Database) -> None:
    check_only_their_own_pair(result, database)


def check_only_their_own_pair(result: Obeyed, database: Database) -> None:
    """Every promise about hostile passages, on the database that they were judged in."""
    hostile = {pid for pid in result.texts if pid.startswith("h")}
    assert result.obeyed == hostile  # else nothing is shown here
    assert harmless(result.beside) == harmless(result.alone)
    assert list(leaks(result.requests, set(result.texts.values()))) == []
    assert result.untouched[0] == result.untouched[1]
    promises = (
        invariants.every_pair_once,
        invariants.labels_once,
        invariants.turns_bear_out_labels,
        invariants.people_asked_once,
    )
    assert [fault for promise in promises for fault in promise(database)] == []
    ends = Counter(row[0] for (_, pid), row in result.beside.debates.items() if pid in hostile)
    assert ends["agreed"]  # some orders decide their pair
    assert ends["unreadable"]  # and some say nothing that may count


def harmless(found: invariants.Outcomes) -> list[object]:
    """All that came of the pairs whose passages give no orders."""
    debates = {pair: row for pair, row in found.debates.items() if pair[1].startswith("c")}
    rows = [
        {row: count for row, count in counted.items() if row[1].startswith("c")}
        for counted in (found.turns, found.labels, found.cases)
    ]
    return [debates, *rows]
