"""Score sheets and the pages read from them: numbers, staleness, comparison, holes, noise."""

import io
import json
import re
from collections import Counter
from dataclasses import replace
from decimal import Decimal

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotate.models import EscalationCase
from corpus.models import Pool, PoolBuild, RetrievalRun, Source
from corpus.pools import builds as pool_builds
from debate.models import DebateRun
from evaluation.holes import debates as hole_debates
from evaluation.holes import views as hole_pages
from evaluation.leaderboard import noise
from evaluation.leaderboard import services as compared_tests
from evaluation.leaderboard import services as leaderboard
from evaluation.leaderboard.services import drill
from evaluation.models import DomainScore, KeptComparison, NoiseCheck, ScoreSheet
from evaluation.published import services as published
from evaluation.published.services import known_systems, systems_with_runs
from evaluation.scores import sheets
from evaluation.scores.services import GoldView
from kit.errors import Refused
from llm import endpoints
from tests.evaluation.conftest import label, scores_of
from tests.factories import make_benchmark, make_member, make_query, make_ranking
from tests.markup import one_line


@pytest.fixture
def ranked(garden):
    """Three systems; bm25 and dense in both domains, half in one. Hole b2 of biology-7."""
    make_ranking(garden.query, "b3", "b2", "b1", "b0", name="bm25", scores=[4, 3, 2, 1])
    make_ranking(garden.plain, "e0", "e1", name="bm25", scores=[2.0, 1.0])
    make_ranking(garden.query, "b0", "b1", name="dense")
    make_ranking(garden.plain, "e1", "e0", name="dense")
    make_ranking(garden.query, "b2", name="half")
    return garden


def score(benchmark, **asked) -> ScoreSheet:
    sheet = sheets.request_sheet(benchmark=benchmark, actor=None, claimed=True, **asked)
    sheets.carry_out(sheet)
    sheet.refresh_from_db()
    assert sheet.status == "done", sheet.error
    return sheet


def run(name: str) -> RetrievalRun:
    return RetrievalRun.objects.get(name=name)


@pytest.mark.few(2)
@pytest.mark.parametrize("view", list(GoldView))
def test_sheet_holds_what_scoring_gives(ranked, view) -> None:
    sheet = score(ranked.benchmark)
    for metric in ("nDCG@10", "recall@10", "hole@10", "alpha_nDCG@25"):
        wanted = scores_of(ranked.benchmark, metric, view)
        board = leaderboard.leaderboard_of(sheet, metric=metric, view=view)
        assert board.domains == ["biology", "earth-science"]
        for line in board.lines:
            known = {split: each[metric].mean for split, each in wanted[line.run.name].items()}
            assert line.domains == [known.get("biology"), known.get("earth_science")]


def test_ranks_means_and_shifts(ranked) -> None:
    board = leaderboard.leaderboard_of(score(ranked.benchmark), metric="recall@10", view="expert")
    found = {each.run.name: each for each in board.lines}
    # Expert gold of biology-7: b0, b2. bm25 has both, dense b0 only; e0 is found by both.
    assert (found["bm25"].mean, found["dense"].mean) == (1.0, 0.75)
    assert [(each.run.name, each.rank) for each in board.lines] == [
        ("bm25", 1),
        ("dense", 2),
        ("half", None),
    ]
    # Under the base gold (b0, b1) both found everything: dense lost a place.
    assert (found["dense"].base_rank, found["dense"].shift) == (1, -1)
    assert found["dense"].change == pytest.approx(-0.25)
    assert (found["half"].mean, found["half"].shift) == (None, None)


def test_measures_of_aspects_are_over_domains_with_aspects(ranked) -> None:
    board = leaderboard.leaderboard_of(
        score(ranked.benchmark), metric="aspect_recall@25", view="expert"
    )
    means = {each.run.name: each.mean for each in board.lines}
    assert means == {"bm25": 1.0, "dense": 0.75, "half": 0.25}


