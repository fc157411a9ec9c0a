"""Any measure under any profile on the leaderboard: computed when asked for, and kept."""

import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from evaluation.leaderboard import services as leaderboard
from evaluation.models import ScoreSheet
from evaluation.scores import sheets
from kit.errors import Refused
from tests.evaluation.conftest import scores_of
from tests.evaluation.leaderboard.test_leaderboard import admin, ranked, run, score
from tests.factories import make_gold, make_query, make_ranking
from tests.markup import one_line

__all__ = ["admin", "ranked"]
pytestmark = pytest.mark.django_db


def compute(benchmark) -> ScoreSheet:
    """What a worker does with the sheet that was asked for last."""
    sheet = ScoreSheet.objects.filter(benchmark=benchmark, status="queued").get()
    sheet.claim()
    sheets.carry_out(sheet)
    return sheet


@pytest.fixture
def partial(ranked):
    """A second query of biology that bm25 alone ranks, its gold first."""
    query = make_query(ranked.benchmark, "8", "biology")
    make_gold(query, ranked.passages["b3"])
    make_ranking(query, "b3", name="bm25")
    return ranked


@pytest.mark.slow
def test_a_profile_is_a_sheet_of_its_own(partial) -> None:
    means = {}
    for profile in ("strict", "trec_eval"):
        sheet = score(partial.benchmark, profile=profile)
        board = leaderboard.leaderboard_of(sheet, metric="recall@10", view="base")
        means[profile] = {each.run.name: each.domains[0] for each in board.lines}
    # The base gold of biology-7 is b0 and b1: all found. dense does not rank biology-8.
    assert means == {
        "strict": {"bm25": 1.0, "dense": 0.5, "half": 0.0},
        "trec_eval": {"bm25": 1.0, "dense": 1.0, "half": 0.0},
    }
    assert sheets.latest(partial.benchmark).profile == "strict"
    assert ScoreSheet.objects.count() == 2
    # Holes are told of the strict sheet alone.
    assert [bool(each.holes) for each in ScoreSheet.objects.order_by("pk")] == [True, False]


@pytest.mark.slow
def test_a_metric_is_computed_when_asked_for_and_kept(ranked) -> None:
    sheet = score(ranked.benchmark)
    with pytest.raises(Refused, match="nDCG@3 under the profile strict was not computed yet"):
        leaderboard.leaderboard_of(sheet, metric="ndcg_cut_3")
    for metric in ("ndcg_cut_3", "bpref", "ERR-IA@5"):
        sheet = score(ranked.benchmark, metric=metric)
    assert sheet.metrics == ["ERR_IA@5", "bpref", "nDCG@3"]
    again = score(ranked.benchmark)
    for metric in again.metrics:
        wanted = scores_of(ranked.benchmark, metric)
        for line in leaderboard.leaderboard_of(again, metric=metric).lines:
            known = {split: each[metric].mean for split, each in wanted[line.run.name].items()}
            assert line.domains == [known.get("biology"), known.get("earth_science")]


def test_only_so_many_metrics_are_kept(ranked) -> None:
    sheet = score(ranked.benchmark, metric="P@1")
    many = [f"precision@{k}" for k in range(2, sheets.MAX_ASKED + 2)]
    ScoreSheet.objects.filter(pk=sheet.pk).update(metrics=many)
    found = sheets.request_sheet(benchmark=ranked.benchmark, metric="bpref", actor=None)
    assert found.metrics == ["bpref", *many[:-1]]
    # What is being computed already is not computed twice; another metric is.
    assert sheets.request_sheet(benchmark=ranked.benchmark, metric="bpref", actor=None) == found
    other = sheets.request_sheet(benchmark=ranked.benchmark, metric="Rprec", actor=None)
    assert (other == found, other.metrics[:2]) == (False, ["Rprec", "bpref"])


def test_a_geometric_mean_is_one_on_the_board_too(ranked) -> None:
    sheet = score(ranked.benchmark, metric="gm_map")
    line = next(
        each
        for each in leaderboard.leaderboard_of(sheet, metric="gm_map", view="base").lines
        if each.run.name == "bm25"
    )
    # biology-7: b1 and b0 at ranks 3 and 4, (1/3 + 2/4) / 2; earth-science-12: e0 first.
    assert line.domains == [pytest.approx(5 / 12), pytest.approx(1.0)]
    assert line.mean == pytest.approx((5 / 12) ** 0.5)
    assert line.low <= line.mean <= line.high


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"metric": "best@3"}, "metric"),
        ({"metric": "ERR_IA@25"}, "metric"),
        ({"profile": "x"}, "profile"),
    ],
)
def test_what_is_no_measure_and_no_profile_is_refused(ranked, asked, field) -> None:
    with pytest.raises(Refused) as refused:
        sheets.request_sheet(benchmark=ranked.benchmark, actor=None, **asked)
    assert refused.value.field == field
    assert not ScoreSheet.objects.exists()


