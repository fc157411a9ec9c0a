"""Behind a proxy that serves Assay under a path, every address of every page is under it."""

import re
from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import clear_script_prefix, reverse, set_script_prefix

from tests.factories import make_benchmark, make_member
from tests.routes.world import address
from tests.test_routes import ROWS, made, world  # noqa: F401  (fixtures)

PREFIX = "/assay"
PLACES = re.compile(
    r'\b(?:href|src|action|data-root|data-[a-z-]*url|hx-(?:get|post|put|patch|delete))="(/[^"]*)"'
)


@pytest.fixture(autouse=True)
def _served_under_a_path(settings) -> Iterator[None]:
    settings.FORCE_SCRIPT_NAME = PREFIX
    settings.STATIC_URL = f"{PREFIX}/static/"
    set_script_prefix(f"{PREFIX}/")  # as the handler of a server does, and the tests' client not
    yield
    clear_script_prefix()


def astray(text: str) -> list[str]:
    return [place for place in PLACES.findall(text) if not place.startswith(f"{PREFIX}/")]


@pytest.mark.slow
@pytest.mark.django_db
def test_pages_lead_to_pages_under_the_path() -> None:
    benchmark = make_benchmark()
    client = Client()
    client.force_login(make_member(benchmark, "admin", "admin"))
    names = [*((name, []) for name in ("home", "account", "api-docs"))]
    names += [(name, [benchmark.slug]) for name in ("benchmark", "queries", "people", "checklist")]
    for name, arguments in names:
        path = reverse(name, args=arguments).removeprefix(PREFIX)
        text = client.get(path).content.decode()
        assert len(PLACES.findall(text)) > 1, name
        assert astray(text) == [], name
    assert astray(client.get("/nothing/").content.decode()) == []


@pytest.mark.django_db
def test_who_is_not_signed_in_is_sent_to_sign_in_under_the_path() -> None:
    response = Client().get("/account/")
    assert response["Location"] == f"{PREFIX}/sign-in/?next={PREFIX}/account/"
    part = Client().get("/account/", headers={"HX-Request": "true"})
    assert part["HX-Redirect"].startswith(f"{PREFIX}/sign-in/?next=")
    api = Client().get("/api/benchmarks/")
    assert (api.status_code, api["Content-Type"]) == (401, "application/json")


@pytest.mark.slow
@pytest.mark.django_db
def test_every_page_leads_to_pages_under_the_path(world) -> None:  # noqa: F811
    addresses = {name: address(name, row, world) for name, row in ROWS if row.method == "get"}
    wrong = {}
    for name, path in addresses.items():
        response = world.clients["admin"].get(path.removeprefix(PREFIX))
        if response["Content-Type"].startswith("text/html") and not response.streaming:
            wrong[name] = astray(response.content.decode())
    assert len(wrong) > 80
    assert {name: found for name, found in wrong.items() if found} == {}
