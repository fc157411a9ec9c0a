"""Pipelines to their end, what stops them, and the grid that they stand in."""

import json
from decimal import Decimal
from math import log2
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from corpus.imports.wordings import write_source
from corpus.models import ExpansionRun, Query, RankedList, RerankRun, RetrievalRun, RunComputation
from corpus.tasks import EXPANSIONS
from evaluation.leaderboard.services import leaderboard_of
from evaluation.pipelines import grid, printed
from evaluation.pipelines import services as verbs
from evaluation.pipelines.models import PipelineRun
from evaluation.pipelines.running import carry_on, take_turn
from evaluation.published.services import QUERIES, compared, plain, table_called
from evaluation.scores.models import ScoreSheet
from kit.errors import Refused
from kit.runs.moves import cancel_run
from llm import endpoints
from llm.models import Account, to_units
from tests.corpus.reranking.room import Room, make_room
from tests.debate.answering import answering
from tests.factories import make_benchmark, make_gold, make_passage, make_query
from tests.llm.stub import status

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def room(settings, tmp_path) -> Room:
    return make_room(settings, tmp_path)


def dense(room: Room) -> RetrievalRun:
    """A run by another method than BM25."""
    call_command("compute_run", benchmark="ranked", method="tfidf", name="TF-IDF")
    return RetrievalRun.objects.get(name="TF-IDF")


def start(room: Room, preset: str = "v1", **options: Any) -> PipelineRun:
    known = endpoints.available("judge")[0]
    given: dict[str, Any] = {"claimed": True, "actor": None, "retriever": room.source} | options
    return verbs.start_pipeline(
        benchmark=room.benchmark, preset=preset, expander=known, reranker=known, **given
    )


def carried(run: PipelineRun) -> PipelineRun:
    carry_on(run)
    run.refresh_from_db()
    return run


def test_v2_runs_all_its_steps_each_a_run_of_its_own(room, capsys) -> None:
    dense(room)
    call_command("pipeline", "ranked", preset="v2", retriever="TF-IDF", json=True)
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert told["status"] == "done"
    assert told["steps"] == {
        "expanded": "DIVER (v2), expanded",
        "BM25": "DIVER (v2), BM25",
        "hybrid": "DIVER (v2), hybrid",
        "pointwise": "DIVER (v2), pointwise",
        "listwise": "DIVER (v2), listwise",
        "merged": "DIVER (v2)",
    }
    run = PipelineRun.objects.get()
    assert (run.done, run.total, run.practice) == (6, 6, True)
    hybrid = RunComputation.objects.get(method="hybrid")
    parts = [RetrievalRun.objects.get(pk=pk) for pk in hybrid.config["runs"]]
    assert [each.provenance["queries"] for each in parts] == ["DIVER (v2), expanded"] * 2
    merged = RerankRun.objects.get(method="merge")
    assert (merged.source.name, merged.second.name) == (
        "DIVER (v2), pointwise",
        "DIVER (v2), listwise",
    )


@pytest.mark.slow
def test_v3_repeats_its_groups_as_often_as_is_asked(room, capsys) -> None:
    call_command("pipeline", "ranked", preset="v3", profile="reference")
    with endpoints.practice_if_unconfigured("judge") as known:
        carried(start(room, "v3", repeats=3))
        asked = (room.benchmark, "v3", room.source, known, known)
        calls = [verbs.forecast(*asked, repeats=each)["calls"] for each in (2, 3)]
        with pytest.raises(Refused) as refusal:
            start(room, "v2", repeats=3)
    assert refusal.value.field == "repeats"
    assert [each.config["repeats"] for each in RerankRun.objects.order_by("pk")] == [6, 3]
    assert calls[1] - calls[0] == 2  # one more for each query