def test_the_same_content_gives_the_same_sheet_and_older_ones_go(ranked) -> None:
    first = score(ranked.benchmark)
    second = score(ranked.benchmark)
    assert (first.boards, first.holes) == (second.boards, second.holes)
    assert list(ScoreSheet.objects.all()) == [second]
    assert DomainScore.objects.count() == 5 * 3


def test_a_label_makes_the_sheet_old_and_a_vote_does_not(ranked) -> None:
    sheet = score(ranked.benchmark)
    assert sheets.is_current(sheet)
    label(ranked.query, ranked.passages["b3"], 1, Source.HUMAN)
    assert not sheets.is_current(sheet)
    again = score(ranked.benchmark)
    assert sheets.is_current(again)
    assert again.holes["biology"]["holes"] == sheet.holes["biology"]["holes"] + 1
    make_ranking(ranked.query, "b0", name="new")
    assert not sheets.is_current(again)


def test_holes_are_counted_by_system_and_order(ranked) -> None:
    holes = score(ranked.benchmark).holes["biology"]
    assert (holes["holes"], holes["reached"]) == (1, 1)
    assert {each["name"]: (each["found"], each["alone"]) for each in holes["systems"]} == {
        "bm25": (1, 0),
        "dense": (0, 0),
        "half": (1, 0),
    }
    assert len(holes["reach"]) == 10
    assert all(order[-1] == 1 for order in holes["reach"])
    assert set(holes["marginal"]) == {"hit@10", "nDCG@10", "recall@10", "aspect_recall@10"}
    assert holes["undiscovered"] == 0.0


def test_a_cell_of_the_heat_map_leads_to_the_queries_of_its_system_and_domain(
    admin, ranked
) -> None:
    score(ranked.benchmark)
    page = one_line(admin.get("/b/garden/holes/"))
    [(url, words)] = re.findall(r'<a href="([^"]+)" aria-label="(bm25 in biology: [^"]+)"', page)
    assert words == "bm25 in biology: 10.0"
    assert "1 to 1 of 1" in one_line(admin.get(url.replace("&amp;", "&")))


def test_one_computation_at_a_time_and_none_without_runs(ranked) -> None:
    first = sheets.request_sheet(benchmark=ranked.benchmark, actor=None)
    assert sheets.request_sheet(benchmark=ranked.benchmark, actor=None) == first
    with pytest.raises(Refused, match="no retrieval run"):
        sheets.request_sheet(benchmark=make_benchmark("empty"), actor=None)


def test_unscorable_says_why(garden) -> None:
    make_ranking(garden.query, "b0", name="one")
    from corpus.models import Judgment

    Judgment.objects.all().delete()
    sheet = sheets.request_sheet(benchmark=garden.benchmark, actor=None, claimed=True)
    sheets.carry_out(sheet)
    sheet.refresh_from_db()
    assert (sheet.status, "nothing to score" in sheet.error) == ("failed", True)


@pytest.mark.slow
def test_a_page_does_not_ask_again_by_itself_what_failed(admin, ranked) -> None:
    score(ranked.benchmark)
    label(ranked.query, ranked.passages["b3"], 1, Source.HUMAN)
    assert "load delay" in one_line(admin.get("/b/garden/leaderboard/"))
    ScoreSheet.objects.create(benchmark=ranked.benchmark, status="failed", error="It broke.")
    for page in ("leaderboard", "holes"):
        shown = one_line(admin.get(f"/b/garden/{page}/"))
        assert "It broke." in shown
        assert "Score anew" in shown
        assert "load delay" not in shown


@pytest.mark.slow
def test_what_was_drawn_of_two_systems_goes_with_the_sheet(ranked, monkeypatch) -> None:
    sheet = score(ranked.benchmark)
    asked = {"metric": "recall@10", "view": "expert"}
    drawn = leaderboard.compare(sheet, run("bm25"), run("dense"), **asked)
    with monkeypatch.context() as patch:
        patch.setattr(compared_tests, "randomisation", None)
        patch.setattr(compared_tests, "bootstrap_macro", None)
        assert leaderboard.compare(sheet, run("bm25"), run("dense"), **asked) == drawn
    assert drawn["difference"].low is not None
    other = leaderboard.compare(sheet, run("dense"), run("bm25"), **asked)
    assert other["difference"].value == -0.25
    assert KeptComparison.objects.count() == 2
    score(ranked.benchmark)
    assert KeptComparison.objects.count() == 0


