"""The API of runs: everything of a plan, its forecast, lists with filters, the budget."""

import json
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client

from debate.models import DebateRun
from debate.runs.planning import plan_run
from kit.errors import Refused
from llm import endpoints
from tests.debate.runs.test_api import script, send, start
from tests.factories import make_member

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _endpoints(settings, tmp_path) -> None:
    settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY = "https://models.example/v1", "sk-hidden"
    settings.ASSAY_MODEL = "m-1"
    prices = tmp_path / "prices.json"
    row = {"endpoint": "default", "model": "m-1", "valid_from": "2020-01-01"}
    prices.write_text(json.dumps([row | {"input": "1", "cached": "1", "output": "2"}]))
    settings.ASSAY_PRICES = str(prices)
    other = tmp_path / "endpoints.json"
    place = {"base_url": "https://two.example/v1", "api_key": "sk-two"}
    other.write_text(json.dumps([{"name": "two", "default_model": "qwen", **place}]))
    settings.ASSAY_ENDPOINTS = str(other)


@pytest.fixture
def api(benchmark) -> Client:
    return script(make_member(benchmark, "admin", "admin"))


def test_preset_with_changes_is_started(api, pool) -> None:
    models = [{"model": "llama"}, {"endpoint": "two"}]
    status, made = start(api, pool, preset="agents-main+other", models=models, temperature=0.5)
    run = DebateRun.objects.get()
    assert (status, made["preset"], made["kind"]) == (201, "agents-main+other", "debate")
    assert made["is_trial"] is True
    assert run.temperature == 0.5
    seats = [(seat["model"], seat["endpoint"], seat["stance"]) for seat in run.model_choices]
    assert seats == [("llama", "default", "relevant"), ("qwen", "two", "irrelevant")]


def test_every_setting_is_taken(api, pool) -> None:
    settings = {
        "kind": "debate",
        "agents": [{}, {"model": "m-2", "stance": "relevant"}, {"endpoint": "two"}],
        "adjudicator": {"endpoint": "two"},
        "first": "irrelevant",
        "rounds": 3,
        "continue_to": 4,
        "temperature": 1.0,
        "max_tokens": 500,
        "replicate": 2,
        "history_labels": False,
        "history_for_people": False,
        "trial": True,
        "prompt_version": 1,
    }
    status, _ = start(api, pool, **settings)
    assert status == 201
    run = DebateRun.objects.get()
    seats = [(seat["model"], seat["endpoint"], seat["stance"]) for seat in run.model_choices]
    assert seats == [
        ("m-1", "default", "irrelevant"),
        ("m-2", "default", "relevant"),
        ("qwen", "two", "irrelevant"),
        ("qwen", "two", ""),
    ]
    kept = {name: settings[name] for name in list(settings)[3:-1]}
    assert {name: run.config[name] for name in kept} == kept
    shown = send(api, "get", f"{run.pk}/")[1]
    assert shown["config"]["rounds"] == 3


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("changes", "status", "place"),
    [
        ({"kind": "duel"}, 400, "kind"),
        ({"temperatur": 1}, 400, "temperatur"),
        ({"lara": {"budget": 2}}, 400, "lara"),
        ({"agents": [{"endpoint": "nowhere"}, {}]}, 409, "agents"),
        ({"agents": [{}]}, 409, "agents"),
        ({"preset": "poem"}, 409, "preset"),
        ({"preset": "agents-2+2"}, 409, "agents"),
        ({"kind": "llmjudge", "adjudicator": {}}, 409, "adjudicator"),
        ({"prompt_version": 9}, 409, "prompt_version"),
        ({"budget_usd": "5", "agents": [{"endpoint": "two"}, {}]}, 409, "budget_usd"),
        ({"budget_usd": "0.001"}, 400, "budget_usd"),
    ],
)
def test_bad_plan_names_the_place(api, pool, changes, status, place) -> None:
    for path in ("", "forecast/"):
        body = {"pool": pool.pk, "endpoint": "default"} | changes
        got, answer = send(api, "post", path, body)
        assert got == status, answer
        assert place in answer if status == 400 else answer["field"] == place
    assert not DebateRun.objects.exists()


