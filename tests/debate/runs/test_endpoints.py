"""Real endpoints, as their documentation describes them: right labels, or the right words."""

import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from corpus.models import Judgment
from debate.adoption.services import caseless
from debate.filters.services import filter_report, keep_pairs
from debate.models import Debate, DebateRun, Turn
from debate.runs.configuration import ModelChoice, RunConfig
from debate.runs.services import start_run
from debate.tasks import DEBATES
from llm import endpoints
from tests.debate.answering import answering, turn
from tests.factories import make_benchmark, make_passage, make_pool, make_query
from tests.stub import endpoints as stubs

pytestmark = pytest.mark.django_db(transaction=True)
PAIRS = 4


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llm.limits.LONGEST_WAIT_S", 0.001)
    monkeypatch.setattr("llm.limits.LONGEST_RETRY_AFTER_S", 0.001)
    monkeypatch.setattr("llm.pump.GROUP_SECONDS", 0.01)


def run_at(
    rule: stubs.Rule,
    settings: Any,
    *,
    model: str = "stub-1",
    file: tuple[Any, Path] | None = None,
    config: RunConfig | None = None,
) -> DebateRun:
    """A run over a few pairs at such an endpoint; all its answers are no.

    `file` holds the entries of a file of endpoints, and the folder that it is written to.
    """
    benchmark = make_benchmark()
    query = make_query(benchmark)
    pairs = [(query, make_passage(benchmark, f"p{n}")) for n in range(PAIRS)]

    async def step() -> web.StreamResponse:
        path, headers, body = stub.paths[-1], stub.headers[-1], stub.asked[-1]
        return rule(path, headers, body) or stubs.answered(path, turn("no"))

    with answering(settings, step) as stub:
        settings.ASSAY_MODEL = model
        if file:
            entries, folder = file
            text = json.dumps(entries).replace("ROOT", stub.endpoint.base_url.removesuffix("/v1"))
            settings.ASSAY_ENDPOINTS = folder / "endpoints.json"
            settings.ASSAY_ENDPOINTS.write_text(text)
        run = start_run(
            benchmark=benchmark,
            pool=make_pool(benchmark, *pairs),
            endpoint=endpoints.available()[-1],
            actor=None,
            config=config,
            claimed=True,
        )
        DEBATES.drive(run)
    run.refresh_from_db()
    return run


FINISH = {
    "OpenAI gpt-4.1": (stubs.openai_gpt_4_1, "gpt-4.1-mini"),
    "OpenAI gpt-5": (stubs.openai_gpt_5, "gpt-5-mini"),
    "OpenAI o-series": (stubs.openai_gpt_5, "o4-mini"),
    "OpenAI, first o-series": (stubs.openai_o1_preview, "o1-preview"),
    "OpenAI gpt-5-pro": (stubs.openai_gpt_5_pro, "gpt-5-pro"),
    "a deployment of gpt-5 under another name": (stubs.openai_gpt_5, "house-model"),
    "DeepSeek": (stubs.deepseek, "deepseek-chat"),
    "OpenRouter": (stubs.openrouter, "house/model"),
    "vLLM": (stubs.vllm, "Qwen/Qwen3-32B"),
    "a server without JSON mode": (stubs.words_only, "old-model"),
}


@pytest.mark.few(2)
@pytest.mark.parametrize(("rule", "model"), FINISH.values(), ids=FINISH.keys())
def test_a_run_finishes_with_the_labels_that_were_given(rule, model, settings) -> None:
    run = run_at(rule, settings, model=model)
    assert (run.status, run.done, run.error) == ("done", PAIRS, "")
    assert set(Debate.objects.values_list("status", "label")) == {("agreed", 0)}
    assert list(Judgment.objects.values_list("label", flat=True)) == [0] * PAIRS


