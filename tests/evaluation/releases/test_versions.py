"""A cleaned corpus version taken up and used everywhere: pool, runs, scores, release."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from django.test import Client
from django.urls import reverse

from annotate.answers.evidence import answers_in
from annotate.models import GoldPassage
from corpus.computing import services as computing
from corpus.judgments.services import record_judgment
from corpus.models import CorpusVersion, Crosswalk, Judgment, Passage, Query, RetrievalRun, Source
from corpus.pools.builds import build_pool
from corpus.versions import services as versions
from corpus.versions.effective import effective_labels
from corpus.versions.excluded import excluded_in
from evaluation.content.reading import read_queries
from evaluation.content.view import view_of
from evaluation.leaderboard.before_after import compare_sides, query_gaps, side_of
from evaluation.metrics import scoring
from evaluation.metrics.profiles import STRICT
from evaluation.metrics.standings import kendall_tau, rank_shifts
from evaluation.published.ours import compare_cleaning
from evaluation.published.services import table_called
from evaluation.releases.building import carry_out, rebuild
from evaluation.releases.services import start_here
from evaluation.scores import sheets
from evaluation.scores.reading import lists_of
from evaluation.scores.services import GoldView, gold_in
from evaluation.verification.folder import verify
from kit.errors import Refused
from kit.models import Event
from llm import endpoints
from tests.corpus.cleaning.rooms import clean
from tests.corpus.real_texts import noisy_texts
from tests.evaluation.conftest import make_aspect, make_support
from tests.evaluation.leaderboard.test_matched_pool import derive, rank
from tests.factories import (
    index_texts,
    make_benchmark,
    make_gold,
    make_member,
    make_passage,
    make_query,
)


@pytest.fixture
def crawled(db, settings, tmp_path: Path):
    """Crawled passages of BRIGHT, five queries in the words of one each, gold, an expert's word."""
    settings.INDEXES = tmp_path / "indexes"
    benchmark = make_benchmark("crawled", domains=("biology",))
    admin = make_member(benchmark, "admin", "admin")
    benchmark.admin = admin.user if hasattr(admin, "user") else admin
    made = [
        make_passage(benchmark, f"page{n}/part_{n}.txt", text=f"Main page\n\n{said[:1500]}")
        for n, said in enumerate([text for text in noisy_texts() if len(text) > 400][:24])
    ]
    for n in range(5):
        words = " ".join(made[n].text.split()[20:45])
        query = make_query(benchmark, str(n), "biology", text=words, answers=["yes"])
        make_gold(query, made[n], made[n + 5])
        make_gold(query, made[n + 10], label=0)
    query = benchmark.domains.get().queries.order_by("pk").first()
    aspect = make_aspect(query, 1, weight=3)
    make_support(aspect, made[0])
    make_support(make_aspect(query, 2, weight=1), made[5])
    _expert(query, made[0], 1, admin, "assigned")
    _expert(query, made[5], 1, admin, "assigned")
    _expert(benchmark.domains.get().queries.order_by("pk")[1], made[6], 0, admin, "discarded")
    return benchmark


def _expert(query, passage, label, actor, rule):
    record_judgment(
        query=query, passage=passage, label=label, source=Source.EXPERT,
        provenance={"rule": rule}, actor=actor,
    )  # fmt: skip


def bm25(benchmark, version=None) -> RetrievalRun:
    made = computing.start(
        benchmark=benchmark, method="bm25", version=version, actor=None, claimed=True
    )
    computing.run_computation(made)
    made.refresh_from_db()
    assert made.status == "done", made.error
    return made.run


def score(benchmark, version):
    sheet = sheets.request_sheet(benchmark=benchmark, version=version, actor=None, claimed=True)
    sheets.carry_out(sheet)
    sheet.refresh_from_db()
    assert sheet.status == "done", sheet.error


def release(benchmark, folder: Path, version: str, **options):
    made = start_here(benchmark=benchmark, version=version, folder=folder, **options)
    carry_out(made)
    made.refresh_from_db()
    assert made.status == "done", (made.error, made.faults)
    return made


