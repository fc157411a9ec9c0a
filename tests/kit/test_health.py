"""Probes, figures for Prometheus, the page for staff, and the rows in which workers say so."""

import re
import socket
from collections import namedtuple
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from config.safety import read_storage
from debate.models import DebateRun
from kit.health import checks
from kit.runs.models import RunStatus
from kit.runs.polling import Poller
from kit.runs.workers import Worker, beat, leave
from kit.storage import FILES
from llm.models import Call
from tests.factories import make_benchmark, make_member, make_pool
from tests.markup import one_line
from tests.s3 import KEYS, bucket

LONG_AGO = timedelta(hours=2)
KEY = "a-key-of-the-scraper"


def make_run(**fields: Any) -> DebateRun:
    benchmark = make_benchmark()
    common = {"endpoint": "practice", "model": "m", "pool": make_pool(benchmark)}
    run = DebateRun.objects.create(benchmark=benchmark, name="r", **common)
    DebateRun.objects.filter(pk=run.pk).update(**fields)
    return run


def ready() -> tuple[int, list[str]]:
    cache.clear()  # an answer is good for two seconds
    response = Client().get("/-/ready")
    return response.status_code, response.json()["failing"]


def staff() -> Client:
    client = Client()
    client.force_login(User.objects.create_user("root", is_staff=True))
    return client


def test_a_process_that_answers_lives_without_a_database() -> None:
    response = Client().get("/-/live")
    assert (response.status_code, response.content) == (200, b"ok\n")
    assert Client().head("/-/live").status_code == 200


@pytest.mark.django_db
def test_ready_with_a_worker_and_nothing_due() -> None:
    beat()
    response = Client().get("/-/ready")
    states = dict.fromkeys(("database", "disk", "workers", "due_work"), "ok")
    assert response.json() == {"ready": True, "failing": [], "checks": states}
    assert response["Cache-Control"] == ("max-age=0, no-cache, no-store, must-revalidate, private")


@pytest.mark.django_db
def test_who_asks_often_costs_no_more() -> None:
    beat()
    Client().get("/-/ready")
    with CaptureQueriesContext(connection) as asked:
        answers = {Client().get("/-/ready").status_code for _ in range(50)}
    assert (answers, len(asked)) == ({200}, 0)


@pytest.mark.django_db
def test_not_ready_within_a_minute_of_the_last_workers_death() -> None:
    beat()
    assert ready() == (200, [])
    Worker.objects.update(heard_at=timezone.now() - timedelta(seconds=46))
    assert ready() == (503, ["workers"])


@pytest.mark.django_db
def test_a_worker_that_ends_says_so_at_once() -> None:
    beat()
    leave()
    assert ready() == (503, ["workers"])


@pytest.mark.django_db
def test_a_worker_has_one_row_and_those_of_the_dead_go() -> None:
    Worker.objects.create(name="gone:1", heard_at=timezone.now() - LONG_AGO)
    beat()
    beat()
    assert Worker.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_polling_begins_and_ends_with_word_of_the_worker() -> None:
    heard: list[int] = []

    class Once(Poller):
        def poll(self) -> int:
            heard.append(Worker.objects.alive().count())
            self.stop()
            return 0

    poller = Once()
    poller._is_called = lambda seconds: True  # type: ignore[method-assign]
    poller.start()
    poller.join()
    assert (heard, Worker.objects.count()) == ([1], 0)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("fields", "is_stuck"),
    [
        ({"created_at": LONG_AGO}, True),
        ({"created_at": timedelta(0)}, False),
        ({"status": RunStatus.RUNNING, "lease_until": LONG_AGO}, True),
        ({"status": RunStatus.RUNNING, "created_at": LONG_AGO, "lease_until": -LONG_AGO}, False),
        ({"status": RunStatus.PAUSED, "created_at": LONG_AGO}, False),
        # It had a turn and waits for the next.
        ({"created_at": LONG_AGO, "started_at": LONG_AGO}, False),
    ],
)
def test_work_that_nobody_takes_is_noticed(fields: dict[str, Any], is_stuck: bool) -> None:
    beat()
    now = timezone.now()
    make_run(**{k: now - v if isinstance(v, timedelta) else v for k, v in fields.items()})
    assert ready() == ((503, ["due_work"]) if is_stuck else (200, []))


@pytest.mark.django_db
def test_a_full_disk_is_named(settings, monkeypatch) -> None:
    beat()
    disk = namedtuple("disk", "total used free")
    monkeypatch.setattr(checks.shutil, "disk_usage", lambda _: disk(10**12, 10**12, 10**6))
    assert ready() == (503, ["disk"])


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of a server that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.django_db
@pytest.mark.parametrize("scheme", ["amqp", "redis"])
def test_a_broker_that_is_away_is_named(settings, silent, monkeypatch, scheme) -> None:
    beat()
    settings.BROKER_URL = "memory://here"
    assert ready() == (200, [])
    monkeypatch.setattr(checks, "_PATIENCE", 0.1)
    for port in (silent, 1):
        settings.BROKER_URL = f"{scheme}://me:hunter2@127.0.0.1:{port}/"
        assert ready() == (503, ["broker"])
    assert "every 20 s" in one_line(staff().get("/health/"))
    settings.BROKER_URL = ""
    assert ready() == (200, [])


