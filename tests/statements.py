"""Which lines of ours ask the database, by test, so that PostgreSQL is asked by each of them.

`--note-statements FOLDER` notes it while the tests run on SQLite; `--noted-statements FOLDER`
leaves out, on PostgreSQL, what would only have the same lines ask again. A line whose statement is
refused counts as another one by its error, since that ends a transaction there. In full go

- tests that the noted run had not, or skipped;
- `WHOLE`: what has SQL of its own, locks rows, or reads them in an order that a database decides,
  and the walks of every route;
- modules that do several things at once, or start processes, whose statements nobody sees here.
"""

import json
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
from django.test import SimpleTestCase

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("kit", "llm", "corpus", "annotate", "debate", "evaluation")
ROOMS = tuple(f"{ROOT / name}{os.sep}" for name in NAMES)
WHOLE = tuple(
    f"tests/{place}"
    for place in (
        *("kit/", "llm/", "corpus/texts/", "corpus/imports/", "corpus/judgments/", "corpus/pools/"),
        *("annotate/voting/", "debate/results/", "evaluation/transfer/", "upgrade/"),
        *("test_routes.py", "test_api_walk.py"),
    )
)
FIXTURES = {"django_db_setup", "db", "transactional_db", "live_server"}
AT_ONCE = {"threading", "at_once", "ThreadPoolExecutor", "subprocess"}


class Notes:
    """A plugin that notes, for each test, the lines of the rooms that asked while it ran."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # By code and line, or by code, line and error.
        self.lines: set[tuple[Any, ...]] = set()
        # Whether code is a room's, by its id: looked up for every frame of every statement.
        self.known: dict[int, tuple[CodeType, bool]] = {}
        self.found: dict[str, list[str]] = {}

    def listen(self, connection: Any, **_: Any) -> None:
        """To a new connection, in whatever thread."""
        connection.execute_wrappers.append(self.note)

    def note(self, execute: Callable[..., Any], *args: Any) -> Any:
        """One statement, under the innermost line of a room that led to it."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and not self.is_ours(frame.f_code):
            frame = frame.f_back
        if frame is None:
            return execute(*args)
        line = frame.f_code, frame.f_lineno
        self.lines.add((id(line[0]), line[1]))
        try:
            return execute(*args)
        except Exception as error:
            self.lines.add((id(line[0]), line[1], type(error).__name__))
            raise

    def is_ours(self, code: CodeType) -> bool:
        found = self.known.get(id(code))
        if found is None:
            found = self.known[id(code)] = code, code.co_filename.startswith(ROOMS)
        return found[1]

    def named(self) -> list[str]:
        """The lines by file, which every process calls them alike by."""
        return sorted(
            " ".join([f"{self.known[code][0].co_filename.removeprefix(str(ROOT))}:{line}", *error])
            for code, line, *error in self.lines
        )

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.lines.clear()
        self.found[item.nodeid] = []
        result = yield
        if item.nodeid in self.found:
            self.found[item.nodeid] = self.named()
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped:  # as tests about PostgreSQL are: not noted, so that they go there
            self.found.pop(report.nodeid, None)

    def pytest_sessionfinish(self) -> None:
        if not self.found:  # those who hand out the tests
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        name = os.environ.get("PYTEST_XDIST_WORKER", "alone")
        (self.folder / f"{name}.json").write_text(json.dumps(self.found), encoding="utf-8")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--note-statements", metavar="FOLDER", help="what asks the database")
    parser.addoption("--noted-statements", metavar="FOLDER", help="leave out what asks as another")


def pytest_configure(config: pytest.Config) -> None:
    if folder := config.getoption("--note-statements"):
        from django.db.backends.signals import connection_created

        notes = Notes(Path(folder))
        config.pluginmanager.register(notes)
        connection_created.connect(notes.listen)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    folder = config.getoption("--noted-statements")
    if not folder:
        return
    noted: dict[str, set[str]] = defaultdict(set)
    for path in Path(folder).rglob("*.json"):
        for test, lines in json.loads(path.read_text(encoding="utf-8")).items():
            noted[test] |= set(lines)
    kept = chosen(items, noted)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def chosen(items: list[pytest.Item], noted: dict[str, set[str]]) -> set[pytest.Item]:
    """Those that go in full, and of the others enough to have every line ask: quick ones before
    slow ones, and first those that have most lines ask."""
    kept = {item for item in items if item.nodeid not in noted or is_whole(item)}
    left = set().union(*noted.values()) - set().union(*(noted.get(i.nodeid, ()) for i in kept))
    order = sorted(
        set(items) - kept,
        key=lambda item: (
            item.get_closest_marker("slow") is not None,
            -len(noted[item.nodeid]),
            item.nodeid,
        ),
    )
    for item in order:
        if noted[item.nodeid] & left:
            kept.add(item)
            left -= noted[item.nodeid]
    return kept


def is_whole(item: pytest.Item) -> bool:
    """Whether nothing of this test may be left out; slow ones only where much happens at once."""
    names = vars(getattr(item, "module", None) or object).keys()
    is_quick = item.get_closest_marker("slow") is None
    asks = AT_ONCE & names or (is_quick and item.nodeid.startswith(WHOLE))
    return bool(asks) and may_reach_database(item)


def may_reach_database(item: pytest.Item) -> bool:
    """Whether the test may open the database: without a fixture, mark or class for it pytest-django
    forbids it. A process that such a test starts has a folder of its own, with SQLite."""
    kind = getattr(item, "cls", None)
    return (
        bool(FIXTURES.intersection(getattr(item, "fixturenames", ())))
        or item.get_closest_marker("django_db") is not None
        or (kind is not None and issubclass(kind, SimpleTestCase))
    )
