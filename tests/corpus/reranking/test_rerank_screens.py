"""Screens and API of rerankings, and two runs side by side."""

import pytest
from django.test import Client

from corpus.models import RerankRun
from corpus.tasks import RERANKINGS
from llm.practice.server import serve
from tests.corpus.reranking.room import Room
from tests.factories import make_member
from tests.markup import one_line

pytestmark = pytest.mark.django_db(transaction=True)
BASE = "/b/ranked/"


def member(room: Room, *roles: str) -> Client:
    client = Client()
    client.force_login(make_member(room.benchmark, "-".join(roles), *roles))
    return client


@pytest.mark.slow
def test_a_reranking_is_set_up_beside_its_forecast_and_watched(room, settings) -> None:
    admin = member(room, "admin")
    with serve() as url:
        settings.ASSAY_PRACTICE_URL = url
        for method in ("pointwise", "listwise", "groupwise", "endpoint", "oracle", "merge"):
            page = one_line(admin.get(f"{BASE}reranks/new/?method={method}"))
            assert "Retrieval run" in page
            assert ("Without the ten pairs" in page) == (method not in ("oracle", "merge"))
            if method == "groupwise":
                assert "Left empty, 2 in strict, 6 in reference." in page
            part = one_line(
                admin.get(f"{BASE}reranks/forecast/?method={method}", headers={"HX-Request": "1"})
            )
            assert "about" in part
        sent = {
            "method": "groupwise",
            "source": room.source.pk,
            "endpoint": "practice",
            "depth": 3,
            "mix": "interpolate",
            "weight": 0.6,
            "parser": "strict",
            "family": "auto",
            "temperature": 0,
            "document_chars": 3000,
            "group_size": 2,
            "repeats": 3,
            "seed": 666,
            "name": "in groups",
        }
        wrong = admin.post(f"{BASE}reranks/new/", sent | {"group_size": 1})
        assert wrong.status_code == 422
        answer = admin.post(f"{BASE}reranks/new/", sent)
        run = RerankRun.objects.get()
        assert answer.url == f"{BASE}reranks/{run.pk}/"
        assert run.config["repeats"] == 3
        assert "Waiting to begin" in one_line(admin.get(answer.url)) or run.total
        assert run.claim()
        RERANKINGS.drive(run)
    run.refresh_from_db()
    assert run.status == "done"
    page = one_line(admin.get(answer.url))
    assert "in groups" in page
    # Over both queries' passages, and of each query, which leads to those of its passages.
    assert f"{run.report['spread']:.3f}" in page
    assert f"{run.report['repeated_documents']} passages" in page
    assert (
        f'data-label="Mean spread" class="n">{run.items.get(query=room.first).spread:.3f}' in page
    )
    assert f"{BASE}retrieval/{room.source.pk}/{room.first.pk}/beside/?with={run.run_id}" in page
    assert "in groups" in one_line(admin.get(f"{BASE}reranks/"))
    assert "in groups" in one_line(member(room, "annotator").get(f"{BASE}retrieval/"))


def test_two_runs_side_by_side_with_what_each_found_alone(room) -> None:
    run = room.run("oracle", depth=2)
    made, first = run.run, room.first
    there = f"{BASE}retrieval/{room.source.pk}/{first.pk}/beside/"
    reader = member(room, "reviewer")
    page = one_line(reader.get(f"{there}?with={made.pk}"))
    assert "Of the first 2 of both, the first alone has 0" in page
    found = reader.get(
        f"/api{BASE}retrieval-runs/{room.source.pk}/lists/{first.pk}/beside/?with={made.pk}"
    ).json()
    assert (found["first"], found["second"], found["k"]) == (room.source.pk, made.pk, 2)
    assert {each["pid"] for each in found["places"]} == set(room.order(made))
    assert found["places"][0]["pid"] == "b1"
    assert found["places"][0]["label"] == 1
    assert reader.get(f"{there}?with=99999").status_code == 404
    # Without another run there is nothing beside it, which is said.
    lone = f"{BASE}retrieval/{room.source.pk}/{room.second.pk}/beside/"
    made.lists.filter(query=room.second).delete()
    assert "No run to compare it with" in one_line(reader.get(lone))
    assert reader.get(f"{BASE}retrieval/{made.pk}/{room.second.pk}/beside/").status_code == 404


def test_what_a_machine_said_of_a_pair_is_kept_from_who_votes(room) -> None:
    run = room.run("pointwise")
    there = f"/api{BASE}retrieval-runs/{room.source.pk}/lists/{room.first.pk}/beside/"
    scores = [p["score"] for p in member(room, "reviewer").get(there).json()["places"]]
    assert None not in scores
    voter = member(room, "reviewer", "annotator")
    assert {p["score"] for p in voter.get(there).json()["places"]} == {None}
    for address in (f"reranks/{run.pk}/", "reranks/"):
        assert voter.get(f"{BASE}{address}").status_code == 403
    assert voter.get(f"/api{BASE}rerank-runs/{run.pk}/queries/").status_code == 403
    assert voter.get(f"/api{BASE}rerank-runs/{run.pk}/").status_code == 403


@pytest.mark.slow
def test_the_api_does_what_the_screens_do(room, settings) -> None:
    admin, there = member(room, "admin"), f"/api{BASE}rerank-runs/"
    with serve() as url:
        settings.ASSAY_PRACTICE_URL = url
        told = admin.get(f"{there}forecast/?method=groupwise&repeats=5&group_size=2&depth=4").json()
        assert told["calls"] == 2 * 5 * 2
        own = {"depth": 2, "top_p": 0.9, "skip_probe": True}
        body = {"source": room.source.pk, "method": "pointwise", "config": own}
        made = admin.post(there, body, content_type="application/json")
        assert made.status_code == 202
        for wrong, field in (
            ({"source": 0}, "source"),
            ({"config": {"depth": 0}}, "depth"),
            ({"config": {"seed": 1}}, "seed"),
            ({"config": {"benchmark": 1}}, "config"),
            ({"method": "merge", "config": {}}, "second"),
        ):
            answer = admin.post(there, body | wrong, content_type="application/json")
            assert answer.status_code in (400, 409), wrong
            assert field in answer.content.decode()
        run = RerankRun.objects.get()
        assert own.items() <= run.config.items()
        at = f"{there}{run.pk}/"
        assert admin.post(f"{at}pause/").json()["status"] == "paused"
        assert admin.post(f"{at}resume/").json()["status"] == "queued"
        assert (
            admin.put(f"{at}budget/", {"usd": "3.00"}, content_type="application/json").json()[
                "budget_usd"
            ]
            == "3.00"
        )
        assert run.claim()
        RERANKINGS.drive(run)
    rows = admin.get(f"{at}queries/").json()["results"]
    assert [len(row["pids"]) for row in rows] == [2, 2]
    assert admin.get(at).json()["run"]
    assert admin.post(f"{at}keep/").status_code == 409
    assert admin.get(there).json()["count"] == 1
