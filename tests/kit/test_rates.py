"""Rates of requests and uploads, how long a statement may take, and what drafts hold together."""

from collections.abc import Iterator

import pytest
from django.core.cache import caches
from django.core.exceptions import ImproperlyConfigured
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError, connection, transaction
from django.http import HttpResponse, StreamingHttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse

from annotate.drafts import services as drafts
from annotate.models import Draft
from config.safety import check_rate
from corpus.models import Benchmark, ImportRun
from kit.database.time_limit import limited_statements
from kit.errors import is_passing, is_too_long
from tests.factories import make_benchmark, make_member, make_token

# It would never end.
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"


@pytest.fixture(autouse=True)
def _none_asked_yet() -> None:
    caches["limits"].clear()


@pytest.fixture
def browser(admin):
    browser = Client(raise_request_exception=False)
    browser.force_login(admin)
    return browser


def rates(settings, **given: str) -> None:
    settings.ASSAY_RATES = {"person": "", "token": "", "uploads": ""} | given


def by_token(admin) -> dict[str, str]:
    return {"Authorization": f"Token {make_token(admin)}"}


@pytest.mark.django_db
def test_a_person_asks_so_often_by_whatever_they_ask(admin, browser, settings) -> None:
    rates(settings, person="3/hour")
    url = reverse("api-benchmarks")
    answers = [browser.get(url), browser.get(url)]
    answers += [Client().get(url, headers=by_token(admin)) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert 0 < int(answers[-1]["Retry-After"]) <= 3600
    assert "throttled" in answers[-1].json()["detail"]
    assert browser.get(reverse("home")).status_code == 200  # the screens go on
    other = Client()
    other.force_login(make_member(make_benchmark("other"), "other", "admin"))
    assert other.get(url).status_code == 200


@pytest.mark.django_db
def test_each_token_has_its_own_rate(admin, browser, settings) -> None:
    rates(settings, token="2/hour")
    url, one, other = reverse("api-benchmarks"), by_token(admin), by_token(admin)
    assert [Client().get(url, headers=one).status_code for _ in range(3)] == [200, 200, 429]
    assert Client().get(url, headers=other).status_code == 200
    assert browser.get(url).status_code == 200


@pytest.mark.slow
@pytest.mark.django_db
def test_an_address_cannot_be_made_up(settings) -> None:
    rates(settings, person="2/hour")
    url = reverse("api-schema")
    said = [{"X-Forwarded-For": f"192.0.2.{number}"} for number in range(3)]
    answers = [Client().get(url, headers=each).status_code for each in said]
    assert answers == [200, 200, 429]


@pytest.mark.django_db
@pytest.mark.parametrize("door", ["screen", "session", "token"])
def test_uploads_have_a_rate_of_their_own(admin, browser, settings, door: str) -> None:
    rates(settings, uploads="1/hour")
    headers = by_token(admin) if door == "token" else {}
    client = Client() if door == "token" else browser
    url = reverse("imports" if door == "screen" else "api-imports", args=["demo"])

    def send():
        file = SimpleUploadedFile("biology.jsonl", b"{}")
        given = {"format": "bright", "upload" if door == "screen" else "file": file}
        return client.post(url, given, headers=headers)

    assert send().status_code < 400
    refused = send()
    assert refused.status_code == 429
    assert 0 < int(refused["Retry-After"]) <= 3600
    assert ImportRun.objects.count() == 1
    assert "many files" in refused.content.decode() or "throttled" in refused.content.decode()


@pytest.mark.django_db
def test_a_cache_that_is_away_keeps_nobody_out(browser, settings) -> None:
    rates(settings, person="1/hour")
    settings.CACHES = settings.CACHES | {
        "limits": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": "redis://127.0.0.1:1/",
        }
    }
    url = reverse("api-benchmarks")
    assert [browser.get(url).status_code for _ in range(2)] == [200, 200]


@pytest.mark.parametrize("given", ["600", "many/min", "0/min", "600/minute ", "-1/min", "6/year"])
def test_a_rate_that_is_none_is_refused_at_the_start(given: str) -> None:
    check_rate("ASSAY_RATE_PERSON", "600/min")
    check_rate("ASSAY_RATE_PERSON", "")
    with pytest.raises(ImproperlyConfigured, match="ASSAY_RATE_PERSON"):
        check_rate("ASSAY_RATE_PERSON", given)


def asked(method: str, sql: str) -> HttpResponse:
    def view(request: object) -> HttpResponse:
        with connection.cursor() as cursor:
            cursor.execute(sql)
            return HttpResponse(str(cursor.fetchone()[0]))

    return limited_statements(view)(RequestFactory().generic(method, "/"))


