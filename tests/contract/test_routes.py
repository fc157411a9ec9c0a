"""Every path and method with the status for each role.

The statuses are those that `tests/test_routes.py` asks for, row by row, in its world; here is kept
what they are, so that no row changes, goes or gets another path unseen.
"""

import re
from collections.abc import Iterator

from django.urls import URLPattern, URLResolver, get_resolver

from tests.contract.kept import Line, same_lines
from tests.routes.rows import ROLES, expected
from tests.test_routes import ROWS


def test_paths_methods_and_roles() -> None:
    same_lines("routes.txt", rows())


def rows() -> Iterator[Line]:
    """A line for each row of the tables, below the path that its name stands for."""
    found = dict(paths(get_resolver()))
    for name, row in ROWS:
        path = "/favicon.ico" if name == "favicon" else found[name]
        statuses = ", ".join(f"{role} {expected(name, row, role)}" for role in ROLES)
        words = " ".join(f"{key}={value}" for key, value in row.kwargs.items())
        sent = " with " + " ".join(sorted(row.body)) if row.body else ""
        yield path, f"{row.method.upper()}{f' ({words})' if words else ''}{sent}: {statuses}"


def paths(resolver: URLResolver, before: str = "/") -> Iterator[tuple[str, str]]:
    """Names of routes with their paths; of an argument the kind is shown, not our name for it."""
    for each in resolver.url_patterns:
        path = before + str(each.pattern)
        if isinstance(each, URLResolver):
            yield from paths(each, path)
        elif isinstance(each, URLPattern) and each.name:
            yield each.name, re.sub(r"<(\w+):\w+>", r"<\1>", path)
