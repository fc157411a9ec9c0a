"""Where a person is signed in. Django's own table holds it; what it cannot tell is noted inside.

The rows are signed and have no column for the person, so all of them are read: 10,000 take about a
second, on one page that people seldom open.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from django.contrib import messages
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.dateparse import parse_datetime

from kit import audit
from kit.account.limits import client_address
from kit.account.links import tell_of_links
from kit.models import SignInLink

_NOTE = "signed_in"
# Looked for in this order: Edge says that it is Chrome, which says that it is Safari.
_BROWSERS = {"Edg": "Edge", "OPR/": "Opera", "Firefox": "", "Chrome": "", "Safari": ""}
_SYSTEMS = {
    "Android": "", "iPhone": "", "iPad": "", "Windows": "", "Mac OS": "macOS", "Linux": "",
}  # fmt: skip


def note_sign_in(sender: object, request: HttpRequest, **_: object) -> None:
    """Receiver of `user_logged_in`: the session remembers when and from where it began."""
    request.session.pop(audit.BY_OTHER, None)  # this sign-in is by other means
    request.session[_NOTE] = {
        "since": timezone.now().isoformat(),
        "address": client_address(request),
        "browser": _in_words(request.headers.get("User-Agent", "")),
    }


def warn_of_links(request: HttpRequest, user: User, used_now: SignInLink | None = None) -> None:
    """Tell of links that others made and somebody used: nobody else would notice.

    Of every way in, before Django notes the sign-in.
    """
    for link in tell_of_links(user=user, used_now=used_now):
        assert link.used_at
        messages.warning(
            request,
            f"A sign-in link to your account that {link.made_by} had made was used on "
            f"{link.used_at:%d %B %Y, %H:%M} UTC. If that was not you, tell whoever runs this "
            "site, say so under Account, and choose a password there: then no admin of a benchmark "
            "can make one.",
        )


def sessions_of(request: HttpRequest, user: User) -> list[dict[str, Any]]:
    """The sessions of the person that still let somebody in: this one first, then the newest."""
    rows = Session.objects.filter(expire_date__gt=timezone.now())
    decode = SessionStore().decode
    good = {user.get_session_auth_hash(), *user.get_session_auth_fallback_hash()}
    found = []
    for key, data, ends_at in rows.values_list("session_key", "session_data", "expire_date"):
        held = decode(data)
        if held.get(SESSION_KEY) == str(user.pk) and held.get(HASH_SESSION_KEY) in good:
            found.append(_signed_in(key, ends_at, held, key == request.session.session_key))
    found.sort(key=lambda each: (each["is_this"], each["since"] or _LONG_AGO), reverse=True)
    return found


def end_sessions(sessions: Iterable[Mapping[str, Any]]) -> int:
    """Whoever is signed in there is so no more; how many sessions ended."""
    keys = [each["key"] for each in sessions]
    return Session.objects.filter(session_key__in=keys).delete()[0]


_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


def _signed_in(key: str, ends_at: datetime, held: dict[str, Any], is_this: bool) -> dict[str, Any]:
    """A session; `ident` names it on a page, where its key must not stand, and `link` is the
    sign-in link by somebody else with which it began."""
    note = held.get(_NOTE, {})
    return {
        "key": key,
        "ident": salted_hmac("kit.sessions", key, algorithm="sha256").hexdigest()[:20],
        "ends_at": ends_at,
        "since": parse_datetime(note.get("since", "")),
        "address": note.get("address", ""),
        "browser": note.get("browser", ""),
        "is_this": is_this,
        "link": held.get(audit.BY_OTHER),
    }


def _in_words(agent: str) -> str:
    """The browser and the system that a User-Agent names: "Firefox on Linux"; "" for others."""
    browser = next((word or sign for sign, word in _BROWSERS.items() if sign in agent), "")
    system = next((word or sign for sign, word in _SYSTEMS.items() if sign in agent), "")
    return " on ".join(filter(None, (browser, system)))
