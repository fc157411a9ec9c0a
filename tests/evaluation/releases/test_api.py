"""The API of releases, and the schema and page that describe the whole API."""

import html
import io
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator

from evaluation.models import Release
from kit.models import Event
from tests.evaluation.conftest import Garden, release_into
from tests.factories import make_benchmark, make_member, make_token

JSON = "application/json"


@pytest.fixture
def admin(garden: Garden) -> Any:
    return make_member(garden.benchmark, "garden-admin", "admin")


@pytest.fixture
def api(admin) -> Client:
    token = make_token(admin)
    return Client(headers={"Authorization": f"Token {token}"})


def send(api: Client, method: str, path: str = "", body: Any = None) -> tuple[int, Any]:
    url = f"/api/b/garden/releases/{path}"
    response = getattr(api, method)(url, body, content_type=JSON)
    return response.status_code, response.json() if response.content else None


def verbs(user: Any) -> list[str]:
    return list(Event.objects.filter(actor=user).order_by("pk").values_list("verb", flat=True))


def test_draft_is_asked_for_as_by_the_screen(api, admin, garden) -> None:
    status, made = send(api, "post", "", {"version": "0.1.0"})
    release = Release.objects.get()
    assert (status, made["id"], made["status"], made["state"]) == (
        202,
        release.pk,
        "queued",
        "draft",
    )
    assert (release.created_by, verbs(admin)) == (admin, ["start release"])
    assert send(api, "get", f"{release.pk}/")[1] == made
    assert "folder" not in made


@pytest.mark.parametrize("body", [{}, {"version": None}, {"version": "1" * 41}, {"version": ""}])
def test_missing_version_is_400_and_named(api, body) -> None:
    status, answer = send(api, "post", "", body)
    assert (status, list(answer)) == (400, ["version"])


@pytest.mark.parametrize("version", ["one", "../../x", "0.1.0/..", "/etc", "0.1.0 x", "0.2"])
def test_what_is_no_version_is_refused_and_touches_no_folder(api, settings, version) -> None:
    status, answer = send(api, "post", "", {"version": version})
    assert (status, answer["field"]) == (409, "version")
    assert not Release.objects.exists()
    assert not Path(settings.RELEASES).exists()


def test_version_is_used_once(api) -> None:
    assert send(api, "post", "", {"version": "0.1.0"})[0] == 202
    status, answer = send(api, "post", "", {"version": "0.1.0"})
    assert (status, answer["field"]) == (409, "version")
    assert "is being built" in answer["detail"]


def test_release_is_stopped_and_a_failed_one_tried_again(api, admin) -> None:
    pk = send(api, "post", "", {"version": "0.1.0"})[1]["id"]
    assert send(api, "post", f"{pk}/retry/")[0] == 409
    assert send(api, "post", f"{pk}/cancel/")[1]["status"] == "cancelled"
    status, answer = send(api, "post", f"{pk}/cancel/")
    assert (status, answer["detail"]) == (409, "This release is over already.")
    Release.objects.update(status="failed")
    assert send(api, "post", f"{pk}/retry/")[1]["status"] == "queued"
    assert verbs(admin) == ["start release", "cancel release", "retry release"]


def test_files_are_those_of_the_release(api, garden, tmp_path) -> None:
    release = release_into(garden.benchmark, tmp_path / "out")
    shown = send(api, "get", f"{release.pk}/")[1]
    assert shown["files"] == release.files
    base = f"/api/b/garden/releases/{release.pk}/"
    name = next(path for path in release.files if "/" in path)
    file = api.get(f"{base}files/{name}")
    assert b"".join(file.streaming_content) == (tmp_path / "out" / name).read_bytes()
    packed = b"".join(api.get(f"{base}archive/").streaming_content)
    inside = zipfile.ZipFile(io.BytesIO(packed)).namelist()
    assert {path.partition("/")[2] for path in inside} == set(release.files)


