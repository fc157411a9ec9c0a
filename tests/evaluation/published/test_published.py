"""Published tables beside what is ours: means and gains, a corpus version, a release, debates."""

from dataclasses import replace

import pytest
from django.test import Client
from django.urls import reverse

from corpus.models import CorpusVersion, Query, Source
from evaluation.experiments.services import create_experiment
from evaluation.published.ours import compare_with_ours
from evaluation.published.services import (
    QUERIES,
    ComparedRow,
    PublishedTable,
    compared,
    plain,
    table_called,
    tables,
)
from evaluation.scores.sheets import latest
from tests.evaluation.conftest import label, release_into
from tests.evaluation.experiments.test_experiments import admin, client, runs
from tests.evaluation.leaderboard.test_leaderboard import score
from tests.factories import (
    make_benchmark,
    make_gold,
    make_member,
    make_passage,
    make_query,
    make_ranking,
)

__all__ = ["admin", "client", "runs"]
pytestmark = pytest.mark.django_db
SETS = ("msmarco", "nq", "lifestyle", "recreation", "science", "technology", "writing")


# What a comparison does where the printed sizes are no matter.
ANY_SIZE: dict = {}


def any_size(name: str) -> PublishedTable:
    return replace(table_called(name), sizes=ANY_SIZE)


def fill(domain, size: int) -> None:
    """Further queries, as many as are printed."""
    have = domain.queries.count()
    Query.objects.bulk_create(
        Query(domain=domain, qid=f"more-{n}", text="More?") for n in range(size - have)
    )


def row_of(rows: list[ComparedRow], name: str) -> ComparedRow:
    return next(row for row in rows if row.name == name)


