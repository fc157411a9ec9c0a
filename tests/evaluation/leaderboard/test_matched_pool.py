"""Two corpus versions over the passages that both hold: what shrinking alone gives is taken out."""

import json

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from corpus.models import CorpusVersion, Crosswalk, Passage, RankedList, RetrievalRun
from corpus.versions.crosswalk import kept_of, origins
from evaluation.leaderboard import before_after
from evaluation.leaderboard.before_after import compare_sides, matched, query_gaps, side_of
from evaluation.management.commands.score_run import _VIEWS
from evaluation.models import DomainScore, NoiseCheck, ScoreSheet
from evaluation.scores import sheets
from evaluation.scores.matched import MatchedPool, best_of
from evaluation.scores.services import GoldView
from kit.errors import Refused
from tests.evaluation.conftest import label, make_case
from tests.factories import make_benchmark, make_gold, make_member, make_passage, make_query
from tests.markup import one_line

# gold and gone are relevant; only gone's text is dropped by the cleaning, with two that are noise.
LOADED = ("noise0", "noise1", "gold", "gone", "plain")


@pytest.fixture
def shrunk(db):
    """A version without noise0, noise1 and gone; one system ranks both in the very same order."""
    benchmark = make_benchmark("shrunk")
    benchmark.admin = make_member(benchmark, "admin", "admin")
    old = {pid: make_passage(benchmark, pid) for pid in LOADED}
    query = make_query(benchmark, "q")
    make_gold(query, old["gold"])
    make_gold(make_query(benchmark, "lost"), old["gone"])
    benchmark.after = derive(
        CorpusVersion.objects.loaded(benchmark), {"gold": ["gold#A"], "plain": ["plain#A"]}
    )
    rank(benchmark, None, {"q": ["noise0", "noise1", "gold", "plain"], "lost": ["gone"]})
    rank(benchmark, benchmark.after, {"q": ["gold#A", "plain#A"], "lost": ["plain#A"]})
    return benchmark


def derive(parent: CorpusVersion, kept: dict[str, list[str]], name: str = "cleaned"):
    """A version in which each passage became those named; labels carry."""
    version = CorpusVersion.objects.create(
        benchmark=parent.benchmark, parent=parent, name=name, state="ready",
        recipe={"kind": "cleaned", "preset": "marcus", "cleaning": 1},
    )  # fmt: skip
    version.layers = [version.pk]
    version.save()
    made: dict[str, Passage] = {}
    for pid, becomes in kept.items():
        old = Passage.objects.get(version_id__in=parent.layers, pid=pid)
        for new in becomes:
            if new not in made:
                made[new] = Passage.objects.create(
                    version=version, domain=old.domain, pid=new, text=f"Cleaned {new}."
                )
            Crosswalk.objects.create(version=version, old=old, new=made[new])
    return version


def rank(benchmark, version, lists, name: str = "BM25") -> RetrievalRun:
    run = RetrievalRun.objects.create(benchmark=benchmark, name=name, corpus_version=version)
    for qid, pids in lists.items():
        query = benchmark.domains.get().queries.get(qid=qid)
        RankedList.objects.create(run=run, query=query, pids=pids)
    return run


def score(benchmark, version, matched_with=None) -> ScoreSheet:
    sheet = sheets.request_sheet(
        benchmark=benchmark, version=version, matched_with=matched_with, actor=None, claimed=True
    )
    sheets.carry_out(sheet)
    sheet.refresh_from_db()
    assert sheet.status == "done", sheet.error
    return sheet


def both(benchmark):
    loaded = CorpusVersion.objects.loaded(benchmark)
    return [side_of(benchmark, each, "refined") for each in (loaded, benchmark.after)]


