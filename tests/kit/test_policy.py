"""What every answer must carry, and what no page may hold: the browser is told to trust nothing
but our own files, and no page gives it a reason to."""

import json
import logging
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as configured
from django.core.cache import caches
from django.test import Client
from django.urls import reverse

from annotate.models import Aspect, EscalationCase, ExamAttempt, ExamItem, GoldPassage, Review
from debate.models import Debate, DebateRun, Turn
from evaluation.models import Release
from kit.account.links import create_link
from tests.annotate.world import make_snapshot
from tests.factories import (
    make_benchmark,
    make_gold,
    make_member,
    make_passage,
    make_pool,
    make_query,
    make_user,
)

ROOT = Path(configured.BASE_DIR)
HX = {"HX-Request": "true"}
# Attributes that carry addresses.
LINKS = {"src", "href", "action", "formaction", "data", "poster", "srcset", "hx-get", "hx-post"}
POLICY = {
    "default-src": ["'none'"],
    "script-src": ["'self'"],
    "style-src": ["'self'"],
    "img-src": ["'self'", "data:"],
    "font-src": ["'self'"],
    "connect-src": ["'self'"],
    "form-action": ["'self'"],
    "base-uri": ["'none'"],
    "frame-ancestors": ["'none'"],
    "report-uri": ["/csp-report/"],
}