@pytest.mark.slow
def test_compare_is_paired_and_counts_who_wins(ranked) -> None:
    sheet = score(ranked.benchmark)
    found = leaderboard.compare(sheet, run("bm25"), run("dense"), metric="recall@10", view="expert")
    counts = [found[name] for name in ("queries", "wins", "ties", "losses")]
    assert counts == [2, 1, 1, 0]
    assert (found["first_mean"], found["second_mean"]) == (1.0, 0.75)
    assert found["difference"].value == 0.25
    assert [test.name for test in found["tests"]] == ["paired t", "randomisation"]
    # Of the four signs of (.5, 0) all are as far.
    assert found["tests"][1].p == 1.0
    assert found["rows"][0][:2] == ("biology", "7")
    alone = leaderboard.compare(sheet, run("bm25"), run("half"), metric="MRR", view="base")
    assert (alone["queries"], alone["left_out"]) == (1, 1)
    with pytest.raises(Refused):
        leaderboard.compare(sheet, run("bm25"), run("half"), metric="nDCG@11", view="base")


def test_compared_means_are_of_the_kind_that_their_difference_is(ranked) -> None:
    # A second query of biology: 1 and 0. By queries bm25 leads by 1/2, by domains by 3/8.
    second = make_query(ranked.benchmark, "8", "biology")
    label(second, ranked.passages["b0"], 1, Source.HUMAN)
    make_ranking(second, "b0", name="bm25")
    make_ranking(second, "b3", name="dense")
    sheet = score(ranked.benchmark)
    found = leaderboard.compare(sheet, run("bm25"), run("dense"), metric="recall@10", view="expert")
    assert found["first_mean"] - found["second_mean"] == found["difference"].value == 0.375
    # Weighted by domain (0.5, 1) becomes (.375, .75), so both tests are of .375 as well.
    assert {test.difference for test in found["tests"]} == {0.375}


@pytest.mark.slow
def test_comparison_that_an_older_program_kept_is_made_anew(ranked) -> None:
    sheet = score(ranked.benchmark)
    asked = {"metric": "recall@10", "view": "expert"}
    drawn = leaderboard.compare(sheet, run("bm25"), run("dense"), **asked)
    kept = KeptComparison.objects.get()
    old = {name: value for name, value in kept.figures.items() if name != "form"}
    old["tests"] = [each | {"p": 0.5} for each in old["tests"]]
    KeptComparison.objects.update(figures=old)
    assert leaderboard.compare(sheet, run("bm25"), run("dense"), **asked) == drawn
    assert KeptComparison.objects.get().figures == kept.figures


def test_drill_shows_labels_aspects_and_what_is_missing(ranked) -> None:
    found = drill(run("bm25"), ranked.query, GoldView.EXPERT, depth=2)
    assert [(row["rank"], row["pid"], row["label"], row["aspects"]) for row in found["places"]] == [
        (1, "b3", None, ()),
        (2, "b2", 1, (2,)),
    ]
    assert found["places"][1]["is_hole"]
    assert [(row["pid"], row["aspects"]) for row in found["missing"]] == [("b0", (1,))]
    assert [(k, reached) for k, _, _, reached in found["aspects"]] == [(1, False), (2, True)]
    base = drill(run("bm25"), ranked.query, GoldView.BASE, depth=4)
    assert [row["label"] for row in base["places"]] == [None, None, 1, 1]
    assert not any(row["is_hole"] for row in base["places"])