@pytest.mark.slow
def test_a_cleaned_version_is_used_everywhere(crawled, tmp_path) -> None:
    loaded = CorpusVersion.objects.current(crawled)
    cleaned = clean(crawled, preset="diver_rules").version
    assert CorpusVersion.objects.current(crawled) == loaded  # made, not taken up
    before = list(Judgment.objects.order_by("pk").values())
    versions.make_current(version=cleaned, seen=loaded.pk, actor=crawled.admin)
    crawled.refresh_from_db()
    assert CorpusVersion.objects.current(crawled) == cleaned
    assert list(Judgment.objects.order_by("pk").values()) == before
    runs = [bm25(crawled, loaded), bm25(crawled)]
    assert [run.name for run in runs] == ["BM25", "BM25"]
    assert [run.corpus_version for run in runs] == [None, cleaned]
    pool = build_pool(benchmark=crawled, runs=[runs[1]], depth=5, actor=None)
    assert pool.corpus_version == cleaned
    assert set(pool.entries.values_list("passage__version", flat=True)) == {cleaned.pk}
    gold = {pair for pair, held in effective_labels(cleaned).pairs.items() if held.base}
    assert gold
    assert not gold & set(pool.entries.values_list("query_id", "passage_id"))
    with pytest.raises(Refused, match="different corpus versions"):
        build_pool(benchmark=crawled, runs=runs, depth=5, actor=None)
    for version in (loaded, cleaned):
        score(crawled, version)
    sides = [side_of(crawled, each, "refined") for each in (loaded, cleaned)]
    found = compare_sides(*sides, metric="nDCG@10")
    (line,) = found.lines
    assert line.first.mean is not None
    assert line.second.mean is not None
    assert (line.queries, line.places, found.only_before) == (5, 0, [])
    assert line.gain.low <= line.gain.value <= line.gain.high
    gaps = query_gaps(*sides, metric="nDCG@10", system="BM25")
    assert np.mean([after - first for *_, first, after in gaps]) == pytest.approx(line.gain.value)
    final = release(crawled, tmp_path / "out", "1.0.0", final=True)
    report = verify(tmp_path / "out")
    assert report.differences == []
    assert report.derived >= 3
    rebuild(final, folder=tmp_path / "again")  # refused unless the bytes are the same
    row = json.loads((tmp_path / "out/provenance/biology.jsonl").read_text().splitlines()[0])
    assert row["carried"]["version"] == loaded.name
    assert row["carried"]["cleaning"] == cleaned.recipe["cleaning"]
    assert row["carried"]["passages"]


def test_verification_names_a_carried_row_that_was_changed(crawled, tmp_path) -> None:
    cleaned = clean(crawled, preset="diver_rules").version
    release(crawled, tmp_path / "out", "1.0.0", corpus=cleaned)
    path = tmp_path / "out/carried/biology.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    changed = next(row for row in rows if row["label"] is None and row["base"] == 1)
    changed["carried"]["from"][0]["base"] = 0
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = [
        each for each in verify(tmp_path / "out").differences if each.file == f"carried/{path.name}"
    ]
    pairs = {(each.query, each.passage) for each in found if each.query}
    assert pairs == {(changed["query_id"], changed["passage_id"])}


def test_gold_that_is_not_carried_refuses_a_final_release(crawled, tmp_path) -> None:
    cleaned = clean(crawled, preset="diver_rules").version
    one = Judgment.objects.filter(label=1, source="original").first()
    one.passage.became.filter(version=cleaned).update(carries=False)
    made = start_here(
        benchmark=crawled, version="1.0.0", folder=tmp_path / "out", final=True, corpus=cleaned
    )
    carry_out(made)
    made.refresh_from_db()
    assert made.status == "failed"
    assert "uncarried_gold" in {fault["check"] for fault in made.faults}


