"""Lines of the log for machines, what they say of request, run and person, and slow queries.

Loaded with the settings, before there are any rows.
"""

import json
import logging
import os
import re
import time
from collections.abc import Callable
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import cache
from smtplib import SMTPRecipientsRefused
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.utils.crypto import salted_hmac
from django.utils.functional import LazyObject

if TYPE_CHECKING:  # commands of files load no models
    from django.http import HttpRequest

logger = logging.getLogger(__name__)
# What this thread (or task) answers or works on: the run as "debate.run 7".
request_now: ContextVar["HttpRequest | None"] = ContextVar("request", default=None)
run_now: ContextVar[str] = ContextVar("run", default="")
_SECRET_NAME: Final = re.compile(r"KEY|TOKEN|SECRET|PASSWORD")
# One-time links, API tokens, and the rows that PostgreSQL quotes in its errors.
_HIDDEN: Final = (
    (re.compile(r"(/sign-in/)[^/\s\"']+"), r"\1..."),
    (re.compile(r"assay_[\w-]{20,}"), "assay_..."),
    (re.compile(r"DETAIL: .*"), "DETAIL: ..."),
)
_MIN_SECRET = 6
_told: set[str] = set()
_MAX_SQL = 2_000


class PlainLines(logging.Formatter):
    """Lines for people."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without the secrets of the settings."""
        return without_secrets(super().format(record))


class JsonLines(logging.Formatter):
    """A JSON object a line. Its person is a pseudonym, good as long as the secret key."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without the secrets of the settings."""
        request = getattr(record, "request", None) or request_now.get()
        said = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "request": getattr(request, "request_id", ""),
            "run": run_now.get(),
            "person": pseudonym(_person(request)),
            "error": self.formatException(record.exc_info) if record.exc_info else "",
        }
        hidden = {key: without_secrets(value) for key, value in said.items() if value}
        return json.dumps(hidden, ensure_ascii=False)


def pseudonym(person: int | None) -> str:
    """What the log calls the person with this number."""
    return salted_hmac("kit.health.logs.person", str(person)).hexdigest()[:12] if person else ""


def without_secrets(text: str) -> str:
    """The text with what nobody should read in a log replaced."""
    for secret in _secrets():
        text = text.replace(secret, "...")
    for pattern, shown in _HIDDEN:
        text = pattern.sub(shown, text)
    return text


def hide(*secrets: str) -> None:
    """No line holds these from now on: keys and addresses with passwords out of files."""
    _told.update(secrets)
    _secrets.cache_clear()


@cache
def _secrets() -> list[str]:
    found = {value for name, value in os.environ.items() if _SECRET_NAME.search(name.upper())}
    found |= {settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS, settings.SEED_KEY}
    urls = {settings.DATABASE_URL, settings.BROKER_URL, settings.EMAIL_URL, settings.LIMITS_CACHE}
    passwords = {urlsplit(url).password or "" for url in urls | {settings.OPENAI_PROXY} | _told}
    # As they stand in addresses, and as drivers quote them.
    found |= _told | passwords | {unquote(each) for each in passwords}
    return sorted((each for each in found if len(each) >= _MIN_SECRET), key=len, reverse=True)


def mail_fault(error: Exception) -> str:
    """What a line says of a mail that was not taken: its server's words name the address."""
    codes = [getattr(error, "smtp_code", None)]
    if isinstance(error, SMTPRecipientsRefused):
        codes = [code for code, _ in error.recipients.values()]
    return " ".join([type(error).__name__, *(str(code) for code in codes if code is not None)])


def _person(request: Any) -> int | None:
    """Who asks, where somebody has looked already: a line of the log asks no database."""
    known = getattr(request, "_cached_user", None) or getattr(request, "__dict__", {}).get("user")
    return None if isinstance(known, LazyObject) else getattr(known, "pk", None)


def watch_queries(connection: Any, **_: Any) -> None:
    """Have a new connection tell of statements that take long, where the settings ask for it."""
    if settings.LOG_SLOW_QUERY_MS and _timed not in connection.execute_wrappers:
        connection.execute_wrappers.append(_timed)


def _timed(execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
    began = time.perf_counter()
    try:
        return execute(sql, params, many, context)
    finally:
        taken = 1000 * (time.perf_counter() - began)
        if taken >= settings.LOG_SLOW_QUERY_MS:
            # Without its values: those are texts and names.
            words = " ".join(str(sql).split())[:_MAX_SQL]
            logger.warning("slow query: %d ms: %s", taken, words)
