"""The PostgreSQL backend: plans that the server keeps, and connections that are believed."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.test.utils import CaptureQueriesContext

from corpus.models import Query
from kit.database.prepared import Prepared, preparing
from tests.factories import make_benchmark, make_query


@pytest.fixture(autouse=True)
def only_there() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("about PostgreSQL")


@pytest.fixture
def query(db) -> Query:
    benchmark = make_benchmark("garden", domains=("law",))
    return make_query(benchmark, "1", "law", text="Is 100 % of %s mine?")


def kept() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement FROM pg_prepared_statements")
        return [text for (text,) in cursor.fetchall()]


def _asking(words: str) -> Prepared[Query]:
    def build(pk: int) -> QuerySet[Query]:
        return Query.objects.filter(pk=pk, text__contains=words).exclude(qid="it's 5 %")

    return Prepared(build)


def test_prepared_query_is_planned_once_with_its_constants(query) -> None:
    prepared = _asking("100 % of %s")
    for _ in range(4):
        assert prepared.first(pk=query.pk) == query
        assert prepared.first(pk=query.pk + 1) is None
    (text,) = [each for each in kept() if "it''s 5 %" in each]
    assert "$1" in text
    assert "$2" not in text


def test_other_statements_are_not_kept(query) -> None:
    for _ in range(4):
        assert Query.objects.filter(qid="1").exists()
    assert not [each for each in kept() if "corpus_query" in each]


def test_capture_shows_values_of_a_prepared_query(query) -> None:
    with CaptureQueriesContext(connection) as asked:
        _asking("mine").first(pk=query.pk)
    assert f'"corpus_query"."id" = ({query.pk})' in asked[0]["sql"]


def test_plans_are_kept_inside_only(query) -> None:
    with preparing(connection), connection.cursor() as cursor:
        inside = type(cursor.cursor)
    with connection.cursor() as cursor:
        assert type(cursor.cursor) is not inside


@pytest.fixture
def idle(transactional_db) -> Iterator[Any]:
    """A connection of the test's own kind, apart from that of the test."""
    own = connection.copy()
    own.connect()
    yield own
    own.close()


def test_connection_that_answered_is_asked_nothing(idle) -> None:
    assert idle.is_usable()
    idle.connection.execute("SELECT 2")
    assert idle.is_usable()
    assert last_asked(idle) == "SELECT 2"
    idle.errors_occurred = True
    assert idle.is_usable()
    assert last_asked(idle) == "SELECT 1"


def test_connection_that_the_server_ended_is_not_usable(idle) -> None:
    assert idle.is_usable()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [server_process(idle)])
    assert not idle.is_usable()


def server_process(idle: Any) -> int:
    return int(idle.connection.info.backend_pid)


def last_asked(idle: Any) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT query FROM pg_stat_activity WHERE pid = %s", [server_process(idle)])
        return str(cursor.fetchone()[0])
