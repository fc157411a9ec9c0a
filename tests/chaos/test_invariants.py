"""The checker finds every kind of fault that it promises to find, and none where there is none."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction

from kit import failpoints
from llm.models import Call as LedgerRow
from tests.chaos.conftest import StubMaker
from tests.chaos.driver import handed_over
from tests.chaos.invariants import Evidence, check, outcomes
from tests.chaos.judged import judge, pool_of
from tests.chaos.money import Books, Call, answered_once
from tests.chaos.pairs import WORDS

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

FIRST = "(SELECT min(id) FROM {0} WHERE {1})"
AGREED = FIRST.format("debate_debate", "status = 'agreed'")
LABEL = FIRST.format("corpus_judgment", "1 = 1")
LISTED = FIRST.format("llm_call", "status = 'possibly_paid'")
ANSWERED = FIRST.format("llm_call", "status = 'answered'")
# What is done to a sound database, and the words in which the checker must complain.
PLANTED = {
    f"UPDATE debate_debate SET status = 'waiting', label = NULL WHERE id = {AGREED}": (
        "pairs without exactly one outcome"
    ),
    "UPDATE debate_debaterun SET done = done - 1": "the run is done with",
    f"UPDATE corpus_judgment SET label = 1 - label WHERE id = {LABEL}": "agreed on",
    f"UPDATE corpus_judgment SET status = 'superseded' WHERE id = {LABEL}": "agreed on",
    f"UPDATE debate_debate SET judgment_id = NULL WHERE id = {AGREED}": "agreed on",
    f"DELETE FROM kit_event WHERE verb = 'label' AND target_id = CAST({LABEL} AS varchar)": (
        "labels and their events"
    ),
    f"UPDATE debate_turn SET label = 1 - label WHERE debate_id = {AGREED} AND agent = 'A'": (
        "does not follow from its turns"
    ),
    f"UPDATE debate_turn SET call_id = {LISTED} WHERE debate_id = {AGREED}": (
        "rests on a call that was not answered"
    ),
    f"DELETE FROM debate_turn WHERE debate_id = {AGREED} AND agent = 'B'": "one turn of A and one",
    "UPDATE annotate_escalationcase SET origin = 'debate:0' WHERE id = "
    + FIRST.format("annotate_escalationcase", "1 = 1"): "cases missing or too many",
    f"UPDATE debate_debate SET round = round + 1 WHERE id = {AGREED}": "undisturbed run",
    f"UPDATE llm_call SET text = 'no, {{}}' WHERE id = {ANSWERED}": "the endpoint never gave",
    f"UPDATE llm_call SET status = 'failed' WHERE id = {LISTED}": "paid for more often",
    f"UPDATE llm_call SET status = 'intent' WHERE id = {LISTED}": "calls left open",
}


class InTransaction:
    """The face of `sql.Database` over Django's own connection, which sees what is uncommitted."""

    url, is_sqlite = "", True

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall()


@pytest.fixture
def evidence(start_stub: StubMaker, settings, tmp_path: Path, monkeypatch) -> Evidence:
    """A run that met errors, so that something is listed, and nothing worse."""
    settings.ASSAY_FAILPOINTS = True
    monkeypatch.setenv("ASSAY_FAILPOINT_LOG", str(tmp_path / "log"))
    stub = start_stub("--script", "500:0.1,503:0.1")
    judge(pool_of({f"p{n}": f"{' '.join(WORDS[:n])} and so on." for n in range(11)}), stub)
    database = InTransaction()
    return Evidence(
        database=database,  # type: ignore[arg-type]
        bill=stub.bill,
        handed=handed_over(tmp_path / "log"),
        killed={},
        expected=outcomes(database),  # type: ignore[arg-type]
    )


@contextmanager
def undone() -> Iterator[None]:
    """What happens inside is rolled back."""
    with suppress(InterruptedError), transaction.atomic():
        yield
        raise InterruptedError


def complaints(evidence: Evidence) -> list[str]:
    return check(evidence)[0]


def test_the_checker_finds_what_is_planted_and_nothing_else(evidence: Evidence) -> None:
    assert complaints(evidence) == []
    assert check(evidence)[1]["listed as possibly paid"] > 0
    for change, words in PLANTED.items():
        with undone(), connection.cursor() as cursor:
            cursor.execute(change)
            assert cursor.rowcount > 0, change
            assert any(words in complaint for complaint in complaints(evidence)), change
    assert complaints(evidence) == []


def test_a_second_label_and_an_unsent_call_are_found(evidence: Evidence) -> None:
    listed = LedgerRow.objects.filter(status="possibly_paid").earliest("pk")
    bad = replace(evidence, handed=evidence.handed - {listed.pk})
    assert any("never handed" in complaint for complaint in complaints(bad))
    killed = replace(bad, killed={failpoints.os.getpid(): ""})
    assert complaints(killed) == []  # nobody can know what a killed worker had sent
    with undone(), connection.cursor() as cursor:
        columns = "query_id, passage_id, label, source, practice, provenance, created_at"
        cursor.execute(
            f"INSERT INTO corpus_judgment (status, {columns}) "
            f"SELECT 'superseded', {columns} FROM corpus_judgment WHERE id = {LABEL}"
        )
        assert any("has 2 labels" in complaint for complaint in complaints(evidence))


def test_a_key_answered_twice_is_found() -> None:
    once = Call(1, "k", "answered", "yes", "host:1", "q")
    books = Books([once, replace(once, id=2, key="l")], {}, frozenset(), {})
    assert list(answered_once(books)) == []
    books = replace(books, calls=[once, replace(once, id=2)])
    assert list(answered_once(books)) == ["1 keys answered twice: k"]
