"""Assay's ledger beside the stub's bill, by plain SQL: no code of Assay's is used here."""

import hashlib
import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.chaos.sql import Database

_MOST_SHOWN = 5


@dataclass(frozen=True)
class Call:
    """A row of the ledger; `question` is the key under which the bill knows it."""

    id: int
    key: str
    status: str
    text: str | None
    owner: str
    question: str

    @property
    def pid(self) -> int:
        """The process that made it."""
        return int([*self.owner.split(":"), "0"][1])


@dataclass(frozen=True)
class Books:
    """Both sides: the ledger's calls, and by question what was answered to each payment.

    `handed` are ids of calls whose request was given to the transport; `killed` says at which
    point ("": a random moment) the worker with a process id died.
    """

    calls: list[Call]
    paid: dict[str, list[str | None]]
    handed: frozenset[int]
    killed: Mapping[int, str]

    @property
    def listed(self) -> list[Call]:
        """Calls listed as possibly paid."""
        return [call for call in self.calls if call.status == "possibly_paid"]

    @property
    def never_handed(self) -> list[Call]:
        """Listed calls that no transport ever had."""
        return [call for call in self.listed if call.id not in self.handed]

    def questions(self, status: str) -> Counter[str]:
        """How often each question has a call of that status."""
        return Counter(call.question for call in self.calls if call.status == status)


def read_books(
    database: Database, bill: Path, *, handed: frozenset[int], killed: Mapping[int, str]
) -> Books:
    """The ledger, each row with the question it asked, and the bill."""
    rows = database.rows("SELECT id, key, status, text, owner, model, request FROM llm_call")
    calls = [Call(*row[:5], question(row[5], row[6])) for row in rows]
    paid: dict[str, list[str | None]] = defaultdict(list)
    with closing(sqlite3.connect(bill, timeout=240)) as link:
        for asked, answer in link.execute("SELECT question, answer FROM payment"):
            paid[asked].append(answer)
    return Books(calls, paid, handed, killed)


def question(model: str, request: Any) -> str:
    """The same digest of model and messages that the stub puts on its bill."""
    given = json.loads(request) if isinstance(request, str) else request
    text = json.dumps([model, given["messages"]], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def answered_once(books: Books) -> Iterator[str]:
    """No key was answered twice: nothing is bought a second time once it is known."""
    keys = Counter(call.key for call in books.calls if call.status == "answered")
    yield from found("keys answered twice", [key for key, count in keys.items() if count > 1])


def texts_as_billed(books: Books) -> Iterator[str]:
    """What the ledger says was answered is what the endpoint answered."""
    bad = [
        call.id
        for call in books.calls
        if call.text is not None
        and call.text not in [answer or "" for answer in books.paid.get(call.question, [])]
    ]
    yield from found("answers in the ledger that the endpoint never gave", bad)


def payments_listed(books: Books) -> Iterator[str]:
    """Every payment is an answer in the ledger or listed as possibly paid."""
    answered, listed = books.questions("answered"), books.questions("possibly_paid")
    bad = [q for q, rows in books.paid.items() if len(rows) > answered[q] + listed[q]]
    yield from found("questions paid for more often than answered or listed", bad)
    yield from found(
        "calls left open", [call.id for call in books.calls if call.status == "intent"]
    )


def nothing_else_listed(books: Books) -> Iterator[str]:
    """Listed are calls handed to the transport, and those of killed workers, and no other."""
    bad = [call.id for call in books.never_handed if call.pid not in books.killed]
    yield from found("listed though never handed to the transport", bad)


def numbers(books: Books) -> dict[str, int]:
    """What there was of each kind."""
    answered = books.questions("answered")
    lost = sum(max(0, len(rows) - answered[q]) for q, rows in books.paid.items())
    unhanded, listed = books.never_handed, len(books.listed)
    return {
        "calls answered": answered.total(),
        "calls failed unpaid": books.questions("failed").total(),
        "payments": sum(map(len, books.paid.values())),
        "payments without an answer": lost,
        "listed as possibly paid": listed,
        "listed, never accepted by the endpoint": listed - lost,
        "listed, never handed to the transport": len(unhanded),
    }


def found(what: str, bad: Iterable[Any]) -> Iterator[str]:
    """A complaint with the first few of whatever is wrong, if anything is."""
    items = list(bad)
    if items:
        yield f"{len(items)} {what}: {', '.join(map(str, items[:_MOST_SHOWN]))}"
