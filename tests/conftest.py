"""Everything the suite shares."""

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connections, transaction
from django.test import TransactionTestCase
from django.test.utils import setup_databases, teardown_databases
from hypothesis import settings as hypothesis_settings
from whitenoise.middleware import WhiteNoiseMiddleware

from tests import flush, migrated

# How long an example takes says more about the machine than about the code.
hypothesis_settings.register_profile("suite", deadline=None)
hypothesis_settings.load_profile("suite")

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def pytest_collection_finish() -> None:
    """What was imported stays: looking through it for garbage took a twelfth of the time."""
    gc.freeze()


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None, django_db_blocker: Any, django_db_modify_db_settings: None
) -> Iterator[None]:
    """The test database of this process, copied from one that is migrated (tests/migrated.py)."""
    with django_db_blocker.unblock():
        name = connections["default"].creation._get_test_db_name()
        with migrated.one_at_a_time():
            copied = migrated.copy_to(name)
            made = setup_databases(0, interactive=False, keepdb=copied, serialized_aliases=())
            if not copied:
                migrated.keep()
    yield
    with django_db_blocker.unblock():
        teardown_databases(made, verbosity=0)


@pytest.fixture(autouse=True)
def _fast_passwords(settings) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(scope="session", autouse=True)
def _static_files_listed_once() -> Iterator[None]:
    """A new test client looks for every static file, which took half of its first request."""
    listed: dict[str, object] = {}
    look = WhiteNoiseMiddleware.add_files_from_finders

    def add(self: WhiteNoiseMiddleware) -> None:
        if not listed:
            look(self)
            listed.update(self.files)
        self.files.update(listed)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WhiteNoiseMiddleware, "add_files_from_finders", add)
        yield


@pytest.fixture(scope="session", autouse=True)
def _flush_of_rows() -> Iterator[None]:
    """After a test with transactions of its own Django empties every table, and then makes content
    types and permissions anew, which takes longer than most of these tests do."""

    def empty(self: TransactionTestCase) -> None:
        for name in self._databases_names(include_mirrors=False):
            flush.empty(connections[name])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", empty)
        yield


@pytest.fixture(scope="module")
def undone_database(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Rows that all tests of a module may read; they are gone after its last one.

    For fixtures of that scope which make a world. The tests themselves ask for `db` as ever, whose
    transaction lies inside: nothing that one of them changes reaches the next. Not beside tests
    with transactions of their own, which would empty every table.
    """
    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.fixture(scope="session")
def handover_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where workers of this process mark what they send."""
    return tmp_path_factory.mktemp("handover")


@pytest.fixture(autouse=True)
def _marks_elsewhere(settings, handover_folder: Path) -> None:
    settings.HANDOVER = handover_folder


@pytest.fixture
def shared() -> Path:
    """The folder of real data; tests that need it skip where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("../shared/data is not present")
    return SHARED
