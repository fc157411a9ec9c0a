"""The API of debate runs does what the screens do."""

import json
from typing import Any

import pytest
from django.test import Client

from debate.models import Debate, DebateRun, Turn
from kit.models import Event
from tests.factories import (
    make_benchmark,
    make_member,
    make_passage,
    make_pool,
    make_query,
    make_token,
)

pytestmark = pytest.mark.django_db
JSON = "application/json"


@pytest.fixture(autouse=True)
def _endpoint(settings) -> None:
    settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY = "https://models.example/v1", "sk-hidden"
    settings.ASSAY_MODEL = "m-1"


@pytest.fixture
def api(admin) -> Client:
    return script(admin)


def script(user: Any) -> Client:
    return Client(headers={"Authorization": f"Token {make_token(user)}"})


def send(api: Client, method: str, path: str = "", body: Any = None) -> tuple[int, Any]:
    url = f"/api/b/demo/debate-runs/{path}"
    response = getattr(api, method)(url, body, content_type=JSON)
    return response.status_code, response.json() if response.content else None


def start(api: Client, pool: Any, /, **changes: Any) -> tuple[int, Any]:
    return send(api, "post", "", {"pool": pool.pk, "endpoint": "default"} | changes)


def test_run_is_started_as_by_the_screen(api, admin, pool) -> None:
    status, made = start(api, pool, rounds=3)
    run = DebateRun.objects.get()
    assert (status, made["id"], made["status"], made["total"]) == (201, run.pk, "queued", 1)
    assert (run.rounds, run.practice, run.model, run.created_by) == (3, False, "m-1", admin)
    assert made["name"] == "pairs, two agents, 3 rounds"
    assert run.debates.waiting().count() == 1
    assert list(Event.objects.values_list("verb", "actor", "scope")) == [
        ("start debate run", admin.pk, "demo")
    ]


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"pool": None, "endpoint": None}, ["endpoint", "pool"]),
        ({"pool": "pairs"}, ["pool"]),
        ({"rounds": 0}, ["rounds"]),
        ({"rounds": 6}, ["rounds"]),
        ({"name": "n" * 121}, ["name"]),
    ],
)
def test_wrong_run_is_400_and_names_the_fields(api, pool, changes, fields) -> None:
    status, answer = start(api, pool, **changes)
    assert (status, sorted(answer)) == (400, fields)
    assert not DebateRun.objects.exists()


def test_refused_run_is_409_with_the_reason(api, benchmark, pool) -> None:
    status, answer = start(api, pool, endpoint="elsewhere")
    assert (status, answer["field"]) == (409, "endpoint")
    assert "OPENAI_BASE_URL" in answer["detail"]
    status, answer = start(api, make_pool(benchmark, name="bare"))
    assert (status, answer["field"]) == (409, "pool")
    assert not DebateRun.objects.exists()


@pytest.mark.parametrize("pk", [0, 999, 10**30])
def test_pool_that_is_not_here_is_not_found(api, pool, pk) -> None:
    assert start(api, pool, pool=pk)[0] == 404


def test_pool_of_another_benchmark_is_not_found(api) -> None:
    assert start(api, make_pool(make_benchmark("other")))[0] == 404


def test_run_is_paused_resumed_and_cancelled(api, admin, pool) -> None:
    pk = start(api, pool)[1]["id"]
    moves = [("pause", "paused"), ("resume", "queued"), ("cancel", "cancelled")]
    for verb, after in moves:
        status, answer = send(api, "post", f"{pk}/{verb}/")
        assert (status, answer["status"]) == (200, after)
    status, answer = send(api, "post", f"{pk}/resume/")
    assert (status, answer["detail"]) == (409, "This run is cancelled already.")
    verbs = Event.objects.filter(actor=admin).order_by("pk").values_list("verb", flat=True)
    assert list(verbs)[1:] == [f"{verb} debate run" for verb, _ in moves]


def test_failed_pairs_are_retried(api, pool) -> None:
    pk = start(api, pool)[1]["id"]
    DebateRun.objects.update(status="done")
    status, answer = send(api, "post", f"{pk}/retry/")
    assert (status, answer["detail"]) == (409, "No pair of this run has failed.")
    Debate.objects.update(status="failed")
    status, answer = send(api, "post", f"{pk}/retry/")
    assert (status, answer["status"], answer["done"]) == (200, "queued", 0)


