"""Screens and API of training data: who may see and do what, and what stands on them."""

import io
import json
import zipfile

import pytest
from django.test import Client

from evaluation.models import TrainingRun
from evaluation.tasks import TRAINING
from kit.models import Event
from llm.practice.server import serve
from tests.corpus.reranking.room import Room, make_room
from tests.evaluation.training.room import driven, passage, start, writing
from tests.factories import make_gold, make_member
from tests.markup import one_line

pytestmark = pytest.mark.django_db(transaction=True)
HERE = "/b/ranked/training/"
API = "/api/b/ranked/training-runs/"


@pytest.fixture
def room(settings, tmp_path) -> Room:
    return make_room(settings, tmp_path)


def member(room: Room, *roles: str) -> Client:
    client = Client()
    client.force_login(make_member(room.benchmark, "-".join(roles), *roles))
    return client


@pytest.mark.slow
def test_a_run_is_set_up_beside_its_forecast_and_watched(room, settings) -> None:
    admin = member(room, "admin")
    assert "Make some" in one_line(admin.get(HERE))
    with serve() as url:
        settings.ASSAY_PRACTICE_URL = url
        assert "Hard negatives that are written" in one_line(admin.get(f"{HERE}new/"))
        # 2 queries: 2 passages, a page and 3 negatives each.
        asked = {"source": room.source.pk, "depth": 2, "negatives": 3, "positives": 1}
        part = one_line(admin.get(f"{HERE}forecast/", asked, headers={"HX-Request": "1"}))
        assert "about 12" in part
        told = admin.get(f"{API}forecast/", asked).json()
        assert (told["queries"], told["calls"]) == (2, 12)
        sent = {
            **asked,
            "endpoint": "practice",
            "labels": 5,
            "shortest": 30,
            "longest": 300,
            "least_chars": 300,
            "likeness": 0.5,
            "document_chars": 3000,
            "temperature": 0,
            "name": "by hand",
        }
        wrong = admin.post(f"{HERE}new/", sent | {"longest": 20})
        assert wrong.status_code == 422
        assert "The longest is shorter" in one_line(wrong)
        answer = admin.post(f"{HERE}new/", sent)
        run = TrainingRun.objects.get()
        assert answer.url == f"{HERE}{run.pk}/"
        assert "Waiting to begin" in one_line(admin.get(answer.url)) or run.total
        assert run.claim()
        run = driven(run)
    assert run.status == "done"
    page = one_line(admin.get(answer.url))
    for words in (
        "by hand",
        "biology, label",
        "pony, written positive",
        "Label now",
        "flagembedding",
    ):
        assert words in page
    assert f"/b/ranked/passages/{passage('b1').pk}/" in page
    written = one_line(admin.get(f"{answer.url}?kind=train_positive"))
    assert "About" in written
    assert f"/b/ranked/passages/{passage('b1').pk}/" not in written
    assert "by hand" in one_line(admin.get(HERE))


def test_what_is_left_out_is_said_beside_it(room, settings) -> None:
    with writing(settings):
        run = driven(start(room))
    reader = member(room, "reviewer")
    here = f"{HERE}{run.pk}/"
    assert "left out" not in one_line(reader.get(here))
    make_gold(room.first, passage("b4"))
    page = one_line(reader.get(here))
    assert "left out: negatives that are labelled relevant" in page
    assert "unjudged" in page
    # Reviewers act on nothing and are not led to calls, which are admins'.
    assert "/calls/" not in page
    assert "Ask people" not in page
    read = Event.objects.filter(verb="read hidden material")
    assert [each.data["material"] for each in read] == ["training data"]


@pytest.mark.slow
def test_members_who_vote_or_only_annotate_see_nothing(room, settings) -> None:
    with writing(settings):
        run = driven(start(room))
    paths = [HERE, f"{HERE}{run.pk}/", API, f"{API}{run.pk}/", f"{API}{run.pk}/documents/"]
    for roles, code in ((("annotator",), 403), (("reviewer",), 200), (("admin",), 200)):
        client = member(room, *roles)
        assert {client.get(path).status_code for path in paths} == {code}
    both = member(room, "reviewer", "annotator")
    assert {both.get(path).status_code for path in paths} <= {403, 404}
    export = f"{HERE}{run.pk}/export/diver/"
    assert member(room, "reviewer", "admin").get(export).status_code == 200
    client = Client()
    client.force_login(make_member(room.benchmark, "looks", "reviewer"))
    assert client.get(export).status_code == 403
    assert client.post(f"{HERE}{run.pk}/ask/", {"size": 1, "seed": 1}).status_code == 403


@pytest.mark.slow
def test_the_api_does_all_that_the_screens_do(room, settings) -> None:
    admin = member(room, "admin")
    with writing(settings):
        config = {"shortest": 20, "longest": 200, "labels": 0}
        sent = {"source": room.source.pk, "config": config, "name": "by script"}
        for wrong, field in (({"source": 99}, "source"), ({"config": {"colour": 1}}, "config")):
            answer = admin.post(API, sent | wrong, content_type="application/json")
            assert answer.status_code == 409
            assert field in json.dumps(answer.json())
        made = admin.post(API, sent, content_type="application/json")
        assert made.status_code == 202
        run = TrainingRun.objects.get(pk=made.json()["id"])
        at = f"{API}{run.pk}/"
        early = admin.get(f"{at}export/diver/")
        assert early.status_code == 409
        assert admin.post(f"{at}pause/").json()["status"] == "paused"
        assert admin.post(f"{at}resume/").json()["status"] == "queued"
        TRAINING.take_part(run.pk)
    assert admin.get(at).json()["report"]["written"] == 4
    found = admin.get(f"{at}documents/").json()["results"]
    graded = next(each for each in found if each["passage"] == passage("b1").pk)
    assert (graded["kind"], graded["use"], graded["score"]) == ("train_grade", "positive", 7)
    assert admin.post(f"{at}ask/", {"size": 1}, content_type="application/json").json() == {
        "asked": 1
    }
    page = one_line(admin.get(f"{HERE}{run.pk}/"))
    assert "People were asked about 1 graded pair. Of 0 that they decided" in page
    for where in (f"{at}export/diver/", f"{HERE}{run.pk}/export/diver/"):
        packed = zipfile.ZipFile(io.BytesIO(b"".join(admin.get(where).streaming_content)))
        assert f"ranked-training-{run.pk}/train.jsonl" in packed.namelist()
    assert admin.get(f"{at}export/csv/").status_code == 404
    # The same pair is not drawn twice; the rest is.
    admin.post(f"{HERE}{run.pk}/ask/", {"size": 100, "seed": 1})
    assert run.documents.filter(case__isnull=False).count() == 4
