"""Long work that keeps its thread to its end is known as small or long before it begins."""

import pytest

from corpus.benchmarks.overview import count_passages
from corpus.computing import services as computing
from corpus.models import CorpusVersion, Query, RetrievalRun
from corpus.pools.builds import start_build
from evaluation.leaderboard.noise import request_check
from evaluation.releases.services import start_release
from evaluation.scores.sheets import request_sheet
from evaluation.transfer.services import start_export
from kit.runs.turns import SMALL
from tests.factories import (
    domain_of,
    make_benchmark,
    make_gold,
    make_passage,
    make_query,
    make_ranking,
)


@pytest.mark.django_db
@pytest.mark.parametrize("is_small", [True, False])
def test_of_every_kind(is_small: bool, tmp_path, settings) -> None:
    settings.RELEASES_DIR = tmp_path
    benchmark = make_benchmark()
    query = make_query(benchmark, "q")
    make_gold(query, make_passage(benchmark, "p"))
    make_ranking(query, "p")
    if not is_small:
        domain = domain_of(benchmark)
        Query.objects.bulk_create(Query(domain=domain, qid=f"q{n}") for n in range(SMALL))
        for n in range(SMALL):
            make_passage(benchmark, f"p{n}")
    count_passages(CorpusVersion.objects.get())
    given = {"benchmark": benchmark, "actor": None}
    runs = [
        request_sheet(**given),
        request_check(
            **given, metric="nDCG@10", view="refined", if_relevant=0.9, if_not=0.9, draws=1_000
        ),
        start_build(**given, runs=list(RetrievalRun.objects.all()), depth=10),
        computing.start(**given, method="bm25"),
        start_release(**given, version="0.1.0"),
        start_export(**given),
    ]
    assert {type(each).__name__: each.claimant.is_small for each in runs} == {
        type(each).__name__: is_small for each in runs
    }
