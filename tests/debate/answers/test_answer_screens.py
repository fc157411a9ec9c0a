"""Answer runs over HTTP: the form, the run monitor, and one query from its editor."""

import json
import re

import pytest

from annotate.answers import comparing
from annotate.models import ReferenceAnswer
from debate.models import AnswerRun
from debate.tasks import write_answers
from llm.models import Call
from llm.practice.server import serve
from tests.annotate.test_api import script
from tests.annotate.world import signed_in
from tests.markup import one_line

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def paid(settings, tmp_path):
    """An endpoint whose model costs money."""
    with serve() as url:
        settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY = url, "sk-hidden"
        settings.ASSAY_MODEL = "m-1"
        row = {"endpoint": "default", "model": "m-1", "valid_from": "2020-01-01"}
        prices = tmp_path / "prices.json"
        prices.write_text(json.dumps([row | {"input": "10", "cached": "10", "output": "50"}]))
        settings.ASSAY_PRICES = str(prices)
        yield


@pytest.mark.slow
def test_the_form_starts_a_run_and_its_page_shows_what_came_of_it(room, practice) -> None:
    admin = signed_in(room.admin)
    shown = admin.get(room.url("answers/runs/forecast/?with_weights=on")).content.decode()
    assert "<b>2</b>" in shown
    started = admin.post(
        room.url("answers/runs/new/"),
        {"endpoint": practice.name, "with_weights": "on", "temperature": "0"},
    )
    run = AnswerRun.objects.get()
    assert started["Location"] == room.url(f"answers/runs/{run.pk}/")
    write_answers(run.pk)
    shown = one_line(admin.get(started["Location"]))
    assert re.search(r"2 of 2\s+queries", shown)
    assert "practice model" in shown
    assert admin.post(f"{started['Location']}choose/").status_code == 302
    assert ReferenceAnswer.objects.chosen().count() == 2


def test_an_annotator_lets_a_model_answer_one_query_and_watches_it(room, practice) -> None:
    author = signed_in(room.author)
    started = author.post(room.url(f"queries/{room.query.pk}/answer/generate/"))
    run = AnswerRun.objects.get()
    assert run.total == 1
    write_answers(run.pk)
    assert author.get(started["Location"]).status_code == 200
    assert signed_in(room.colleague).get(started["Location"]).status_code == 403
    shown = author.get(room.url(f"queries/{room.query.pk}/answer/")).content.decode()
    assert "Begin with it" in shown


@pytest.mark.slow
def test_a_budget_without_room_pauses_the_run_before_anything_is_sent(room, paid) -> None:
    api, url = script(room.admin), f"/api{room.url('answer-runs/')}"
    run = api.post(url, {"budget_usd": "0.01"}, content_type="application/json").json()
    write_answers(run["id"])
    paused = api.get(f"{url}{run['id']}/").json()
    assert paused["status"] == "paused"
    assert "The budget of $0.01 has no room" in paused["pause_reason"]
    assert not ReferenceAnswer.objects.exists()
    assert not Call.objects.exists()
    raised = {"usd": "50.00"}
    api.put(f"{url}{run['id']}/budget/", raised, content_type="application/json")
    assert api.post(f"{url}{run['id']}/resume/").json()["status"] == "queued"


def test_the_api_tells_the_forecast_the_items_and_what_was_chosen(room, practice) -> None:
    api, url = script(room.admin), f"/api{room.url('answer-runs/')}"
    assert api.get(f"{url}forecast/").json()["queries"] == 2
    run = api.post(url, {}, content_type="application/json").json()
    write_answers(run["id"])
    items = api.get(f"{url}{run['id']}/queries/").json()["results"]
    assert {each["state"] for each in items} == {"written"}
    assert api.post(f"{url}{run['id']}/choose/").json() == {"chosen": 2, "left": 0}
    wrong = api.post(url, {"endpoint": "nowhere"}, content_type="application/json")
    assert (wrong.status_code, wrong.json()["field"]) == (409, "endpoint")


def test_what_came_up_in_a_query_is_kept_from_whoever_rates_it(room, practice) -> None:
    from tests.factories import make_member

    judge = make_member(room.benchmark, "judge", "admin", "reviewer")
    run = (
        script(room.admin)
        .post(f"/api{room.url('answer-runs/')}", {}, content_type="application/json")
        .json()
    )
    write_answers(run["id"])
    AnswerRun.objects.get().items.filter(query=room.query).update(error="[lamps/page_1.txt]!")
    comparing.draw_comparison(access=room.access(room.admin))
    page = signed_in(judge).get(room.url(f"answers/runs/{run['id']}/")).content.decode()
    assert "[lamps/page_1.txt]!" not in page
    path = f"answer-runs/{run['id']}/queries/"
    found = script(judge).get(f"/api{room.url(path)}")
    assert found.json()["count"] == 0