def test_unknown_verb_is_not_found_and_changes_nothing(api, pool) -> None:
    pk = start(api, pool)[1]["id"]
    assert send(api, "post", f"{pk}/delete/")[0] == 404
    assert send(api, "get", f"{pk}/pause/")[0] == 405
    assert send(api, "post", "999/pause/")[0] == 404
    assert DebateRun.objects.get().status == "queued"


def test_run_shows_its_counts(api, pool) -> None:
    pk = start(api, pool)[1]["id"]
    Debate.objects.update(status="agreed", label=1, round=1)
    assert send(api, "get", f"{pk}/")[1]["figures"] == {
        "total": 1,
        "agreed_1": 1,
        "agreed_later": 0,
        "escalated": 0,
        "unreadable": 0,
        "failed": 0,
        "skipped": 0,
        "waiting": 0,
    }


def test_debate_is_shown_with_its_turns(api, pool) -> None:
    pk = start(api, pool)[1]["id"]
    debate = Debate.objects.get()
    quote = {"text": "q", "start": 0, "end": 1}
    said = {"response": "no", "label": 0, "reason": "So.", "references": [quote], "flags": ["f"]}
    Turn.objects.create(debate=debate, round=1, agent="A", stance="relevant", **said)
    listed = send(api, "get", f"{pk}/debates/")[1]["results"]
    one = send(api, "get", f"{pk}/debates/{debate.pk}/")[1]
    assert listed == [{key: value for key, value in one.items() if key != "turns"}]
    assert (one["query"], one["domain"], one["passage"]) == ("1", "biology", "page/a_0.txt")
    assert one["turns"] == [{"round": 1, "agent": "A", "stance": "relevant", **said, "call": None}]


def test_lists_come_in_pages_newest_run_first(api, pool) -> None:
    made = [start(api, pool)[1]["id"] for _ in range(3)]
    page = send(api, "get", "?limit=2")[1]
    assert (page["count"], [row["id"] for row in page["results"]]) == (3, made[:0:-1])
    assert "offset=2" in page["next"]


@pytest.mark.parametrize("path", ["", "{run}/debates/"])
def test_list_costs_the_same_with_one_and_three_rows(
    api, benchmark, pool, path, django_assert_max_num_queries
) -> None:
    run = DebateRun.objects.get(pk=start(api, pool)[1]["id"])
    for n in range(3):
        with django_assert_max_num_queries(6):  # the first read of the day is recorded
            assert send(api, "get", path.format(run=run.pk))[1]["count"] == n + 1
        start(api, pool)
        pair = {
            "query": make_query(benchmark, f"q{n}"),
            "passage": make_passage(benchmark, f"p{n}"),
        }
        Debate.objects.create(run=run, **pair)


def test_reviewers_read_and_annotators_do_not(benchmark, api, pool) -> None:
    pk = start(api, pool)[1]["id"]
    reviewer = script(make_member(benchmark, "reviewer", "reviewer"))
    annotator = script(make_member(benchmark, "annotator-1", "annotator"))
    stranger = script(make_member(make_benchmark("other"), "stranger", "admin"))
    for path in ("", f"{pk}/", f"{pk}/debates/", f"{pk}/debates/{Debate.objects.get().pk}/"):
        clients = (reviewer, annotator, stranger)
        assert [send(one, "get", path)[0] for one in clients] == [200, 403, 404]
    assert [send(one, "post", f"{pk}/pause/")[0] for one in (reviewer, stranger)] == [403, 404]
    assert start(reviewer, pool)[0] == 403


def test_run_of_another_benchmark_is_not_found(api, pool) -> None:
    other = make_benchmark("other")
    foreign = DebateRun.objects.create(
        benchmark=other, pool=make_pool(other), name="x", endpoint="default", model="m"
    )
    pk = start(api, pool)[1]["id"]
    for path in (f"{foreign.pk}/", f"{foreign.pk}/debates/"):
        assert send(api, "get", path)[0] == 404
    assert send(api, "get", f"{pk}/debates/999/")[0] == 404


def test_address_and_key_of_the_endpoint_are_not_told(api, pool) -> None:
    pk = start(api, pool)[1]["id"]
    answers = [start(api, pool, endpoint="x"), send(api, "get"), send(api, "get", f"{pk}/")]
    assert "models.example" not in json.dumps(answers)
    assert "sk-hidden" not in json.dumps(answers)