@pytest.mark.slow
def test_mean_and_gain_are_held_against_ours_where_all_sets_are_here() -> None:
    benchmark = make_benchmark("bridge", domains=SETS)
    for number, name in enumerate(SETS):
        query = make_query(benchmark, "1", name)
        make_gold(query, make_passage(benchmark, f"{name}-old", name))
        found = make_passage(benchmark, f"{name}-new", name)
        make_ranking(query, found.pid, name="BM25")
        if number < 2:  # two sets of seven turn from miss to hit
            label(query, found, 1, Source.HUMAN)
    score(benchmark)
    bm25 = row_of(compare_with_ours(any_size("dream-hit10"), benchmark), "BM25")
    *sets, mean, gain = bm25.cells
    assert [cell.ours for cell in sets] == [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert (mean.printed, gain.printed) == (0.65, 0.23)
    assert (mean.ours, gain.ours) == (pytest.approx(2 / 7), pytest.approx(2 / 7))
    assert (mean.agrees, gain.agrees) == (False, False)


def test_mean_of_some_of_the_sets_is_another_number() -> None:
    benchmark = make_benchmark("bridge", domains=SETS[:6])
    for name in SETS[:6]:
        query = make_query(benchmark, "1", name)
        make_gold(query, make_passage(benchmark, f"{name}-old", name))
        make_ranking(query, f"{name}-old", name="BM25")
    bm25 = row_of(compared(any_size("dream-hit10"), score(benchmark)), "BM25")
    assert [cell.ours for cell in bm25.cells] == [*[1.0] * 6, None, None, None]


def test_scores_are_those_of_the_version_that_is_asked_for(client, benchmark) -> None:
    domain = benchmark.domains.get()
    domain.name = "biology"
    domain.save()
    query = make_query(benchmark, "q", "biology")
    make_gold(query, make_passage(benchmark, "p", "biology"))
    make_ranking(query, "p", name="bm25")
    fill(domain, 103)
    score(benchmark)
    loaded = CorpusVersion.objects.current(benchmark)
    CorpusVersion.objects.create(
        benchmark=benchmark,
        name="cleaned",
        parent=loaded,
        state="ready",
        recipe={"kind": "cleaned"},
    )
    cleaned = CorpusVersion.objects.get(name="cleaned")
    assert latest(benchmark, cleaned) is None
    url = reverse("published-table", args=[benchmark.slug, "marcus-s"])
    api = reverse("api-published-table", args=[benchmark.slug, "marcus-s"])
    for version, ours in ((loaded, True), (cleaned, False)):
        page = client.get(url, {"version": version.pk})
        assert ("ours 100.0" in page.content.decode()) is ours
        bm25 = next(
            row
            for row in client.get(api, {"version": version.pk}).json()
            if row["system"] == "BM25"
        )
        assert bm25["cells"]["biology"]["ours"] == (100.0 if ours else None)


def test_several_runs_are_set_beside_systems_of_other_names(client, benchmark) -> None:
    domain = benchmark.domains.get()
    domain.name = "biology"
    domain.save()
    query = make_query(benchmark, "q", "biology")
    make_gold(query, make_passage(benchmark, "p", "biology"))
    for name in ("one", "two"):
        make_ranking(query, "p", name=name)
    score(benchmark)
    url = reverse("published-table", args=[benchmark.slug, "marcus-rerankers"])
    asked = {"system": ["BM25, k=10 MiniLM", "BGE, k=10 MiniLM", ""], "run": ["one", "two", ""]}
    page = client.get(url, asked)
    beside = {row.name: row.run for row in page.context["rows"] if row.run}
    assert beside == {"BM25, k=10 MiniLM": "one", "BGE, k=10 MiniLM": "two"}
    # What was set beside stays when another is added, and can be taken back.
    assert page.content.decode().count('type="hidden" name="system"') == 2
    taken = {"system": [*asked["system"][:2], "BGE, k=10 MiniLM"], "run": ["one", "two", ""]}
    rows = client.get(url, taken).context["rows"]
    assert [row.run for row in rows if row.run] == ["one"]


def test_counts_are_those_of_the_newest_release(garden, tmp_path) -> None:
    table = any_size("brightpro-card")
    assert not any(row.run for row in compare_with_ours(table, garden.benchmark))
    release_into(garden.benchmark, tmp_path / "r")
    rows = compare_with_ours(table, garden.benchmark)
    biology = row_of(rows, "biology")
    assert biology.run == "release 0.1.0"
    assert [cell.printed for cell in biology.cells[:4]] == [103, 406, 804, 59513]
    assert [cell.ours for cell in biology.cells] == [1, 2, 2, 4, None, None, None, None]
    assert biology.cells[0].agrees is False
    # Two of the seven sets are here: their sum is not the printed total.
    assert row_of(rows, "total").run is None
    # One query is no 103: as printed nothing stands beside it.
    assert not any(row.run for row in compare_with_ours(table_called(table.id), garden.benchmark))


def test_labelling_is_held_against_an_experiment(client, benchmark, admin, runs) -> None:
    first, second = runs
    type(first).objects.filter(pk=first.pk).update(name="Dream")
    gold = benchmark.domains.get().gold_versions.get()
    made = create_experiment(
        benchmark=benchmark, name="two", reference=f"gold-{gold.pk}", runs=runs, actor=admin
    )
    dream = row_of(
        compare_with_ours(table_called("dream-labelling"), benchmark, experiment=made), "DREAM"
    )
    # docs/protocol.md 6.9: .8 and 1, balanced .9, a fifth disputed.
    assert [cell.ours for cell in dream.cells] == pytest.approx([80.0, 100.0, 90.0, 20.0])
    url = reverse("published-table", args=[benchmark.slug, "dream-labelling"])
    page = client.get(url, {"system": "LLMJudge", "run": second.name}).content.decode()
    assert "beside Dream" in page
    assert f"beside {second.name}" in page
    cost = row_of(
        compare_with_ours(table_called("dream-cost"), benchmark, experiment=made), "DREAM"
    )
    assert [cell.ours for cell in cost.cells] == [None, 6.0, 3.5]
    api = client.get(reverse("api-published-table", args=[benchmark.slug, "dream-rounds"]))
    assert api.status_code == 200


def test_who_may_not_read_experiments_sees_the_printed_figures_alone(
    benchmark, admin, runs
) -> None:
    type(runs[0]).objects.filter(pk=runs[0].pk).update(name="DREAM")
    gold = benchmark.domains.get().gold_versions.get()
    create_experiment(
        benchmark=benchmark, name="two", reference=f"gold-{gold.pk}", runs=runs, actor=admin
    )
    annotator = Client()
    annotator.force_login(make_member(benchmark, "ann", "annotator"))
    for name in ("published-table", "api-published-table"):
        page = annotator.get(reverse(name, args=[benchmark.slug, "dream-labelling"]))
        assert "91.9" in page.content.decode()
        assert "80.0" not in page.content.decode()


@pytest.mark.parametrize(
    ("queries", "is_compared"), [(1, False), (92, False), (93, True), (113, True), (114, False)]
)
def test_a_domain_is_compared_with_a_set_of_its_size(queries, is_compared) -> None:
    """103 queries are printed of biology: a tenth of them is 10.3."""
    benchmark = make_benchmark("bright", domains=("biology",))
    query = make_query(benchmark, "1", "biology")
    make_gold(query, make_passage(benchmark, "p", "biology"))
    make_ranking(query, "p", name="bm25")
    fill(benchmark.domains.get(), queries)
    cells = row_of(compared(table_called("marcus-bright"), score(benchmark)), "BM25").cells
    assert (cells[0].ours is not None) is is_compared


def test_a_mean_alone_is_compared_where_its_sets_are() -> None:
    table = table_called("brightpro-bright")
    assert len(table.sets) == 12
    benchmark = make_benchmark("rosarium", domains=("roses",))
    query = make_query(benchmark, "1", "roses")
    make_gold(query, make_passage(benchmark, "p", "roses"))
    make_ranking(query, "p", name="bm25")
    row = row_of(compared(table, score(benchmark)), "BM25")
    assert (row.run, row.cells[0].ours) == ("bm25", None)


def test_every_printed_set_has_its_size() -> None:
    # 749 queries of seven sets and 635 of five are BRIGHT's 1,384.
    bright = [plain(name) for name in table_called("brightpro-bright").sets]
    assert sum(QUERIES[name][0] for name in bright) == 1384
    for table in tables().values():
        if table.metric:
            sets = {plain(each) for each in table.columns} - {"mean", "gain", "change"}
            assert sets <= QUERIES.keys(), table.id


def test_the_profile_is_chosen(client, benchmark) -> None:
    """A query that the run does not rank counts 0 in strict, and not at all in reference."""
    domain = benchmark.domains.get()
    domain.name = "biology"
    domain.save()
    passage = make_passage(benchmark, "p", "biology")
    for qid in ("q1", "q2"):
        make_gold(make_query(benchmark, qid, "biology"), passage)
    make_ranking(domain.queries.get(qid="q1"), "p", name="bm25")
    fill(domain, 103)
    for profile in ("strict", "reference"):
        score(benchmark, profile=profile)
    for name in ("published-table", "api-published-table"):
        url = reverse(name, args=[benchmark.slug, "marcus-s"])
        pages = [client.get(url, {"profile": each}) for each in ("strict", "reference")]
        if name.startswith("api"):
            found = [next(r for r in p.json() if r["system"] == "BM25") for p in pages]
            assert [row["cells"]["biology"]["ours"] for row in found] == [50.0, 100.0]
            assert client.get(url, {"profile": "x"}).status_code == 409
        else:
            assert ["ours 50.0" in page.content.decode() for page in pages] == [True, False]


def test_tables_about_other_sets_stand_folded(client, benchmark) -> None:
    url = reverse("published-tables", args=[benchmark.slug])
    benchmark.domains.update(name="lamps")
    (_, here), (_, others) = client.get(url).context["groups"]
    assert not here or all(table.is_of_debates for table in here)
    benchmark.domains.update(name="Earth-Science")
    (_, here), (_, fewer) = client.get(url).context["groups"]
    assert "marcus-s" in {table.id for table in here}
    assert len(fewer) < len(others)
