"""The API of splitting, merging, scales, the audit and what is missing."""

import pytest

from annotate.models import Aspect, GoldPassage
from annotate.workspace.aspects import add_aspect
from annotate.workspace.gold import assign_passage
from tests.annotate.test_api import JSON, script
from tests.factories import make_gold, make_passage

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(world):
    return script(world.voters[0])


@pytest.fixture
def aspects(world):
    return [
        add_aspect(query=world.query, actor=world.voters[0], content=text, weight=3)
        for text in ("Light bends paths.", "Heat is no lure.")
    ]


def url(world, path: str) -> str:
    return f"/api/b/garden/{path}"


def here(world, path: str) -> str:
    return url(world, f"queries/{world.query.pk}/{path}")


def post(api, address: str, body: dict, status: int = 201) -> dict:
    answer = api.post(address, body, content_type=JSON)
    assert answer.status_code == status, answer.content
    return answer.json()


def test_an_aspect_is_split_undone_and_merged(world, api, aspects):
    address = url(world, f"aspects/{aspects[0].pk}/split/")
    parts = [{"content": "One.", "weight": 5}, {"content": "Two.", "weight": 1}]
    change = post(api, address, {"version": 1, "parts": parts})
    assert [each["k"] for each in change["after"]] == [3, 4]
    post(api, here(world, f"history/{change['id']}/undo/"), {})
    partner = {"aspect": aspects[1].pk, "version": 1}
    body = {"content": "Both.", "weight": 4, "version": 9, "partners": [partner]}
    stale = post(api, url(world, f"aspects/{aspects[0].pk}/merge/"), body, 409)
    body["version"] = stale["current"]["version"]
    post(api, url(world, f"aspects/{aspects[0].pk}/merge/"), body)
    kinds = [row["kind"] for row in api.get(here(world, "history/")).json()["results"]]
    assert kinds[:3] == ["merge", "undo", "split"]
    assert [each.content for each in Aspect.objects.filter(query=world.query).present()] == [
        "Both."
    ]


def test_scales_are_read_chosen_and_changed(world, api, aspects):
    assert api.get(url(world, "weight-scale/")).json() == {"scale": "likert5", "far": 2}
    admin = script(world.admin)
    answer = admin.put(url(world, "weight-scale/"), {"scale": "likert3"}, content_type=JSON)
    assert answer.json() == {"scale": "likert3", "far": 2}
    weights = [{"aspect": each.pk, "weight": 2, "version": 1} for each in aspects]
    post(api, here(world, "scale/"), {"scale": "likert3", "weights": weights})
    assert {each.scale for each in Aspect.objects.all()} == {"likert3"}
    post(api, here(world, "scale/"), {"scale": "likert5", "weights": []}, 409)


def test_what_is_missing_is_told(world, api):
    make_gold(world.query, world.passage)
    rows = api.get(here(world, "missing/")).json()
    assert [(row["kind"], row["blocking"]) for row in rows] == [
        ("undecided", True),
        ("no_aspects", True),
    ]
    assert rows[0]["url"].startswith(f"/b/garden/queries/{world.query.pk}/?passage=")


def test_problems_are_tagged_counted_and_taken_off(world, api):
    make_gold(world.query, world.passage)
    body = {"problem": "structural_noise", "passage": world.passage.pk, "note": "menus"}
    tag = post(api, here(world, "problems/"), body)
    counts = api.get(url(world, "audit/")).json()
    assert counts["problems"]["structural_noise"] == counts["verdicts"]["undecided"] == 1
    assert api.delete(here(world, f"problems/{tag['id']}/")).status_code == 204
    assert api.get(here(world, "problems/")).json()["results"] == []


def test_touching_passages_are_offered_and_merged(world, api, aspects):
    pair = [
        make_passage(world.benchmark, f"moths/m_{n}.txt", "biology", text=text)
        for n, text in enumerate(("The path", "bends round."))
    ]
    make_gold(world.query, *pair)
    assign_passage(query=world.query, passage=pair[0], aspect=aspects[0], actor=world.voters[0])
    (offer,) = api.get(here(world, "remake/")).json()
    assert offer["text"] == "The path bends round."
    body = {"passages": offer["passages"], "aspect": aspects[1].pk}
    made = post(api, here(world, "remake/"), body)
    assert made["passage_id"] == "biology-12/extraction_1.txt"
    assert GoldPassage.objects.standing().get().passage.text == offer["text"]