def test_a_label_does_not_count_or_show_while_its_pair_is_voted_on(ranked) -> None:
    # A voter who audits b2 must not learn from a list or a score what two agents agreed on.
    before = drill(run("bm25"), ranked.query, GoldView.REFINED, depth=2)
    assert (before["places"][1]["pid"], before["places"][1]["label"]) == ("b2", 1)
    case = EscalationCase.objects.create(
        origin="audit:1", kind="audit", query=ranked.query, passage=ranked.passages["b2"]
    )
    during = drill(run("bm25"), ranked.query, GoldView.REFINED, depth=2)
    hidden = during["places"][1]
    shown = [hidden[name] for name in ("pid", "label", "is_hole", "aspects")]
    assert shown == ["b2", None, False, ()]
    # Refined gold of biology-7 without it: b0 and b1, of which half's list (b2) has none.
    assert recalls(score(ranked.benchmark))["half"] == 0.0
    EscalationCase.objects.filter(pk=case.pk).update(status="closed", closed_at=timezone.now())
    assert drill(run("bm25"), ranked.query, GoldView.REFINED, depth=2) == before
    # Of b0, b1 and b2 it has one.
    assert recalls(score(ranked.benchmark))["half"] == pytest.approx(1 / 3)


def recalls(sheet: ScoreSheet) -> dict[str, float | None]:
    """Of biology, under the refined gold, by system."""
    board = leaderboard.leaderboard_of(sheet, metric="recall@10", view="refined")
    return {line.run.name: line.domains[0] for line in board.lines}


def check(benchmark, **changes) -> NoiseCheck:
    given = {"metric": "recall@10", "view": "expert", "if_relevant": 1.0, "if_not": 0.0}
    made = noise.request_check(
        benchmark=benchmark, actor=None, claimed=True, draws=50, **(given | changes)
    )
    noise.carry_out(made)
    made.refresh_from_db()
    return made


def test_sure_labels_leave_ranks_alone_and_doubtful_ones_do_not(ranked) -> None:
    sure = check(ranked.benchmark)
    assert [(r["name"], r["rank"], r["low"], r["high"]) for r in sure.result] == [
        ("bm25", 1, 1, 1),
        ("dense", 2, 2, 2),
    ]
    doubtful = check(ranked.benchmark, if_relevant=0.5, if_not=0.5)
    assert any(row["low"] < row["high"] for row in doubtful.result)
    assert doubtful.result == check(ranked.benchmark, if_relevant=0.5, if_not=0.5).result


@pytest.mark.parametrize(
    ("changes", "field"),
    [({"metric": "best"}, "metric"), ({"view": "x"}, "view"), ({"if_not": 1.1}, "if_not")],
)
def test_noise_that_cannot_be_is_refused(ranked, changes, field) -> None:
    with pytest.raises(Refused) as refused:
        check(ranked.benchmark, **changes)
    assert refused.value.field == field


def test_published_tables_are_whole_and_stand_beside_ours(db) -> None:
    found = published.tables()
    assert len(found) == 46
    assert len(found["dream-hole10"].rows) == 26
    for table in found.values():
        assert all(len(values) == len(table.columns) for _, values in table.rows), table.id
        assert not (table.metric and table.compared_with), table.id
        if table.metric:
            assert table.metric in leaderboard.NAMES, table.id


def test_known_systems_are_those_of_the_printed_tables_beside_runs_of_their_names(ranked) -> None:
    printed = [name for name, _ in published.tables()["dream-hole10"].rows]
    assert [system["name"] for system in known_systems()] == [n for n in printed if n != "Avg"]
    kinds = Counter(system["kind"] for system in known_systems())
    assert kinds == {"sparse": 2, "dense": 10, "rerank": 10, "rewrite": 3}
    assert all(
        part["link"].startswith("https://") for each in known_systems() for part in each["parts"]
    )
    beside = {each["name"]: run and run.name for each, run in systems_with_runs(ranked.benchmark)}
    assert {name: run for name, run in beside.items() if run} == {"BM25": "bm25"}