@pytest.mark.slow
def test_ways_say_what_was_done_to_whose_lists(room) -> None:
    dense(room)
    with endpoints.practice_if_unconfigured("judge"):
        assert carried(start(room, "v1", retriever=RetrievalRun.objects.get(name="TF-IDF")))
        assert carried(start(room, "v3")).status == "done"
    ways = grid.ways_of(list(RetrievalRun.objects.all()))
    named = {RetrievalRun.objects.get(pk=pk).name: way for pk, way in ways.items()}
    assert named["BM25"] == grid.Way("BM25", grid.AS_IT_IS)
    words = "DIVER (v1), expanded"
    assert named[words] == grid.Way("TF-IDF", words)
    assert named["DIVER (v1)"] == grid.Way("TF-IDF", f"{words}, hybrid with BM25, pointwise")
    assert named["DIVER (v3)"] == grid.Way("BM25", "DIVER (v3), expanded, groupwise")
    # Another model may have done the same: its figures do not take the place of the first's.
    last = RetrievalRun.objects.get(name="DIVER (v3)")
    last.pk, last.name = None, "by another model"
    last.save()
    assert len(set(grid.ways_of(list(RetrievalRun.objects.order_by("pk"))).values())) == (
        RetrievalRun.objects.count()
    )


@pytest.mark.slow
def test_the_grid_holds_the_means_of_the_leaderboard(room) -> None:
    with endpoints.practice_if_unconfigured("judge"):
        carried(start(room, "v1"))
    call_command("leaderboard", "ranked")
    sheet = ScoreSheet.objects.get()
    means = {line.run.name: line.mean for line in leaderboard_of(sheet, view="base").lines}
    table = grid.our_grid(sheet)
    assert table.header == ("method", "BM25")
    assert table.rows[0][0].value == grid.AS_IT_IS
    made = [row[1].value for row in table.rows if "oracle" not in row[0].value]
    assert sorted(made) == sorted(means.values())
    assert [row[1].best for row in table.rows].count(True) == 1
    helped = {each.run.name: each for each in grid.helped_of(sheet)}
    last = helped["DIVER (v1)"]
    assert last.base.name == "BM25"
    assert last.better + last.same + last.worse == 1  # the one query with gold
    assert last.mean - last.base_mean == pytest.approx(means["DIVER (v1)"] - means["BM25"])
    found = grid.helped_query(sheet, room.first)
    ((run, value, gain),) = found["DIVER (v1), expanded"]
    assert run.name == "DIVER (v1), expanded"
    assert gain == pytest.approx(value - means["BM25"])


@pytest.mark.slow
def test_ours_stands_beside_printed_means_by_the_names_that_papers_have(settings, tmp_path) -> None:
    """Twelve sets of the printed sizes, one query of each with a text. The folder of BRIGHT is
    called gpt4, the pipeline's source after the pipeline."""
    settings.INDEXES = tmp_path / "indexes"
    sets = table_called("diver-retrievers-evaluate-retriever-with-original-query").columns[1:]
    benchmark = make_benchmark("bright", domains=sets)
    wordings = []
    for name in sets:
        query = make_query(benchmark, "1", name, text="Does mulch keep soil moist?")
        gold = make_passage(benchmark, f"{name}-1", name, text="Wet earth below straw.")
        make_gold(query, gold)
        for number, text in enumerate(("Soil, soil and mulch.", "Moist air.")):
            make_passage(benchmark, f"{name}-other-{number}", name, text=text)
        wordings.append((query, "straw on wet earth" if name != "pony" else "moist"))
        more = QUERIES[plain(name)][0] - 1
        Query.objects.bulk_create(
            Query(domain=query.domain, qid=f"more-{n}", text="") for n in range(more)
        )
    for source in ("gpt4", "llama3-70b"):
        write_source(benchmark=benchmark, name=source, texts=wordings, provenance={})
        call_command("compute_run", benchmark="bright", method="bm25", queries=source)
    call_command("compute_run", benchmark="bright", method="bm25")
    call_command("pipeline", "bright", preset="v1", retriever="BM25")
    call_command("leaderboard", "bright")
    sheet = ScoreSheet.objects.get()
    means = {line.run.name: line.mean for line in leaderboard_of(sheet, view="base").lines}
    assert (means["BM25"], means["BM25, gpt4"]) == (0, pytest.approx(11 / 12))
    ours = {
        (each.way, each.mean): each.ours
        for each in printed.printed_of(sheet)
        if each.ours is not None
    }
    assert ours == {
        (grid.Way("BM25", grid.AS_IT_IS), 14.5): 0,
        (grid.Way("BM25", "GPT-4 Reason-query"), 27.0): pytest.approx(100 * 11 / 12),
        (grid.Way("BM25", "GPT-4 Reason-query"), 26.5): pytest.approx(100 * 11 / 12),
        (grid.Way("BM25", "DIVER-QExpand"), 29.5): pytest.approx(
            100 * means["DIVER (v1), expanded"]
        ),
    }
    rows = {row.name: row for row in compared(table_called("marcus-rewritten"), sheet)}
    assert rows["BM25, LLaMA"].run == "BM25, llama3-70b"
    assert [cell.ours for cell in rows["BM25, LLaMA"].cells] == [100] * 7
    assert rows["BM25, GPT-4"].run == "BM25, gpt4"


