"""The connection test: one tiny call to each model, by hand and from the shell."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from llm import endpoints
from llm.models import Call, ModelProfile
from llm.trying import trials, try_endpoint
from llm.wire import pack
from tests.debate.answering import answering
from tests.llm.stub import Step, after, completion, status

pytestmark = pytest.mark.django_db(transaction=True)
OK = '{"ok": true}'


def refusal(http: int, message: str, **more: str) -> Step:
    return status(http, body={"error": {"message": message, **more}})


NO_TEMPERATURE = refusal(
    400, "Unsupported value: 'temperature' is not supported with this model.", param="temperature"
)
NO_KEY = refusal(401, "Incorrect API key provided: sk-stub", code="invalid_api_key")
NO_MONEY = refusal(429, "You exceeded your current quota.", code="insufficient_quota")
NO_MODEL = refusal(400, "stub-1 is not a valid model ID")


def shell(*arguments: str) -> str:
    out = StringIO()
    call_command("check_endpoint", *arguments, stdout=out)
    return out.getvalue()


def test_answer_is_told_with_how_the_model_was_asked(settings) -> None:
    with answering(settings, NO_TEMPERATURE, OK) as stub:
        (tried,) = try_endpoint(endpoints.get("default"))
    assert tried.known.fault == ""
    assert tried.asked == "max_tokens, no temperature, answers by JSON schema"
    assert len(tried.refusals) == 1
    assert "temperature" in tried.refusals[0]
    assert (tried.call.input_tokens, tried.call.output_tokens, tried.call.usd) == (100, 20, None)
    assert tried.price == "no price known"
    assert tried.known.latency_s is not None
    assert [("temperature" in body) for body in stub.asked] == [True, False]
    assert stub.asked[0]["response_format"]["json_schema"]["name"] == "check"
    row = ModelProfile.objects.get()
    assert (row.latency_s, row.fault) == (tried.known.latency_s, "")
    assert row.tried_at is not None
    calls = Call.objects.order_by("pk")
    assert [(call.subject, call.account_id) for call in calls] == [("check:model", None)] * 2


def test_each_trial_asks_anew_and_is_not_replayed(settings) -> None:
    with answering(settings, OK) as stub:
        for _ in range(2):
            assert try_endpoint(endpoints.get("default"))[0].known.fault == ""
    assert len(stub.asked) == 2


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (NO_KEY, "HTTP 401: Incorrect API key provided: [key]"),
        (NO_MONEY, "HTTP 429: You exceeded your current quota."),
        (NO_MODEL, "HTTP 400: stub-1 is not a valid model ID"),
        (status(503), "HTTP 503: scripted 503"),
        (
            refusal(401, "no key sk-stub at http://127.0.0.1:1/v1"),
            "HTTP 401: no key [key] at [address]",
        ),
    ],
)
def test_refusal_is_told_at_once_without_key_or_address(fault: Step, told: str, settings) -> None:
    with answering(settings, fault) as stub:
        (tried,) = try_endpoint(endpoints.get("default"))
    assert tried.known.fault == told
    assert tried.known.latency_s is None
    assert len(stub.asked) == 1
    assert ModelProfile.objects.get().fault == tried.known.fault


def test_who_is_cut_off_has_answered(settings) -> None:
    body = completion("thinking")
    body["choices"][0]["finish_reason"] = "length"
    with answering(settings, status(200, body=body)):
        (tried,) = try_endpoint(endpoints.get("default"))
    assert tried.known.fault == ""


def test_a_later_trial_that_is_answered_takes_the_fault_back(settings) -> None:
    with answering(settings, NO_KEY, OK):
        for fault in (True, False):
            (tried,) = try_endpoint(endpoints.get("default"))
            assert bool(tried.known.fault) is fault
    assert ModelProfile.objects.get().fault == ""


def test_a_trial_leaves_what_was_taught_as_it_was(settings) -> None:
    """A profile that nobody taught is the family's, not the plain one."""
    with answering(settings, OK) as stub:
        settings.ASSAY_MODEL = "gpt-5"
        for _ in range(2):
            (tried,) = try_endpoint(endpoints.get("default"))
    assert "max_completion_tokens" in tried.asked
    assert all("max_completion_tokens" in body for body in stub.asked)


def vectors() -> Step:
    import numpy as np

    numbers = pack(np.zeros((1, 2), "<f4")).partition(":")[2]
    row = {"object": "embedding", "index": 0, "embedding": numbers}
    return status(200, body={"data": [row], "usage": {"prompt_tokens": 4}})


def test_a_roles_model_is_tried_as_the_role_asks(settings) -> None:
    with answering(settings, vectors()) as stub:
        settings.ASSAY_MODEL_OF_ROLE = {"embedder": "vectors-1"}
        (tried,) = try_endpoint(endpoints.get("default"), "embedder")
    assert (tried.known.fault, tried.asked) == ("", "for vectors")
    assert (tried.model, tried.roles) == ("vectors-1", ("embedder",))
    assert stub.asked[0]["model"] == "vectors-1"
    assert len(stub.asked[0]["input"]) == 1
    assert Call.objects.get().subject == "check:embedder"


def test_an_endpoint_has_its_own_model_and_those_of_its_roles(settings) -> None:
    settings.OPENAI_API_KEY, settings.ASSAY_MODEL = "sk-stub", "stub-1"
    assert [(each.model, each.roles) for each in trials(endpoints.get("default"))] == [
        ("stub-1", ())
    ]
    settings.ASSAY_MODEL_OF_ROLE = {"judge": "small", "grader": "small", "embedder": "vectors-1"}
    found = trials(endpoints.get("default"))
    assert [(each.model, each.roles, each.embeds) for each in found] == [
        ("stub-1", (), False),
        ("small", ("judge", "grader"), False),
        ("vectors-1", ("embedder",), True),
    ]
    known = found[1].known
    assert (known.tried_at, known.fault, found[1].price) == (None, "", "no price known")


def test_command_prints_what_came_of_every_model(settings) -> None:
    with answering(settings, OK) as stub:
        settings.ASSAY_MODEL_OF_ROLE = {"judge": "small"}
        told = shell()
    assert told.startswith("stub-1 at default\n  answered in ")
    assert "\nsmall at default (judge)\n  answered in " in told
    assert "100 tokens in, 20 out" in told
    assert "asked: max_tokens, answers by JSON schema" in told
    assert "price: no price known" in told
    assert stub.endpoint.base_url not in told


def test_command_ends_with_one_where_a_model_does_not_answer(settings, capsys) -> None:
    with answering(settings, NO_KEY), pytest.raises(CommandError, match="1 did not answer"):
        call_command("check_endpoint", "default")
    told = capsys.readouterr().out
    assert "refused: HTTP 401: Incorrect API key provided: [key]" in told


def test_command_refuses_a_name_that_is_not_here(settings) -> None:
    with answering(settings, OK), pytest.raises(CommandError, match="No endpoint named 'gpu'"):
        shell("gpu")


@pytest.mark.parametrize("arguments", [(), ("--role", "embedder"), ("--role", "judge")])
def test_the_practice_model_answers_the_command(arguments: Any, settings) -> None:
    told = shell(*arguments)
    assert "practice-1 at practice" in told
    assert "answered in" in told
    assert "price: free" in told


def test_one_that_is_silent_is_not_waited_for_for_ever(settings, monkeypatch) -> None:
    monkeypatch.setattr("llm.trying.DEADLINE_S", 0.2)
    with answering(settings, after(1)):
        (tried,) = try_endpoint(endpoints.get("default"))
    assert "No answer within 0.2 seconds" in tried.known.fault