@pytest.mark.parametrize("name", ["dream-hole10", "diver-full-pipelines", "marcus-bright"])
def test_printed_means_are_those_of_the_printed_values(name) -> None:
    table = published.tables()[name]
    place = table.columns.index("mean")
    for name, values in table.rows:
        others = [v for i, v in enumerate(values) if i != place]
        # Each value is rounded by .05, and so is the mean.
        assert abs(sum(others) / len(others) - values[place]) <= 0.11, name


def test_ours_stands_beside_the_printed_system_of_its_name(db) -> None:
    from tests.factories import make_gold, make_passage, make_query

    benchmark = make_benchmark("bright", domains=("biology", "earth-science"))
    for name in ("biology", "earth-science"):
        query = make_query(benchmark, "1", name)
        make_gold(query, make_passage(benchmark, f"{name}-p", name))
        make_ranking(query, f"{name}-p", name="bm25")
    sheet = score(benchmark)
    table = replace(published.tables()["marcus-bright"], sizes={})
    rows = published.compared(table, sheet)
    bm25 = next(row for row in rows if row.name == "BM25")
    assert bm25.run == "bm25"
    first, second, third = bm25.cells[:3]
    assert (first.printed, first.ours, first.agrees) == (18.9, 100.0, False)
    assert first.difference == pytest.approx(81.1)
    assert second.ours == 100.0
    assert (third.ours, third.difference, third.agrees) == (None, None, None)
    # The printed mean is over seven sets, ours over two: not the same thing.
    assert bm25.cells[-1].ours is None
    named = published.compared(table, sheet, [("BGE", "bm25")])
    assert next(row for row in named if row.name == "BGE").run == "bm25"


@pytest.fixture
def admin(ranked) -> Client:
    client = Client()
    client.force_login(make_member(ranked.benchmark, "garden-admin", "admin"))
    return client


PAGES = (
    ("leaderboard", {}),
    ("holes", {}),
    ("leaderboard-compare", {}),
    ("published-tables", {}),
    ("known-systems", {}),
    ("noise-checks", {}),
)


@pytest.mark.few(2)
@pytest.mark.parametrize(("name", "kwargs"), PAGES)
def test_pages_answer_before_and_after_scoring(admin, ranked, name, kwargs) -> None:
    url = reverse(name, kwargs={"slug": "garden", **kwargs})
    assert admin.get(url).status_code == 200
    score(ranked.benchmark)
    assert admin.get(url).status_code == 200


def test_leaderboard_page_shows_ranks_moves_and_csv(admin, ranked) -> None:
    score(ranked.benchmark)
    page = one_line(admin.get("/b/garden/leaderboard/?metric=recall@10&view=expert"))
    assert "▼ 1 down" in page
    assert re.search(
        r'class="strip" role="img" aria-label="[\d.]+ \([\d.]+ to [\d.]+\), with', page
    )
    assert "bm25 stays 1; dense falls from 1 to 2." in page
    assert re.search(r"Of 3 systems <b>bm25</b> stands first with [\d.]+, then dense with", page)
    assert "nothing has changed since" in page
    csv = b"".join(admin.get("/b/garden/leaderboard/runs.csv?metric=recall@10").streaming_content)
    assert csv.decode().splitlines()[0].startswith("rank,rank low,rank high,run,recall@10")
    label(ranked.query, ranked.passages["b3"], 1, Source.HUMAN)
    assert "have changed since" in one_line(admin.get("/b/garden/leaderboard/"))


