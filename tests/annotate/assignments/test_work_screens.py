"""Screens and API of the work: my queue, submitting, assigning, and what the workspace shows."""

import datetime
import json

import pytest
from django.utils import timezone

from annotate.assignments.services import assign_queries, claim_query, submit_query
from annotate.models import Assignment, WorkState
from annotate.workspace.aspects import add_aspect
from annotate.workspace.gold import assign_passage
from kit.models import Event
from tests.annotate.world import hx, signed_in
from tests.factories import make_query
from tests.markup import one_line


@pytest.fixture
def admin(world):
    return signed_in(world.admin)


def here(world, more=""):
    return world.url(f"queries/{world.query.pk}/{more}")


def finish(world):
    expert = world.voters[0]
    aspect = add_aspect(query=world.query, actor=expert, content="Backs to the light.", weight=3)
    assign_passage(query=world.query, passage=world.passage, aspect=aspect, actor=expert)


def state(world):
    return Assignment.objects.standing().get(query=world.query).state


def test_a_query_goes_from_the_queue_to_submission_and_back(world, me) -> None:
    assert "Take the next of 1 unassigned" in one_line(me.get(world.url("queue/")))
    assert me.post(world.url("queue/next/")).url == here(world)
    page = one_line(me.get(here(world)))
    assert "data-active-time" in page
    assert "Submit…" in page
    refused = me.post(here(world, "submit/"))
    assert refused.status_code == 422
    assert "no aspects yet" in one_line(refused)
    finish(world)
    assert me.post(here(world, "submit/")).url == world.url("queue/")
    assert state(world) == WorkState.SUBMITTED
    page = one_line(me.get(here(world)))
    assert "Take it back to go on writing" in page
    assert "data-autosave" not in page
    assert "data-active-time" not in page
    me.post(here(world, "take-back/"))
    assert "data-autosave" in one_line(me.get(here(world)))


def test_who_does_not_hold_it_reads_and_is_told_why(world, me) -> None:
    claim_query(query=world.query, actor=world.voters[1])
    page = one_line(me.get(here(world)))
    assert "annotator-2 works on this query. You can read it." in page
    assert "data-autosave" not in page
    assert me.post(here(world, "aspects/"), **hx()).status_code == 403
    assert "annotator-2 works on this query" in one_line(me.get(here(world, "submit/")))
    me.post(here(world, "release/"))
    me.post(here(world, "claim/"))
    assert Assignment.objects.standing().get().holder == world.voters[1]


def test_release_makes_it_free_for_others(world, me) -> None:
    me.post(here(world, "claim/"))
    me.post(here(world, "release/"))
    signed_in(world.voters[1]).post(here(world, "claim/"))
    assert Assignment.objects.standing().get().holder == world.voters[1]


def test_queue_when_nothing_is_free(world, me) -> None:
    claim_query(query=world.query, actor=world.voters[1])
    assert "Nothing waits for you" in one_line(me.get(world.url("queue/")))
    assert me.post(world.url("queue/next/")).url == world.url("queue/")


def test_admin_gives_queries_by_domain_and_words_in_turns(world, admin) -> None:
    for n in range(6):
        make_query(world.benchmark, f"b{n}", "biology", text=f"Which beetle is number {n}?")
    biology = world.query.domain_id
    due = timezone.localdate() + datetime.timedelta(days=7)
    body = {
        "domain": biology,
        "words": "beetle",
        "most": 4,
        "people": [world.voters[0].pk, world.voters[1].pk],
        "due_on": due.isoformat(),
    }
    page = one_line(admin.get(world.url("assignments/")))
    assert "annotator-1 (every domain)" in page
    assert "outsider (weather)" in page
    assert admin.post(world.url("assignments/"), body).status_code == 302
    rows = Assignment.objects.all()
    assert [row.holder.username for row in rows] == ["annotator-1", "annotator-2"] * 2
    assert {(row.due_on, row.assigned_by) for row in rows} == {(due, world.admin)}
    assert world.query not in [row.query for row in rows]
    assert admin.post(world.url("assignments/"), body | {"words": "zebra"}).status_code == 422


def test_admin_sees_why_an_assignment_was_refused(world, admin) -> None:
    body = {"people": [world.outsider.pk], "due_on": "2001-01-01"}
    answer = admin.post(world.url("assignments/"), body)
    assert "This day has passed." in one_line(answer)
    del body["due_on"]
    answer = admin.post(world.url("assignments/"), body)
    assert "None of them is an annotator of biology." in one_line(answer)
    assert not Assignment.objects.exists()


