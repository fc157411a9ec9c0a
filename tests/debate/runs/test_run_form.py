"""Setting a run up on the screen: presets, settings by hand, the forecast, the start."""

import gzip
import json
import statistics
from collections import Counter
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotate.voting.cases import open_case
from corpus.judgments.services import record_judgment
from debate.models import DebateRun
from debate.runs.forms import PRACTICE_FIGURES
from debate.runs.presets import PRESETS
from debate.runs.services import start_run
from kit.models import Event
from llm import endpoints
from llm.practice.rules import Position, decide
from llm.practice.words import best_answer
from tests.debate.forms import URL, begin, filled, start
from tests.factories import make_benchmark, make_member, make_passage, make_pool, make_query
from tests.markup import one_line

pytestmark = pytest.mark.django_db
PRACTICE = "http://127.0.0.1:9/v1"


@pytest.fixture
def benchmark(settings) -> Any:
    settings.ASSAY_PRACTICE_URL = PRACTICE
    return make_benchmark()


@pytest.fixture
def pool(benchmark) -> Any:
    return make_pool(benchmark, (make_query(benchmark), make_passage(benchmark)))


@pytest.fixture
def client(benchmark) -> Client:
    client = Client()
    client.force_login(make_member(benchmark, "admin", "admin"))
    return client


@pytest.fixture
def paid(settings, tmp_path) -> None:
    """Two endpoints; the first one's model has a price."""
    file = tmp_path / "endpoints.json"
    place = {"base_url": "http://127.0.0.1:9/v1", "api_key": "sk-hidden"}
    file.write_text(
        json.dumps(
            [
                {"name": "one", "default_model": "llama", **place},
                {"name": "two", "default_model": "qwen", **place, "requests_per_minute": 1},
            ]
        )
    )
    prices = tmp_path / "prices.json"
    row = {"endpoint": "one", "model": "llama", "valid_from": "2020-01-01"}
    prices.write_text(json.dumps([row | {"input": "1", "cached": "1", "output": "2"}]))
    settings.ASSAY_ENDPOINTS, settings.ASSAY_PRICES = str(file), str(prices)


def text(response: Any) -> str:
    return one_line(response)


def test_forecast_comes_before_the_start(client, pool) -> None:
    form = begin(client, rounds=3)
    told = client.post(URL, form)
    assert told.status_code == 200
    assert not DebateRun.objects.exists()
    page = text(told)
    assert "Forecast</h2>" in page
    assert page.index("Forecast</h2>") < page.index("Start the run")
    response = client.post(URL, form | {"intent": "start", "seen": told.context["plan"].digest})
    run = DebateRun.objects.get()
    assert (response.status_code, response.url) == (302, f"/b/demo/debates/{run.pk}/")
    assert (run.status, run.rounds, run.practice, run.is_trial) == ("queued", 3, True, False)
    assert run.created_by is not None
    assert run.debates.waiting().count() == 1
    assert Event.objects.filter(verb="start debate run", actor=run.created_by).count() == 1
    room = text(client.get(response.url))
    assert "waiting for a worker" in room
    assert "practice model" in room


def test_the_newest_pool_with_pairs_left_comes_first(client, benchmark) -> None:
    def offered() -> tuple[str, list[str]]:
        field = client.get(URL).context["form"]["pool"]
        return str(field.initial), [words for _, words in field.field.choices]

    queries = [make_query(benchmark, qid=f"q{n}") for n in range(3)]
    passage = make_passage(benchmark)
    older, newer = (
        make_pool(benchmark, *((query, passage) for query in part), name=name)
        for name, part in (("older", queries[1:]), ("newer", queries[:2]))
    )
    assert offered()[0] == "newer"
    for query in queries[:2]:
        record_judgment(query=query, passage=passage, label=1, source="debate", provenance={})
    first, words = offered()
    assert first == "older"
    assert words == ["newer: 0 of 2 pairs left", "older: 1 of 2 pairs left"]
    # The last one waits in a run that is not a trial of settings, or before people.
    practice = endpoints.practice(PRACTICE)
    run = start_run(benchmark=benchmark, pool=older, endpoint=practice, actor=None)
    assert offered()[1] == ["newer: 0 of 2 pairs left", "older: 0 of 2 pairs left"]
    assert offered()[0] == "older"  # of the newest run, where none has work left
    DebateRun.objects.filter(pk=run.pk).update(status="cancelled")
    assert offered()[1][1] == "older: 1 of 2 pairs left"
    open_case(origin="debate:1", kind="dispute", query=queries[2], passage=passage, snapshot={})
    assert offered()[1][1] == "older: 0 of 2 pairs left"
    assert newer.pk > older.pk


