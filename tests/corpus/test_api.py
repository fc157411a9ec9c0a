"""The API's ways in, and its routes for benchmarks, people, texts, labels and imports."""

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from corpus.judgments.services import record_judgment
from corpus.models import Benchmark, ImportRun, Invitation, Judgment, Membership, Source
from kit.account.links import create_link
from kit.models import ApiToken, Event
from kit.runs.models import RunStatus
from tests.factories import (
    make_benchmark,
    make_gold,
    make_member,
    make_passage,
    make_pool,
    make_query,
    make_token,
    make_user,
    make_version,
)

pytestmark = pytest.mark.django_db
JSON = "application/json"


@pytest.fixture(autouse=True)
def _uploads(settings, tmp_path) -> None:
    settings.UPLOADS = tmp_path / "uploads"


@pytest.fixture
def benchmark() -> Benchmark:
    return make_benchmark(domains=("biology", "robotics"))


@pytest.fixture
def admin(benchmark) -> Any:
    return make_member(benchmark, "admin", "admin")


@pytest.fixture
def api(admin) -> Client:
    """A script with the admin's token and no session."""
    return script(admin)


def script(user: Any) -> Client:
    return Client(headers={"Authorization": f"Token {make_token(user)}"}, enforce_csrf_checks=True)


def send(api: Client, method: str, path: str, body: Any) -> tuple[int, Any]:
    response = getattr(api, method)(f"/api/{path}", body, content_type=JSON)
    return response.status_code, response.json() if response.content else None


def rows(api: Client, path: str, **query: Any) -> list[dict[str, Any]]:
    return api.get(f"/api/{path}", query).json()["results"]


# --- Ways in ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "header", [None, "Token wrong", "Token", "Token a b", "Bearer x", "Basic YTpi", "Token \u00fc"]
)
def test_without_a_good_token_nobody_is_let_in(benchmark, header: str | None) -> None:
    client = Client(headers={"Authorization": header} if header else {})
    response = client.get("/api/b/demo/")
    assert response.status_code == 401
    assert response["WWW-Authenticate"] == "Token"
    assert list(response.json()) == ["detail"]


def test_token_of_somebody_shut_out_no_longer_works(api, admin) -> None:
    assert api.get("/api/b/demo/").status_code == 200
    admin.is_active = False
    admin.save()
    assert api.get("/api/b/demo/").status_code == 401


def test_token_writes_without_csrf(api) -> None:
    body = {"username": "annotator-7", "roles": ["annotator"]}
    assert send(api, "post", "b/demo/people/", body)[0] == 201


def test_session_reads_but_writes_only_with_the_csrf_token(admin, benchmark) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(admin)
    body = {"username": "annotator-7", "roles": ["annotator"]}
    assert browser.get("/api/b/demo/").status_code == 200
    status, answer = send(browser, "post", "b/demo/people/", body)
    assert status == 403
    assert "CSRF" in answer["detail"]
    assert not Membership.objects.filter(user__username="annotator-7").exists()
    browser.get(reverse("benchmark", args=["demo"]))
    browser.defaults["HTTP_X_CSRFTOKEN"] = browser.cookies["csrftoken"].value
    assert send(browser, "post", "b/demo/people/", body)[0] == 201


def test_bad_bodies_are_answered_with_400(api) -> None:
    for body in ("{", "[1]", '"x"', "null", "\xff"):
        response = api.post("/api/b/demo/people/", body, content_type=JSON)
        assert response.status_code == 400, body
    assert api.post("/api/b/demo/people/", "a=1", content_type="text/csv").status_code == 415
    assert api.patch("/api/b/demo/people/", {}, content_type=JSON).status_code == 405


def test_answers_are_json_for_browsers_too(api) -> None:
    response = api.get("/api/b/demo/", headers={"Accept": "text/html"})
    assert response["Content-Type"] == "application/json"


# --- Lists -----------------------------------------------------------------------------------


def test_lists_come_in_pages(api, benchmark) -> None:
    for n in range(5):
        make_query(benchmark, f"q{n}")
    seen, url = [], "/api/b/demo/queries/?limit=2"
    while url:
        page = api.get(url).json()
        assert page["count"] == 5
        assert len(page["results"]) <= 2
        seen += [row["qid"] for row in page["results"]]
        url = page["next"]
    assert seen == [f"q{n}" for n in range(5)]
    assert rows(api, "b/demo/queries/", offset=99) == []
    assert len(rows(api, "b/demo/queries/", limit="x", offset="-3")) == 5


def test_page_holds_at_most_500_rows(api, benchmark) -> None:
    pool = make_pool(benchmark)
    type(pool).objects.bulk_create(
        type(pool)(benchmark=benchmark, name=f"pool {n}") for n in range(510)
    )
    assert len(rows(api, "b/demo/pools/")) == 50
    assert len(rows(api, "b/demo/pools/", limit=10**9)) == 500


