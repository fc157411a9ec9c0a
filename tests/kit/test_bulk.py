import pytest
from django.db import IntegrityError, connection, transaction
from hypothesis import given
from hypothesis import strategies as st

from corpus.benchmarks.services import create_benchmark
from corpus.models import CorpusVersion, Domain, Passage
from kit.database.bulk import (
    _copy_text,
    analyze,
    bulk_loading,
    copy_columns,
    copy_rows,
    reserve_keys,
    vacuum,
)
from tests.services.processes import wait_until

pytestmark = pytest.mark.django_db
AWKWARD = ["", "\\N", "\\.", "tab\there", "two\nlines\r\n", "back\\slash\\", "\x1f\u2028\U0001f98b"]


@pytest.fixture
def place() -> dict[str, int]:
    benchmark = create_benchmark(name="Light", slug="light", actor=None)
    version = CorpusVersion.objects.create(benchmark=benchmark, name="v")
    domain = Domain.objects.create(benchmark=benchmark, name="d")
    return {"version_id": version.pk, "domain_id": domain.pk}


def test_columns_arrive_as_they_are_with_defaults_elsewhere(place) -> None:
    pids = [f"{n}{text}" for n, text in enumerate(AWKWARD)]
    assert copy_columns(Passage, fixed=place, columns={"pid": pids, "text": AWKWARD}) == 7
    rows = Passage.objects.values_list("pid", "text", "title", "document_id", "version_id")
    expected = [(p, t, "", None, place["version_id"]) for p, t in zip(pids, AWKWARD, strict=True)]
    assert list(rows) == expected


def test_none_in_a_column_is_null_and_no_text_is(place) -> None:
    columns = {"pid": list("abc"), "text": [None, "", "\\N"], "extra": ['{"a": "\\n"}', None, "[]"]}
    copy_columns(Passage, fixed=place, columns=columns)
    rows = Passage.objects.values_list("pid", "text", "extra")
    assert list(rows) == [("a", None, {"a": "\n"}), ("b", "", None), ("c", "\\N", [])]


def test_rows_arrive_as_they_are(place) -> None:
    rows = ((*place.values(), str(n), text) for n, text in enumerate(AWKWARD))
    assert copy_rows(Passage, [*place, "pid", "text"], rows) == 7
    assert list(Passage.objects.values_list("text", flat=True)) == AWKWARD
    assert copy_rows(Passage, [*place, "pid", "text"], []) == 0


def test_an_id_given_twice_is_an_integrity_error_and_nothing_is_kept(place) -> None:
    for insert in (
        lambda: copy_columns(Passage, fixed=place, columns={"pid": ["a", "a"]}),
        lambda: copy_rows(Passage, [*place, "pid"], [(*place.values(), "a")] * 2),
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            insert()
    assert Passage.objects.count() == 0


def test_reserved_keys_are_nobody_elses(place) -> None:
    before = Passage.objects.create(**place, pid="before").pk
    with transaction.atomic():
        keys = reserve_keys(Passage, 2)
        copy_rows(
            Passage, ["id", *place, "pid"], ((key, *place.values(), str(key)) for key in keys)
        )
    after = Passage.objects.create(**place, pid="after").pk
    assert before < keys[0] < keys[1] < after
    assert {pid: pk for pk, pid in Passage.objects.values_list("pk", "pid")} == {
        "before": before,
        str(keys[0]): keys[0],
        str(keys[1]): keys[1],
        "after": after,
    }
    assert reserve_keys(Passage, 0) == []


@given(st.lists(st.tuples(st.text(), st.text()), min_size=1, max_size=4))
def test_copy_text_reads_back_as_postgres_reads_it(rows) -> None:
    rows = [tuple(each.replace("\x00", "") for each in row) for row in rows]
    lines = _copy_text([1, 23], [list(column) for column in zip(*rows, strict=True)]).split("\n")
    assert lines.pop() == ""
    assert [tuple(map(unescaped, line.split("\t"))) for line in lines] == [
        ("1", "23", *row) for row in rows
    ]


def unescaped(field: str) -> str:
    """COPY's text format, as PostgreSQL documents it."""
    plain, rest = "", field
    while rest:
        taken, rest = (rest[:2], rest[2:]) if rest[0] == "\\" else (rest[0], rest[1:])
        plain += {"\\t": "\t", "\\n": "\n", "\\r": "\r", "\\\\": "\\"}.get(taken, taken)
    return plain


def test_planners_are_told_and_settings_put_back(place) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL's statistics show after the commit only")
    copy_rows(Passage, [*place, "pid"], ((*place.values(), str(n)) for n in range(50)))
    with connection.cursor() as cursor:
        with bulk_loading():
            assert cursor.execute("PRAGMA wal_autocheckpoint").fetchone() == (16_000,)
        assert cursor.execute("PRAGMA wal_autocheckpoint").fetchone() == (1_000,)
        analyze(Passage)
        cursor.execute("SELECT idx, stat FROM sqlite_stat1 WHERE tbl = 'corpus_passage'")
        assert {stat.split()[0] for _, stat in cursor.fetchall()} == {"50"}


@pytest.mark.django_db(transaction=True)
def test_indexes_answer_alone_after_a_load(place) -> None:
    copy_rows(Passage, [*place, "pid"], ((*place.values(), str(n)) for n in range(500)))

    def is_visible() -> bool:
        vacuum(Passage)  # leaves the table alone while PostgreSQL itself is at it
        with connection.cursor() as cursor:
            cursor.execute("SELECT relallvisible FROM pg_class WHERE relname = 'corpus_passage'")
            return cursor.fetchone()[0] > 0

    if connection.vendor == "postgresql":
        wait_until(is_visible)
    with transaction.atomic():
        vacuum(Passage)  # cannot be done here, and is no error
        assert Passage.objects.count() == 500