@pytest.mark.slow
def test_shrinking_alone_raises_the_plain_score_and_not_the_matched_one(shrunk) -> None:
    loaded = CorpusVersion.objects.loaded(shrunk)
    for version in (loaded, shrunk.after):
        score(shrunk, version)
    (plain,) = compare_sides(*both(shrunk), metric="nDCG@10").lines
    # Ranked third before: 1 / log2(4); first when the noise above it is gone.
    assert (plain.first.mean, plain.second.mean) == (pytest.approx(0.5), 1.0)
    for one, other in ((loaded, shrunk.after), (shrunk.after, loaded)):
        sheet = score(shrunk, one, other)
        # gold and plain are in both; of the two relevant passages gone is not.
        assert sheet.pool == {
            "passages": 2, "gold": 1, "gold_left_out": 1, "lists": 2, "short": 0,
            "since": 0, "untold": 0,
        }  # fmt: skip
        assert sheet.holes == {}
    sides = matched(*both(shrunk))
    (line,) = compare_sides(*sides, metric="nDCG@10").lines
    assert (line.first.mean, line.second.mean, line.gain.value) == (1.0, 1.0, 0.0)
    assert query_gaps(*sides, metric="nDCG@10", system="BM25") == [("biology", "q", 1.0, 1.0)]
    # The boards of whole corpora do not see these sheets, nor the other way round.
    assert sheets.latest(shrunk, loaded).matched_with is None
    again = score(shrunk, loaded, shrunk.after)
    assert sheets.latest(shrunk, loaded, shrunk.after) == again
    assert ScoreSheet.objects.filter(matched_with=shrunk.after).count() == 1
    assert ScoreSheet.objects.filter(matched_with=None).count() == 2


def test_a_list_is_told_in_what_its_passages_stand_for() -> None:
    sources = {"a#1": ["a"], "a#2": ["a"], "ab": ["a", "b"], "new": []}
    assert best_of(["a#2", "ab", "a#1", "new"], [0.3, 0.5, 0.7, 0.9], sources) == {
        "a": 0.7,
        "b": 0.5,
    }
    # Places count down where there are no scores, and the first one holds.
    assert best_of(["ab", "a#1", "x"], None, sources) == {"a": 0, "b": 0}


def test_origins_go_back_through_every_cleaning(shrunk) -> None:
    loaded = CorpusVersion.objects.loaded(shrunk)
    twice = derive(shrunk.after, {"gold#A": ["both"], "plain#A": ["both"]}, name="twice")
    old = {each.pid: each.pk for each in Passage.objects.filter(version=loaded)}
    both_ = Passage.objects.get(pid="both")
    assert origins(twice, [both_.pk]) == {both_.pk: [old["gold"], old["plain"]]}
    assert origins(loaded, [old["gone"]]) == {old["gone"]: [old["gone"]]}
    assert kept_of(twice) == {old["gold"], old["plain"]}
    assert kept_of(loaded) is None
    Crosswalk.objects.filter(version=shrunk.after, old__pid="plain").update(carries=False)
    assert kept_of(twice) == {old["gold"]}
    assert MatchedPool.of(shrunk, twice, shrunk.after).shared == {old["gold"]}


def test_labels_given_in_the_cleaned_version_count_for_what_it_was_made_of(shrunk) -> None:
    loaded = CorpusVersion.objects.loaded(shrunk)
    query = shrunk.domains.get().queries.get(qid="q")
    passage = {each.pid: each for each in Passage.objects.filter(version=shrunk.after)}
    label(query, passage["plain#A"], 1, "human")
    label(query, passage["gold#A"], 0, "expert")
    for one, other in ((loaded, shrunk.after), (shrunk.after, loaded)):
        sheet = score(shrunk, one, other)
        assert (sheet.pool["gold"], sheet.pool["since"], sheet.pool["untold"]) == (2, 2, 0)
        row = DomainScore.objects.get(sheet=sheet, view="expert")
        # An expert refused gold: plain alone is relevant there, and stands second.
        assert row.values["MRR"][row.qids.index("q")] == 0.5
    # A word of the loaded passage itself holds.
    old = Passage.objects.get(version=loaded, pid="plain")
    label(query, old, 0, "human")
    assert score(shrunk, loaded, shrunk.after).pool["gold"] == 1


def test_labels_of_passages_made_of_several_or_of_a_part_are_not_told(shrunk) -> None:
    loaded = CorpusVersion.objects.loaded(shrunk)
    query = shrunk.domains.get().queries.get(qid="lost")
    parts = derive(
        loaded, {"plain": ["part#A", "part#B"], "noise0": ["mix"], "noise1": ["mix"]}, "p"
    )
    passage = {each.pid: each for each in Passage.objects.filter(version=parts)}
    label(query, passage["mix"], 1, "debate")
    label(query, passage["part#A"], 0, "debate")
    rank(shrunk, parts, {"lost": ["part#A", "mix"], "q": ["part#B"]})
    with pytest.raises(AssertionError, match="No run ranks a query that has gold"):
        score(shrunk, parts, loaded)
    # Each label of mix may be of either text; part#B may hold what part#A lacks.
    label(query, passage["part#B"], 1, "debate")
    sheet = score(shrunk, parts, loaded)
    assert (sheet.pool["gold"], sheet.pool["since"], sheet.pool["untold"]) == (1, 1, 1)