def test_oracle_and_retriever_alone_stand_beside_every_reranking(
    room,
) -> None:
    """The only gold passage, b1, is the second of four: nDCG 1 / log2 3, and 1 for the oracle of
    the first two; that of the first one alone has nothing to put first."""
    RankedList.objects.filter(run=room.source, query=room.first).update(
        pids=["b2", "b1", "b4", "b3"], scores=[4.0, 3.0, 2.0, 1.0]
    )
    for depth, mix in ((2, "alone"), (1, "interpolate")):
        room.run("pointwise", name=f"first {depth}", depth=depth, mix=mix)
    first = RerankRun.objects.get(name="first 2")
    merged = room.run("merge", name="merged", depth=2, source=first.run, second=room.source)
    assert [row[2].value for row in grid.rerank_means(merged, None).rows] == [None] * 5
    call_command("leaderboard", "ranked")
    sheet = ScoreSheet.objects.get()
    alone, reranked = 1 / log2(3), {line.run.name: line.mean for line in
                                   leaderboard_of(sheet, view="base").lines}  # fmt: skip
    told = [[cell.value for cell in row] for row in grid.reranked_table(sheet).rows]
    assert told == [
        ["first 1", "BM25", 1, pytest.approx(alone), reranked["first 1"], 0.0],
        ["first 2", "BM25", 2, pytest.approx(alone), reranked["first 2"], 1.0],
        ["merged", "BM25", 2, pytest.approx(alone), reranked["merged"], 1.0],
    ]
    named = {row[0].value: row[1].value for row in grid.our_grid(sheet).rows}
    assert {name: mean for name, mean in named.items() if "oracle" in name} == {
        f"{grid.AS_IT_IS}, oracle of the first 1": 0.0,
        f"{grid.AS_IT_IS}, oracle of the first 2": 1.0,
        f"{grid.AS_IT_IS}, oracle of the first 100": 1.0,
        f"{grid.AS_IT_IS}, pointwise, oracle of the first 2": 1.0,
    }
    rows = [[cell.value for cell in row] for row in grid.rerank_means(merged, sheet).rows]
    assert [row[:3] for row in rows] == [
        ["retriever alone", "BM25", pytest.approx(alone)],
        ["first 2", "first 2", reranked["first 2"]],
        ["BM25", "BM25", pytest.approx(alone)],
        ["merged", "merged", reranked["merged"]],
        ["oracle of the first 2", "first 2", 1.0],
    ]
    # A sheet of before: it has none.
    sheet.boards.pop("oracles")
    assert grid.reranked_table(sheet).rows[0][5].value is None


