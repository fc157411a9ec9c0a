"""The endpoint's own bill: what it would charge for, whatever its customers remember of it."""

import hashlib
import json
import sqlite3
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

_SCHEMA: Final = """
CREATE TABLE payment (
    id INTEGER PRIMARY KEY,
    body TEXT NOT NULL,      -- SHA-256 of the request's bytes
    question TEXT NOT NULL,  -- SHA-256 of model and messages, see question_of()
    role TEXT NOT NULL,      -- name of the JSON schema; '' where none was given
    accepted_at REAL NOT NULL,
    fault TEXT NOT NULL,     -- the fault played, '' for a plain answer
    answer TEXT,             -- what the model said; null where it is not put into words
    delivered INTEGER NOT NULL DEFAULT 0,  -- 1 once the whole answer was handed to the network
    request TEXT             -- the request itself, where bodies are kept
);
CREATE INDEX payment_question ON payment (question);
CREATE INDEX payment_open ON payment (delivered) WHERE delivered = 0;
CREATE TABLE refusal (
    id INTEGER PRIMARY KEY, question TEXT NOT NULL, at REAL NOT NULL, fault TEXT NOT NULL
);
"""


class Bill:
    """One row for every request accepted, committed before anything is answered."""

    def __init__(self, path: Path, *, keep_bodies: bool = False) -> None:
        self._link = sqlite3.connect(path, isolation_level=None)
        # A kill of this process is no part of the tests, so nothing waits for the disk.
        self._link.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;" + _SCHEMA)
        self._keep = keep_bodies

    def charge(self, raw: bytes, body: Mapping[str, Any], *, fault: str, answer: str | None) -> int:
        """Write down an accepted request with what is about to be answered; the row's id."""
        row = (
            hashlib.sha256(raw).hexdigest(),
            question_of(body),
            role_of(body),
            time.time(),
            fault,
            answer,
            raw.decode("utf-8", "replace") if self._keep else None,
        )
        cursor = self._link.execute(
            "INSERT INTO payment (body, question, role, accepted_at, fault, answer, request)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            row,
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def deliver(self, payment: int) -> None:
        """Note that the whole answer was handed to the network."""
        self._link.execute("UPDATE payment SET delivered = 1 WHERE id = ?", [payment])

    def refuse(self, body: Mapping[str, Any], fault: str) -> None:
        """Note a request that was turned away; it costs nothing."""
        self._link.execute(
            "INSERT INTO refusal (question, at, fault) VALUES (?, ?, ?)",
            [question_of(body), time.time(), fault],
        )

    def close(self) -> None:
        """End the connection."""
        self._link.close()


def question_of(body: Mapping[str, Any]) -> str:
    """What identifies a question on both sides of the wire: its model and its messages."""
    asked = [body.get("model"), body.get("messages") or body.get("input")]
    text = json.dumps(asked, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def role_of(body: Mapping[str, Any]) -> str:
    """The name of the JSON schema that the answer has to follow, "" if there is none."""
    try:
        return str(body["response_format"]["json_schema"]["name"])
    except (KeyError, TypeError):
        return ""
