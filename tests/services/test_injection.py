"""A thousand passages with orders to the judge, who obeys every one."""

import pytest

from tests.chaos.conftest import StubMaker, database, start_stub  # noqa: F401  (fixtures)
from tests.chaos.obeying import obey_all
from tests.chaos.sql import Database
from tests.chaos.test_injection import check_only_their_own_pair

pytestmark = pytest.mark.services


def test_a_thousand_orders_touch_their_own_pairs_alone(
    start_stub: StubMaker,  # noqa: F811
    database: Database,  # noqa: F811
) -> None:
    result = obey_all(start_stub, database, hostile=1_000, harmless=200)
    check_only_their_own_pair(result, database)