@pytest.mark.slow
def test_a_step_that_fails_pauses_the_pipeline_until_it_is_resumed(room, settings) -> None:
    script = (status(400), status(400), "Soil.", "Soil.", "Relevance score: 7.")
    with answering(settings, *script):
        run = carried(start(room, "v1", skip_probe=True))
        assert run.status == "paused"
        assert "The step expanded (DIVER (v1), expanded) is failed. 2 queries failed" in run.error
        verbs.resume(run=run, actor=None)
        assert ExpansionRun.objects.get().status == "queued"
        assert run.claim()
        run = carried(run)
    assert (run.status, run.error) == ("done", "")


def test_pausing_and_cancelling_take_the_step_along(room) -> None:
    with endpoints.practice_if_unconfigured("judge"):
        run = start(room, "v1", claimed=False)
        assert run.claim()
        child = verbs.begin(run, run.steps[0])
        run.steps[0]["child"] = child.pk
        run.hold(steps=run.steps)
        verbs.pause(run=run, actor=None)
        child.refresh_from_db()
        assert (run.status, child.status) == ("paused", "paused")
        verbs.resume(run=run, actor=None)
        child.refresh_from_db()
        assert (run.status, child.status) == ("queued", "queued")
        verbs.cancel(run=run, actor=None)
        child.refresh_from_db()
        assert (run.status, child.status) == ("cancelled", "cancelled")


@pytest.mark.slow
def test_a_step_that_another_worker_did_is_taken_over(room) -> None:
    with endpoints.practice_if_unconfigured("judge"):
        run = start(room, "v1")
        child = verbs.begin(run, run.steps[0])
        run.steps[0]["child"] = child.pk
        run.hold(steps=run.steps)
        run.release()  # as a worker that is ended gives it back
        EXPANSIONS.take_part(child.pk)
        take_turn(run.pk)
        run.refresh_from_db()
    assert run.status == "done"
    assert ExpansionRun.objects.count() == 1


@pytest.mark.slow
def test_the_budget_is_for_all_steps(room, settings) -> None:
    with endpoints.practice_if_unconfigured("judge"):
        run = carried(start(room, "v1", budget_usd=Decimal("2.50")))
    budgets = [ExpansionRun.objects.get().budget_usd, RerankRun.objects.get().budget_usd]
    assert run.status == "done"
    assert budgets == [Decimal("2.50"), Decimal("2.50")]  # practice costs nothing
    assert verbs.spent(run) == 0


def test_a_step_begun_anew_has_what_the_cancelled_one_left(room) -> None:
    with endpoints.practice_if_unconfigured("judge"):
        run = start(room, "v1", budget_usd=Decimal("2.50"))
        child = verbs.begin(run, run.steps[0])
        run.steps[0]["child"] = child.pk
        run.hold(steps=run.steps)
        Account.objects.filter(pk=child.account_id).update(spent_units=to_units(Decimal("0.30")))
        cancel_run(run=child, actor=None)
        assert carried(run).status == "failed"
        verbs.resume(run=run, actor=None)
        assert verbs.spent(run) == Decimal("0.30")
        assert run.claim()
        assert carried(run).status == "done"
    # 2.50 - 0.30
    assert ExpansionRun.objects.latest("pk").budget_usd == Decimal("2.20")


def test_what_cannot_be_is_refused(room) -> None:
    with endpoints.practice_if_unconfigured("judge"):
        made = carried(start(room, "v1"))
        for options, field in (
            ({"preset": "v4"}, "preset"),
            ({"retriever": RetrievalRun.objects.get(pk=made.steps[0]["run"])}, "retriever"),
            ({"profile": "x"}, "profile"),
            ({"depth": 0}, "depth"),
        ):
            with pytest.raises(Refused) as refusal:
                start(room, **options)
            assert refusal.value.field == field, options
        told = verbs.forecast(
            room.benchmark, "v2", room.source, *(endpoints.available("judge") * 2)
        )
    assert told["calls"] > 2 * 2
    with pytest.raises(CommandError, match="No run 'x'"):
        call_command("pipeline", "ranked", retriever="x")
