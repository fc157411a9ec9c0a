"""A database that goes away in the middle: the work waits for it, and nobody is told of a fault."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connection

from evaluation.leaderboard import noise
from evaluation.releases import building
from evaluation.releases import services as releases
from evaluation.scores import sheets
from kit.runs.models import RunStatus
from tests.evaluation.conftest import Garden
from tests.factories import make_ranking

Start = Callable[[Garden, Path], Any]


def sheet_of(garden: Garden, folder: Path) -> Any:
    return sheets.request_sheet(benchmark=garden.benchmark, actor=None, claimed=True)


def check_of(garden: Garden, folder: Path) -> Any:
    return noise.request_check(
        benchmark=garden.benchmark,
        actor=None,
        claimed=True,
        metric="recall@10",
        view="expert",
        if_relevant=1.0,
        if_not=0.0,
        draws=10,
    )


def release_of(garden: Garden, folder: Path) -> Any:
    return releases.start_here(benchmark=garden.benchmark, version="0.1.0", folder=folder / "out")


@contextmanager
def away(table: str) -> Iterator[None]:
    """Every statement that reads that table finds no server any more."""

    def refuse(execute: Any, sql: str, *rest: Any) -> Any:
        if f'"{table}"' in sql:
            raise OperationalError("server closed the connection unexpectedly")
        return execute(sql, *rest)

    with connection.execute_wrapper(refuse):
        yield


@pytest.mark.few
@pytest.mark.parametrize(
    ("start", "carry_out", "table"),
    [
        (sheet_of, sheets.carry_out, "corpus_rankedlist"),
        (check_of, noise.carry_out, "corpus_rankedlist"),
        (release_of, building.carry_out, "corpus_query"),
    ],
)
def test_work_waits_for_its_database(
    garden: Garden, tmp_path: Path, start: Start, carry_out: Callable[[Any], None], table: str
) -> None:
    make_ranking(garden.query, "b1", "b0", name="bm25")
    make_ranking(garden.plain, "e0", name="bm25")
    make_ranking(garden.query, "b0", name="dense")
    make_ranking(garden.plain, "e0", name="dense")
    work = start(garden, tmp_path)
    with away(table):
        carry_out(work)
    work.refresh_from_db()
    assert (work.status, work.error) == (RunStatus.RUNNING, "")
    assert not (tmp_path / "out").exists()
    carry_out(work)
    work.refresh_from_db()
    assert (work.status, work.error) == (RunStatus.DONE, "")