@pytest.mark.django_db
def test_a_storage_that_is_away_is_named(settings, silent, monkeypatch) -> None:
    beat()
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(checks, "_PATIENCE", 0.1)
    for port in (silent, 1):
        url = f"s3://files/here?endpoint_url=http://127.0.0.1:{port}&region_name=us-east-1"
        settings.STORAGES = settings.STORAGES | {FILES: read_storage(url)}
        assert ready() == (503, ["storage"])


@pytest.mark.slow
@pytest.mark.django_db
def test_a_storage_is_asked_for_what_files_need(settings, monkeypatch) -> None:
    beat()
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    with bucket() as (url, _):
        settings.STORAGES = settings.STORAGES | {FILES: read_storage(url)}
        assert ready() == (200, [])
        no_bucket = url.replace("s3://assay-", "s3://other-")
        settings.STORAGES = settings.STORAGES | {FILES: read_storage(no_bucket)}
        assert ready() == (503, ["storage"])


@pytest.mark.django_db
def test_a_database_that_is_away_is_named_and_nothing_of_it_told() -> None:
    def refuse(*_: Any) -> None:
        raise OperationalError("connection to db.internal, user assay, password hunter2 failed")

    with connection.execute_wrapper(refuse):
        response = Client().get("/-/ready")
    assert response.status_code == 503
    assert response.json()["failing"] == ["database"]
    assert response.json()["checks"]["workers"] == "unknown"
    assert b"hunter2" not in response.content


@pytest.mark.django_db
def test_probes_from_inside_are_not_sent_to_the_proxy(settings) -> None:
    settings.SECURE_SSL_REDIRECT = True
    beat()
    assert [Client().get(f"/-/{name}").status_code for name in ("live", "ready")] == [200, 200]


@pytest.mark.django_db
def test_figures_are_told_to_who_has_the_key(settings) -> None:
    settings.METRICS_KEY = KEY
    beat()
    make_run()
    Call.objects.create(
        key="k",
        attempt=1,
        role="agents",
        endpoint="e",
        model="m",
        request={},
        created_at=timezone.now(),
    )
    assert Client().get("/-/metrics").status_code == 403
    wrong = {"Authorization": "Bearer other"}
    assert Client().get("/-/metrics", headers=wrong).status_code == 403
    response = Client().get("/-/metrics", headers={"Authorization": f"Bearer {KEY}"})
    assert response["Content-Type"].startswith("text/plain; version=0.0.4")
    lines = response.content.decode().splitlines()
    assert 'assay_runs{kind="debate.run",status="queued"} 1' in lines
    assert "assay_workers 1" in lines
    assert 'assay_calls_open{status="intent"} 1' in lines
    assert any(line.startswith('assay_due_seconds{kind="debate.run"} ') for line in lines)
    assert any(re.fullmatch(r"assay_disk_free_bytes \d+", line) for line in lines)
    samples = [line for line in lines if not line.startswith("#")]
    assert all(re.fullmatch(r'\w+(\{(\w+="[^"]*",?)+\})? [\d.e+-]+', line) for line in samples)


@pytest.mark.django_db
def test_figures_cost_three_statements_and_scan_no_table_of_items(settings) -> None:
    settings.METRICS_KEY = KEY
    with CaptureQueriesContext(connection) as asked:
        Client().get("/-/metrics", headers={"Authorization": f"Bearer {KEY}"})
    assert len(asked) == 3
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            plans = "\n".join(
                str(row) for query in asked for row in cursor.execute(
                    f"EXPLAIN QUERY PLAN {query['sql']}"
                ).fetchall()
            )  # fmt: skip
        scanned = set(re.findall(r"SCAN (\w+)", plans))
        assert {name for name in scanned if name.startswith(("llm_", "corpus_passage"))} == set()


@pytest.mark.django_db
def test_staff_see_on_a_page_and_at_home_what_fails() -> None:
    client = staff()
    for name in ("health", "home"):
        assert "No worker is running" in client.get(reverse(name)).content.decode(), name
    beat()
    part = client.get(reverse("health"), headers={"HX-Request": "true", "HX-Target": "health"})
    text = part.content.decode()
    assert "1 worker at work" in text
    assert "<html" not in text
    assert 'hx-trigger="every 10s"' in text
    assert "No worker is running" not in client.get(reverse("home")).content.decode()


@pytest.mark.django_db
def test_an_admin_sees_it_on_the_overview_of_a_benchmark() -> None:
    benchmark = make_benchmark()
    client = Client()
    client.force_login(make_member(benchmark, "admin", "admin"))
    url = reverse("checklist", args=[benchmark.slug])
    assert "No worker is running" in client.get(url).content.decode()
    assert "No worker is running" not in client.get(reverse("home")).content.decode()


@pytest.mark.django_db
def test_the_command_says_the_same_and_fails(capsys) -> None:
    with pytest.raises(CommandError, match=r"Failing: workers\."):
        call_command("health")
    assert "database: ok. The database answers." in capsys.readouterr().out
    with pytest.raises(CommandError, match="No worker of this machine"):
        call_command("health", worker=True)
    beat()
    call_command("health", json=True)
    call_command("health", worker=True)
    assert '"workers": "ok"' in capsys.readouterr().out