def test_admin_passes_on_sets_a_day_and_takes_away(world, admin) -> None:
    held = claim_query(query=world.query, actor=world.voters[0])
    url = world.url(f"assignments/{held.pk}/")
    due = timezone.localdate() + datetime.timedelta(days=1)
    answer = admin.post(url, {"holder": world.voters[1].pk, "due_on": due.isoformat()})
    assert answer.status_code == 302
    passed = Assignment.objects.standing().get()
    assert (passed.holder, passed.due_on) == (world.voters[1], due)
    assert admin.get(url).status_code == 404  # ended
    past = {"holder": world.voters[2].pk, "due_on": "2001-01-01"}
    assert admin.post(world.url(f"assignments/{passed.pk}/"), past).status_code == 422
    assert Assignment.objects.standing().get() == passed
    admin.post(world.url(f"assignments/{passed.pk}/take-away/"))
    assert not Assignment.objects.standing().exists()


@pytest.mark.slow
def test_home_shows_my_queue_first_by_role(world, me, admin) -> None:
    yesterday = timezone.localdate() - datetime.timedelta(days=1)
    (row,) = assign_queries(
        benchmark=world.benchmark,
        queries=[world.query],
        people=[world.voters[0]],
        actor=world.admin,
    )
    Assignment.objects.filter(pk=row.pk).update(due_on=yesterday)
    page = one_line(me.get("/home/annotate/"))
    assert f"Open {world.query}" in page
    assert f'href="{here(world)}" data-key="o"' in page
    assert "overdue" in page
    assert "1 overdue" in one_line(admin.get("/home/annotate/"))
    finish(world)
    submit_query(query=world.query, actor=world.voters[0])
    review = one_line(signed_in(world.reviewer).get("/home/annotate/"))
    assert "Queries to review</b>" in review


def api(client, method, path, body=None):
    return getattr(client, method)(
        f"/api{path}", json.dumps(body or {}), content_type="application/json"
    )


@pytest.mark.slow
def test_api_does_what_the_screens_do(world, me, admin) -> None:
    given = {"queries": [world.query.pk], "people": ["annotator-1"]}
    assert api(admin, "post", world.url("assignments/"), given).status_code == 201
    (mine,) = me.get(f"/api{world.url('queue/')}").json()["results"]
    assert (mine["query_id"], mine["state"]) == ("12", "not_started")
    work = here(world, "work/")
    refused = api(me, "post", work, {"verb": "submit"})
    assert (refused.status_code, "no aspects" in refused.json()["detail"]) == (409, True)
    assert [item["blocking"] for item in me.get(f"/api{work}").json()["missing"]] == [True]
    finish(world)
    assert api(me, "post", work, {"verb": "submit"}).json()["assignment"]["state"] == "submitted"
    assert api(me, "post", work, {"verb": "take_back"}).status_code == 200
    passed = {"holder": "annotator-2", "due_on": None}
    path = world.url(f"assignments/{mine['id']}/")
    assert api(admin, "put", path, passed).json()["holder"] == "annotator-2"
    progress = admin.get(f"/api{world.url('progress/')}").json()
    assert (progress["remaining"], progress["end"]) == (1, None)
    now = timezone.now()
    start = (now - datetime.timedelta(seconds=9)).isoformat()
    stretch = {"start": start, "end": now.isoformat()}
    other = signed_in(world.voters[1])
    assert api(other, "post", here(world, "time/"), stretch).json() == {"seconds": 9.0}
    assert api(me, "post", here(world, "time/"), stretch).status_code == 403


def test_api_names_who_and_what_it_does_not_know(world, admin) -> None:
    path = world.url("assignments/")
    strange = api(admin, "post", path, {"queries": [world.query.pk], "people": ["nobody"]})
    assert strange.json() == {
        "detail": "nobody is no annotator of this benchmark.",
        "field": "people",
    }
    lost = api(admin, "post", path, {"queries": [987_654], "people": ["annotator-1"]})
    assert lost.json()["field"] == "queries"


def test_every_change_of_hands_leaves_an_event(world, me, admin) -> None:
    me.post(here(world, "claim/"))
    finish(world)
    me.post(here(world, "submit/"))
    me.post(here(world, "take-back/"))
    me.post(here(world, "release/"))
    verbs = Event.objects.filter(target_type="annotate.assignment").order_by("pk")
    assert list(verbs.values_list("verb", flat=True)) == [
        "claim query",
        "begin query",
        "submit query",
        "take query back",
        "release query",
    ]