@pytest.mark.slow
def test_the_page_offers_to_compute_what_it_lacks(admin, ranked) -> None:
    score(ranked.benchmark)
    url = reverse("leaderboard", args=["garden"])
    asked = {"metric": "Rprec", "view": "base", "profile": "strict"}
    page = one_line(admin.get(url, asked))
    assert "Rprec was not computed yet under the profile strict." in page
    answer = admin.post(reverse("leaderboard-refresh", args=["garden"]), asked)
    assert answer.url == f"{url}?metric=Rprec&view=base&profile=strict"
    compute(ranked.benchmark)
    page = admin.get(answer.url)
    assert page.context["board"].metric == "Rprec"
    assert "was not computed yet" not in one_line(page)
    query = reverse("leaderboard-run", args=["garden", run("bm25").pk])
    assert f'href="{query}?metric=Rprec&amp;view=base&amp;profile=strict"' in page.content.decode()
    assert admin.get(query, asked).context["rows"]
    given = {**asked, "a": run("bm25").pk, "b": run("dense").pk}
    compared = admin.get(reverse("leaderboard-compare", args=["garden"]), given)
    assert compared.context["found"]["metric"] == "Rprec"
    csv = admin.get(reverse("leaderboard-csv", args=["garden"]), asked)
    assert b"Rprec" in b"".join(csv.streaming_content) if csv.streaming else b"Rprec" in csv.content


@pytest.mark.slow
def test_a_profile_that_was_not_scored_can_be(admin, ranked) -> None:
    score(ranked.benchmark)
    url = reverse("leaderboard", args=["garden"])
    page = one_line(admin.get(url, {"profile": "reference"}))
    assert "Score the runs" in page
    assert '<input type="hidden" name="profile" value="reference">' in page
    admin.post(reverse("leaderboard-refresh", args=["garden"]), {"profile": "reference"})
    compute(ranked.benchmark)
    assert admin.get(url, {"profile": "reference"}).context["board"].profile == "reference"


def test_a_metric_that_is_none_is_named_on_the_page(admin, ranked) -> None:
    score(ranked.benchmark)
    page = admin.get(reverse("leaderboard", args=["garden"]), {"metric": "best@3"})
    assert "There is no metric best." in one_line(page)
    assert page.context["board"].metric == leaderboard.DEFAULT


@pytest.mark.slow
def test_the_api_computes_when_asked(admin, ranked) -> None:
    url = reverse("api-leaderboard", args=["garden"])
    score(ranked.benchmark)
    asked = {"metric": "infAP", "profile": "trec_eval"}
    assert admin.get(url, asked).status_code == 409
    made = admin.post(f"{url}?metric=infAP&profile=trec_eval")
    assert (made.status_code, made.json()["metrics"]) == (202, ["infAP"])
    compute(ranked.benchmark)
    (table,) = admin.get(url, asked).json()
    assert table["title"] == "infAP, refined, profile trec_eval"
    one = reverse("api-leaderboard-run", args=["garden", run("bm25").pk])
    assert set(admin.get(one, asked).json()) == {"biology", "earth-science"}
    assert admin.get(url, {"profile": "x"}).status_code == 409
    assert admin.get(url, {"metric": "x"}).status_code == 409


def test_before_and_after_under_a_chosen_measure(admin, ranked) -> None:
    url = reverse("leaderboard-versions", args=["garden"])
    asked = {"metric": "Rprec", "profile": "trec_eval"}
    assert "were not scored yet" in one_line(admin.get(url, asked))
    score(ranked.benchmark, profile="trec_eval")
    assert "Rprec of" in one_line(admin.get(url, asked))
    score(ranked.benchmark, **asked)
    page = admin.get(url, asked)
    assert page.context["found"].metric == "Rprec"
    summary = page.context["found"].summary
    assert summary == (
        "Of 2 systems, 1 higher after (interval above 0: 1), 1 lower after (interval below 0: 1)."
    )
    assert summary in one_line(page)
    api = admin.get(reverse("api-leaderboard-versions", args=["garden"]), asked)
    assert api.json()[0]["title"] == "Rprec, before and after"


def test_the_command_computes_what_is_asked(ranked) -> None:
    out = io.StringIO()
    asked = {"metric": "P_1", "profile": "trec_eval", "view": "base", "json": True}
    call_command("leaderboard", "garden", stdout=out, **asked)
    assert json.loads(out.getvalue())["title"] == "precision@1, base, profile trec_eval"
    assert sheets.latest(ranked.benchmark, profile="trec_eval").metrics == ["precision@1"]
    with pytest.raises(CommandError, match="There is no metric best"):
        call_command("leaderboard", "garden", metric="best")
