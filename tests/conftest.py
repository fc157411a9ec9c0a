"""Everything the suite shares."""

import gc
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection, connections, transaction
from django.test import TransactionTestCase, client, override_settings
from django.test.utils import setup_databases, teardown_databases
from hypothesis import settings as hypothesis_settings
from whitenoise.middleware import WhiteNoiseMiddleware

from tests import flush, migrated

# How long an example takes says more about the machine than about the code. The gate tries fifty
# (--hypothesis-profile=full), `make test` twelve.
hypothesis_settings.register_profile("full", deadline=None, max_examples=50)
hypothesis_settings.register_profile("suite", deadline=None, max_examples=12)
hypothesis_settings.load_profile("suite")

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Browser tests ask for what only they need, which takes half a second to load."""
    return True if collection_path.name == "e2e" and config.option.markexpr != "e2e" else None


def pytest_collection(session: pytest.Session) -> None:
    """In a fresh clone every process would rewrite and compile every module of tests: each begins
    at another one, and what one of them has written the others read."""
    worker = getattr(session.config, "workerinput", None)
    folders = [path for path in map(Path, session.config.args) if path.is_dir()]
    if worker is None or "e2e" in session.config.option.markexpr.split(" or "):
        return
    found = sorted(each for path in folders for each in path.resolve().rglob("test_*.py"))
    names = [
        ".".join(path.relative_to(session.config.rootpath).with_suffix("").parts)
        for path in found
        if path.parent.name not in ("e2e", "services")
    ]
    first = len(names) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
    for name in names[first:] + names[:first]:
        with suppress(Exception, pytest.skip.Exception):  # collecting it says why
            import_module(name)


def pytest_collection_finish() -> None:
    """What was imported stays."""
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
        if connection.vendor == "postgresql":
            # A thread of the last test may not have hung up yet.
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
        teardown_databases(made, verbosity=0)


@pytest.fixture(scope="session", autouse=True)
def _settings_of_tests(django_test_environment: None) -> Iterator[None]:
    """Quick passwords."""
    hashers = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    with override_settings(PASSWORD_HASHERS=hashers):
        yield


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    """Keys of rows come again in the next test, and what is kept is known by them."""
    cache.clear()


@pytest.fixture(scope="session", autouse=True)
def _context_of_pages_alone() -> Iterator[None]:
    """A response's context is its page's: Django would copy that of each of its hundred parts."""
    store = client.store_rendered_templates

    def store_first(found: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        if "context" not in found:
            store(found, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, "store_rendered_templates", store_first)
        yield


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
def _quick_end_of_transactional_tests() -> Iterator[None]:
    """After a test with transactions of its own Django empties every table, makes content types
    and permissions anew, and opens the database again, which knows nothing of its tables then:
    together that takes longer than most of these tests do."""

    def empty(self: TransactionTestCase) -> None:
        for name in self._databases_names(include_mirrors=False):
            flush.empty(name)

    def should_reload(self: TransactionTestCase) -> bool:
        return any(each.errors_occurred for each in connections.all(initialized_only=True))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", empty)
        patch.setattr(TransactionTestCase, "_should_reload_connections", should_reload)
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


@pytest.fixture
def shared() -> Path:
    """The folder of real data; tests that need it skip where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("../shared/data is not present")
    return SHARED