@pytest.mark.few(2)
@pytest.mark.parametrize("path", ["../secret.key", "%2e%2e/secret.key", "/etc/passwd", "nothing"])
def test_only_listed_files_exist(api, garden, tmp_path, path) -> None:
    (tmp_path / "secret.key").write_text("hidden")
    release = release_into(garden.benchmark, tmp_path / "out")
    assert api.get(f"/api/b/garden/releases/{release.pk}/files/{path}").status_code == 404


def test_files_of_an_unbuilt_release_are_not_found(api) -> None:
    pk = send(api, "post", "", {"version": "0.1.0"})[1]["id"]
    for path in (f"{pk}/archive/", f"{pk}/files/README.md"):
        assert send(api, "get", path)[0] == 404


def test_release_of_another_benchmark_is_not_found(api) -> None:
    foreign = Release.objects.create(benchmark=make_benchmark("other"), version="1.0.0", folder="x")
    assert send(api, "get", f"{foreign.pk}/")[0] == 404
    assert send(api, "post", f"{foreign.pk}/cancel/")[0] == 404


def test_releases_are_listed_in_pages_for_admins_only(api, garden) -> None:
    for n in range(3):
        send(api, "post", "", {"version": f"0.{n}.0"})
    page = send(api, "get", "?limit=1&offset=1")[1]
    assert (page["count"], page["results"][0]["version"]) == (3, "0.1.0")
    token = make_token(make_member(garden.benchmark, "r", "reviewer"))
    reader = Client(headers={"Authorization": f"Token {token}"})
    assert send(reader, "get")[0] == 403


# --- The schema ------------------------------------------------------------------------------


@pytest.mark.slow
def test_schema_is_valid_and_made_without_a_warning() -> None:
    # Late, because every process that collects tests would load its JSON Schema, and one asks.
    from drf_spectacular.validation import validate_schema

    GENERATOR_STATS.reset()
    with GENERATOR_STATS.silence():
        schema = SchemaGenerator().get_schema(request=None, public=True)
    validate_schema(schema)
    assert not GENERATOR_STATS._warn_cache
    assert not GENERATOR_STATS._error_cache
    operations = [way for routes in schema["paths"].values() for way in routes.values()]
    named = [way["operationId"] for way in operations]
    assert len(named) == len(set(named)) > 40
    nouns = {each["name"] for each in schema["tags"]}
    assert {tag for way in operations for tag in way["tags"]} == nouns
    assert {"tokenAuth": []} in operations[0]["security"]


def test_page_of_the_api_holds_nothing_inline(client) -> None:
    response = client.get(reverse("api-docs"), {"try": "1"})
    page = response.content.decode()
    assert response.status_code == 200
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", page) == []
    sources = re.findall(r'(?:src|href)="([^"#]+)"', page)
    (settings,) = (each for each in sources if "script=" in each)
    assert all(source.startswith("/") and not source.startswith("//") for source in sources)
    assert "unsafe" not in response["Content-Security-Policy"]
    script = client.get(html.unescape(settings))
    assert script["Content-Type"] == "application/javascript"
    assert reverse("api-schema").encode() in script.content


@pytest.mark.slow
def test_page_of_the_api_lists_every_route_under_its_noun(client) -> None:
    page = client.get(reverse("api-docs")).content.decode()
    schema = SchemaGenerator().get_schema(request=None, public=True)
    routes = [(way.upper(), path) for path, ways in schema["paths"].items() for way in ways]
    listed = re.findall(r"<code>([A-Z]+) (/api/[^<]+)</code>", page)
    assert sorted(listed) == sorted(routes)
    assert re.findall(r"<h2>(.+?)</h2>", page) == [each["name"] for each in schema["tags"]]
    assert "swagger" not in page


@pytest.mark.slow
def test_schema_is_served(client) -> None:
    response = client.get(reverse("api-schema"))
    assert response.status_code == 200
    assert b"/api/b/{slug}/debate-runs/" in response.content
