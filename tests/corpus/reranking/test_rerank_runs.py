"""Rerankings to their end, over real HTTP: the practice model, and scripted endpoints."""

import json
from decimal import Decimal

import pytest
from aiohttp import web
from django.core.management import CommandError, call_command

from corpus.models import RankedList, RerankItem, RerankRun, RetrievalRun
from corpus.reranking.probing import PAIRS
from corpus.reranking.services import checked_config, forecast, keep_failed, retry_failed
from kit.errors import Refused
from kit.models import Event
from llm import endpoints
from llm.models import Call
from llm.practice.completion import MODEL, chat_completion
from tests.corpus.reranking.room import driven
from tests.debate.answering import answering
from tests.factories import make_passage
from tests.llm.stub import status

pytestmark = pytest.mark.django_db(transaction=True)


def test_pointwise_becomes_a_run_like_any_other_with_its_scores_kept(room) -> None:
    found = room.run("pointwise")
    assert (found.status, found.error, found.practice) == ("done", "", True)
    made = found.run
    assert made.corpus_version_id == room.source.corpus_version_id
    assert (made.query_count, made.provenance["practice"]) == (2, True)
    item = found.items.get(query=room.first)
    kept = item.found
    assert kept["pids"] == room.order(room.source)
    final = {
        pid: 0.6 * rerank + 0.4 * own
        for pid, rerank, own in zip(kept["pids"], kept["rerank"], kept["retriever"], strict=True)
    }
    listed = RankedList.objects.get(run=made, query=room.first)
    assert dict(zip(listed.pids, listed.scores, strict=True)) == pytest.approx(final)
    assert listed.scores == sorted(listed.scores, reverse=True)
    assert max(kept["retriever"]) == 1
    assert found.report["unread"] == found.report["truncated"] == 0
    verbs = Event.objects.values_list("verb", flat=True)
    assert {"start reranking", "rerank retrieval run"} <= set(verbs)


def test_a_domain_of_bright_is_asked_by_the_rule_of_its_family(room) -> None:
    found = room.run("pointwise")
    prompts = {
        call.request["messages"][0]["content"]
        for call in found.calls
        if "Actors" in json.dumps(call.request)
    }
    assert all("Pony" in prompt for prompt in prompts)
    assert prompts


@pytest.mark.slow
def test_methods_differ_and_repeats_leave_their_spread(room) -> None:
    orders = {}
    for method in ("pointwise", "listwise", "groupwise", "endpoint"):
        options = {"mix": "alone"} if method in ("pointwise", "groupwise") else {}
        group = {"group_size": 2, "repeats": 12} if method == "groupwise" else {}
        found = room.run(method, **options, **group)
        assert (found.status, found.error) == ("done", "")
        orders[method] = tuple(room.order(found.run))
        assert set(orders[method]) == set(room.order(room.source))
    assert orders["pointwise"][0] == "b1"
    repeated = RerankRun.objects.get(method="groupwise")
    spreads = [each.found["spread"] for each in repeated.items.all()]
    known = [each for own in spreads for each in own]
    assert any(each > 0 for each in known)
    assert (repeated.report["spread"], repeated.report["repeated_documents"]) == (
        pytest.approx(sum(known) / len(known)),
        len(known),
    )
    assert "spread" not in RerankRun.objects.get(method="pointwise").report
    server = RerankItem.objects.get(run__method="endpoint", query=room.first)
    assert len(set(server.scores)) > 1
    assert Call.objects.filter(role="rerank").count() == 10 + 2  # the probe, and a call a query


def test_oracle_and_merge_ask_nobody(room) -> None:
    oracle = room.run("oracle")
    assert (oracle.status, room.order(oracle.run)[0]) == ("done", "b1")
    assert room.order(oracle.run)[1:] == [p for p in room.order(room.source) if p != "b1"]
    merge = room.run("merge", second=oracle.run)
    assert merge.status == "done"
    scores = RankedList.objects.get(run=merge.run, query=room.first).scores
    assert scores[0] <= 0
    assert not Call.objects.exists()


def test_depth_and_length_of_documents_are_counted(room) -> None:
    found = room.run("listwise", depth=2, document_chars=200)
    assert found.run.depth == 2
    make_passage(room.benchmark, "b9", "biology", text="moist soil " * 100)
    lists = RankedList.objects.get(run=room.source, query=room.first)
    lists.pids, lists.scores = ["b9", "gone", *lists.pids], [99.0, 98.0, *lists.scores]
    lists.save()
    found = room.run("listwise", document_chars=200)
    assert found.report["truncated_documents"] == {"b9": 1}
    assert found.report["missing"] == 1  # not in the corpus: dropped and counted
    assert "gone" not in room.order(found.run)