@pytest.mark.django_db
def test_a_chunk_with_gold_and_excluded_text_is_gold(tmp_path) -> None:
    """Two old passages became one chunk: q has the first as gold and leaves the second out."""
    benchmark = make_benchmark("light", ["nq"])
    gold, own = (make_passage(benchmark, pid, text=f"Of {pid}.") for pid in ("gold", "own"))
    make_passage(benchmark, "other", text="Of another.")
    query = make_query(benchmark, "q", excluded_ids=["own", "other"])
    make_gold(query, gold)
    make_gold(make_query(benchmark, "q2"), own)
    kept = {"gold": ["c1"], "own": ["c1"], "other": ["c2"]}
    after = derive(CorpusVersion.objects.loaded(benchmark), kept, name="clean")
    assert excluded_in(after, [query]) == {query.pk: {"c2"}}
    # Also where an expert took that gold back: the base view still has it.
    record_judgment(query=query, passage=gold, label=0, source=Source.EXPERT, provenance={})
    assert excluded_in(after, [query]) == {query.pk: {"c2"}}
    Judgment.objects.exclude(source=Source.ORIGINAL).delete()
    run = rank(benchmark, after, {"q": ["c2", "c1"]})
    shown = view_of(benchmark, after)
    (record, _) = read_queries(shown, benchmark.domains.get(), with_answers=False)
    assert (record.gold_ids, record.excluded) == (("c1",), ("c2",))
    lists = lists_of(run, benchmark.domains.get())
    # c2 leaves the list, so that c1 is the first: 1 / 1.
    found = gold_in([record], GoldView.EXPERT)
    assert scoring.score(lists, found, "MRR", STRICT)["MRR"].mean == 1.0
    made = start_here(
        benchmark=benchmark, version="1.0.0", folder=tmp_path / "out", final=True, corpus=after
    )
    carry_out(made)
    made.refresh_from_db()
    assert (made.status, made.error) == ("done", "")


@pytest.mark.django_db(transaction=True)
def test_citations_are_those_of_the_version(crawled, tmp_path) -> None:
    query = crawled.domains.get().queries.order_by("pk").first()
    written = "It lives [page0/part_0.txt]. It eats [doc_2]; [sic] and [doc page10/part_10.txt]."
    Query.objects.filter(pk=query.pk).update(reference_answer=written)
    cleaned = clean(crawled, preset="dchunk", options={"most": 40, "long_from": 40}).version
    made = release(crawled, tmp_path / "out", "1.0.0", corpus=cleaned)
    rows = pq.read_table(tmp_path / "out/examples/biology.parquet").to_pylist()
    row = next(each for each in rows if str(each["id"]) == "0")
    cited = re.findall(r"\[([^\]]+)\]", row["reference_answer"])
    carried = [
        list(
            Crosswalk.objects.filter(version=cleaned, old__pid=pid, carries=True)
            .order_by("pk")
            .values_list("new__pid", flat=True)
        )
        for pid in ("page0/part_0.txt", "page5/part_5.txt", "page10/part_10.txt")
    ]
    assert all(len(each) > 1 for each in carried)
    # The second gold passage in the order of ids is page5; what is no citation stays.
    assert cited == [*carried[0], *carried[1], "sic", *carried[2]]
    assert set(carried[0]) <= set(row["gold_ids"])
    faults = {fault["check"]: fault for fault in made.faults}
    assert "uncarried_citations" not in faults
    # page10 was no gold before, and is none now.
    places = [place["passage"] for place in faults["foreign_citations"]["rows"]]
    assert places == carried[2]
    assert verify(tmp_path / "out").differences == []


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_retention_stands_beside_that_of_the_paper(crawled) -> None:
    table = table_called("marcus-chunks")
    assert all(cell.ours is None for row in compare_cleaning(table, None) for cell in row.cells)
    with endpoints.practice_if_unconfigured() as endpoint:
        run = clean(crawled, endpoint)
    made = Passage.objects.filter(version=run.version).count()
    # 24 passages are no 57,359: nothing of ours stands beside these.
    assert not any(row.run for row in compare_cleaning(table, run))
    rows = tuple((name, [25.0, 9.0, 36.0]) for name, _ in table.rows)
    first, *others = compare_cleaning(replace(table, rows=rows), run)
    assert (first.name, first.run) == ("biology", run.name)
    assert [cell.ours for cell in first.cells] == [24, made, round(100 * made / 24, 2)]
    assert all(row.run is None for row in others)  # other domains are not here: no total either
    client = Client()
    client.force_login(crawled.admin)
    report = client.get(reverse("cleaning-report", args=[crawled.slug, run.pk])).content.decode()
    url = reverse("published-table", args=[crawled.slug, "marcus-chunks"])
    assert f'href="{url}"' in report
    page = client.get(url).content.decode()
    assert "57359" in page
    assert f"beside {run.name}" not in page


