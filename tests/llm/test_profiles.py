"""Models that take other parameters: what they refuse is learnt, remembered and shown."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from llm.errors import Permanent
from llm.gateway import Gateways
from llm.models import Call, ModelProfile
from llm.profiles import Profile, adapted, known
from tests.llm.stub import Stub, ask, through
from tests.stub.endpoints import (
    answered,
    deepseek,
    error,
    openai_gpt_5,
    openai_gpt_5_pro,
    openai_o1_preview,
    openrouter,
    words_only,
)

pytestmark = pytest.mark.django_db(transaction=True)


OPENAI = openai_gpt_5, openai_o1_preview, openai_gpt_5_pro
ENDPOINTS = {each.__name__: each for each in (*OPENAI, deepseek, openrouter, words_only)}


def asked(rule: Any, *, count: int = 1, model: str = "house-model") -> tuple[list[Any], Stub]:
    """So many different requests at once to an endpoint with that rule; answers or errors."""

    async def use(stub: Stub, gateways: Gateways) -> tuple[list[Any], Stub]:
        async def step() -> web.StreamResponse:
            path, headers, body = stub.paths[-1], stub.headers[-1], stub.asked[-1]
            return rule(path, headers, body) or answered(path, "yes")

        stub._script = (step,)
        system = {"role": "system", "content": "Decide."}
        questions = [{"role": "user", "content": f"Is {n} so?"} for n in range(count)]
        options = {"model": model, "max_tokens": 500, "top_p": 0.9, "logprobs": True}
        requests = [ask(messages=(system, question), **options) for question in questions]
        given = [gateways.complete(request, "debate:1") for request in requests]
        return await asyncio.gather(*given, return_exceptions=True), stub

    return through(use, "unused")


@pytest.mark.few(2)
@pytest.mark.parametrize("rule", ENDPOINTS.values(), ids=ENDPOINTS.keys())
def test_every_request_is_answered_once_the_refusals_are_understood(rule) -> None:
    replies, stub = asked(rule, count=30)
    assert [getattr(reply, "text", reply) for reply in replies] == ["yes"] * 30
    assert Call.objects.filter(status="answered").count() == 30
    # Each of at most six ways is refused to the calls that were in flight, and not tried again.
    assert len(stub.asked) <= 30 + 8 * 6
    assert rule(stub.paths[-1], stub.headers[-1], stub.asked[-1]) is None


def test_refused_attempts_stand_in_the_ledger() -> None:
    asked(deepseek)
    calls = Call.objects.order_by("pk").values_list("attempt", "status")
    assert list(calls) == [(1, "failed"), (2, "answered")]
    # So a label can be traced to what its model was really asked.
    first, second = (call.request for call in Call.objects.order_by("pk"))
    assert "asked_as" not in first
    assert second["asked_as"]["answer"] == "json_object"


def test_what_is_known_of_a_family_costs_no_refusal() -> None:
    _, stub = asked(openai_gpt_5, model="gpt-5-mini")
    assert len(stub.asked) == 1
    assert stub.asked[0]["max_completion_tokens"] == 500


def test_a_refusal_that_nothing_can_mend_is_told_in_the_endpoints_words() -> None:
    def too_many(path: str, headers: Any, body: dict[str, Any]) -> web.Response:
        for name in ("max_tokens", "max_completion_tokens"):
            if name in body:
                return error(f"{name} is too large: 500. This model takes 16.", param=name)
        return error("No limit was given.")

    (refusal,), stub = asked(too_many)
    assert isinstance(refusal, Permanent)
    assert "is too large: 500" in refusal.message
    assert len(stub.asked) == 1


def test_an_answer_in_words_is_asked_for_with_its_schema() -> None:
    _, stub = asked(words_only)
    assert '{"type": "object"}' in stub.asked[-1]["messages"][0]["content"]


@pytest.mark.parametrize(
    ("model", "profile"),
    [
        ("gpt-4.1", Profile()),
        ("gpt-5-chat-latest", Profile(limit="max_completion_tokens")),
        ("openai/o4-mini", known("o4-mini")),
        ("o1js", Profile()),
        ("llama-3.3-70b-instruct", Profile()),
    ],
)
def test_families_are_known_by_their_names(model: str, profile: Profile) -> None:
    assert known(model) == profile


@pytest.mark.parametrize(
    "words",
    [
        "The prompt was filtered by the content policy.",
        "temperature Invalid value: temperature must be at most 1.",
    ],
)
def test_a_refusal_about_the_question_or_a_value_changes_nothing(words: str) -> None:
    assert adapted(Profile(), words) is None


def test_what_was_learnt_is_remembered_at_that_address_and_no_other() -> None:
    _, first = asked(deepseek)
    (kept,) = ModelProfile.objects.all()
    told = kept.endpoint, kept.model, kept.profile["answer"]
    assert told == ("stub", "house-model", "json_object")
    assert kept.refusals == ["HTTP 400: This response_format type is unavailable now"]
    same = ModelProfile.objects.learnt(first.endpoint)
    assert same == {"house-model": replace(Profile(), answer="json_object")}
    moved = replace(first.endpoint, base_url="https://elsewhere.example/v1")
    assert ModelProfile.objects.learnt(moved) == {}


def test_a_limit_is_not_changed_back() -> None:
    refusal = "Unsupported parameter: max_tokens and max_completion_tokens"
    changed = adapted(Profile(), refusal, "house-model")
    assert changed == Profile(limit="max_completion_tokens")
    assert adapted(changed, refusal, "house-model") is None


def test_a_profile_of_another_version_is_read_as_far_as_it_is_known() -> None:
    stored = Profile(answer="words", without=frozenset({"seed"})).stored | {"mood": "calm"}
    assert Profile.read(stored) == Profile(answer="words", without=frozenset({"seed"}))