@pytest.mark.slow
def test_a_changed_setting_brings_the_forecast_alone_and_never_starts(client, pool) -> None:
    def told(form: dict[str, Any]) -> str:
        headers = {"HX-Request": "true", "HX-Target": "forecast"}
        return text(client.post(URL, form, headers=headers))

    page = client.get(URL)
    form = begin(client, budget_usd="5")
    assert "no budget" in text(page)
    part = told(form)
    assert "the budget of 5.00 $ should be enough" in part
    assert "<h1>" not in part
    seen = {"intent": "start", "seen": client.post(URL, form).context["plan"].digest}
    assert "Forecast</h2>" in told(form | seen)
    wrong = told(form | {"rounds": "6"})
    assert "Maximum rounds: Ensure this value is less than or equal to 5." in wrong
    assert not DebateRun.objects.exists()


@pytest.mark.slow
def test_settings_that_changed_since_the_forecast_are_forecast_again(client, pool) -> None:
    form = begin(client)
    seen = client.post(URL, form).context["plan"].digest
    changed = form | {"intent": "start", "seen": seen, "rounds": 5}
    page = text(client.post(URL, changed))
    assert "The settings changed since" in page
    assert not DebateRun.objects.exists()
    assert "The settings changed" in text(client.post(URL, form | {"intent": "start"}))
    assert not DebateRun.objects.exists()


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rounds": "6"}, "less than or equal to 5"),
        ({"rounds": ""}, "required"),
        ({"pool": "999"}, "not one of the available choices"),
        ({"endpoint": "elsewhere"}, "not one of the available choices"),
        ({"temperature": "3"}, "less than or equal to 2"),
        ({"A_endpoint": "https://evil.test"}, "not one of the available choices"),
        ({"prompt_version": "99"}, "not one of the available choices"),
        ({"budget_usd": "-1"}, "greater than or equal to 0"),
        ({"budget_usd": "1.001"}, "no more than 2 decimal"),
    ],
)
def test_wrong_set_up_keeps_what_was_typed(client, pool, changes, message) -> None:
    response = client.post(URL, begin(client, name="my name", **changes))
    assert response.status_code == 422
    assert message in text(response)
    assert 'value="my name"' in text(response)
    assert not DebateRun.objects.exists()


def test_everything_of_a_debate_can_be_set(client, pool, paid) -> None:
    shaped = client.post(URL, begin(client, seats=3, intent="shape", name="mixed"))
    assert not DebateRun.objects.exists()
    response = client.post(
        URL,
        form := filled(
            shaped,
            A_model="llama-3",
            B_endpoint="two",
            C_stance="relevant",
            first="irrelevant",
            temperature="0.6",
            rounds=4,
            continue_to=5,
            has_adjudicator="on",
            adjudicator_endpoint="two",
            history_labels=False,
            trial="on",
            max_tokens=900,
            replicate=7,
        ),
    )
    assert response.status_code == 200, response.context["form"].errors
    client.post(URL, form | {"intent": "start", "seen": response.context["plan"].digest})
    run = DebateRun.objects.get()
    seats = [(seat["model"], seat["endpoint"], seat["stance"]) for seat in run.config["agents"]]
    assert seats == [
        ("llama-3", "one", "irrelevant"),
        ("qwen", "two", "relevant"),
        ("llama", "one", "relevant"),
    ]
    assert run.config["adjudicator"] == {"model": "qwen", "endpoint": "two", "stance": ""}
    kept = {
        "rounds": 4,
        "continue_to": 5,
        "temperature": 0.6,
        "history_labels": False,
        "history_for_people": True,
        "max_tokens": 900,
        "replicate": 7,
        "trial": True,
    }
    assert {name: run.config[name] for name in kept} == kept
    assert (run.name, run.is_trial) == ("mixed", True)