STOP = {
    "OpenAI, wrong key": (stubs.openai_wrong_key, "failed", "refuses the key (HTTP 401"),
    "OpenAI, used-up quota": (stubs.openai_quota, "failed", "exceeded your current quota"),
    "DeepSeek, empty account": (stubs.deepseek_unpaid, "failed", "Insufficient Balance"),
    "Ollama, unknown model": (stubs.ollama_unknown, "failed", "try pulling it first"),
    "a proxy that answers HTML": (stubs.proxy_page, "paused", "gave no usable answer"),
}


@pytest.mark.few(2)
@pytest.mark.parametrize(("rule", "status", "words"), STOP.values(), ids=STOP.keys())
def test_a_run_stops_in_words_that_say_why_and_its_pairs_wait(
    rule, status, words, settings
) -> None:
    run = run_at(rule, settings)
    assert run.status == status
    assert words in run.error
    assert "sk-stub" not in run.error
    assert set(Debate.objects.values_list("status", flat=True)) == {"waiting"}
    assert not Judgment.objects.exists()


AZURE = [
    {
        "name": "azure",
        "base_url": "ROOT",
        "api_key": "sk-stub",
        "api_version": "2025-04-01-preview",
        "default_model": "gpt-4.1-deployment",
    }
]


def test_azure_is_asked_by_its_deployments(settings, tmp_path) -> None:
    run = run_at(stubs.azure, settings, file=(AZURE, tmp_path))
    assert (run.endpoint, run.status, run.error) == ("azure", "done", "")
    assert list(Judgment.objects.values_list("label", flat=True)) == [0] * PAIRS


ON_REFUSAL = {"person": ("refused", True), "skip": ("refused", False)}


@pytest.mark.parametrize(("plan", "left"), ON_REFUSAL.items(), ids=ON_REFUSAL.keys())
def test_pairs_whose_prompt_is_filtered_go_where_the_plan_sends_them(
    plan, left, settings, tmp_path
) -> None:
    config = RunConfig(on_refusal=plan)
    run = run_at(stubs.azure_filter, settings, file=(AZURE, tmp_path), config=config)
    assert (run.status, run.error, Judgment.objects.count()) == ("done", "", 0)
    for debate in Debate.objects.all():
        assert (debate.status, debate.case is not None) == left
        assert "would not answer: The response was filtered" in debate.error
        assert debate.error_class == "refusal"


def test_the_plan_for_refused_pairs_holds_when_a_trial_is_adopted(settings, tmp_path) -> None:
    config = RunConfig(on_refusal="skip", trial=True)
    run = run_at(stubs.azure_filter, settings, file=(AZURE, tmp_path), config=config)
    assert set(run.debates.values_list("status", flat=True)) == {"refused"}
    assert not caseless(run).exists()
    run.config |= {"on_refusal": "person"}
    assert caseless(run).count() == PAIRS


def test_a_filter_discards_no_pair_that_a_model_would_not_answer_about(settings, tmp_path) -> None:
    run = run_at(
        stubs.azure_filter, settings, file=(AZURE, tmp_path), config=RunConfig(kind="filter")
    )
    assert set(run.debates.values_list("status", flat=True)) == {"refused"}
    assert keep_pairs(run=run, actor=None).entries.count() == PAIRS
    assert filter_report(run).failed == PAIRS


def test_another_model_answers_where_the_first_will_not_and_is_named(settings) -> None:
    def prudish(path: str, headers: Any, body: Any) -> web.Response | None:
        if body["model"] == "other-model":
            return None
        message = {"role": "assistant", "content": None, "refusal": "I cannot judge that."}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        return web.json_response({"choices": [choice], "usage": None})

    other = ModelChoice("other-model", "default")
    run = run_at(prudish, settings, config=RunConfig(on_refusal="other_model", instead=other))
    assert (run.status, set(Debate.objects.values_list("status", flat=True))) == (
        "done",
        {"agreed"},
    )
    for label in Judgment.objects.all():
        assert label.provenance["instead"] == {"r1:A": "other-model", "r1:B": "other-model"}
    assert {flag for turn in Turn.objects.all() for flag in turn.flags} >= {"other_model"}
    assert set(Turn.objects.values_list("call__model", flat=True)) == {"other-model"}
