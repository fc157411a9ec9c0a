"""Screens and API of pipelines and of methods by retrievers."""

import pytest
from django.core.management import call_command
from django.test import Client

from evaluation.pipelines.models import PipelineRun
from evaluation.pipelines.running import take_turn
from llm.practice.server import serve
from tests.corpus.reranking.room import Room, make_room
from tests.factories import make_member
from tests.markup import one_line

pytestmark = pytest.mark.django_db(transaction=True)
BASE = "/b/ranked/pipelines/"


@pytest.fixture
def room(settings, tmp_path) -> Room:
    return make_room(settings, tmp_path)


@pytest.fixture
def admin(room) -> Client:
    client = Client()
    client.force_login(make_member(room.benchmark, "admin", "admin"))
    return client


@pytest.mark.slow
def test_a_pipeline_is_set_up_watched_and_held_against_the_paper(room, admin, settings) -> None:
    assert "No pipeline yet" in one_line(admin.get(BASE))
    assert "as printed" in one_line(admin.get(BASE))
    with serve() as url:
        settings.ASSAY_PRACTICE_URL = url
        assert "DIVER (v3)" in one_line(admin.get(f"{BASE}new/"))
        part = admin.get(f"{BASE}forecast/?preset=v2", headers={"HX-Request": "1"})
        assert "about" in one_line(part)
        sent = {
            "preset": "v2",
            "retriever": room.source.pk,
            "expander": "practice",
            "reranker": "practice",
            "profile": "strict",
            "depth": 3,
        }
        for wrong in ({"depth": 0}, {"repeats": 2}):  # v2 has no groups
            assert admin.post(f"{BASE}new/", sent | wrong).status_code == 422
        answer = admin.post(f"{BASE}new/", sent)
        run = PipelineRun.objects.get()
        assert answer.url == f"{BASE}{run.pk}/"
        assert "waits" in one_line(admin.get(answer.url))
        take_turn(run.pk)
    run.refresh_from_db()
    assert (run.status, run.error) == ("done", "")
    call_command("leaderboard", "ranked")
    page = one_line(admin.get(answer.url))
    assert "45.8" in page  # v2 as printed
    assert "merged" in page
    page = one_line(admin.get(BASE))
    assert "What it helped" in page
    assert "DIVER (v2), expanded" in page
    worded = one_line(admin.get(f"/b/ranked/queries/{room.first.pk}/wordings/"))
    assert "nDCG@10" in worded


@pytest.mark.slow
def test_the_api_does_what_the_screens_do(room, admin, settings) -> None:
    there = f"/api{BASE}"
    with serve() as url:
        settings.ASSAY_PRACTICE_URL = url
        assert admin.get(f"{there}forecast/?preset=v1&depth=2").json()["queries"] == 2
        told = [
            admin.get(f"{there}forecast/?preset=v3&repeats={n}").json()["calls"] for n in (1, 4)
        ]
        assert told[1] - told[0] == 3 * 2
        body = {"preset": "v1", "retriever": room.source.pk, "skip_probe": True}
        for wrong in ({"preset": "v9"}, {"retriever": 0}, {"depth": 0}, {"profile": "x"},
                      {"repeats": 2}):  # fmt: skip
            answer = admin.post(there, body | wrong, content_type="application/json")
            assert answer.status_code in (400, 409), wrong
        assert admin.post(there, body, content_type="application/json").status_code == 202
        run = PipelineRun.objects.get()
        assert run.config["skip_probe"] is True
        assert admin.post(f"{there}{run.pk}/pause/").json()["status"] == "paused"
        assert admin.post(f"{there}{run.pk}/resume/").json()["status"] == "queued"
        take_turn(run.pk)
    call_command("leaderboard", "ranked")
    told = admin.get(f"{there}{run.pk}/").json()
    assert (told["status"], len(told["steps"])) == ("done", 2)
    means = admin.get(f"{there}{run.pk}/means/").json()
    assert [row[0]["value"] for row in means["rows"]] == [
        *("retriever", "expanded", "pointwise", "oracle of the first 100"),
    ]
    assert means["rows"][-2][3]["value"] == pytest.approx(0.416)
    assert [each["name"] for each in admin.get(f"{there}grid/").json()] == [
        "grid",
        "reranked",
        "helped",
        "printed",
        "anew",
    ]
    worded = admin.get(f"/api/b/ranked/queries/{room.first.pk}/wordings/").json()
    assert {run["name"] for each in worded for run in each["runs"]} >= {"DIVER (v1), expanded"}
    assert admin.get(there).json()["count"] == 1


@pytest.mark.slow
def test_a_reranking_has_its_retriever_and_oracle_on_its_page_in_the_api_and_as_csv(
    room, admin
) -> None:
    run = room.run("pointwise", name="Pointwise")
    page, there = f"/b/ranked/reranks/{run.pk}/", f"/api/b/ranked/rerank-runs/{run.pk}/means/"
    assert f"{page}means/" in admin.get(page).content.decode()
    assert admin.get(there).json()["rows"][0][2]["value"] is None
    call_command("leaderboard", "ranked")
    rows = admin.get(there).json()["rows"]
    assert [row[0]["value"] for row in rows] == [
        *("retriever alone", "Pointwise", "oracle of the first 100"),
    ]
    assert rows[-1][2]["value"] == 1.0
    assert "oracle of the first 100" in one_line(admin.get(f"{page}means/"))
    for url in (f"{page}means.csv", "/b/ranked/pipelines/reranked.csv"):
        lines = b"".join(admin.get(url)).decode().splitlines()  # type: ignore[arg-type]
        assert "Pointwise" in "".join(lines), url
    assert lines[0] == "reranking,retriever,first,retriever alone,nDCG@10,oracle"
    assert admin.get("/b/ranked/pipelines/none.csv").status_code == 404