FEW = ("dream", "human-only", "lara@25", "agents-2+2", "rounds-1+adjudicator")


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in FEW else pytest.mark.slow) for name in PRESETS]
)
def test_every_preset_fills_the_form_with_what_it_is(client, pool, paid, name: str) -> None:
    entry = pool.entries.get()
    record_judgment(
        query=entry.query, passage=entry.passage, label=1, source="human", provenance={}
    )
    chosen = client.post(URL, begin(client, preset=name, B_endpoint="two", intent="preset"))
    assert chosen.status_code == 200
    form = filled(chosen)
    told = client.post(URL, form)
    assert told.status_code == 200, told.context["form"].errors
    assert told.context["plan"].departures == []
    client.post(URL, form | {"intent": "start", "seen": told.context["plan"].digest})
    run = DebateRun.objects.get()
    assert (run.preset, run.is_trial) == (name, name != "human-only")
    if PRESETS[name].models == 2 and name != "agents-other":
        assert {seat["model"] for seat in run.model_choices} == {"llama", "qwen"}


def test_settings_other_than_the_presets_are_told(client, pool) -> None:
    chosen = client.post(URL, begin(client, preset="dream", intent="preset"))
    told = client.post(URL, filled(chosen, rounds=4))
    assert "Named after dream, with other settings: rounds" in text(told)


def test_preset_of_two_models_wants_both(client, pool) -> None:
    chosen = client.post(URL, begin(client, preset="agents-2+2", intent="preset"))
    refused = client.post(URL, filled(chosen))
    assert refused.status_code == 422
    assert refused.context["form"].errors["seats"] == [
        "The preset agents-2+2 compares 2 models; name them all."
    ]


def test_another_kind_shows_its_own_settings(client, pool) -> None:
    shaped = client.post(URL, begin(client, kind="lara", intent="shape", rounds="9", name="mine"))
    assert shaped.status_code == 200
    form = shaped.context["form"]
    assert {"lara_variant", "lara_budget", "A_model"} <= set(form.fields)
    assert not {"rounds", "has_adjudicator", "B_model"} & set(form.fields)
    assert form["name"].value() == "mine"
    refused = client.post(URL, filled(shaped, lara_budget="1.5"))
    assert "lara_budget" in refused.context["form"].errors
    unlabelled = client.post(URL, filled(shaped))
    assert "have none" in text(unlabelled)
    assert "pool" in unlabelled.context["form"].errors


def test_lara_can_be_labelled_live(client, pool) -> None:
    shaped = client.post(URL, begin(client, kind="lara", intent="shape"))
    form = filled(shaped, lara_mode="live", lara_batch="5", lara_budget="0.5")
    planned = client.post(URL, form)
    assert planned.status_code == 200, planned.context["form"].errors
    client.post(URL, form | {"intent": "start", "seen": planned.context["plan"].digest})
    lara = DebateRun.objects.get().config["lara"]
    assert (lara["mode"], lara["batch"], lara["budget"]) == ("live", 5, 0.5)


@pytest.mark.slow
def test_what_a_debate_checks_of_itself_is_set_beside_its_rule(client, pool) -> None:
    form = begin(client, audit="3", decoys="2", canaries="1")
    planned = client.post(URL, form)
    assert [name for name, _ in planned.context["form"].advanced()][2] == "Checks"
    said = "2 agents, 2 rounds, prompt version 1, temperature 0, 3 agreed pairs to audit"
    assert said in one_line(planned)
    client.post(URL, form | {"intent": "start", "seen": planned.context["plan"].digest})
    config = DebateRun.objects.get().config
    assert (config["audit"], config["decoys"], config["canaries"]) == (3, 2, 1)
    refused = client.post(URL, begin(client, audit="1001"))
    assert "audit" in refused.context["form"].errors


def test_boxes_without_a_tick_stay_without_when_the_form_changes(client, pool) -> None:
    sent = begin(client, history_labels=False, seats=4, intent="shape")
    form = client.post(URL, sent).context["form"]
    assert (form["history_labels"].value(), form["history_for_people"].value()) == (False, "True")
    assert len(form.seat_rows()) == 4