@pytest.mark.slow
def test_what_cannot_be_read_is_asked_once_more_and_then_stands_where_it_was(
    room, settings
) -> None:
    with answering(settings, "no idea") as stub:
        found = driven(room.start("pointwise", endpoints.for_role("judge")))
        documents = sum(len(each.found["pids"]) for each in found.items.all())
        assert len(stub.asked) == 2 * documents
    assert found.report["unread"] == 2 * documents
    assert found.report["kept_documents"] == documents
    assert room.order(found.run) == room.order(room.source)
    item = found.items.get(query=room.first)
    assert set(item.found["rerank"]) == {None}
    with answering(settings, "no idea") as stub:
        as_before = {"temperature": 0, "top_p": 1, "output_tokens": 100}
        judge = endpoints.for_role("judge")
        found = driven(room.start("pointwise", judge, parser="reference", **as_before))
        # The first replies stand in the ledger.
        assert len(stub.asked) == 0
    assert set(found.items.get(query=room.first).found["rerank"]) == {0}
    with answering(settings, "no list"):
        found = driven(room.start("listwise", endpoints.for_role("judge")))
    assert (found.report["unread"], found.report["kept_queries"]) == (2, 2)
    assert room.order(found.run) == room.order(room.source)
    with answering(settings, "no scores") as stub:
        found = driven(room.start("groupwise", endpoints.for_role("judge"), repeats=2))
        assert len(stub.asked) == 2 * 2 * 2  # queries, repeats, once more
    assert room.order(found.run) == room.order(room.source)


@pytest.mark.few
@pytest.mark.parametrize(
    ("method", "strict", "reference", "repeats"),
    [
        ("pointwise", (0, None, 100), (0.6, 0.9, 128), None),
        ("listwise", (0, None, 4_000), (0.8, 0.8, 4_000), None),
        ("groupwise", (0, None, 4_000), (0.3, 0.8, 8_000), (2, 6)),
    ],
)
def test_reference_draws_as_published_and_whoever_says_otherwise_as_said(
    room, settings, method, strict, reference, repeats
) -> None:
    given = {"temperature": 0.5, "top_p": 0.7, "output_tokens": 64}
    with answering(settings, "Relevance score: 7.") as stub:
        for options, drawn in (
            ({}, strict),
            ({"parser": "reference"}, reference),
            ({"parser": "reference", **given}, tuple(given.values())),
        ):
            stub.asked.clear()
            run = driven(room.start(method, endpoints.for_role("judge"), **options))
            bodies = {
                (body["temperature"], body.get("top_p"), body["max_tokens"]) for body in stub.asked
            }
            assert bodies == {drawn}
            kept = [run.config[name] for name in given]
            assert kept == [drawn[0], drawn[1] or 1, drawn[2]]
            assert run.run.provenance["config"] == run.config
            if repeats:
                assert run.config["repeats"] == repeats["parser" in options]


@pytest.mark.few
@pytest.mark.parametrize(
    ("method", "reply", "why"),
    [
        ("pointwise", "Relevance score: 7.", "every score is the same. Likely the model does not"),
        ("pointwise", "no idea", "every score is the same. 40 of its replies could not be read."),
        ("listwise", "```json\n[1, 2]\n```", "AUC 0.50, at least 0.9 is expected. Likely"),
        ("groupwise", '<answer>{"[1]": 8, "[2]": 4}</answer>', "goes by the place of a passage"),
    ],
)
def test_a_model_that_tells_no_pairs_apart_ends_the_run_before_passages_are_paid(
    room, settings, method, reply, why
) -> None:
    with answering(settings, reply) as stub:
        run = driven(room.start(method, endpoints.for_role("judge"), skip_probe=False))
        assert (run.status, run.items.filter(state="waiting").count()) == ("failed", 2)
        assert why in run.error
        assert len(stub.asked) == run.calls.count() > 0
        assert all(any(q in body for q, _, _ in PAIRS) for body in stub.texts)
        assert driven(room.start(method, endpoints.for_role("judge"))).status == "done"


@pytest.mark.few
@pytest.mark.parametrize(("method", "tried"), [("pointwise", 20), ("listwise", 10),
                                               ("groupwise", 10)])  # fmt: skip
