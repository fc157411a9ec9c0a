"""Screens and API of query sources and expansions."""

import pytest
from django.test import Client

from corpus.models import ExpansionRun
from corpus.tasks import EXPANSIONS
from llm.practice.server import serve
from tests.corpus.reranking.room import Room, make_room
from tests.factories import make_member
from tests.markup import one_line

pytestmark = pytest.mark.django_db(transaction=True)
BASE = "/b/ranked/"
HX = {"HX-Request": "1"}


@pytest.fixture
def room(settings, tmp_path) -> Room:
    return make_room(settings, tmp_path)


def member(room: Room, *roles: str) -> Client:
    client = Client()
    client.force_login(make_member(room.benchmark, "-".join(roles), *roles))
    return client


def made(room: Room, client: Client, settings) -> ExpansionRun:
    """An expansion as the screen starts it, at its end."""
    sent = {
        "method": "qexpand",
        "retriever": room.source.pk,
        "endpoint": "practice",
        "profile": "strict",
        "rounds": 2,
        "passages": 1,
        "passage_tokens": 16,
        "tokenizer": "words",
        "prompt_tokens": 16000,
        "output_tokens": 1000,
        "temperature": 0,
        "top_p": 1,
        "depth": 10,
        "name": "Two rounds",
    }
    with serve() as url:
        settings.ASSAY_PRACTICE_URL = url
        assert client.post(f"{BASE}expansions/new/", sent | {"rounds": 0}).status_code == 422
        answer = client.post(f"{BASE}expansions/new/", sent)
        run = ExpansionRun.objects.get()
        assert answer.url == f"{BASE}expansions/{run.pk}/"
        assert "Waiting to begin" in one_line(client.get(answer.url)) or run.total
        assert run.claim()
        EXPANSIONS.drive(run)
    run.refresh_from_db()
    assert run.status == "done"
    return run


def test_an_expansion_is_set_up_beside_its_forecast_and_read(room, settings) -> None:
    admin = member(room, "admin")
    with serve() as url:
        settings.ASSAY_PRACTICE_URL = url
        for method in ("qexpand", "rewrite"):
            assert "Model endpoint" in one_line(admin.get(f"{BASE}expansions/new/?method={method}"))
            part = admin.get(f"{BASE}expansions/forecast/?method={method}", headers=HX)
            assert "about" in one_line(part)
    assert "No other wordings yet" in one_line(admin.get(f"{BASE}query-sources/"))
    run = made(room, admin, settings)
    page = one_line(admin.get(f"{BASE}expansions/{run.pk}/"))
    assert "Two rounds, round 1" in page
    # Two queries of two rounds each are two.
    assert f'<a href="{BASE}expansions/{run.pk}/?state=worded">2</a>' in page
    assert f"{BASE}expansions/{run.pk}/queries/{room.first.pk}/" in page
    rounds = one_line(admin.get(f"{BASE}expansions/{run.pk}/queries/{room.first.pk}/"))
    assert "Passages shown" in rounds
    assert "Round 2" in rounds
    reader = member(room, "reviewer")
    sources = one_line(reader.get(f"{BASE}query-sources/"))
    assert "worded here: QExpand, round 2 of 2" in sources
    source = one_line(reader.get(f"{BASE}query-sources/{run.source_id}/"))
    assert room.first.text in source
    beside = one_line(reader.get(f"{BASE}queries/{room.first.pk}/wordings/"))
    assert "Two rounds, round 1" in beside
    assert "Two rounds" in one_line(reader.get(f"{BASE}expansions/"))


@pytest.mark.slow
def test_other_words_are_kept_from_who_votes(room, settings) -> None:
    run = made(room, member(room, "admin"), settings)
    at = f"{BASE}expansions/{run.pk}/"
    addresses = (
        f"{BASE}query-sources/",
        f"{BASE}query-sources/{run.source_id}/",
        f"{BASE}expansions/",
        at,
        f"{at}queries/{room.first.pk}/",
        f"{BASE}queries/{room.first.pk}/wordings/",
        f"{BASE}pipelines/",
        f"/api{at}queries/",
        f"/api{BASE}query-sources/{run.source_id}/wordings/",
        f"/api{BASE}queries/{room.first.pk}/wordings/",
        f"/api{BASE}pipelines/grid/",
    )
    reader, voter = member(room, "reviewer"), member(room, "reviewer", "annotator")
    annotator = member(room, "annotator")
    for address in addresses:
        assert reader.get(address).status_code == 200, address
        assert voter.get(address).status_code == 403, address
        assert annotator.get(address).status_code in (403, 404), address


@pytest.mark.slow
def test_the_api_does_what_the_screens_do(room, settings) -> None:
    admin, there = member(room, "admin"), f"/api{BASE}expansions/"
    json = "application/json"
    with serve() as url:
        settings.ASSAY_PRACTICE_URL = url
        told = admin.get(f"{there}forecast/?method=qexpand&rounds=3&samples=2").json()
        assert told["calls"] == 2 * 3 * 2
        body = {"retriever": room.source.pk, "method": "qexpand", "config": {"passages": 1}}
        for wrong, field in (
            ({"retriever": 0}, "retriever"),
            ({"retriever": None}, "retriever"),
            ({"config": {"rounds": 9}}, "rounds"),
            ({"config": {"benchmark": 1}}, "config"),
            ({"method": "rewrite", "config": {"rounds": 1}}, "rounds"),
        ):
            answer = admin.post(there, body | wrong, content_type=json)
            assert answer.status_code in (400, 409), wrong
            assert field in answer.content.decode()
        assert admin.post(there, body, content_type=json).status_code == 202
        run = ExpansionRun.objects.get()
        at = f"{there}{run.pk}/"
        assert admin.post(f"{at}pause/").json()["status"] == "paused"
        assert admin.post(f"{at}resume/").json()["status"] == "queued"
        told = admin.put(f"{at}budget/", {"usd": "3.00"}, content_type=json).json()
        assert told["budget_usd"] == "3.00"
        assert run.claim()
        EXPANSIONS.drive(run)
    items = admin.get(f"{at}queries/").json()["results"]
    assert [[each["number"] for each in item["rounds"]] for item in items] == [[1, 2], [1, 2]]
    assert all(each["shown"] and each["calls"] for item in items for each in item["rounds"])
    run.refresh_from_db()
    rows = admin.get(f"/api{BASE}query-sources/{run.source_id}/wordings/").json()["results"]
    assert {row["original"] for row in rows} == {room.first.text, room.second.text}
    assert admin.get(f"/api{BASE}query-sources/").json()["count"] == 2
    assert admin.post(f"{at}keep/").status_code == 409