def test_a_label_that_is_voted_on_is_not_told(shrunk) -> None:
    query = shrunk.domains.get().queries.get(qid="q")
    plain = Passage.objects.get(version=shrunk.after, pid="plain#A")
    label(query, plain, 1, "debate")
    make_case(query, plain)
    assert score(shrunk, shrunk.after, CorpusVersion.objects.loaded(shrunk)).pool["since"] == 0


def test_one_version_has_nothing_to_match(shrunk) -> None:
    loaded = CorpusVersion.objects.loaded(shrunk)
    sides = [side_of(shrunk, loaded, view) for view in ("base", "refined")]
    assert matched(*sides) == []
    with pytest.raises(Refused, match="nothing to match"):
        before_after.request_matched(before=sides[0], after=sides[1], actor=None)


@pytest.mark.slow
def test_screen_file_and_api_show_the_matched_pool(shrunk) -> None:
    loaded = CorpusVersion.objects.loaded(shrunk)
    client = Client()
    client.force_login(shrunk.admin)
    address = {"a": loaded.pk, "b": shrunk.after.pk, "metric": "nDCG@10"}
    page_url = reverse("leaderboard-versions", args=["shrunk"])
    api = reverse("api-leaderboard-versions", args=["shrunk"])
    asked = client.post(f"{api}?a={loaded.pk}&b={shrunk.after.pk}")
    assert asked.status_code == 202
    assert [each["matched_with"] for each in asked.json()] == [shrunk.after.pk, loaded.pk]
    assert client.get(api, address | {"pool": "matched"}).status_code == 409
    matched_url = reverse("leaderboard-versions-matched", args=["shrunk"])
    progress = client.get(matched_url, address, headers={"HX-Request": "true"})
    assert "Waiting to begin" in one_line(progress)
    for sheet in ScoreSheet.objects.all():
        assert sheet.claim()
        sheets.carry_out(sheet)
    for version in (loaded, shrunk.after):
        score(shrunk, version)
    page = one_line(client.get(page_url, address))
    assert "2 loaded passages in both versions, 1 relevant pair among them" in page
    assert "1 relevant pair lies outside the pool" in page
    rows = client.get(api, address | {"pool": "matched"}).json()[0]["rows"]
    plain = client.get(api, address).json()[0]["rows"]
    assert [row[0]["value"] for row in rows] == ["BM25"]
    assert (plain[0][5]["value"], rows[0][5]["value"]) == (0.5, 0.0)
    csv = client.get(
        reverse("leaderboard-versions-csv", args=["shrunk"]), address | {"pool": "matched"}
    )
    assert b"BM25" in b"".join(csv.streaming_content)
    queries = client.get(page_url, address | {"pool": "matched", "system": "BM25"})
    assert "query by query, on the matched pool" in one_line(queries)
    done = client.post(f"{matched_url}?a={loaded.pk}&b={shrunk.after.pk}")
    assert done["Location"].endswith("#matched")
    assert sheets.under_way(shrunk, loaded, shrunk.after) is not None


def test_lists_that_are_left_short_are_counted(shrunk) -> None:
    noise = [f"noise{n}" for n in range(2)] * 5
    rank(shrunk, None, {"q": [f"{pid}-{n}" for n, pid in enumerate(noise)]}, name="long")
    sheet = score(shrunk, CorpusVersion.objects.loaded(shrunk), shrunk.after)
    assert (sheet.pool["lists"], sheet.pool["short"]) == (3, 1)


