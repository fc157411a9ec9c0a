"""Expansions to their end, over real HTTP: the practice model, and scripted endpoints."""

import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from corpus.models import (
    ExpansionRound,
    ExpansionRun,
    QuerySource,
    RankedList,
    RetrievalRun,
    RunComputation,
)
from corpus.tasks import EXPANSIONS
from corpus.wordings import services as verbs
from kit.errors import Refused
from kit.models import Event
from llm import endpoints
from llm.models import Call
from tests.corpus.reranking.room import Room, make_room
from tests.debate.answering import answering
from tests.llm.stub import status
from tests.llm.test_answers import ended

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def room(settings, tmp_path) -> Room:
    return make_room(settings, tmp_path)


def start(room: Room, method: str = "qexpand", **options: Any) -> ExpansionRun:
    """A run that this process has claimed, by whatever endpoint there is."""
    given: dict[str, Any] = {"claimed": True, "actor": None, "retriever": room.source} | options
    endpoint = endpoints.available(verbs.ROLE)[0]
    return verbs.start_expansion(
        benchmark=room.benchmark, method=method, endpoint=endpoint, **given
    )


def driven(run: ExpansionRun) -> ExpansionRun:
    EXPANSIONS.drive(run)
    run.refresh_from_db()
    return run


def expanded(room: Room, method: str = "qexpand", **options: Any) -> ExpansionRun:
    with endpoints.practice_if_unconfigured(verbs.ROLE):
        return driven(start(room, method, **options))


def test_each_round_becomes_a_source_and_a_run_like_any_other(room) -> None:
    found = expanded(room, name="QExpand", passages=2)
    assert (found.status, found.error, found.practice) == ("done", "", True)
    sources = {each.name: each for each in QuerySource.objects.all()}
    assert sorted(sources) == ["QExpand", "QExpand, round 1"]
    runs = RetrievalRun.objects.filter(provenance__expansion=found.pk)
    assert [each.name for each in runs.order_by("pk")] == ["QExpand, round 1", "QExpand"]
    assert (found.source, found.run.name) == (sources["QExpand"], "QExpand")
    assert found.run.provenance["queries"] == "QExpand"
    assert found.run.corpus_version_id == room.source.corpus_version_id
    one, two = ExpansionRound.objects.filter(item__query=room.first).order_by("number")
    assert one.shown == room.order(room.source)[:2]
    assert not {*one.shown} & {*two.shown}
    assert two.query == f"{room.first.text}\n\n{two.texts[0]}"
    assert one.texts[0] in json.dumps(Call.objects.get(pk=two.calls[0]).request)
    assert room.order(found.run) == two.pids
    assert sources["QExpand"].wordings.get(query=room.first).text == two.query
    verbs_said = Event.objects.values_list("verb", flat=True)
    assert {"start expansion", "publish expansion"} <= set(verbs_said)


def test_the_reference_draws_two_samples_and_appends_both(room, settings) -> None:
    with answering(settings, *(f"Text {n} of soil." for n in range(8))) as stub:
        run = driven(start(room, profile="reference", rounds=1, passages=2))
        assert len(stub.asked) == 2 * 2
    made = ExpansionRound.objects.get(item__query=room.first)
    assert run.config["samples"] == len(made.texts) == 2
    assert made.query == "\n\n".join([room.first.text, *made.texts])


def test_a_rewriting_stands_in_the_place_of_the_query(room, settings) -> None:
    with answering(settings, "<think>So.</think>Mulch and soil.") as stub:
        run = driven(start(room, "rewrite", retriever=None, name="Own"))
        assert {body["top_p"] for body in stub.asked} == {0.8}
    assert (run.status, run.run) == ("done", None)
    texts = set(run.source.wordings.values_list("text", flat=True))
    assert texts == {"Mulch and soil."}
    with answering(settings, "Mulch and soil."):
        run = driven(start(room, "rewrite"))
    assert RankedList.objects.get(run=run.run, query=room.first).pids


@pytest.mark.slow
def test_what_nobody_can_use_is_asked_once_more_and_the_query_stays(room, settings) -> None:
    with answering(settings, "<think>without an end") as stub:
        run = driven(start(room, rounds=1))
        assert len(stub.asked) == 2 * 2  # queries, once more
    assert (run.status, run.report["unread"], run.report["kept_queries"]) == ("done", 4, 2)
    assert run.source.query_count == 0
    assert room.order(run.run) == room.order(room.source)
    with answering(settings, "<think>hm") as stub:
        driven(start(room, rounds=1, profile="reference", samples=1, temperature=0.1))
        assert len(stub.asked) == 2 * 4


@pytest.mark.few
@pytest.mark.parametrize(("last", "texts"), [("stop", ["Soil, straw."]), ("length", [])])
def test_calls_that_were_refused_or_cut_off_stand_among_those_of_the_round(
    room, settings, last, texts
) -> None:
    room.second.text = ""
    room.second.save()
    script = [ended("No.", "content_filter"), ended("Soil,", "length"), ended("Soil, straw.", last)]
    with answering(settings, *script) as stub:
        run = driven(start(room, rounds=1))
        assert len(stub.asked) == 3  # what was cut off once more, with room for twice as much
    made = ExpansionRound.objects.get(item__run=run)
    assert made.calls == list(Call.objects.order_by("pk").values_list("pk", flat=True))
    assert (made.texts, made.found["unread"]) == (texts, 2 - len(texts))