@pytest.mark.slow
def test_budget_stands_beside_the_forecast_and_is_kept(client, pool, paid) -> None:
    response = client.post(URL, form := begin(client, budget_usd="12.50"))
    page = text(response)
    assert "12.50 $" in page
    assert response.context["forecast"]["usd"]["likely"] > 0
    assert "no call of these models was timed yet" in page
    client.post(URL, form | {"intent": "start", "seen": response.context["plan"].digest})
    run = DebateRun.objects.get()
    assert run.budget_usd == Decimal("12.50")
    assert run.account is not None
    assert run.account.limit_usd == Decimal("12.50")


def test_budget_without_a_price_is_refused_at_its_field(client, pool, paid) -> None:
    response = client.post(URL, begin(client, budget_usd="5", B_endpoint="two"))
    assert response.status_code == 422
    assert (
        "No price is known for the model “qwen”" in response.context["form"].errors["budget_usd"][0]
    )


def test_unknown_price_is_said_plainly(client, pool, paid) -> None:
    response = client.post(URL, begin(client, endpoint="two"))
    assert response.context["forecast"]["usd"] is None
    assert "No price is known for every model" in text(response)


@pytest.mark.slow
def test_work_for_people_and_the_models_that_are_offered_are_told(client, pool, paid) -> None:
    page = text(client.get(URL))
    assert "Work for people" in page
    assert "2.6 to 13 % of all pairs" in page
    assert "A vote is assumed to take 60 s" in page
    row = page.partition("Models offered")[2]
    assert [words in row for words in ("llama", "qwen", "no price", "not measured")] == [True] * 4
    assert "once the run is adopted" in text(client.post(URL, begin(client, trial="on")))


def test_no_address_or_key_is_shown_or_taken(client, pool, paid) -> None:
    for page in (client.get(URL), client.post(URL, begin(client))):
        assert "sk-hidden" not in text(page)
        assert "127.0.0.1:9" not in text(page)


def test_empty_pool_is_refused_in_the_form(client, benchmark) -> None:
    response = start(client, pool=make_pool(benchmark).pk)
    assert response.status_code == 422
    assert "has no pairs" in text(response)


def test_without_pairs_the_page_leads_to_the_import(client, benchmark) -> None:
    page = text(client.get(URL))
    assert "No pairs to debate yet" in page
    assert f'href="{reverse("imports", args=["demo"])}"' in page
    assert "Forecast" not in page


def test_without_an_endpoint_the_page_says_what_to_set(client, pool, settings) -> None:
    settings.ASSAY_PRACTICE_URL = ""
    page = text(client.get(URL))
    assert "OPENAI_BASE_URL" in page
    assert "Forecast" not in page


def test_figures_of_the_practice_model_are_those_of_real_questions(shared) -> None:
    outcomes: Counter[tuple[bool, bool | None, int]] = Counter()
    with gzip.open(shared / "hotpotqa" / "dev_250.jsonl.gz") as file:
        for row in map(json.loads, file):
            answers = [span for answer in row["answers_objects"] for span in answer["spans"]]
            for paragraph in row["contexts"]:
                *_, overlap = best_answer(
                    answers, paragraph["paragraph_text"], row["question_text"]
                )
                sides, round = (True, False), 0
                while sides[0] != sides[1] and round < 2:
                    round += 1
                    positions = [Position(round, side, ()) for side in sides]
                    sides = tuple(decide(each, overlap) for each in positions)
                label = sides[0] if sides[0] == sides[1] else None
                outcomes[paragraph["is_supporting"], label, round] += 1
    settled = {key: n for key, n in outcomes.items() if key[1] is not None}
    recalls = [
        sum(n for (true, said, _), n in settled.items() if true == said == side)
        / sum(n for (true, *_), n in settled.items() if true == side)
        for side in (True, False)
    ]
    second = {key: n for key, n in settled.items() if key[2] == 2}
    right = sum(n for (true, said, _), n in second.items() if true == said)
    for figure in (
        f"of {outcomes.total():,} pairs of HotpotQA",
        f"settles {sum(settled.values()) / outcomes.total():.0%}".replace("%", " %"),
        f"accuracy of {statistics.mean(recalls):.2f}".replace("0.", "."),
        f"round two {right / sum(second.values()):.0%} are right".replace("%", " %"),
    ):
        assert figure in PRACTICE_FIGURES