@pytest.mark.slow
def test_drill_down_by_page(admin, ranked) -> None:
    score(ranked.benchmark)
    bm25, dense = run("bm25"), run("dense")
    base = f"/b/garden/leaderboard/runs/{bm25.pk}/"
    page = one_line(admin.get(base + "?metric=recall@10&view=base"))
    assert f"{base}{ranked.query.pk}/?metric=recall%4010&amp;view=base" in page
    page = one_line(admin.get(f"{base}{ranked.query.pk}/"))
    assert 'class="badge n2" title="supports aspect 2">2</span>' in page
    url = f"/b/garden/leaderboard/compare/?a={bm25.pk}&b={dense.pk}&metric=recall@10&view=expert"
    page = one_line(admin.get(url))
    heads = ("difference", "p, randomisation", "queries", "higher", "equal", "lower")
    shown = [page.split(f'data-label="{head}">')[1].split("<")[0].strip() for head in heads]
    assert shown == ["+25.0", "1.0000", "2", "1", "1", "0"]
    assert (
        "bm25 is 25.00 points above dense over 2 queries (95 % interval of the difference" in page
    )
    assert "randomisation, p = 1.0000)." in page
    assert "One point for each of 2: 0 above the diagonal, where dense is higher, 1 below" in page
    rows = b"".join(admin.get(url.replace("compare/", "compare/queries.csv")).streaming_content)
    assert rows.decode().splitlines()[:2] == [
        "domain,query,bm25,dense,difference",
        "biology,7,1.0,0.5,0.5",
    ]
    wrong = admin.get(f"/b/garden/leaderboard/compare/?a={bm25.pk}&b=99x")
    assert "Choose two of the runs" in one_line(wrong)


def test_refresh_asks_a_worker_and_progress_shows_it(admin, ranked) -> None:
    answer = admin.post("/b/garden/leaderboard/refresh/")
    assert answer.status_code == 302
    assert ScoreSheet.objects.get().status == "queued"
    assert "Waiting to begin" in one_line(admin.get("/b/garden/leaderboard/progress/"))
    sheet = ScoreSheet.objects.get()
    assert sheet.claim()
    sheets.carry_out(sheet)
    assert admin.get("/b/garden/leaderboard/progress/").status_code == 302


def test_holes_to_pool_to_debates_in_one_go(admin, ranked, settings) -> None:
    settings.ASSAY_PRACTICE_URL = "http://127.0.0.1:9/v1"
    runs = [run("bm25").pk, run("half").pk]
    wrong = admin.post("/b/garden/holes/debate/", {"runs": [], "depth": 10, "endpoint": "practice"})
    assert wrong.status_code == 422
    given = {"runs": runs, "depth": 10, "endpoint": "practice"}
    answer = admin.post("/b/garden/holes/debate/", given)
    made = DebateRun.objects.get()
    assert answer.headers["Location"] == reverse("debate-run", args=["garden", made.pk])
    pairs = {(e.query.qid, e.passage.pid) for e in made.pool.entries.all()}
    # biology-7 has answers; b0 and b1 are gold. b2's debate label is no gold of people.
    assert pairs == {("7", "b2"), ("7", "b3")}
    # Pressed twice, and asked for by script meanwhile: one pool, one debate run.
    again = admin.post("/b/garden/holes/debate/", given)
    assert again.headers["Location"] == answer.headers["Location"]
    asked = {"runs": runs[::-1], "depth": 10}

    def by_api(**more):
        return admin.post(
            "/api/b/garden/holes/debate/", asked | more, content_type="application/json"
        )

    assert by_api().json() == {"debate_run": made.pk, "pool": made.pool_id}
    assert (DebateRun.objects.count(), Pool.objects.count()) == (1, 1)
    # Over: what was asked for anew is new. A budget is kept with the run.
    DebateRun.objects.update(status="done")
    next_run = DebateRun.objects.get(pk=by_api(budget_usd="2.50").json()["debate_run"])
    assert (next_run.pk == made.pk, next_run.budget_usd) == (False, Decimal("2.50"))
    refused = by_api(budget_usd="-1")
    assert (refused.status_code, DebateRun.objects.count()) == (400, 2)
    # A pool that another request builds at this moment is not built twice.
    DebateRun.objects.update(status="done")
    PoolBuild.objects.filter(pool=next_run.pool).update(status="running")
    assert "being pooled already" in one_line(by_api())


