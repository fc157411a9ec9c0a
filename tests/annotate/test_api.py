"""The API of aspects, gold passages, cases and votes does what the screens do."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from annotate.models import Aspect, GoldPassage, Vote
from annotate.voting.services import cast_vote
from corpus.models import Judgment
from kit.models import Event
from tests.annotate.world import World
from tests.factories import make_passage, make_query, make_token

pytestmark = pytest.mark.django_db
JSON = "application/json"
TEXTS = {"content": "New.", "rationale": "", "weight": 4}


@pytest.fixture
def api(world) -> Client:
    return script(world.voters[0])


@pytest.fixture
def queries(world) -> str:
    return f"queries/{world.query.pk}/"


def script(user: User) -> Client:
    return Client(headers={"Authorization": f"Token {make_token(user)}"})


def send(api: Client, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    response = getattr(api, method)(f"/api/b/garden/{path}", body, content_type=JSON)
    return response.status_code, response.json() if response.content else None


def rows(api: Client, path: str, **query: Any) -> list[dict[str, Any]]:
    return api.get(f"/api/b/garden/{path}", query).json()["results"]


def events(user: User) -> list[str]:
    return list(Event.objects.filter(actor=user).order_by("pk").values_list("verb", flat=True))


def make_aspect(world: World, k: int = 1, **fields: Any) -> Aspect:
    return Aspect.objects.create(query=world.query, k=k, position=k, **fields)


# --- Aspects ---------------------------------------------------------------------------------


def test_aspect_is_added_written_and_read(api, world, queries) -> None:
    status, added = send(api, "post", f"{queries}aspects/", {"content": "One.", "weight": 5})
    assert (status, added["aspect_id"], added["version"]) == (201, "biology-12-a1", 1)
    body = TEXTS | {"version": 1, "rationale": "Because."}
    status, written = send(api, "put", f"aspects/{added['id']}/", body)
    assert (status, written["version"], written["weight"]) == (200, 2, 4)
    assert rows(api, f"{queries}aspects/") == [written]
    assert events(world.voters[0]) == ["add aspect", "save aspect"]


def test_stale_write_is_409_with_the_current_version(api, world) -> None:
    aspect = make_aspect(world, content="Old.")
    path = f"aspects/{aspect.pk}/"
    assert send(api, "put", path, TEXTS | {"version": 1})[0] == 200
    second = script(world.voters[1])
    status, answer = send(second, "put", path, TEXTS | {"version": 1, "content": "Mine."})
    assert (status, answer["current"]["version"]) == (409, 2)
    assert answer["current"]["updated_at"]
    assert Aspect.objects.get().content == "New."
    again = TEXTS | {"version": answer["current"]["version"], "content": "Mine."}
    assert send(second, "put", path, again)[0] == 200
    assert events(world.voters[1]) == ["save aspect"]


def test_writing_what_stands_there_already_is_no_conflict(api, world) -> None:
    aspect = make_aspect(world, version=3, **TEXTS)
    assert send(api, "put", f"aspects/{aspect.pk}/", TEXTS | {"version": 1})[0] == 200
    assert events(world.voters[0]) == []


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, ["content", "version"]),
        (TEXTS | {"version": "x"}, ["version"]),
        (TEXTS | {"version": 1, "weight": 2.5}, ["weight"]),
        (TEXTS | {"version": 1, "content": "a\x00b"}, ["content"]),
        (TEXTS | {"version": 1, "content": None}, ["content"]),
        (TEXTS | {"version": 1, "rationale": "\ud800"}, ["rationale"]),
    ],
)
def test_wrong_aspect_is_400_and_names_the_fields(api, world, body, fields) -> None:
    aspect = make_aspect(world)
    status, answer = send(api, "put", f"aspects/{aspect.pk}/", json.dumps(body))
    assert (status, sorted(answer)) == (400, fields)


@pytest.mark.parametrize("weight", [0, 6, -1, 10**30])
def test_weight_off_the_scale_is_refused(api, world, queries, weight) -> None:
    status, answer = send(api, "post", f"{queries}aspects/", {"weight": weight})
    assert (status, answer["field"]) == (409, "weight")
    assert not Aspect.objects.exists()


def test_version_beyond_every_number_is_just_stale(api, world) -> None:
    aspect = make_aspect(world)
    assert send(api, "put", f"aspects/{aspect.pk}/", TEXTS | {"version": 10**30})[0] == 409


def test_aspect_goes_comes_back_and_moves(api, world, queries) -> None:
    first, second = make_aspect(world, 1), make_aspect(world, 2)
    assert send(api, "delete", f"aspects/{first.pk}/") == (204, None)
    assert [row["id"] for row in rows(api, f"{queries}aspects/")] == [second.pk]
    status, answer = send(api, "put", f"aspects/{first.pk}/", TEXTS | {"version": 2})
    assert (status, "Restore it" in answer["detail"]) == (409, True)
    assert send(api, "post", f"aspects/{first.pk}/restore/") == (204, None)
    assert send(api, "post", f"aspects/{first.pk}/move/", {"direction": "down"}) == (204, None)
    assert [row["id"] for row in rows(api, f"{queries}aspects/")] == [second.pk, first.pk]
    assert send(api, "post", f"aspects/{first.pk}/move/", {"direction": "away"})[0] == 400
    assert events(world.voters[0]) == ["remove aspect", "restore aspect", "move aspect"]


# --- Passages --------------------------------------------------------------------------------


def test_passage_is_assigned_discarded_and_taken_back(api, world, queries) -> None:
    aspect, passage = make_aspect(world), f"{queries}passages/{world.passage.pk}/"
    status, gold = send(api, "post", f"{passage}assign/", {"aspect": aspect.pk})
    assert (status, gold["passage_id"], gold["aspect_id"]) == (
        200,
        "lamps/page_3.txt",
        "biology-12-a1",
    )
    assert rows(api, f"{queries}gold-passages/") == [gold]
    assert send(api, "delete", f"aspects/{aspect.pk}/")[0] == 409
    discard = {"reason": "topic_only", "note": "Not this."}
    assert send(api, "post", f"{passage}discard/", discard) == (204, None)
    assert rows(api, f"{queries}gold-passages/") == []
    assert Judgment.objects.standing().values_list("label", "source").get() == (0, "expert")
    assert send(api, "post", f"{passage}undo/") == (204, None)
    assert [each["aspect_id"] for each in rows(api, f"{queries}gold-passages/")] == [
        "biology-12-a1"
    ]
    assert send(api, "post", f"{passage}undo/") == (204, None)
    assert not Judgment.objects.standing().exists()
    status, answer = send(api, "post", f"{passage}undo/")
    assert (status, answer["detail"]) == (409, "There is no verdict to take back.")
    assert events(world.voters[0]) == [
        "label",
        "assign passage",
        "label",
        "discard passage",
        "withdraw label",
        "label",
        "undo verdict",
        "withdraw label",
        "undo verdict",
    ]


def test_wrong_verdicts_are_named(api, world, queries) -> None:
    passage = f"{queries}passages/{world.passage.pk}/"
    assert send(api, "post", f"{passage}assign/", {}) == (
        400,
        {"aspect": ["This field is required."]},
    )
    assert send(api, "post", f"{passage}assign/", {"aspect": 999})[0] == 404
    assert send(api, "post", f"{passage}assign/", {"aspect": 10**30})[0] == 404
    status, answer = send(api, "post", f"{passage}discard/", {"reason": "dull"})
    assert (status, list(answer)) == (400, ["reason"])
    assert not GoldPassage.objects.exists()
    assert not Judgment.objects.exists()


def test_passage_of_another_domain_is_not_found(api, world, queries) -> None:
    other = make_passage(world.benchmark, "w", "weather")
    assert send(api, "post", f"{queries}passages/{other.pk}/undo/")[0] == 404


@pytest.mark.parametrize("who", ["outsider", "reviewer", "admin"])
def test_only_annotators_of_the_domain_write(world, queries, who) -> None:
    api, aspect = script(getattr(world, who)), make_aspect(world)
    passage = f"{queries}passages/{world.passage.pk}/"
    assert rows(api, f"{queries}aspects/")[0]["id"] == aspect.pk
    assert send(api, "post", f"{queries}aspects/", {})[0] == 403
    assert send(api, "put", f"aspects/{aspect.pk}/", TEXTS | {"version": 1})[0] == 403
    assert send(api, "post", f"{passage}assign/", {"aspect": aspect.pk})[0] == 403


# --- Cases and votes -------------------------------------------------------------------------


def test_next_case_is_judged_and_the_majority_becomes_the_label(world) -> None:
    case = world.case()
    for voter in world.voters[:3]:
        api = script(voter)
        shown = send(api, "get", "cases/next/")[1]["case"]
        assert (shown["id"], shown["query"]) == (str(case.public_id), "12")
        status, vote = send(
            api, "post", f"cases/{case.public_id}/votes/", {"label": 1, "reason": "Yes."}
        )
        assert (status, vote["label"], vote["case"]) == (201, 1, str(case.public_id))
        assert send(api, "get", "cases/next/")[1] == {"case": None}
        assert events(voter) == ["vote"]
    assert Judgment.objects.values_list("label", "source").get() == (1, "human")


def test_case_looks_the_same_whatever_others_voted_and_why_it_came(world) -> None:
    case = world.case()
    api = script(world.voters[2])
    before = api.get("/api/b/garden/cases/next/").content
    for voter, label in zip(world.voters[:2], (0, 1), strict=True):
        cast_vote(case=case, voter=voter, label=label)
    assert api.get("/api/b/garden/cases/next/").content == before
    assert set(json.loads(before)["case"]) == {
        "id",
        "domain",
        "query",
        "passage",
        "text",
        "snapshot",
        "stage",
        "first_label",
    }


def test_list_of_cases_tells_no_label_before_the_case_is_closed(world) -> None:
    case = world.case()
    reviewer = script(world.reviewer)
    for voter in world.voters[:2]:
        cast_vote(case=case, voter=voter, label=1)
    assert rows(reviewer, "cases/") == [
        {
            "id": str(case.public_id),
            "kind": "dispute",
            "status": "open",
            "domain": "biology",
            "query": "12",
            "passage": case.passage.pid,
            "aspect": None,
            "label": None,
            "closed_at": None,
        }
    ]
    assert script(world.voters[0]).get("/api/b/garden/cases/").status_code == 403
    cast_vote(case=case, voter=world.voters[2], label=1)
    assert rows(reviewer, "cases/")[0]["label"] == 1


def test_vote_is_taken_back_while_the_case_is_open(world) -> None:
    case = world.case()
    api = script(world.voters[0])
    pk = send(api, "post", f"cases/{case.public_id}/votes/", {"label": 0})[1]["id"]
    assert send(script(world.voters[1]), "delete", f"votes/{pk}/")[0] == 404
    assert send(api, "delete", f"votes/{pk}/") == (204, None)
    assert send(api, "delete", f"votes/{pk}/")[0] == 404
    assert send(api, "get", "cases/next/")[1]["case"]["id"] == str(case.public_id)


def test_votes_that_come_too_late_are_refused_with_the_reason(world) -> None:
    case = world.case()
    votes = [cast_vote(case=case, voter=voter, label=1) for voter in world.voters[:2]]
    path = f"cases/{case.public_id}/votes/"
    status, answer = send(script(world.voters[0]), "post", path, {"label": 1})
    assert (status, answer["detail"]) == (409, "You have voted on this case already.")
    votes.append(cast_vote(case=case, voter=world.voters[2], label=1))
    status, answer = send(script(world.voters[3]), "post", path, {"label": 1})
    assert (status, "decided meanwhile" in answer["detail"]) == (409, True)
    status, answer = send(script(world.voters[2]), "delete", f"votes/{votes[2].pk}/")
    assert (status, "decided meanwhile" in answer["detail"]) == (409, True)
    assert Vote.objects.standing().count() == 3


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({}, 400, "label"),
        ({"label": 2}, 400, "label"),
        ({"label": ""}, 400, "label"),
        ({"label": True}, 400, "label"),
        ({"label": 1, "elapsed_ms": -1}, 400, "elapsed_ms"),
        ({"label": 1, "elapsed_ms": 10**12}, 400, "elapsed_ms"),
        ({"label": 1, "elapsed_ms": 10**30}, 400, "elapsed_ms"),
        ({"label": None, "reason": "  "}, 409, "reason"),
    ],
)
def test_wrong_vote_names_its_field(api, world, body, status, field) -> None:
    got, answer = send(api, "post", f"cases/{world.case().public_id}/votes/", body)
    assert got == status
    assert field in (answer if status == 400 else answer.values())
    assert not Vote.objects.exists()


def test_abstention_with_a_reason_and_label_as_text_are_taken(world) -> None:
    path = f"cases/{world.case().public_id}/votes/"
    abstained = {"label": None, "reason": "No text.", "elapsed_ms": 1200}
    assert send(script(world.voters[0]), "post", path, abstained)[0] == 201
    assert send(script(world.voters[1]), "post", path, {"label": "1"})[1]["label"] == 1
    assert list(Vote.objects.order_by("pk").values_list("label", "elapsed_ms")) == [
        (None, 1200),
        (1, None),
    ]


def test_case_and_query_of_others_cannot_be_reached(world) -> None:
    case, aspect = world.case(), make_aspect(world)
    outsider, stranger = script(world.outsider), script(world.stranger)
    assert send(outsider, "get", "cases/next/")[1] == {"case": None}
    assert send(outsider, "post", f"cases/{case.public_id}/votes/", {"label": 1})[0] == 403
    assert send(stranger, "post", f"cases/{case.public_id}/votes/", {"label": 1})[0] == 404
    other = f"/api/b/elsewhere/aspects/{aspect.pk}/"
    assert stranger.delete(other).status_code == 404
    assert stranger.get(f"/api/b/elsewhere/queries/{world.query.pk}/aspects/").status_code == 404


def test_list_of_aspects_costs_the_same_with_one_and_three(
    api, world, django_assert_max_num_queries
) -> None:
    make_query(world.benchmark, "13", "biology")
    for k in (1, 2, 3):
        make_aspect(world, k)
        with django_assert_max_num_queries(5):
            assert len(rows(api, f"queries/{world.query.pk}/aspects/")) == k