@pytest.mark.django_db(transaction=True)
def test_a_statement_of_a_page_is_stopped(settings) -> None:
    settings.ASSAY_QUERY_SECONDS = 0.2
    with pytest.raises(OperationalError) as stopped:
        asked("GET", ENDLESS)
    assert is_too_long(stopped.value)
    assert asked("GET", "SELECT 7").content == b"7"
    # What is sent has a limit of its own: here as many steps as would be stopped above.
    bounded = ENDLESS.replace("FROM n)", "FROM n WHERE i < 2000000)")
    settings.ASSAY_QUERY_SECONDS = 0.001
    with pytest.raises(OperationalError):
        asked("GET", bounded)
    assert asked("POST", bounded).content == b"2000000"


@pytest.mark.few
@pytest.mark.django_db(transaction=True)
def test_a_write_that_is_stopped_leaves_nothing_of_its_transaction(settings) -> None:
    settings.ASSAY_WRITE_SECONDS = 0.2
    before = ENDLESS.partition(" SELECT max")[0]

    def view(request: object) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            make_benchmark("first", domains=())
            cursor.execute(
                f"{before} INSERT INTO corpus_benchmark (slug, name, description, licence, "
                "created_at) SELECT 's' || i, 's' || i, '', '', '2026-01-01' FROM n"
            )

    with pytest.raises(OperationalError) as stopped:
        limited_statements(view)(RequestFactory().post("/"))
    assert is_too_long(stopped.value)
    assert not Benchmark.objects.exists()
    assert asked("POST", "SELECT 7").content == b"7"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("url", ["/api/benchmarks/", "/"])
def test_who_asks_for_too_much_is_told_to_narrow_it(browser, settings, monkeypatch, url) -> None:
    settings.ASSAY_QUERY_SECONDS = 0.2

    def endless(*_: object) -> object:
        with connection.cursor() as cursor:
            return cursor.execute(ENDLESS)

    monkeypatch.setattr("kit.htmx.render" if url == "/" else "kit.api.Route.page", endless)
    answer = browser.get(url)
    assert answer.status_code == 503
    assert "Retry-After" not in answer
    words = " ".join(answer.content.decode().split())
    assert ("narrow the filter" in words) or ("Narrow the filter" in words)
    monkeypatch.undo()
    assert browser.get(url).status_code == 200


@pytest.mark.django_db(transaction=True)
def test_a_file_sent_in_pieces_is_stopped_as_a_page_is(browser, settings, monkeypatch) -> None:
    settings.ASSAY_QUERY_SECONDS = 0.2

    def lines(before: int) -> Iterator[str]:
        yield from ["rows\n"] * before
        with connection.cursor() as cursor:
            cursor.execute(ENDLESS)
        yield "never"

    for before in (0, 2):
        monkeypatch.setattr("kit.lists.csvfile._lines", lambda *_, n=before: lines(n))
        answer = browser.get("/b/demo/voting/pay.csv")
        if before:
            assert [next(iter(answer)) for _ in range(2)] == [b"rows\n"] * 2
            with pytest.raises(OperationalError) as stopped:
                next(iter(answer))
            assert is_too_long(stopped.value)
        else:
            assert answer.status_code == 503
    monkeypatch.undo()
    assert b"".join(browser.get("/b/demo/voting/pay.csv")).startswith(b"Votes,")


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL counts no rows read on")
def test_each_piece_of_a_long_statement_has_its_own_time(settings) -> None:
    """Rows of one statement, which together take longer than the one limit."""
    settings.ASSAY_QUERY_SECONDS = 0.4
    one = "WITH RECURSIVE n(i) AS (SELECT r.j UNION ALL SELECT i + 1 FROM n WHERE i < 300000)"
    rows = "WITH RECURSIVE r(j) AS (SELECT 1 UNION ALL SELECT j + 1 FROM r WHERE j < 12)"

    def counted() -> Iterator[str]:
        with connection.cursor() as cursor:
            cursor.execute(f"{rows} SELECT ({one} SELECT max(i) FROM n) FROM r")
            while row := cursor.fetchone():
                yield f"{row[0]}\n"

    answered = limited_statements(lambda _: StreamingHttpResponse(counted()))
    assert b"".join(answered(RequestFactory().get("/"))) == b"300000\n" * 12


def test_other_errors_are_not_about_time() -> None:
    error = OperationalError("the connection is lost")
    assert not is_too_long(error)
    assert is_passing(error)
    assert not is_too_long(None)


@pytest.mark.django_db
def test_drafts_have_a_limit_together(browser, admin, monkeypatch) -> None:
    monkeypatch.setattr(drafts, "MOST_TEXT", 50_000)

    def keep(name: str, size: int, expected: int = 0) -> object:
        given = {"place": "/b/demo/", "name": name, "text": "x" * size, "expected": expected}
        return browser.put("/api/drafts/", given, content_type="application/json")

    assert keep("one", 30_000).status_code == 200
    refused = keep("two", 20_001)
    assert (refused.status_code, refused.json()["field"]) == (409, "text")
    assert keep("two", 20_000).status_code == 200
    assert keep("two", 20_001, expected=1).status_code == 409  # not by small steps either
    assert keep("two", 19_000, expected=1).status_code == 200
    assert sum(len(each.text) for each in Draft.objects.of(admin)) == 49_000