def test_forecast_stores_nothing_and_stands_beside_the_budget(api, pool) -> None:
    body = {"pool": pool.pk, "endpoint": "default", "rounds": 3, "budget_usd": "2.50"}
    status, told = send(api, "post", "forecast/", body)
    assert status == 200
    assert not DebateRun.objects.exists()
    assert told["calls"] == {"low": 2.0, "likely": 4.0, "high": 6.0}
    assert told["usd"]["low"] > 0
    assert (told["seconds"], told["budget_usd"], told["is_measured"]) == (None, "2.50", False)
    assert told["config"]["rounds"] == 3
    assert (told["people"]["basis"], told["people"]["votes_a_case"]) == ("published", 3)
    assert [each["endpoint"] for each in told["models"]] == ["default", "two"]
    unpriced = send(api, "post", "forecast/", body | {"budget_usd": None, "endpoint": "two"})[1]
    assert unpriced["usd"] is None


def test_forecast_of_a_run_is_of_its_waiting_pairs(api, pool) -> None:
    pk = start(api, pool)[1]["id"]
    status, told = send(api, "get", f"{pk}/forecast/")
    assert (status, told["pairs"]) == (200, 1)


def test_list_is_filtered_as_the_screen_is(api, pool) -> None:
    for preset in ("llmjudge", "rounds-2+adjudicator"):
        start(api, pool, preset=preset)
    start(api, pool, name="plain")

    def names(query: str) -> list[str]:
        return [run["preset"] for run in send(api, "get", f"?{query}")[1]["results"]]

    assert names("kind=llmjudge") == ["llmjudge"]
    assert names("labels=trial") == ["rounds-2+adjudicator", "llmjudge"]
    assert names("labels=standing") == [""]
    assert names("preset=llmjudge&status=queued") == ["llmjudge"]
    assert names(f"pool={pool.pk}&model=m-1&q=plain") == [""]
    status, answer = send(api, "get", "?kind=duel")
    assert (status, list(answer)) == (400, ["kind"])


def test_budget_is_set_and_lifted(api, pool) -> None:
    pk = start(api, pool)[1]["id"]
    status, run = send(api, "post", f"{pk}/budget/", {"budget_usd": "3.00"})
    assert (status, run["budget_usd"]) == (200, "3.00")
    assert send(api, "post", f"{pk}/budget/", {"budget_usd": None})[1]["budget_usd"] is None
    assert send(api, "post", f"{pk}/budget/", {"budget_usd": "-1"})[0] == 400


def test_screen_api_and_shell_make_the_same_run(api, benchmark, pool, settings) -> None:
    plan = plan_run(
        benchmark=benchmark,
        pool=pool,
        endpoint=endpoints.get("default"),
        preset="dream",
        settings={"rounds": 3},
    )
    start(api, pool, preset="dream", rounds=3)
    made = DebateRun.objects.get()
    assert made.config["rounds"] == plan.config.rounds
    assert made.config["agents"][0] == {"model": "m-1", "endpoint": "default", "stance": "relevant"}
    out = StringIO()
    call_command(
        "run_debates",
        benchmark="demo",
        preset="dream",
        rounds=3,
        budget=Decimal("2"),
        forecast=True,
        json=True,
        stdout=out,
    )
    told = json.loads(out.getvalue())
    assert told["config"] == {k: v for k, v in made.config.items() if k != "prompts"}
    assert (told["pairs"], told["budget_usd"]) == (1, "2")
    assert DebateRun.objects.count() == 1


def test_models_that_are_no_agents_of_a_preset_are_refused(benchmark, pool) -> None:
    with pytest.raises(Refused, match="list"):
        plan_run(
            benchmark=benchmark,
            pool=pool,
            endpoint=endpoints.get("default"),
            settings={"agents": "m-1"},
        )
