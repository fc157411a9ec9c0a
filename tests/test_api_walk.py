"""Every operation of the API with parameters, bodies and keys that nobody means: it never fails,
and what it answers is what the schema says. Where they go and who may go there says tests/routes.

More of it: `API_WALK=50 python -m pytest -n 0 -rP -m slow tests/test_api_walk.py` (tries of each
operation by each role), which shows how many answers of each status there were.
"""

import json
import logging
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from random import Random
from types import ModuleType
from typing import Any

import pytest
from django.core.cache import cache
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.test import Client
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart
from django.urls import resolve, reverse
from jsonschema import Draft202012Validator

from kit.schema import KeptSchema
from tests.routes.rows import ROLES, Row
from tests.routes.world import address
from tests.test_routes import ROWS, TABLES, made, world  # noqa: F401  (fixtures)

ARGUMENT = re.compile(r"<[^>]*>|\{[^}]*\}")
JSON = "application/json"
FORM = "multipart/form-data"
# Of every type, whatever was asked for; no database keeps halves of surrogate pairs and NUL.
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 2**31, 2**63, 10**30, -(2**70), 1.5, 1e308, float("nan")),
    *(
        "",
        " ",
        "\x00",
        "\ud800",
        "a" * 5_000,
        "-1",
        "0",
        "None",
        "٣",
        "<b>",
        "' OR 1=1 --",
        "../..",
    ),
    *("9999-99-99", "0000-01-01", "2026-02-30T25:61:61Z", "00000000-0000-0000-0000-000000000000"),
    *([], [[]], {}, {"a": {"b": [1]}}, [None], ["x"] * 200, {"\x00": "\x00"}, ["\ud800"]),
)
FORMATS = {
    "date": ("2026-11-28", "0001-01-01", "9999-12-31"),
    "date-time": ("2026-11-28T01:02:03Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"),
    "uuid": ("00000000-0000-4000-8000-000000000000",),
    "uri": ("http://127.0.0.1/", "http://page.test/\u202e", "https://[::1"),
    "email": ("a@b.test",),
}
ODD_NUMBERS = (0, 2**31, 2**63 - 1, 2**63, 10**30)


class Maker:
    """Values by a schema, some of them odd."""

    def __init__(self, schemas: dict[str, Any], rng: Random, odd: float, lost: bool) -> None:
        self.schemas, self.rng, self.odd, self.lost = schemas, rng, odd, lost

    def is_odd(self) -> bool:
        return self.rng.random() < self.odd

    def make(self, schema: dict[str, Any], depth: int = 0) -> Any:
        if self.is_odd():
            return self.rng.choice(ODD)
        if "$ref" in schema:
            return self.make(self.schemas[schema["$ref"].rpartition("/")[2]], depth)
        for key in ("oneOf", "anyOf", "allOf"):
            if key in schema:
                return self.make(self.rng.choice(schema[key]), depth)
        if "enum" in schema:
            return self.rng.choice(schema["enum"])
        kind = schema.get("type", "object")
        if kind == "object":
            made = {
                name: self.make(each, depth + 1)
                for name, each in schema.get("properties", {}).items()
                if self.rng.random() < 0.9
            }
            return made | ({"more": 1} if self.is_odd() else {})
        if kind == "array":
            few = 0 if depth > 4 else self.rng.randint(0, 3)
            return [self.make(schema["items"], depth + 1) for _ in range(few)]
        return self._plain(kind, schema)

    def _plain(self, kind: str, schema: dict[str, Any]) -> Any:
        rng = self.rng
        if kind == "boolean":
            return rng.random() < 0.5
        if kind in ("integer", "number"):
            low, high = schema.get("minimum", -1), schema.get("maximum", 5)
            return rng.choice((low, high, low + 1, 1, 2))
        longest = schema.get("maxLength", 40)
        texts = ("a", "demo", "biology", "1", "yes", "x" * longest, "é\u0301 \u202e\u2028" * 3)
        return rng.choice(FORMATS.get(schema.get("format", ""), texts))


@dataclass
class Walker:
    """Asks operations in one world, and keeps what was wrong and how many answers there were."""

    world: Any
    schema: dict[str, Any]
    found: dict[Any, str] = field(default_factory=dict)
    answers: Counter[int] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.schemas = self.schema["components"]["schemas"]
        self.said = {"components": as_json_schema(self.schema["components"])}
        self.clients = {}
        for role in ROLES:
            self.clients[role] = Client()
            if role in self.world.people:
                self.clients[role].force_login(self.world.people[role])

    def walk(self, rows: list[tuple[str, Row]], tries: Callable[[Row, str], int]) -> None:
        """Ask each operation as often as `tries` says of a role."""
        for name, row, url, operation in operations(rows, self.schema, self.world):
            # Whoever asks much is told to wait, and would see nothing more.
            cache.clear()
            for role in ROLES:
                rng = Random(f"{name} {row.method} {role}")
                for turn in range(tries(row, role)):
                    # The first is as the schema has it: most odd ones are refused at the door. The
                    # second names rows that no database has.
                    maker = Maker(self.schemas, rng, odd=0.15 * (turn > 0), lost=turn == 1)
                    self.ask(name, operation, role, request(row.method, url, operation, maker))

    def ask(self, name: str, operation: Any, role: str, asked: dict[str, Any]) -> None:
        """Ask as `Client.generic` takes it; what it did is undone."""
        client = self.clients[role]
        cookies = client.cookies.copy()
        try:
            with transaction.atomic():
                got = client.generic(**asked)
                content = b"".join(got) if got.streaming else got.content
                transaction.set_rollback(True)
            self.answers[got.status_code] += 1
            kind = got.headers.get("Content-Type", "")
            wrong = self._fault(operation, got.status_code, kind, content)
        except Exception as error:
            self.answers[500] += 1
            wrong = f"{type(error).__name__}: {error!s:.300}"
        client.cookies = cookies
        if wrong:
            said = f"{asked['method']} {asked['path']} as {role}: {wrong} after {asked!r:.600}"
            self.found.setdefault((name, wrong.split(":")[0]), said)

    def _fault(self, operation: Any, status: int, kind: str, content: bytes) -> str:
        """What is wrong with an answer, or nothing."""
        if status >= 500:
            return f"failed with {status}"
        if status >= 400:
            return "" if kind.partition(";")[0] == JSON else f"answered {kind}"
        if str(status) not in operation["responses"]:
            return f"{status} is not in the schema"
        kinds = operation["responses"][str(status)].get("content", {})
        if JSON not in kinds:
            return (
                ""
                if not kinds or {kind.partition(";")[0], "*/*"} & set(kinds)
                else f"answered {kind}"
            )
        said = as_json_schema(kinds[JSON]["schema"]) | self.said
        wrong = Draft202012Validator(said).iter_errors(json.loads(content))
        return "; ".join(f"{error.json_path}: {error.message:.200}" for error in islice(wrong, 2))