def test_a_citation_that_is_not_carried_is_listed(crawled, tmp_path) -> None:
    query = crawled.domains.get().queries.order_by("pk").first()
    written = "It lives [page0/part_0.txt]. It eats [doc_2]."
    Query.objects.filter(pk=query.pk).update(reference_answer=written)
    cleaned = clean(crawled, preset="diver_rules").version
    Crosswalk.objects.filter(version=cleaned, old__pid="page5/part_5.txt").update(carries=False)
    made = start_here(
        benchmark=crawled, version="1.0.0", folder=tmp_path / "out", final=True, corpus=cleaned
    )
    carry_out(made)
    made.refresh_from_db()
    assert made.status == "failed"
    faults = {fault["check"]: fault for fault in made.faults}
    assert "foreign_citations" not in faults
    [place] = faults["uncarried_citations"]["rows"]
    assert (place["query_pk"], place["passage"]) == (query.pk, "doc_2")
    found = answers_in(cleaned, crawled.domains.get(), only=query.pk)[query.pk]
    assert found.text == written
    assert found.lost_citations == ("doc_2",)


def test_what_is_not_carried_of_answers_and_aspects_is_told_before_a_version_is_taken_up(
    crawled,
) -> None:
    domain = crawled.domains.get()
    query = domain.queries.order_by("pk")[0]
    written = "It lives [page0/part_0.txt]. It eats [doc_2] and [doc_9]. See [sic]."
    Query.objects.filter(pk=query.pk).update(reference_answer=written)
    bare = Query.objects.create(domain=domain, qid="bare", text="?", reference_answer="So [doc_1].")
    cleaned = clean(crawled, preset="diver_rules").version
    client = Client()
    client.force_login(crawled.admin)
    here = reverse("version-work", args=[crawled.slug, cleaned.pk])
    api = reverse("api-version-work", args=[crawled.slug, cleaned.pk])
    counts = "counts the gold of the query"
    found = client.get(api).json()
    assert [(each["query"], each["cited"]) for each in found["citations"]] == [
        (query.pk, "doc_9"),
        (bare.pk, "doc_1"),
    ]
    assert all(each["why"].startswith(counts) for each in found["citations"])
    assert found["support"] == []
    gone = Crosswalk.objects.filter(version=cleaned, old__pid="page5/part_5.txt")
    gone.update(carries=False)
    found = client.get(api).json()
    assert (found["citations"][0]["cited"], found["citations"][0]["why"]) == (
        "doc_2",
        "no passage of this version takes it over",
    )
    lost = {gold.passage_id for gold in GoldPassage.objects.filter(passage__pid="page5/part_5.txt")}
    assert {each["passage"] for each in found["support"]} == lost
    assert lost
    page = client.get(here, HTTP_HX_REQUEST="true").content.decode()
    assert "[doc_2]" in page
    assert "[doc_9]" in page
    assert "page5/part_5.txt" in page
    assert "[sic]" not in page
    # The take-up page asks for it.
    take_up = reverse("version-take-up", args=[crawled.slug, cleaned.pk])
    assert f'hx-get="{here}"' in client.get(take_up).content.decode()
    loaded = reverse("version-work", args=[crawled.slug, cleaned.parent_id])
    assert "has its place here" in client.get(loaded).content.decode()


def test_a_label_given_in_a_derived_version_stands_there_only(crawled) -> None:
    loaded = CorpusVersion.objects.current(crawled)
    cleaned = clean(crawled, preset="diver_rules").version
    query = crawled.domains.get().queries.order_by("pk")[1]
    old = Passage.objects.get(version=loaded, pid="page6/part_6.txt")  # an expert refused it
    new = old.became.get(version=cleaned).new
    record_judgment(query=query, passage=new, label=1, source=Source.DEBATE, provenance={})
    held = effective_labels(cleaned).pairs[query.pk, new.pk]
    assert (held.base, held.given.label, held.given.source) == (1, 0, "expert")  # weightier
    assert held.outweighed.label == 1
    assert effective_labels(loaded).pairs[query.pk, old.pk].given.label == 0
    record_judgment(query=query, passage=new, label=1, source=Source.EXPERT, provenance={})
    held = effective_labels(cleaned).pairs[query.pk, new.pk]
    assert (held.given.label, held.given.judgment is not None) == (1, True)  # equal: its own
    assert effective_labels(loaded).pairs[query.pk, old.pk].given.label == 0