class Suspects(HTMLParser):
    """Collects from a page whatever a strict policy would block, and every nonce."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.nonces: list[str] = []
        self.scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.scripts += tag == "script"
        if tag in ("style", "base", "iframe", "object", "embed"):
            self.found.append(tag)
        if tag == "script" and not given.get("src"):
            self.found.append("inline script")
        for name, value in attrs:
            self._attribute(tag, name, (value or "").strip())

    def _attribute(self, tag: str, name: str, value: str) -> None:
        if name == "style" or re.match(r"on[a-z]|hx-on|hx-vars", name):
            self.found.append(f"{tag} {name}={value}")
        if name in LINKS and re.match(r"(?i)(https?:)?//|javascript:|data:|vbscript:", value):
            self.found.append(f"{tag} {name}={value}")
        if value.startswith("js:") or "javascript:" in value.lower():
            self.found.append(f"{tag} {name}={value}")
        if name == "nonce":
            self.nonces.append(value)


def suspects(page: str) -> Suspects:
    parser = Suspects()
    parser.feed(page)
    return parser


def policy(response: Any) -> dict[str, list[str]]:
    directives = (part.split() for part in response["Content-Security-Policy"].split(";"))
    return {name: values for name, *values in filter(None, directives)}


def without_nonces(found: dict[str, list[str]]) -> dict[str, list[str]]:
    return {
        name: [value for value in values if not value.startswith("'nonce-")]
        for name, values in found.items()
    }


@pytest.fixture
def screens(db: None, tmp_path: Path) -> list[tuple[Client, str]]:
    """Every kind of page with something on it, each with somebody who may see it."""
    benchmark = make_benchmark()
    admin, voter = (make_member(benchmark, name, name) for name in ("admin", "annotator"))
    query, passage = make_query(benchmark), make_passage(benchmark)
    make_gold(query, passage)
    aspect = Aspect.objects.create(query=query, k=1, position=1, content="One point.")
    GoldPassage.objects.create(aspect=aspect, query=query, passage=passage)
    origin = {"query": query, "passage": passage, "snapshot": make_snapshot()}
    case = EscalationCase.objects.create(origin="debate:1", **origin)
    pool = make_pool(benchmark, (query, passage))
    run = DebateRun.objects.create(
        benchmark=benchmark, pool=pool, name="run", endpoint="practice", model="m"
    )
    debate = Debate.objects.create(run=run, query=query, passage=passage, case=case)
    Turn.objects.create(debate=debate, round=1, agent="A", stance="relevant", response="yes")
    release = Release.objects.create(
        benchmark=benchmark, version="0.1.0", status="done", folder=str(tmp_path), files={"a": "0"}
    )
    reviewer = make_member(benchmark, "reviewer", "reviewer")
    review = Review.objects.create(query=query, reviewer=reviewer, status="checking")
    item = ExamItem.objects.create(domain=query.domain, question="q", passage="p", label=1)
    attempt = ExamAttempt.objects.create(
        person=voter, domain=query.domain, pass_mark=90, items=[item.pk]
    )
    named = {
        admin: [
            ("home",),
            ("account",),
            ("choose-password",),
            ("corpus-home",),
            ("annotate-home",),
            ("benchmark", "demo"),
            ("people", "demo"),
            ("person", "demo", benchmark.memberships.get(user=voter).pk),
            ("imports", "demo"),
            ("queries", "demo"),
            ("passages", "demo"),
            ("passage", "demo", passage.pk),
            ("disputes", "demo"),
            ("dispute", "demo", case.public_id),
            ("debate-runs", "demo"),
            ("debate-run-new", "demo"),
            ("debate-run", "demo", run.pk),
            ("debates", "demo", run.pk),
            ("debate", "demo", run.pk, debate.pk),
            ("releases", "demo"),
            ("release", "demo", release.pk),
            ("agreement", "demo"),
            ("agreement-items", "demo", "votes"),
            ("reviews", "demo"),
            ("review", "demo", review.pk),
            ("rescore-samples", "demo"),
            ("exam-bank", "demo"),
            ("exam-item", "demo", item.pk),
            ("qualification-rules", "demo"),
        ],
        voter: [
            ("query", "demo", query.pk),
            ("vote", "demo"),
            ("vote-case", "demo", case.public_id),
            ("qualification", "demo"),
            ("exam", "demo", attempt.pk),
        ],
        reviewer: [("reviews", "demo"), ("rescoring", "demo"), ("review", "demo", review.pk)],
    }
    pages = [(signed_in(None), "/sign-in/"), (signed_in(None), "/sign-in/new-link/")]
    pages.append((signed_in(None), f"/sign-in/{create_link(user=make_user('new'))}/"))
    pages += [(signed_in(None), "/api/docs/"), (signed_in(admin), "/b/nowhere/")]
    for user, routes in named.items():
        client = signed_in(user)
        pages += [(client, reverse(name, args=args)) for name, *args in routes]
    return pages


def signed_in(user: Any) -> Client:
    client = Client()
    if user is not None:
        client.force_login(user)
    return client


@pytest.mark.slow
def test_every_page_has_the_policy_and_holds_nothing_that_it_would_block(screens) -> None:
    for client, url in screens:
        for headers in ({}, HX):
            response = client.get(url, headers=headers, follow=True)
            page = response.content.decode()
            assert without_nonces(policy(response)) == POLICY, url
            assert "unsafe" not in response["Content-Security-Policy"], url
            assert suspects(page).found == [], url
            assert response["X-Frame-Options"] == "DENY", url
            assert response["Referrer-Policy"] == "same-origin", url
            assert response["X-Content-Type-Options"] == "nosniff", url
            assert response["Cross-Origin-Opener-Policy"] == "same-origin", url


def test_nonces_of_a_page_are_those_of_its_policy_and_never_come_twice(screens) -> None:
    seen: set[str] = set()
    for client, url in screens[::4]:
        response = client.get(url, follow=True)
        offered = set(re.findall(r"'nonce-([^']+)'", response["Content-Security-Policy"]))
        used = set(suspects(response.content.decode()).nonces)
        assert used <= offered, url
        assert not offered & seen, url
        seen |= offered


@pytest.mark.django_db
def test_errors_are_answered_under_the_same_policy(client, monkeypatch) -> None:
    def broken(request: Any) -> None:
        raise RuntimeError("hidden words")

    monkeypatch.setattr("django.contrib.auth.views.LoginView.get", lambda *_: broken(None))
    strict = Client(enforce_csrf_checks=True, raise_request_exception=False)
    strict.force_login(make_user("somebody"))
    answers = {
        403: strict.post(reverse("account-token")),
        404: strict.get("/b/nowhere/"),
        405: strict.get(reverse("account-token")),
        400: strict.get("/", headers={"Host": "evil.example"}),
        500: Client(raise_request_exception=False).get("/sign-in/"),
    }
    for status, response in answers.items():
        page = response.content.decode()
        assert response.status_code == status
        assert without_nonces(policy(response)) == POLICY, status
        assert suspects(page).found == [], status
        # A request to a foreign host is turned away so early that only the policy is on it.
        assert status == 400 or response["X-Frame-Options"] == "DENY"
        assert "hidden words" not in page


@pytest.mark.slow
@pytest.mark.django_db
def test_answers_that_are_no_page_have_the_policy_too(client) -> None:
    for url, status in [("/api/b/demo/", 401), ("/api/schema/", 200), ("/favicon.ico", 302)]:
        response = client.get(url)
        assert (response.status_code, without_nonces(policy(response))) == (status, POLICY)


def templates() -> list[Path]:
    return sorted((ROOT / "templates").rglob("*.html"))


@pytest.mark.parametrize("path", templates(), ids=lambda path: path.name)
def test_template_holds_no_inline_script_style_or_foreign_address(path: Path) -> None:
    text = re.sub(r"\{[%#].*?[%#]\}", " ", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert suspects(text).found == []
    assert not re.search(r"(?i)<style|\sstyle\s*=|javascript:|\son[a-z]+\s*=", text)
    assert not re.search(r"https?://|(?:src|href)=[\"']?//", text)
    assert "|safe" not in path.read_text(encoding="utf-8")


def test_there_are_templates_to_look_at() -> None:
    assert len(templates()) > 40


@pytest.mark.parametrize("kind", ["css", "js"])
def test_our_own_files_fetch_nothing_from_elsewhere_and_make_no_code(kind: str) -> None:
    for path in (ROOT / "static").rglob(f"*.{kind}"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import|url\(['\"]?//", text)
        assert not re.search(r"\beval\(|new Function|document\.write|\.style\b", text)


# --- Cookies and signing in ------------------------------------------------------------------


@pytest.fixture
def person(db: None) -> Any:
    user = make_user("annotator-1")
    user.set_password("a long secret of mine")
    user.save()
    return user


def sign_in(client: Client, **more: str) -> Any:
    form = {"username": "annotator-1", "password": "a long secret of mine"} | more
    return client.post(reverse("sign-in"), form)


def test_cookies_are_out_of_reach_of_scripts_and_other_sites(client, person) -> None:
    client.get(reverse("sign-in"))
    response = sign_in(client)
    session = response.cookies["sessionid"]
    assert (session["httponly"], session["samesite"], session["path"]) == (True, "Lax", "/")
    assert response.cookies["csrftoken"]["samesite"] == "Lax"
    assert set(client.cookies) <= {"sessionid", "csrftoken", "messages"}


@pytest.mark.slow
def test_cookies_need_tls_where_assay_stands_behind_it() -> None:
    """Settings are read once, at the start; so a fresh start is asked."""
    names = ["SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "SECURE_SSL_REDIRECT", "DEBUG"]
    names += ["SECURE_HSTS_SECONDS", "SECURE_PROXY_SSL_HEADER"]
    code = "import json; from config import settings as s; import sys; "
    code += "print(json.dumps({name: getattr(s, name) for name in sys.argv[1:]}))"
    found = {}
    for tls in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", code, *names],
            env=os.environ | {"BEHIND_TLS": tls},
            cwd=ROOT,
            capture_output=True,
            check=True,
        )
        found[tls] = list(json.loads(done.stdout).values())
    assert found["0"] == [False, False, False, False, 0, None]
    assert found["1"] == [
        True,
        True,
        True,
        False,
        31_536_000,
        ["HTTP_X_FORWARDED_PROTO", "https"],
    ]


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example/",
        "//evil.example/",
        "///evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "http:evil.example",
        "javascript:alert(1)",
        "https://testserver@evil.example/",
        "ftp://testserver/",
        "\x00/b/demo/",
    ],
)
def test_signing_in_leads_to_no_foreign_address(client, person, target: str) -> None:
    assert sign_in(client, next=target).url == "/"
    again = client.get(reverse("sign-in"), {"next": target})
    assert (again.status_code, again.url) == (302, "/")


def test_signing_in_leads_back_to_where_one_was(client, person) -> None:
    assert client.get("/b/demo/vote/").url == "/sign-in/?next=/b/demo/vote/"
    assert sign_in(client, next="/b/demo/vote/").url == "/b/demo/vote/"


def test_signing_in_changes_the_session(client, person) -> None:
    client.get(reverse("sign-in"))
    session = client.session
    session["before"] = True
    session.save()
    client.cookies["sessionid"] = session.session_key
    sign_in(client)
    assert client.cookies["sessionid"].value != session.session_key


def test_wrong_password_and_unknown_name_read_the_same(client, person) -> None:
    pages = []
    for name in ("annotator-1", "nobody-1"):
        response = sign_in(client, username=name, password="wrong words")
        page = response.content.decode().replace(name, "NAME")
        page = re.sub(r'(value="|"x-csrftoken": )"?[\w]{64}"', "TOKEN", page)
        pages.append(re.sub(r'nonce="[^"]*"', "", page))
    assert pages[0] == pages[1]
    assert "sessionid" not in client.cookies


def test_password_is_never_sent_back(client, person) -> None:
    assert "wrong words" not in sign_in(client, password="wrong words").content.decode()


def test_signing_out_takes_a_button_and_ends_the_session(client, person) -> None:
    client.force_login(person)
    assert client.get(reverse("sign-out")).status_code == 405
    assert client.get("/").status_code == 200
    client.post(reverse("sign-out"))
    assert client.get("/").status_code == 302


def report(body: Any, **more: Any) -> tuple[int, list[str]]:
    """What a browser is answered that sends this, and the lines of the log."""
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    body = body if isinstance(body, (bytes, str)) else json.dumps({"csp-report": body})
    logging.getLogger().addHandler(handler)
    try:
        # As browsers do: without a token of the page, and from nobody who is signed in.
        client = Client(enforce_csrf_checks=True)
        sent = {"content_type": "application/csp-report"} | more
        return client.post("/csp-report/", body, **sent).status_code, lines
    finally:
        logging.getLogger().removeHandler(handler)


BLOCKED = {
    "violated-directive": "script-src-elem",
    "blocked-uri": "https://evil.example/steal?key=a-secret",
    "document-uri": "https://assay.example/b/garden/?q=a-secret",
    "script-sample": "a-secret",
}


def test_what_a_browser_blocked_is_a_line_of_the_log_without_secrets() -> None:
    caches["limits"].clear()
    status, lines = report(BLOCKED)
    said = "csp: script-src-elem kept https://evil.example from /b/<slug:slug>/"
    assert (status, lines) == (204, [said])
    token = {"document-uri": "https://assay.example/sign-in/a-secret-token/"}
    assert "secret" not in str(report(BLOCKED | token)[1])
    inline = {"blocked-uri": "inline", "document-uri": "about:blank"}
    assert report(BLOCKED | inline)[1] == ["csp: script-src-elem kept inline from a page"]
    forged = {"blocked-uri": "https://u:a-secret@e\nWARNING forged", "document-uri": "http://[/"}
    assert report(BLOCKED | forged)[1] == ["csp: script-src-elem kept something from a page"]


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b"[]", b"[" * 8_000, b'{"csp-report": 1}', {}, b"\xff"),
        json.dumps({"csp-report": BLOCKED | {"script-sample": "x" * 8_192}}),
        BLOCKED | {"violated-directive": "\nforged"},
    ],
)
def test_a_report_that_is_none_or_too_long_is_refused(body: Any) -> None:
    caches["limits"].clear()
    status, lines = report(body)
    assert status == 400
    assert not [line for line in lines if line.startswith("csp:")]


def test_reports_of_one_address_are_few() -> None:
    caches["limits"].clear()
    found = [report(BLOCKED) for _ in range(21)]
    assert [(status, len(lines)) for status, lines in found] == [(204, 1)] * 20 + [(204, 0)]
    assert report(BLOCKED, REMOTE_ADDR="10.9.8.7")[0] == 204
    caches["limits"].clear()