def test_pairs_are_tried_once_and_forecast(room, settings, method, tried) -> None:
    async def reply() -> web.StreamResponse:
        return web.json_response(chat_completion(stub.asked[-1] | {"model": MODEL}))

    with answering(settings, reply) as stub:
        judge = endpoints.for_role("judge")
        for most in (2, 3):
            run = driven(room.start(method, judge, depth=most, skip_probe=False))
            assert (run.status, run.error) == ("done", "")
        # The second run has them from the ledger.
        assert Call.objects.filter(subject__contains=":probe:").count() == tried
        told = [
            forecast(room.source, method, judge, checked_config(room.source, method, options))
            for options in ({"skip_probe": True}, {})
        ]
    assert told[1]["calls"] - told[0]["calls"] == tried
    assert told[1]["input_tokens"] > told[0]["input_tokens"]


@pytest.mark.slow
def test_failed_queries_alone_are_tried_again_or_kept(room, settings) -> None:
    good = "```json\n[1]\n```"
    with answering(settings, good, status(400), good) as stub:
        run = driven(room.start("listwise", endpoints.for_role("judge")))
        assert run.status == "failed"
        assert "1 query failed" in run.error
        assert not RetrievalRun.objects.filter(name=run.name).exists()
        retry_failed(run=run, actor=None)
        assert run.claim()
        run = driven(run)
        assert (run.status, run.error) == ("done", "")
        assert len(stub.asked) == 3
    with answering(settings, status(400)):
        run = driven(room.start("listwise", endpoints.for_role("judge"), temperature=0.5))
        assert (run.status, run.items.filter(state="failed").count()) == ("failed", 2)
    keep_failed(run=run, actor=None)
    assert run.claim()
    run = driven(run)
    assert (run.status, run.report["kept_queries"]) == ("done", 2)
    assert room.order(run.run) == room.order(room.source)
    with pytest.raises(Refused, match="No query of this run has failed"):
        retry_failed(run=run, actor=None)


def test_what_was_paid_for_is_not_asked_again(room, settings) -> None:
    with answering(settings, "Relevance score: 7.") as stub:
        first = driven(room.start("pointwise", endpoints.for_role("judge")))
        asked = len(stub.asked)
        again = driven(room.start("pointwise", endpoints.for_role("judge"), weight=0.5))
        assert len(stub.asked) == asked
    assert first.run.name != again.run.name


def test_what_cannot_be_is_refused(room) -> None:
    with endpoints.practice_if_unconfigured("judge") as endpoint:
        for method, options, field in (
            ("none", {}, "method"),
            ("pointwise", {"depth": 0}, "depth"),
            ("pointwise", {"parser": "x"}, "parser"),
            ("pointwise", {"family": "x"}, "family"),
            ("pointwise", {"mix": "x"}, "mix"),
            ("pointwise", {"weight": 2}, "weight"),
            ("pointwise", {"repeats": 2}, "repeats"),
            ("pointwise", {"reasoning_effort": "much"}, "reasoning_effort"),
            ("pointwise", {"budget_usd": Decimal("-1")}, "budget_usd"),
            ("merge", {}, "second"),
            ("merge", {"second": room.source}, "second"),
            ("oracle", {"second": room.source}, "second"),
        ):
            with pytest.raises(Refused) as refusal:
                room.start(method, endpoint, **options)
            assert refusal.value.field == field, options
        with pytest.raises(Refused, match="choose an endpoint"):
            room.start("pointwise", None)
    assert not RerankRun.objects.exists()


def test_a_forecast_counts_the_calls_that_are_made(room) -> None:
    with endpoints.practice_if_unconfigured("judge") as endpoint:
        for method, options in (("pointwise", {}), ("listwise", {}), ("groupwise", {"repeats": 3})):
            told = forecast(
                room.source, method, endpoint, checked_config(room.source, method, options)
            )
            assert told["queries"] == 2
            assert told["usd"] == 0
            assert told["input_tokens"] > 100
        assert told["calls"] == 6
    assert (
        forecast(room.source, "oracle", None, checked_config(room.source, "oracle", {}))["calls"]
        == 0
    )


def test_rerank_from_the_shell(room, capsys) -> None:
    call_command("rerank", "ranked", method="pointwise", json=True)
    told = json.loads(capsys.readouterr().out)
    assert (told["status"], told["report"]["unread"]) == ("done", 0)
    call_command("rerank", "ranked", method="merge", run="BM25", second=told["run"])
    assert "is done" in capsys.readouterr().out
    with pytest.raises(CommandError, match="no retrieval run 'x'"):
        call_command("rerank", "ranked", run="x")
