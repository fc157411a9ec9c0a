"""Lines of the log as JSON: what they say, and what they must not."""

import json
import logging
import sys

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from kit.health.logs import JsonLines, PlainLines, hide, pseudonym, watch_queries
from kit.runs.models import give_back
from llm.endpoints import parse_file
from tests.factories import make_user
from tests.kit.test_health import make_run


@pytest.fixture
def lines() -> object:
    """The lines that the console gets, as JSON."""
    console = next(each for each in logging.getLogger().handlers if each.get_name() == "console")
    written: list[dict[str, str]] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            written.append(json.loads(self.format(record)))

    handler = Kept()
    handler.setFormatter(JsonLines())
    for each in console.filters:
        handler.addFilter(each)
    logging.getLogger().addHandler(handler)
    yield written
    logging.getLogger().removeHandler(handler)


@pytest.mark.django_db
def test_a_line_names_its_request_and_a_pseudonym(lines, settings) -> None:
    settings.LOG_FORMAT = "json"
    user, client = make_user("anna-lindqvist"), Client()
    client.force_login(user)
    response = client.get(reverse("health"))
    (line,) = lines
    assert line["request"] == response["X-Request-ID"]
    assert line["person"] == pseudonym(user.pk)
    assert f"by person {pseudonym(user.pk)}" in line["message"]
    assert (line["level"], line["logger"]) == ("WARNING", "django.request")
    assert "anna" not in json.dumps(line)
    assert client.get(reverse("home"))["X-Request-ID"] != line["request"]


@pytest.mark.django_db
def test_a_line_of_a_worker_names_its_run(lines) -> None:
    run = make_run()
    assert run.claim()
    logging.getLogger("x").warning("at work")
    give_back()
    logging.getLogger("x").warning("idle")
    assert [line.get("run") for line in lines] == [f"debate.run {run.pk}", None]


def test_a_line_holds_no_secret(lines, settings) -> None:
    said = [
        settings.SECRET_KEY,
        "/sign-in/q8Zr2kM4nB6pL8sT1wY3/",
        "assay_q8Zr2kM4nB6pL8sT1wY3cF5hD7gq8Zr2kM4nB6p",
        "DETAIL:  Key (username)=(anna-lindqvist) already exists.",
    ]
    try:
        raise ValueError("\n".join(said))
    except ValueError:
        logging.getLogger("x").error(" ".join(said), exc_info=sys.exc_info())
    text = json.dumps(lines)
    assert "ValueError" in text
    assert [word for word in (settings.SECRET_KEY, "q8Zr2kM4", "anna") if word in text] == []


@pytest.mark.parametrize("form", ["plain", "json"])
def test_passwords_of_addresses_and_keys_of_files_stand_in_no_line(form, settings) -> None:
    settings.SEED_KEY = "seed-q8Zr2kM4nB6pL8sT1wY3cF5hD7gq8Zr2kM4nB6p"
    settings.LIMITS_CACHE = "redis://:limits%40q8Zr@localhost/1"
    settings.OPENAI_PROXY = "http://me:proxy-q8Zr@proxy.example"
    entry = {"name": "own", "base_url": "http://x.example/v1", "default_model": "m"}
    kept = {"api_key": "sk-file-q8Zr", "proxy": "http://me:other-q8Zr@proxy.example"}
    parse_file([entry | kept], {})  # which forgets what was known of the settings
    said = f"{settings.SEED_KEY} limits%40q8Zr limits@q8Zr proxy-q8Zr sk-file-q8Zr other-q8Zr."
    formatter = JsonLines() if form == "json" else PlainLines("{message}", style="{")
    record = logging.LogRecord("x", logging.ERROR, "", 0, "%s", (said,), None)
    try:
        assert "... ... ... ... ... ...." in formatter.format(record)
        assert "q8Zr" not in formatter.format(record)
    finally:
        hide()  # and with it what this test set


@pytest.mark.django_db
@pytest.mark.parametrize(("milliseconds", "is_told"), [(0, False), (1, True), (60_000, False)])
def test_a_slow_query_is_told_without_its_values(
    milliseconds: int, is_told: bool, lines, settings
) -> None:
    settings.LOG_SLOW_QUERY_MS = milliseconds
    slow = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
        "SELECT count(*) FROM n WHERE 'anna-lindqvist' <> %s"
    ).replace("'anna-lindqvist'", "%s")
    before = list(connection.execute_wrappers)
    try:
        watch_queries(connection)
        with connection.cursor() as cursor:
            cursor.execute(slow, ["anna-lindqvist", "x"])
    finally:
        connection.execute_wrappers[:] = before
    assert [line["logger"] for line in lines] == (["kit.health.logs"] if is_told else [])
    assert "anna" not in json.dumps(lines)
