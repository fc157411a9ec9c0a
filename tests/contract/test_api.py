"""Every operation of the REST API as its schema tells it, and what its lists and rows really hold.

A line is a parameter or a field: where it stands, its name, its type. `*` after a name: always
there (in an answer) or required (in a request); `?`: may be null; `[]`: of each element; `{}`: of
each value of an object with free keys. Names of components, descriptions and bounds are no part.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import get_resolver
from drf_spectacular.generators import SchemaGenerator

from tests.contract.kept import KEPT, Line, read, same_lines
from tests.contract.test_routes import paths
from tests.routes.rows import ROLES, expected
from tests.routes.world import address, make_everything
from tests.test_routes import ROWS

Schema = dict[str, Any]
_MOST_DEEP = 12  # a schema that holds itself ends there


def test_operations_and_fields_of_the_api() -> None:
    same_lines("api.txt", operations(SchemaGenerator().get_schema(request=None, public=True)))


def test_lists_are_told_as_they_are_answered() -> None:
    """In pages or whole, as far as the world of `answers.txt` holds them."""
    schema = list(operations(SchemaGenerator().get_schema(request=None, public=True)))
    in_pages = {_shape(name) for name, line in schema if line.startswith("200 results*[]")}
    whole = {_shape(name) for name, line in schema if line.startswith("200[]")}
    kept = list(read((KEPT / "answers.txt").read_text(encoding="utf-8")))
    pages_seen = {_shape(name) for name, line in kept if line.startswith(".next: ")}
    whole_seen = {_shape(name) for name, line in kept if line.startswith("[]")}
    assert len(pages_seen & in_pages) > 40
    assert len(whole_seen & whole) > 5
    assert not pages_seen - in_pages
    assert not whole_seen & in_pages


def _shape(name: str) -> str:
    """A path without the names of its parts."""
    return re.sub(r"<\w+>|{\w+}", "{}", name)


@pytest.mark.slow
@pytest.mark.django_db
def test_fields_that_are_answered(tmp_path: Path) -> None:
    """Of a world with one of everything, to whoever may read most of it."""
    same_lines("answers.txt", answers(make_everything(tmp_path)))


def answers(world: SimpleNamespace) -> Iterator[Line]:
    """Each path of the API that can be read, with a line for each value in its answer."""
    names = dict(paths(get_resolver()))
    api = {name for name in names if name.startswith("api-")} - {"api-schema", "api-docs"}
    for name, row in ROWS:
        readers = [role for role in reversed(ROLES) if expected(name, row, role) == 200]
        if name in api and row.method == "get" and readers:
            client = Client()
            if readers[0] in world.people:
                client.force_login(world.people[readers[0]])
            answer = client.get(address(name, row, world))
            if answer["Content-Type"] == "application/json":  # others are files and pages
                for line in values(answer.json()):
                    yield f"GET {names[name]}", line


def values(found: Any, at: str = "") -> Iterator[str]:
    """Where each simple value stands, and what it is."""
    if isinstance(found, dict) and found:
        for name, each in found.items():
            yield from values(each, f"{at}.{name}")
    elif isinstance(found, list) and found:
        for each in found:
            yield from values(each, f"{at}[]")
    else:
        yield f"{at or 'all'}: {type(found).__name__}"


def operations(schema: Schema) -> Iterator[Line]:
    """Each operation with a line for each of its parameters and fields."""
    reader = _Reader(schema["components"]["schemas"])
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            for line in reader.operation(operation):
                yield f"{method.upper()} {path}", line


class _Reader:
    def __init__(self, components: Schema) -> None:
        self.components = components

    def operation(self, operation: Schema) -> Iterator[str]:
        for each in operation.get("parameters", ()):
            name = f"{each['name']}{'*' if each.get('required') else ''}"
            yield from self.fields(each["schema"], f"{each['in']} {name}", "")
        yield from self.content("takes", operation.get("requestBody", {}), hidden="readOnly")
        for status, answer in operation["responses"].items():
            if not answer.get("content"):
                yield f"{status} without content"
            yield from self.content(str(status), answer, hidden="writeOnly")

    def content(self, where: str, body: Schema, hidden: str) -> Iterator[str]:
        for kind, content in body.get("content", {}).items():
            yield f"{where} {kind}"
            yield from self.fields(content.get("schema", {}), where, hidden)

    def fields(self, schema: Schema, at: str, hidden: str, deep: int = 0) -> Iterator[str]:
        """A line for each value that the schema holds."""
        found = self.resolved(schema)
        at += "?" if found.get("nullable") else ""
        is_open = isinstance(found.get("additionalProperties"), dict)
        variants = [self.resolved(each) for each in found.get("oneOf", found.get("anyOf", ()))]
        if deep > _MOST_DEEP:
            yield f"{at}: and so on"
        elif any("properties" in each or "items" in each for each in variants):
            for each in variants:
                yield from self.fields(each, at, hidden, deep + 1)
        elif found.get("properties"):
            for name, each in found["properties"].items():
                if not self.resolved(each).get(hidden) and not each.get(hidden):
                    mark = "*" if name in found.get("required", ()) else ""
                    inner = f"{at}{'.' if deep else ' '}{name}{mark}"
                    yield from self.fields(each, inner, hidden, deep + 1)
        elif "items" in found:
            yield from self.fields(found["items"], f"{at}[]", hidden, deep)
        elif is_open:
            yield from self.fields(found["additionalProperties"], f"{at}{{}}", hidden, deep)
        else:
            yield f"{at}: {' or '.join(map(_kind, variants)) if variants else _kind(found)}"

    def resolved(self, schema: Schema) -> Schema:
        """The schema itself behind references, and behind `allOf`."""
        if "$ref" in schema:
            return self.resolved(self.components[schema["$ref"].rpartition("/")[2]])
        if "allOf" in schema:
            found: Schema = {name: each for name, each in schema.items() if name != "allOf"}
            for each in schema["allOf"]:
                found = self.resolved(each) | found
            return found
        return schema


def _kind(schema: Schema) -> str:
    """A simple type with its format, or the values that it may have."""
    if "enum" in schema:
        return "one of " + ", ".join(sorted(repr(each) for each in schema["enum"]))
    kind, form = schema.get("type", "anything"), schema.get("format")
    # How wide an integer is depends on the database.
    return f"{kind} ({form})" if form and kind != "integer" else str(kind)
