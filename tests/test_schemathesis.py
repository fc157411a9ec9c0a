"""schemathesis makes requests of the API from its own schema, as each role: none fails, and what is
answered is what the schema says. `tests/test_api_walk.py` asks what we can think of.

More of it: `SCHEMATHESIS=50 python -m pytest -n 0 -rP -m slow tests/test_schemathesis.py`.
"""

import logging
import os
from types import ModuleType
from typing import Any

import pytest
import requests
import schemathesis
from django.core.cache import cache
from django.urls import resolve
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode

from tests.routes.rows import ROLES
from tests.test_api_walk import Walker, operations, shape, walker  # noqa: F401  (a fixture)
from tests.test_routes import TABLES, made, world  # noqa: F401  (fixtures)

pytestmark = [pytest.mark.slow, pytest.mark.django_db]
AT = "http://testserver"


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__.rpartition(".")[2])
def test_nothing_that_schemathesis_makes_fails(table: ModuleType, walker: Walker) -> None:  # noqa: F811
    """Whoever is not let in asks once; keys in addresses are those of rows that are there, which
    the walk does without."""
    examples = int(os.environ.get("SCHEMATHESIS", 3))
    read = schemathesis.openapi.from_dict(walker.schema)
    found = {
        (shape(each.ok().path), each.ok().method): each.ok() for each in read.get_all_operations()
    }
    for name, row, url, operation in operations(table.ROWS, walker.schema, walker.world):
        cache.clear()  # whoever asks much is told to wait, and would see nothing more
        ours = found[shape(resolve(url).route), row.method]
        one, some = cases(ours, 1), cases(ours, examples)
        for role in ROLES:
            for case in some if role in row.allowed else one:
                walker.ask(name, operation, role, as_asked(case, url))
    said = sorted(walker.answers.items())
    logging.getLogger(__name__).warning("%d answers: %s", walker.answers.total(), said)
    assert "\n".join(walker.found.values()) == ""
    assert walker.answers[200] > 5


def cases(operation: Any, count: int) -> list[Case]:
    """So many requests, as the schema has them and otherwise; the same in every run."""
    kept: list[Case] = []
    kinds = [
        operation.as_strategy(generation_mode=mode)
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
    ]

    @seed(count)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.one_of(kinds))
    def keep(case: Case) -> None:
        kept.append(case)

    keep()
    return kept


def as_asked(case: Case, url: str) -> dict[str, Any]:
    """The request as `Client.generic` takes it, to an address that leads somewhere."""
    sent = requests.Request(**case.as_transport_kwargs(base_url=AT)).prepare()
    kind = sent.headers.get("Content-Type", "")
    return {
        "path": "?".join([url, *sent.path_url.split("?", 1)[1:]]),
        "method": sent.method,
        "data": sent.body or b"",
        "content_type": kind,
    }
