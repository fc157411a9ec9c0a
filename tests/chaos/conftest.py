"""What the tests against the stub share."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.chaos.sql import Database
from tests.services.processes import database_url
from tests.stub.process import Stub, stub_process

StubMaker = Callable[..., Stub]


@pytest.fixture
def start_stub(tmp_path: Path, settings) -> Iterator[StubMaker]:
    """Start stubs with these options; they end with the test, and the settings with them."""
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "ASSAY_MODEL", "ASSAY_CALLS_IN_FLIGHT"):
        setattr(settings, name, getattr(settings, name))
    settings.ASSAY_PRACTICE_URL = ""
    with ExitStack() as stack:
        started: list[Stub] = []

        def start(*options: str) -> Stub:
            bill = tmp_path / f"{len(started)}.bill"
            started.append(stack.enter_context(stub_process(bill, *options)))
            return started[-1]

        yield start


@pytest.fixture
def database(transactional_db) -> Iterator[Database]:
    """The test's database, for plain SQL."""
    made = Database(database_url())
    yield made
    made.close()