@pytest.mark.parametrize("path", ["queries", "passages", "judgments", "people", "pools"])
def test_list_costs_the_same_with_one_and_three_rows(
    api, benchmark, path, django_assert_max_num_queries
) -> None:
    for n in range(3):
        query, passage = make_query(benchmark, f"q{n}"), make_passage(benchmark, f"p{n}")
        make_gold(query, passage)
        make_pool(benchmark, name=f"pool {n}")
        make_member(benchmark, f"annotator-{n}", "annotator", domains=("biology",))
        with django_assert_max_num_queries(9):
            assert len(rows(api, f"b/demo/{path}/")) >= n + 1


# --- Benchmarks ------------------------------------------------------------------------------


def test_people_see_their_own_benchmarks_only(api, benchmark) -> None:
    make_benchmark("other")
    assert [row["slug"] for row in rows(api, "benchmarks/")] == ["demo"]
    response = api.get("/api/b/other/")
    assert (response.status_code, list(response.json())) == (404, ["detail"])


def test_staff_make_a_benchmark_and_become_its_admin() -> None:
    staff = make_user("staff")
    staff.is_staff = True
    staff.save()
    api = script(staff)
    status, made = send(api, "post", "benchmarks/", {"slug": "new", "name": "New"})
    assert (status, made["slug"], made["licence"]) == (201, "new", "")
    assert Membership.objects.get(user=staff).roles == ["admin"]
    assert Event.objects.filter(verb="create benchmark", scope="new", actor=staff).count() == 1
    status, answer = send(api, "post", "benchmarks/", {"slug": "new", "name": ""})
    assert (status, sorted(answer)) == (400, ["name", "slug"])
    status, answer = send(api, "post", "benchmarks/", {"slug": "no slug", "name": "x"})
    assert (status, list(answer)) == (400, ["slug"])


# --- People ----------------------------------------------------------------------------------


def test_person_is_added_changed_and_removed(api, admin) -> None:
    body = {"username": "annotator-7", "roles": ["annotator"], "domains": ["biology"]}
    status, added = send(api, "post", "b/demo/people/", body)
    assert status == 201
    path = f"b/demo/people/{added['id']}/"
    status, changed = send(api, "put", path, {"roles": ["reviewer"], "domains": []})
    assert (status, changed) == (
        200,
        {"id": added["id"], "username": "annotator-7", "roles": ["reviewer"], "domains": []},
    )
    assert send(api, "delete", path, None) == (204, None)
    verbs = Event.objects.filter(scope="demo", actor=admin).order_by("pk")
    assert list(verbs.values_list("verb", flat=True)) == [
        "add person",
        "change person",
        "remove person",
    ]
    assert not Membership.objects.filter(pk=added["id"]).exists()


def test_added_person_signs_in_with_the_link_and_no_cache_keeps_it(api) -> None:
    body = {"username": "annotator-7", "roles": ["annotator"]}
    response = api.post("/api/b/demo/people/", body, content_type=JSON)
    assert response["Cache-Control"] == "no-store, private"
    renewed = api.post(f"/api/b/demo/people/{response.json()['id']}/link/")
    assert renewed["Cache-Control"] == "no-store, private"
    assert Client().get(response.json()["sign_in_path"]).status_code == 404
    visitor = Client()
    visitor.post(renewed.json()["sign_in_path"])
    assert visitor.get(reverse("benchmark", args=["demo"])).status_code == 200


def test_no_link_to_an_account_that_was_here_before(api) -> None:
    known = make_user("known")
    known.set_password("something long")
    known.save()
    body = {"username": "known", "roles": ["annotator"]}
    status, invited = send(api, "post", "b/demo/people/", body)
    assert (status, invited["username"], invited["roles"]) == (202, "known", ["annotator"])
    assert "sign_in_path" not in invited
    other = Client()
    other.force_login(known)
    address = f"/api/invitations/{invited['id']}/"
    assert api.post(address).status_code == 404
    assert other.post(address).json()["username"] == "known"
    assert not Invitation.objects.exists()


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"roles": ["king"]}, ["roles"]),
        ({"roles": "admin"}, ["roles"]),
        ({"roles": None, "username": None}, ["roles", "username"]),
        ({"username": "x" * 151}, ["username"]),
        ({"username": "a\x00b"}, ["username"]),
        ({"domains": ["law"]}, ["domains"]),
        ({"domains": "biology"}, ["domains"]),
    ],
)
def test_wrong_person_is_400_and_names_the_fields(api, changes, fields) -> None:
    body = {"username": "annotator-7", "roles": ["annotator"]} | changes
    status, answer = send(api, "post", "b/demo/people/", body)
    assert (status, sorted(answer)) == (400, fields)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"username": "admin"}, "username"),
        ({"roles": []}, "roles"),
        ({"username": "a b"}, "username"),
    ],
)
def test_refused_person_is_409_with_the_reason(api, changes, field) -> None:
    body = {"username": "annotator-7", "roles": ["annotator"]} | changes
    status, answer = send(api, "post", "b/demo/people/", body)
    assert (status, answer["field"]) == (409, field)
    assert answer["detail"]


