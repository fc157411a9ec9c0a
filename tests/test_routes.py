"""Every route times every role has its expected answer; a new route without a row fails here.

The rows are in tests/routes, a table for each room; tests/routes/rows.py says what a row says.
Everybody else's answer follows from the house rule: nobody signed in is sent to sign in (API: 401),
strangers get 404, members without the right get 403.
"""

import re
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.urls import get_resolver

from tests.factories import make_benchmark, make_member
from tests.routes import annotate, answers, corpus, debate, evaluation, judging, kit
from tests.routes.rows import ROLES, Row, expected
from tests.routes.world import address, make_everything, patterns

TABLES = (kit, corpus, annotate, judging, answers, debate, evaluation)
ROWS = [row for table in TABLES for row in table.ROWS]


def route_names() -> set[str]:
    return {pattern.name or str(pattern.pattern) for pattern in patterns(get_resolver())}


@pytest.fixture(scope="module")
def made(tmp_path_factory, undone_database: None) -> SimpleNamespace:
    """The world of all cases here: each undoes what its requests did."""
    world = make_everything(tmp_path_factory.mktemp("release"))
    world.clients = {role: client_of(world.people.get(role)) for role in ROLES}
    return world


@pytest.fixture
def world(db: None, made: SimpleNamespace) -> SimpleNamespace:
    """The same to each test, which may add to it: that is undone."""
    return made


def client_of(user: User | None) -> Client:
    """A browser, signed in as this person; its cookies are put back after each answer."""
    client = Client(raise_request_exception=False)
    if user:
        client.force_login(user)
    return client


def answer(client: Client, method: str, url: str, body: dict[str, Any]) -> int:
    """The status, with everything that the request did undone."""
    cookies = client.cookies.copy()
    with transaction.atomic():
        sent = {"content_type": "application/json"} if url.startswith("/api/") else {}
        response = getattr(client, method)(url, body, **sent)
        if response.streaming:  # left to the collector it would close its cursor in another test
            for close in response._resource_closers:
                close()
        transaction.set_rollback(True)
    client.cookies = cookies
    return response.status_code


def test_every_route_has_a_row() -> None:
    assert route_names() - {"favicon.ico"} == {name for name, _ in ROWS} - {"favicon"}


def everybody(name: str, row: Row) -> tuple[str, ...]:
    return ROLES


def on_the_edge(name: str, row: Row) -> list[str]:
    """Of those let in who may do least, to pages; of those refused who may do most."""
    is_page = row.method == "get" and not name.startswith("api-")
    let_in = [role for role in ROLES if role in row.allowed and is_page]
    refused = [role for role in ROLES if role not in row.allowed]
    return [*let_in[:1], *refused[-1:]] or [ROLES[0]]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "roles",
    [
        on_the_edge,
        pytest.param(everybody, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(("name", "row"), ROWS, ids=lambda value: getattr(value, "method", value))
def test_route_answers_each_role(name: str, row: Row, roles: Any, world: SimpleNamespace) -> None:
    url, asked = address(name, row, world), roles(name, row)
    body = {
        key: str(world.aspect.pk) if value == "{aspect}" else value
        for key, value in row.body.items()
    }
    got = {role: answer(world.clients[role], row.method, url, body) for role in asked}
    assert got == {role: expected(name, row, role) for role in asked}


@pytest.mark.slow
@pytest.mark.django_db
def test_what_is_only_written_to_cannot_be_read(world: SimpleNamespace) -> None:
    read = {name for name, row in ROWS if row.method == "get"}
    got = {}
    for name, row in ROWS:
        if name not in read:
            role = next((role for role in ROLES[2:] if role in row.allowed), "admin")
            got[name] = answer(world.clients[role], "get", address(name, row, world), {})
    assert len(got) > 100
    shut = {name for name in got if name.startswith("api-guest-")}  # to whoever has no token
    assert {got.pop(name) for name in shut} == {401}
    assert {name: status for name, status in got.items() if status != 405} == {}


@pytest.mark.slow
@pytest.mark.django_db
def test_another_benchmarks_objects_do_not_exist_in_mine(world: SimpleNamespace) -> None:
    """Who may do everything in two benchmarks cannot reach one's rows through the other."""
    other = make_benchmark("other", domains=("biology", "robotics"))
    make_member(other, "admin", "admin", "annotator", "reviewer")
    got = {}
    for name, row in ROWS:
        here = address(name, row, world)
        if re.match(r"(/api)?/b/demo/(.*/)?\d+(/|$)", here):
            there = here.replace("/b/demo/", "/b/other/")
            got[name, row.method] = answer(world.clients["admin"], row.method, there, {})
    assert len(got) > 300
    # These two read what they were sent before they look for whom it is about.
    assert {who for who, status in got.items() if status != 404} == {
        ("api-person", "put"),
        ("api-feedback-of", "post"),
    }
