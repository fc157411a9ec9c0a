"""What a token of each scope may do, over every route of the API."""

from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from corpus.models import Benchmark, Membership
from tests.factories import make_token
from tests.routes.rows import Row
from tests.routes.world import address, make_everything
from tests.test_routes import ROWS

WRITES = [(name, row) for name, row in ROWS if name.startswith("api-") and row.method != "get"]
READS = [(name, row) for name, row in ROWS if name.startswith("api-") and row.method == "get"]


@pytest.fixture(scope="module")
def made(tmp_path_factory, undone_database: None) -> SimpleNamespace:
    world = make_everything(tmp_path_factory.mktemp("release"))
    # Everything that anybody may be.
    world.chief = world.people["admin"]
    Membership.objects.filter(user=world.chief, benchmark__slug="demo").update(
        roles=["admin", "annotator", "reviewer"]
    )
    world.chief.is_staff = world.chief.is_superuser = True
    world.chief.save()
    return world


@pytest.fixture
def world(db: None, made: SimpleNamespace) -> SimpleNamespace:
    return made


def script(user: Any, scope: str) -> Client:
    token = make_token(user, scope)
    return Client(headers={"Authorization": f"Token {token}"}, raise_request_exception=False)


def send(client: Client, name: str, row: Row, world: SimpleNamespace) -> Any:
    """The answer; what it did is undone."""
    with transaction.atomic():
        url = address(name, row, world)
        sent = getattr(client, row.method)(url, row.body, content_type="application/json")
        transaction.set_rollback(True)
    return sent


@pytest.mark.slow
def test_read_writes_nowhere(world) -> None:
    client = script(world.chief, "read")
    # Agents from outside come by tokens of their own: to their doors no person's opens anything.
    shut = {name: send(client, name, row, world).status_code for name, row in WRITES}
    assert {status for name, status in shut.items() if not name.startswith("api-guest-")} == {403}
    assert {status for name, status in shut.items() if name.startswith("api-guest-")} == {401}


TAKES_A_PLACE = ("api-next-case", "api-panel-next")


def test_read_gets_no_place_that_others_then_cannot_have(world) -> None:
    got = {}
    for scope in ("read", "annotate"):
        client = script(world.people["annotator"], scope)
        rows = [(name, row) for name, row in READS if name in TAKES_A_PLACE]
        got[scope] = [send(client, name, row, world).status_code for name, row in rows]
    assert got["read"] == [403, 403]
    assert 403 not in got["annotate"]


@pytest.mark.slow
@pytest.mark.parametrize("role", ["admin", "annotator", "reviewer"])
def test_read_changes_nothing_by_reading(world, role) -> None:
    client, wrote = script(world.people[role], "read"), set()
    for name, row in READS:
        with CaptureQueriesContext(connection) as queries, transaction.atomic():
            assert client.get(address(name, row, world)).status_code < 500
            transaction.set_rollback(True)
        if any(is_change(each["sql"]) for each in queries):
            wrote.add(name)
    assert wrote == set()


def is_change(sql: str) -> bool:
    """The day of a token's use, and who read what is hidden from voters, are written down."""
    is_record = "kit_apitoken" in sql or (sql.startswith("INSERT") and 'INTO "kit_event"' in sql)
    return sql.startswith(("INSERT", "UPDATE", "DELETE")) and not is_record


def test_annotate_is_nobodys_admin(world) -> None:
    """Where only an admin is let in, the token of an admin who may annotate is not."""
    client = script(world.chief, "annotate")
    for_admins = [(name, row) for name, row in WRITES if row.allowed == ("admin",)]
    assert len(for_admins) > 60
    let_in = {name for name, row in for_admins if send(client, name, row, world).status_code != 403}
    assert let_in == set()


@pytest.mark.parametrize("writes", [WRITES[::8], pytest.param(WRITES, marks=pytest.mark.slow)])
def test_annotate_does_what_annotators_do(world, writes) -> None:
    """The same answers as by a token that may do everything."""
    annotator = world.people["annotator"]
    clients = [script(annotator, scope) for scope in ("annotate", "admin")]
    answers = [
        [send(client, name, row, world).status_code for name, row in writes] for client in clients
    ]
    assert answers[0] == answers[1]


def test_annotate_makes_no_benchmark_although_its_person_may(world) -> None:
    body = {"slug": "new", "name": "New"}
    answers = [
        script(world.chief, scope).post("/api/benchmarks/", body, content_type="application/json")
        for scope in ("annotate", "admin")
    ]
    assert [each.status_code for each in answers] == [403, 201]
    assert Benchmark.objects.filter(slug="new").exists()
    world.chief.refresh_from_db()
    assert world.chief.is_staff


def test_admin_may_do_what_its_person_may(world) -> None:
    answers = {scope: script(world.chief, scope).get("/api/b/demo/people/").status_code
               for scope in ("read", "annotate", "admin")}  # fmt: skip
    assert answers == {"read": 200, "annotate": 200, "admin": 200}