def test_asked_between_pool_and_debate_it_is_one_debate_run(ranked, settings, monkeypatch) -> None:
    settings.ASSAY_PRACTICE_URL = "http://127.0.0.1:9/v1"
    asked = {
        "benchmark": ranked.benchmark,
        "runs": [run("bm25"), run("half")],
        "endpoint": endpoints.get("practice"),
        "actor": None,
    }
    others = []

    def pooled_and_asked_again(build) -> None:
        pool_builds.run_build(build)
        monkeypatch.undo()
        others.append(hole_debates.debate_holes(**asked))

    monkeypatch.setattr(hole_debates, "run_build", pooled_and_asked_again)
    assert [hole_debates.debate_holes(**asked)] == others
    assert DebateRun.objects.count() == 1


def test_growth_begins_with_what_the_first_system_contributes(ranked) -> None:
    [found] = [each for each in hole_pages.domains_of(score(ranked.benchmark)) if each["curves"]]
    place = found["growth"].header.index("contribution to recall@10 of one more")
    first, second = ([cell.value for cell in row] for row in found["growth"].rows[:2])
    assert (first[0], first[1], second[0]) == (0, 0, 1)
    # Gold b0, b1 and the hole b2. bm25 has all, before and after; dense finds no hole; of half's
    # one passage nothing was gold before, and then a third of the gold is.
    assert first[place] == pytest.approx((0 + 0 + 1 / 3) / 3)
    assert second[place] == found["found"]["marginal"]["recall@10"][1]


@pytest.mark.slow
def test_api_gives_the_same(admin, ranked) -> None:
    sheet = score(ranked.benchmark)
    board = leaderboard.leaderboard_of(sheet, metric="MRR", view="base")
    [table] = admin.get("/api/b/garden/leaderboard/?metric=MRR&view=base").json()
    assert [row[1]["value"] for row in table["rows"]] == [each.run.name for each in board.lines]
    values = admin.get(f"/api/b/garden/leaderboard/runs/{run('half').pk}/?metric=MRR").json()
    assert values == {"biology": {"7": 1.0}}
    a, b = run("bm25").pk, run("dense").pk
    found = admin.get(f"/api/b/garden/leaderboard/compare/?a={a}&b={b}&metric=MRR").json()
    assert (found["queries"], set(found["tests"])) == (2, {"paired t", "randomisation"})
    assert len(admin.get("/api/b/garden/holes/").json()) == 5
    wrong = admin.get("/api/b/garden/leaderboard/?metric=best")
    assert (wrong.status_code, wrong.json()["field"]) == (409, "metric")
    assert len(admin.get("/api/b/garden/leaderboard/published/").json()) == 46


def test_board_reads_no_label_and_no_ranking_once_scored(admin, ranked) -> None:
    score(ranked.benchmark)
    with CaptureQueriesContext(connection) as asked:
        page = admin.get("/b/garden/leaderboard/")
    assert page.context["board"].lines
    read = " ".join(each["sql"] for each in asked.captured_queries)
    assert "evaluation_scoresheet" in read
    assert not re.search(r"FROM \W?corpus_(?:judgment|rankedlist|passage)\b", read)


def test_command_scores_once_and_prints_the_board(ranked) -> None:
    def called(*options: str) -> str:
        out = io.StringIO()
        call_command("leaderboard", "garden", *options, stdout=out)
        return out.getvalue()

    shown = called("--metric", "recall@10", "--view", "expert").splitlines()
    assert shown[0] == "recall@10, expert: biology, earth-science"
    assert shown[1].startswith("   1 ")
    assert "bm25: 1.0000" in shown[1]
    assert shown[2].endswith("-1 places")
    assert shown[3] == "   -  half: misses a domain"
    table = json.loads(called("--json"))
    assert len(table["rows"]) == 3
    assert ScoreSheet.objects.count() == 1
    with pytest.raises(CommandError, match="There is no metric"):
        called("--metric", "best")
    with pytest.raises(CommandError, match="no benchmark"):
        call_command("leaderboard", "nowhere")