def test_last_admin_stays(api, admin) -> None:
    path = f"b/demo/people/{Membership.objects.get().pk}/"
    for method, body in [("delete", None), ("put", {"roles": ["reviewer"]})]:
        status, answer = send(api, method, path, body)
        assert status == 409
        assert "at least one admin" in answer["detail"]


def test_member_of_another_benchmark_is_not_found(api) -> None:
    make_member(make_benchmark("other"), "foreign", "annotator")
    path = f"b/demo/people/{Membership.objects.get(user__username='foreign').pk}/"
    assert send(api, "put", path, {"roles": ["admin"]})[0] == 404
    assert send(api, "delete", path, None)[0] == 404
    assert send(api, "post", f"{path}link/", None)[0] == 404


def test_rights_follow_the_role(benchmark, admin) -> None:
    api = script(make_member(benchmark, "annotator-1", "annotator"))
    status, answer = send(api, "post", "b/demo/people/", {"username": "x", "roles": ["admin"]})
    assert (status, list(answer)) == (403, ["detail"])
    assert api.get("/api/b/demo/imports/").status_code == 403
    assert api.get("/api/b/demo/queries/").status_code == 200


# --- Texts and labels ------------------------------------------------------------------------


def test_passages_are_those_of_the_current_version(api, benchmark) -> None:
    make_passage(benchmark, "old")
    make_version(benchmark, "cleaned")
    make_passage(benchmark, "new", text=None)
    (row,) = rows(api, "b/demo/passages/")
    assert (row["pid"], row["domain"], row["text"], row["start"]) == ("new", "biology", None, None)


def test_labels_are_the_original_gold_and_what_stands_since(api, benchmark, admin) -> None:
    query, passage = make_query(benchmark), make_passage(benchmark)
    make_gold(query, passage)
    for label, source in [(1, Source.DEBATE), (0, Source.EXPERT)]:
        record_judgment(query=query, passage=passage, label=label, source=source, provenance={})
    assert Judgment.objects.count() == 3
    shown = [(row["source"], row["label"], row["status"]) for row in rows(api, "b/demo/judgments/")]
    assert sorted(shown) == [("expert", 0, "standing"), ("original", 1, "standing")]


# --- Imports ---------------------------------------------------------------------------------


def upload(text: str = '{"id": "1"}\n') -> SimpleUploadedFile:
    return SimpleUploadedFile("pairs.jsonl", text.encode())


def test_upload_is_queued_and_cancelled(api, admin) -> None:
    response = api.post("/api/b/demo/imports/", {"format": "pairs", "file": upload()})
    assert (response.status_code, response.json()["status"]) == (202, "queued")
    run = ImportRun.objects.get()
    assert (run.label, run.created_by) == ("pairs.jsonl", admin)
    path = f"b/demo/imports/{run.pk}/"
    assert api.get(f"/api/{path}").json()["format"] == "pairs"
    assert "path" not in api.get(f"/api/{path}").json()
    assert send(api, "post", f"{path}cancel/", None)[1]["status"] == RunStatus.CANCELLED
    status, answer = send(api, "post", f"{path}cancel/", None)
    assert (status, answer["detail"]) == (409, "This import is over already.")
    verbs = Event.objects.filter(scope="demo", actor=admin).order_by("pk")
    assert list(verbs.values_list("verb", flat=True)) == ["start import", "cancel import"]


def test_import_without_file_or_of_unknown_format_is_refused(api) -> None:
    response = api.post("/api/b/demo/imports/", {})
    assert (response.status_code, sorted(response.json())) == (400, ["format"])
    response = api.post("/api/b/demo/imports/", {"format": "bright"})
    assert (response.status_code, sorted(response.json())) == (400, ["file"])
    response = api.post("/api/b/demo/imports/", {"format": "csv", "file": upload()})
    assert (response.status_code, response.json()["field"]) == (409, "format")
    assert not ImportRun.objects.exists()


# --- Secrets ---------------------------------------------------------------------------------


def test_no_list_gives_tokens_or_keys_away(api, admin, benchmark, settings) -> None:
    settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY = "https://models.example/v1", "sk-hidden"
    admin.set_password("a long secret")
    admin.save()
    link = create_link(user=make_member(benchmark, "annotator-1", "annotator"))
    secrets = [ApiToken.objects.get(user=admin).token_hash, link, "sk-hidden", "models.example"]
    secrets += [admin.password, "password", "session"]
    paths = ["queries", "passages", "judgments", "pools", "people", "imports", "cases"]
    paths += ["debate-runs", "releases"]
    answers = [api.get(f"/api/b/demo/{path}/") for path in paths]
    answers += [api.get("/api/benchmarks/"), api.get("/api/b/demo/")]
    assert {answer.status_code for answer in answers} == {200}
    shown = json.dumps([answer.json() for answer in answers])
    assert [secret for secret in secrets if secret in shown] == []