def test_taking_up_is_told_and_can_be_undone(crawled) -> None:
    loaded = CorpusVersion.objects.current(crawled)
    cleaned = clean(crawled, preset="diver_rules").version
    admin = crawled.admin
    with pytest.raises(Refused, match="Look again"):
        versions.make_current(version=cleaned, seen=cleaned.pk + 1, actor=admin)
    versions.make_current(version=cleaned, seen=loaded.pk, actor=admin)
    crawled.refresh_from_db()
    assert CorpusVersion.objects.loaded(crawled) == loaded  # where experts work
    assert versions.undo_make_current(benchmark=crawled, seen=cleaned.pk, actor=admin) == loaded
    crawled.refresh_from_db()
    assert CorpusVersion.objects.current(crawled) == loaded
    told = Event.objects.filter(verb=versions.MAKE_CURRENT).order_by("pk")
    assert [event.data for event in told] == [
        {"before": loaded.pk, "after": cleaned.pk},
        {"before": cleaned.pk, "after": loaded.pk},
    ]
    assert GoldPassage.objects.count() == 2


@pytest.mark.slow
def test_screens_and_api_of_versions(crawled) -> None:
    loaded = CorpusVersion.objects.current(crawled)
    cleaned = clean(crawled, preset="diver_rules").version
    index_texts(crawled)
    client = Client()
    client.force_login(crawled.admin)
    url = reverse("version-take-up", args=["crawled", cleaned.pk])
    assert "Make it current" in client.get(url).content.decode()
    assert client.post(url, {"seen": loaded.pk}).status_code == 302
    assert "Go back to" in client.get(reverse("versions", args=["crawled"])).content.decode()
    words = crawled.domains.get().queries.order_by("pk")[0].text
    found = client.get(
        reverse("api-version-search", args=["crawled", cleaned.pk]), {"q": words}
    ).json()
    assert found[0]["pid"] == "page0/part_0.txt"
    assert found[0]["came_from"] == ["page0/part_0.txt"]
    page = client.get(reverse("version-search", args=["crawled", cleaned.pk]), {"q": words})
    assert "With its source passages" in page.content.decode()
    for version in (loaded, cleaned):
        bm25(crawled, version)
        score(crawled, version)
    board = reverse("leaderboard-versions", args=["crawled"])
    page = client.get(board, {"system": "BM25"}).content.decode()
    assert "Kendall" in page
    assert "query by query" in page
    csv = client.get(reverse("leaderboard-versions-csv", args=["crawled"]))
    assert b"BM25" in b"".join(csv.streaming_content)
    query = crawled.domains.get().queries.first()
    one = client.get(
        reverse("leaderboard-versions-query", args=["crawled", query.pk]), {"system": "BM25"}
    )
    assert "What became of the gold" in one.content.decode()
    table = client.get(reverse("api-leaderboard-versions", args=["crawled"])).json()
    assert table[0]["rows"]
    assert client.post(reverse("version-undo", args=["crawled"]), {"seen": cleaned.pk})
    crawled.refresh_from_db()
    assert crawled.taken_up_id is None


def test_tau_is_that_of_scipy() -> None:
    from scipy import stats

    rng = np.random.default_rng(3)
    first, second = rng.integers(0, 5, (20, 7)) * 1.0, rng.integers(0, 5, (20, 7)) * 1.0
    wanted = [stats.kendalltau(a, b).statistic for a, b in zip(first, second, strict=True)]
    assert kendall_tau(first, second) == pytest.approx(wanted)
    assert np.isnan(kendall_tau(np.ones((1, 3)), np.arange(3.0)[None]))[0]


def test_places_won_and_queries_of_one_side() -> None:
    before = [np.array([[1.0, 1.0, np.nan], [0.5, 0.5, 1.0]])]
    after = [np.array([[0.0, 0.0, 1.0], [0.5, 0.5, 1.0]])]
    one, other, gain, won, tau = rank_shifts(before, after, seed=1, resamples=50)
    assert [each.value for each in won] == [-1, 1]
    assert [each.value for each in gain] == [-1.0, 0.0]  # the third is not the first's
    assert (tau.value, one[0].rank, other[0].rank) == (-1.0, 1, 2)