def test_nothing_new_to_show_leaves_the_query_of_the_round_before(room, settings) -> None:
    with answering(settings, "Moist soil of a garden in summer.") as stub:
        run = driven(start(room, rounds=2, passages=50))
        assert len(stub.asked) == 2
    one, two = ExpansionRound.objects.filter(item__query=room.first).order_by("number")
    assert (two.shown, two.calls, two.query, two.pids) == ([], [], one.query, one.pids)
    assert run.report["kept_rounds"] == 2


def test_a_query_whose_first_places_stay_the_same_may_stop(room, settings) -> None:
    with answering(settings, "Zymurgy."):  # a word that no passage holds
        run = driven(start(room, rounds=3, passages=1, stops_early=True))
    assert run.report["stopped"] == 2
    assert ExpansionRound.objects.filter(item__run=run).count() == 2
    assert [each["round"] for each in run.report["rounds"]] == [1, 2, 3]
    assert len(set(RetrievalRun.objects.filter(provenance__expansion=run.pk)
                   .values_list("digest", flat=True))) == 1  # fmt: skip


@pytest.mark.slow
def test_failed_queries_alone_are_tried_again_or_kept(room, settings) -> None:
    with answering(settings, "Soil.", status(400), "Mulch.") as stub:
        run = driven(start(room, rounds=1))
        assert (run.status, QuerySource.objects.count()) == ("failed", 0)
        assert "1 query failed" in run.error
        verbs.retry_failed(run=run, actor=None)
        assert run.claim()
        run = driven(run)
        assert (run.status, len(stub.asked)) == ("done", 3)
    with answering(settings, status(400)):
        run = driven(start(room, rounds=1, temperature=0.2))
    verbs.keep_failed(run=run, actor=None)
    assert run.claim()
    run = driven(run)
    assert (run.status, run.report["kept_queries"]) == ("done", 2)
    assert room.order(run.run) == room.order(room.source)
    with pytest.raises(Refused, match="No query of this run has failed"):
        verbs.retry_failed(run=run, actor=None)


def test_what_cannot_be_is_refused(room) -> None:
    with endpoints.practice_if_unconfigured(verbs.ROLE):
        worded = driven(start(room))
        call_command("compute_run", benchmark="ranked", queries=worded.source.name, name="other")
        other = RetrievalRun.objects.get(name="other")
        for method, options, field in (
            ("none", {}, "method"),
            ("qexpand", {"retriever": None}, "retriever"),
            ("qexpand", {"retriever": worded.run}, "retriever"),
            ("qexpand", {"retriever": other}, "retriever"),
            ("qexpand", {"rounds": 0}, "rounds"),
            ("qexpand", {"profile": "x"}, "profile"),
            ("qexpand", {"tokenizer": "x"}, "tokenizer"),
            ("qexpand", {"samples": 9}, "samples"),
            ("rewrite", {"rounds": 2}, "rounds"),
        ):
            with pytest.raises(Refused) as refusal:
                start(room, method, **options)
            assert refusal.value.field == field, options
    assert ExpansionRun.objects.count() == 1


def test_a_run_searches_in_the_words_of_a_source(room) -> None:
    source = expanded(room, "rewrite", retriever=None, name="Own").source
    call_command("compute_run", benchmark="ranked", queries="Own")
    made = RunComputation.objects.latest("pk")
    assert (made.run.name, made.run.provenance["queries"]) == ("BM25, Own", "Own")
    assert made.practice  # the practice model worded them
    assert made.report["domains"]["biology"]["queries_in_other_words"] == 1
    source.wordings.filter(query=room.first).update(text="oak and beech")
    call_command("compute_run", benchmark="ranked", queries="Own", name="by trees")
    assert room.order(RetrievalRun.objects.get(name="by trees"))[0] == "b3"
    with pytest.raises(CommandError, match="no query source 'x'"):
        call_command("compute_run", benchmark="ranked", queries="x")


def test_a_forecast_counts_the_calls_that_are_made(room) -> None:
    with endpoints.practice_if_unconfigured(verbs.ROLE) as endpoint:
        config = verbs.checked_config("qexpand", {"profile": "reference"})
        told = verbs.forecast(room.benchmark, "qexpand", endpoint, config)
        assert (told["queries"], told["calls"], told["usd"]) == (2, 2 * 2 * 2, 0)
        driven(start(room, profile="reference", passages=1))
    assert Call.objects.filter(role="expand").count() == told["calls"]


@pytest.mark.slow
def test_expanding_from_the_shell(room, capsys) -> None:
    call_command("expand_queries", "ranked", json=True, passages=1)
    told = json.loads(capsys.readouterr().out)
    assert (told["status"], told["report"]["unread"]) == ("done", 0)
    call_command("expand_queries", "ranked", method="rewrite", name="Own")
    assert "Own is done: 2 queries in other words" in capsys.readouterr().out
    with pytest.raises(CommandError, match="No run 'x' was computed"):
        call_command("expand_queries", "ranked", retriever="x")
