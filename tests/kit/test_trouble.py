"""What is said when the database is locked, the disk full or a request too much; what is logged."""

import errno
import io
import logging
import sqlite3
from collections.abc import Iterator

import pytest
from django.core.exceptions import PermissionDenied
from django.db import OperationalError, connection
from django.test import Client
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart
from django.urls import reverse

from kit.account.links import create_link
from kit.database.space import give_back
from kit.errors import is_passing
from tests.factories import make_benchmark, make_member, make_user
from tests.kit.test_space import SQLITE, pages

DRAFTS = "/api/drafts/"


@pytest.fixture
def person():
    return make_user("somebody")


@pytest.fixture
def browser(person):
    browser = Client(raise_request_exception=False)
    browser.force_login(person)
    return browser


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """What the console of the settings says."""
    (console,) = (each for each in logging.getLogger().handlers if each.get_name() == "console")
    said, before = io.StringIO(), console.stream
    console.setStream(said)
    yield said
    console.setStream(before)


def keep(browser: Client, text: str = "words") -> object:
    draft = {"place": "/b/demo/", "name": "text", "text": text}
    return browser.put(DRAFTS, draft, content_type="application/json")


@pytest.fixture
def locked(person, browser, django_db_blocker) -> Iterator[None]:
    """Somebody else writes and does not end; nobody here waits for it."""
    with connection.cursor() as cursor:
        name = cursor.execute("PRAGMA database_list").fetchone()[2]
        cursor.execute("PRAGMA busy_timeout = 0")
    other = sqlite3.connect(name, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    yield
    other.execute("ROLLBACK")
    other.close()
    connection.close()


@pytest.fixture
def full(person, browser) -> Iterator[None]:
    """The file holds nothing free and may not grow any more."""
    while give_back(keep=0):
        pass
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA max_page_count = {pages()}")
    yield
    connection.close()


@SQLITE
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("trouble", ["locked", "full"])
def test_scripts_are_told_to_ask_again(browser, trouble, request) -> None:
    request.getfixturevalue(trouble)
    answer = keep(browser, "words " * 100_000)
    assert (answer.status_code, answer["Content-Type"]) == (503, "application/json")
    assert "busy or full" in answer.json()["detail"]
    assert int(answer["Retry-After"]) > 20
    page = browser.post(reverse("sign-out"))
    assert page.status_code == (503 if trouble == "locked" else 302)


@SQLITE
@pytest.mark.django_db(transaction=True)
def test_people_are_told_to_try_again(browser, locked) -> None:
    given = {"token-name": "scripts", "token-scope": "read", "token-days": "30"}
    answer = browser.post(reverse("account-token"), given)
    assert (answer.status_code, answer["Retry-After"]) == (503, "30")
    assert "Try again in a minute" in " ".join(answer.content.decode().split())


@pytest.mark.django_db
def test_a_fault_of_ours_is_no_matter_of_waiting(browser, monkeypatch) -> None:
    def broken(**_: object) -> None:
        raise RuntimeError("hidden words")

    monkeypatch.setattr("annotate.drafts.services.keep_draft", broken)
    answer = keep(browser)
    assert (answer.status_code, answer["Content-Type"]) == (500, "application/json")
    assert "hidden words" not in answer.content.decode()
    assert "Retry-After" not in answer


def test_what_passes_by_itself() -> None:
    def told(code: int) -> OperationalError:
        error, cause = OperationalError("words"), sqlite3.OperationalError("words")
        cause.sqlite_errorcode = code
        error.__cause__ = cause
        return error

    assert is_passing(told(sqlite3.SQLITE_BUSY_SNAPSHOT))
    assert is_passing(OSError(errno.ENOSPC, "No space left on device"))
    assert is_passing(OperationalError("the connection is lost"))
    assert not is_passing(told(sqlite3.SQLITE_ERROR))
    assert not is_passing(OSError(errno.EPERM, "No"))
    assert not is_passing(None)


@pytest.mark.django_db
@pytest.mark.parametrize("depth", [60, 900, 100_000])
def test_deeply_nested_json_is_refused(browser, depth: int) -> None:
    body = '{"place": "/b/demo/", "name": "n", "text": ' + "[" * depth + "]" * depth + "}"
    answer = browser.put(DRAFTS, body, content_type="application/json")
    assert answer.status_code == 400
    assert "nested more than 50 deep" in answer.json()["detail"]


@pytest.mark.django_db
def test_half_of_a_surrogate_pair_is_refused(browser) -> None:
    body = r'{"place": "/b/demo/", "name": "n", "text": "", "more": [{"\ud800": 1}]}'
    answer = browser.put(DRAFTS, body, content_type="application/json")
    assert answer.status_code == 400
    assert "half of a surrogate pair" in answer.json()["more"][0]


@pytest.mark.parametrize("is_api", [True, False])
def test_an_address_that_leads_nowhere_is_said_in_json_to_scripts(client, is_api: bool) -> None:
    answer = client.get("/api/nowhere/" if is_api else "/nowhere/")
    assert answer.status_code == 404
    assert answer["Content-Type"].startswith("application/json" if is_api else "text/html")
    if is_api:
        assert answer.json() == {
            "detail": "The API has no address /api/nowhere/; /api/docs/ lists them."
        }


@pytest.mark.django_db
def test_too_many_fields_of_a_form_are_refused_in_json(browser) -> None:
    data = encode_multipart(BOUNDARY, {f"field{n}": "" for n in range(1_001)})
    answer = browser.put(DRAFTS, data, content_type=MULTIPART_CONTENT)
    assert answer.status_code == 400
    assert "exceeded" in answer.json()["detail"]


@pytest.mark.django_db
def test_a_large_draft_is_told_its_own_limit(browser) -> None:
    answer = keep(browser, "x" * 2_000_001)
    assert answer.status_code == 400
    assert "2000000 characters" in str(answer.json()["text"])
    answer = keep(browser, "x" * (8 * 1024 * 1024))
    assert answer.status_code == 413
    assert answer.json()["detail"] == "A draft holds at most 2,000,000 characters."
    answer = browser.post("/api/benchmarks/", "x" * 9_000_000, content_type="application/json")
    assert "without files 8 MB" in answer.json()["detail"]


@pytest.mark.django_db
def test_no_line_of_the_log_holds_a_token_that_signs_in(person, log) -> None:
    token = create_link(user=person)
    url = reverse("sign-in-link", args=[token])
    assert Client(enforce_csrf_checks=True).post(url).status_code == 403
    assert Client().get(f"{url}more/").status_code == 404
    said = log.getvalue()
    assert "Forbidden (CSRF cookie not set.): /sign-in/.../ (POST by nobody signed in)" in said
    assert "/sign-in/.../more/" in said
    assert token not in said


@pytest.mark.django_db
@pytest.mark.parametrize("is_api", [False, True])
def test_who_may_not_is_one_line_with_who_and_what(person, log, is_api) -> None:
    make_member(make_benchmark(), person.username, "annotator")
    browser = Client()
    browser.force_login(person)
    path = "/api/b/demo/people/" if is_api else "/b/demo/voting/"
    assert browser.get(path).status_code == 403
    (line,) = log.getvalue().splitlines()
    assert f"{path} (GET by person {person.pk})" in line
    assert person.username not in line


def test_a_refusal_says_why() -> None:
    (console,) = (each for each in logging.getLogger().handlers if each.get_name() == "console")
    error = PermissionDenied("Guidelines are published by admins.")
    record = logging.makeLogRecord(
        {
            "name": "django.request",
            "msg": "Forbidden: %s",
            "args": ("/b/",),
            "status_code": 403,
            "exc_info": (type(error), error, None),
        }
    )
    assert console.filter(record)
    assert console.format(record).endswith("Forbidden: /b/: Guidelines are published by admins.")
    assert console.filter(logging.makeLogRecord({"msg": "%d", "args": ("no number",)}))


@pytest.mark.few(3)
@pytest.mark.django_db
@pytest.mark.parametrize(
    ("path", "is_kept_out"),
    [
        ("/", True),
        ("/account/", True),
        ("/b/demo/", True),
        ("/b/nowhere/", True),
        ("/no/such/page/", True),
        ("/api/b/demo/", True),
        pytest.param("/api/schema/", False, marks=pytest.mark.slow),
        ("/api/docs/", False),
        ("/favicon.ico", False),
        ("/static/css/tokens.css", False),
    ],
)
def test_no_cache_keeps_what_is_anybodys_own(browser, person, path, is_kept_out) -> None:
    make_member(make_benchmark(), person.username, "annotator")
    kept = browser.get(path).headers.get("Cache-Control", "")
    assert ("private" in kept and "no-store" in kept) is is_kept_out
    assert "public" not in kept or not is_kept_out