@pytest.mark.slow
def test_commands_take_a_version_and_the_matched_pool(shrunk, capsys) -> None:
    call_command("leaderboard", "shrunk", corpus_version="cleaned", json=True)
    assert json.loads(capsys.readouterr().out)["rows"][0][2]["value"] == 1.0
    call_command("leaderboard", "shrunk")
    assert "0.5000" in capsys.readouterr().out
    call_command("compare_versions", "shrunk", after="cleaned")
    assert "BM25: 0.5000 to 1.0000, +0.5000" in capsys.readouterr().out
    call_command("compare_versions", "shrunk", after="cleaned", matched=True, json=True)
    assert json.loads(capsys.readouterr().out)["rows"][0][5]["value"] == 0.0
    with pytest.raises(CommandError, match="no corpus version 'gone'"):
        call_command("leaderboard", "shrunk", corpus_version="gone")
    with pytest.raises(CommandError, match="nothing to match"):
        call_command("compare_versions", "shrunk", matched=True)


def test_a_run_file_is_scored_against_the_gold_of_a_version(shrunk, tmp_path, capsys) -> None:
    run = tmp_path / "run.txt"
    run.write_text("q Q0 plain#A 1 2.0 x\nq Q0 gold#A 2 1.0 x\n")
    options = {"benchmark": "shrunk", "json": True, "metrics": "MRR,recall@10", "per_query": True}
    call_command("score_run", str(run), corpus_version="cleaned", **options)
    found = json.loads(capsys.readouterr().out)["metrics"]
    assert found["MRR"]["mean"] == 0.5
    call_command("score_run", str(run), **options)
    # As loaded, nothing of this list is known.
    assert json.loads(capsys.readouterr().out)["metrics"]["MRR"]["mean"] == 0.0
    for wrong, said in (
        ({"domain": "geology"}, "Choose a domain"),
        ({"corpus_version": "gone"}, "no corpus version"),
        ({"base": "x.txt"}, "--base: a benchmark brings its own"),
        ({"benchmark": "moon"}, "no benchmark 'moon'"),
    ):
        with pytest.raises(CommandError, match=said):
            call_command("score_run", str(run), **(options | wrong))


def test_many_runs_are_scored_against_the_gold_of_a_version(shrunk, tmp_path, capsys) -> None:
    for name, pid in (("good", "gold#A"), ("bad", "plain#A")):
        (tmp_path / f"{name}.run").write_text(f"q Q0 {pid} 1 2.0 x\n")
    given = [str(tmp_path), "--benchmark", "shrunk", "--corpus-version", "cleaned"]
    call_command("score_run", *given, "--csv", "--metrics", "MRR")
    (domain,) = shrunk.domains.values_list("name", flat=True)
    assert capsys.readouterr().out.splitlines() == [
        "kind,gold,run,domain,queries,absent,MRR",
        "domain,shrunk,bad,,2,1,0.0",
        "mean,shrunk,bad,,,,0.0",
        "domain,shrunk,good,,2,1,1.0",
        "mean,shrunk,good,,,,1.0",
    ]
    call_command("score_run", *given, "--csv", "--metrics", "MRR", "--domain", domain)
    assert "mean,shrunk,good,,,,1.0" in capsys.readouterr().out
    with pytest.raises(CommandError, match="Choose a domain"):
        call_command("score_run", *given, "--domain", "geology")


def test_the_command_offers_every_view() -> None:
    assert list(_VIEWS) == list(GoldView)


def test_label_noise_is_of_a_version(shrunk) -> None:
    loaded = CorpusVersion.objects.loaded(shrunk)
    client = Client()
    client.force_login(shrunk.admin)
    given = {"metric": "MRR", "view": "base", "if_relevant": 0.9, "if_not": 0.1, "draws": 10}
    page = reverse("noise-checks", args=["shrunk"])
    assert client.post(page, given | {"version": shrunk.after.pk}).status_code == 302
    assert client.post(page, given).status_code == 302
    api = reverse("api-noise-checks", args=["shrunk"])
    asked = client.post(api, given | {"version": shrunk.after.pk})
    assert (asked.status_code, asked.json()["corpus_version"]) == (202, shrunk.after.pk)
    kept = NoiseCheck.objects.order_by("pk").values_list("corpus_version", flat=True)
    assert list(kept) == [shrunk.after.pk, None, shrunk.after.pk]
    assert client.post(page, given | {"version": loaded.pk + 99}).status_code == 422
    assert client.post(api, given | {"version": loaded.pk + 99}).status_code in (400, 409)
    shown = one_line(client.get(page))
    assert '<td data-label="Corpus">cleaned</td>' in shown