def operations(
    rows: list[tuple[str, Row]],
    schema: dict[str, Any],
    world: Any,  # noqa: F811
) -> Iterator[tuple[str, Row, str, dict[str, Any]]]:
    """Of each row of the API its name, the row, where it goes and what the schema says of it."""
    known = {shape(path): each for path, each in schema["paths"].items()}
    for name, row in rows:
        if name.startswith("api-") and name not in ("api-docs", "api-schema"):
            url = address(name, row, world)
            yield name, row, url, known[shape(resolve(url).route)][row.method]


def request(method: str, url: str, operation: dict[str, Any], maker: Maker) -> dict[str, Any]:
    """Something made up, as `Client.generic` takes it."""
    found = resolve(url)
    keys = {
        key: maker.rng.choice(ODD_NUMBERS) if type(value) is int and maker.lost else value
        for key, value in found.kwargs.items()
    }
    listed = [each for each in operation.get("parameters", ()) if each["in"] == "query"]
    query = {
        each["name"]: maker.make(each["schema"]) for each in listed if maker.rng.random() < 0.5
    }
    query = {name: str(value).encode(errors="replace") for name, value in query.items()}
    asked = {"path": reverse(found.view_name, kwargs=keys), "method": method, "query_params": query}
    if method in ("get", "delete"):
        return asked
    wanted = operation.get("requestBody", {}).get("content", {})
    if JSON in wanted and (FORM not in wanted or maker.rng.random() < 0.75):
        # Numbers that JSON does not have, as many clients send them.
        body = json.dumps(maker.make(wanted[JSON]["schema"])).encode()
    elif FORM in wanted:
        return asked | {
            "data": form(wanted[FORM]["schema"], maker),
            "content_type": MULTIPART_CONTENT,
        }
    else:
        body = json.dumps(maker.rng.choice(ODD)).encode()
    return asked | {"data": body, "content_type": JSON}


def form(schema: dict[str, Any], maker: Maker) -> bytes:
    """A body as a browser sends a form: texts, and a file where one is asked for."""
    schema = maker.schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    fields: dict[str, Any] = {}
    for name, each in schema.get("properties", {}).items():
        if each.get("format") == "binary" and not maker.is_odd():
            fields[name] = SimpleUploadedFile(
                "a.txt", maker.rng.choice((b"", b"text", b"\xff\x00"))
            )
        else:
            fields[name] = str(maker.make(each)).encode(errors="replace").decode()
    return encode_multipart(BOUNDARY, fields)


def as_json_schema(schema: Any) -> Any:
    """OpenAPI 3.0's `nullable` in the words of JSON Schema."""
    if isinstance(schema, list):
        return [as_json_schema(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {key: as_json_schema(each) for key, each in schema.items() if key != "nullable"}
    return {"anyOf": [plain, {"type": "null"}]} if schema.get("nullable") is True else plain


def shape(route: str) -> str:
    """A path without the names of its arguments."""
    return ARGUMENT.sub("{}", f"/{route.lstrip('/')}")


@pytest.fixture
def walker(world: Any) -> Walker:  # noqa: F811
    return Walker(world, json.loads(json.dumps(KeptSchema().get_schema())))


@pytest.mark.django_db
def test_every_operation_of_the_schema_is_walked(walker: Walker) -> None:
    rows = operations(ROWS, walker.schema, walker.world)
    walked = {(shape(resolve(url).route), row.method) for _, row, url, _ in rows}
    said = {(shape(path), verb) for path, each in walker.schema["paths"].items() for verb in each}
    assert walked == said


@pytest.mark.django_db
def test_some_answers_are_what_the_schema_says(walker: Walker) -> None:
    walker.walk(ROWS[::8], lambda row, role: 2 * (role in row.allowed[-1:]))
    assert "\n".join(walker.found.values()) == ""
    assert walker.answers[200] > 10


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__.rpartition(".")[2])
def test_nothing_fails_for_any_role(table: ModuleType, walker: Walker) -> None:
    """Whoever is not let in asks once: what they send is not read."""
    tries = int(os.environ.get("API_WALK", 4))
    walker.walk(table.ROWS, lambda row, role: tries if role in row.allowed else 1)
    said = sorted(walker.answers.items())
    logging.getLogger(__name__).warning("%d answers: %s", walker.answers.total(), said)
    assert "\n".join(walker.found.values()) == ""
    assert walker.answers[200] > 5
    assert walker.answers[429] == 0
