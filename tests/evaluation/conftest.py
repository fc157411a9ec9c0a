"""A benchmark that has a bit of everything a release must hold, and a folder to build into."""

from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyarrow.parquet import read_table

from annotate.models import Aspect, EscalationCase, GoldPassage
from annotate.workspace.loading import run_import
from corpus.benchmarks.services import create_benchmark
from corpus.judgments.services import record_judgment
from corpus.models import Benchmark, Judgment, Passage, Query, Source
from evaluation.content.reading import read_queries
from evaluation.content.view import view_of
from evaluation.metrics.profiles import STRICT, Profile
from evaluation.metrics.scoring import Scores, score
from evaluation.models import Release
from evaluation.releases import building
from evaluation.releases.building import build
from evaluation.releases.services import start_here
from evaluation.scores.reading import lists_of
from evaluation.scores.services import GoldView, gold_in
from tests.corpus.import_files import claimed
from tests.evaluation.agents.room import Place, make_place
from tests.factories import make_benchmark, make_gold, make_member, make_passage, make_query
from tests.worlds import in_a_world


class Garden(NamedTuple):
    """`query` has two aspects; `plain` in earth-science has none; see make_garden."""

    benchmark: Benchmark
    query: Query
    plain: Query
    passages: dict[str, Passage]


@pytest.fixture(autouse=True)
def _releases(settings, tmp_path: Path) -> None:
    settings.RELEASES = tmp_path / "releases"


@pytest.fixture(scope="module")
def planted(undone_database: None) -> Garden:
    """The garden that the tests of a module share."""
    return make_garden()


@pytest.fixture
def garden(planted: Garden, db: None) -> Garden:
    """It as this test's own: neither its rows nor its objects keep what is done to them.

    Not for tests with transactions of their own (undone_database): they call make_garden.
    """
    return deepcopy(planted)


def make_garden() -> Garden:
    """biology-7: b0 and b1 old gold, b1 discarded by an expert, b2 a hole found in a debate.

    Aspects a1 (weight 3: b0) and a2 (weight 1: b2). earth-science-12: e0 old gold, e1 judged 0.
    """
    benchmark = make_benchmark("garden", domains=("biology", "earth-science"))
    people = [make_member(benchmark, f"person-of-flowers-{i}", "annotator") for i in (1, 2)]
    query = make_query(benchmark, "7", "biology", answers=["mulch", "shade"])
    plain = make_query(benchmark, "12", "earth-science", answers=[])
    passages = {
        pid: make_passage(benchmark, pid, "biology" if pid[0] == "b" else "earth-science")
        for pid in ("b0", "b1", "b2", "b3", "e0", "e1")
    }
    make_gold(query, passages["b0"], passages["b1"])
    make_gold(plain, passages["e0"])
    make_gold(plain, passages["e1"], label=0)
    label(query, passages["b1"], 0, Source.EXPERT, actor=people[0], provenance={"reason": "noise"})
    label(query, passages["b2"], 1, Source.DEBATE, round=2, provenance={"debate": 5})
    aspects = [make_aspect(query, 1, weight=3), make_aspect(query, 2, weight=1)]
    make_support(aspects[0], passages["b0"])
    make_support(aspects[1], passages["b2"])
    return Garden(benchmark, query, plain, passages)


def label(query: Query, passage: Passage, value: int, source: str, **fields) -> Judgment:
    """A label given since the import."""
    fields.setdefault("provenance", {})
    return record_judgment(query=query, passage=passage, label=value, source=source, **fields)


def make_aspect(query: Query, k: int, **fields) -> Aspect:
    """A present aspect with words."""
    fields.setdefault("content", f"Point {k} of the answer.")
    return Aspect.objects.create(query=query, k=k, position=k, **fields)


def make_support(aspect: Aspect, passage: Passage) -> GoldPassage:
    """A passage that supports the aspect."""
    return GoldPassage.objects.create(aspect=aspect, query=aspect.query, passage=passage)


def make_case(query: Query, passage: Passage, status: str = "open") -> EscalationCase:
    """A disputed pair."""
    origin = f"debate:{query.pk}-{passage.pk}"
    return EscalationCase.objects.create(origin=origin, query=query, passage=passage, status=status)


def release_into(
    benchmark: Benchmark, folder: Path, version: str = "0.1.0", **options: Any
) -> Release:
    """A release built in this process, as the command does."""
    release = start_here(benchmark=benchmark, version=version, folder=folder, **options)
    build(release, folder=folder)
    release.refresh_from_db()
    return release


def scores_of(
    benchmark: Benchmark, metrics: str, view: str = "refined", profile: Profile = STRICT
) -> dict[str, dict[str, Scores]]:
    """By run and split the measures of every run, each computed alone."""
    shown = view_of(benchmark)
    found: dict[str, dict[str, Scores]] = {}
    for split, domain in shown.splits.items():
        records = read_queries(shown, domain, with_answers=False)
        gold = gold_in(records, GoldView(view))
        for run in benchmark.retrieval_runs.order_by("name"):
            if lists := lists_of(run, domain):
                scores = score(lists, gold, metrics, profile)
                found.setdefault(run.name, {})[split] = scores
    return found


@pytest.fixture(autouse=True)
def _final_releases_are_imported_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Our own importer takes every final release, and releases the same queries and texts of it."""
    publish = building.publish

    def published(built: Path, folder: Path) -> None:
        publish(built, folder)
        if Release.objects.filter(folder=str(folder), state="final").exists():
            in_a_world(lambda: same_when_imported(folder, tmp_path / f"again-{folder.name}"))

    monkeypatch.setattr(building, "publish", published)


def same_when_imported(folder: Path, again: Path) -> None:
    """Load a release's folder into a benchmark of its own; its release has the same rows."""
    benchmark = create_benchmark(name="Again", slug="imported-again", actor=None)
    run = claimed(benchmark, folder)
    run_import(run)
    assert (run.problems, run.error) == ([], "")
    release = start_here(benchmark=benchmark, version="0.1.0", folder=again)
    build(release, folder=again)
    for part in ("examples", "aspects", "documents", "machine_gold"):
        rows, new = (
            {path.name: read_table(path).to_pylist() for path in (place / part).rglob("*.parquet")}
            for place in (folder, again)
        )
        assert new == rows
    licences = [place / "licences.jsonl" for place in (folder, again)]
    before, after = (file.read_bytes() if file.exists() else b"" for file in licences)
    assert after == before
    for path in (folder / "beir").rglob("qrels/*.tsv"):
        assert (again / path.relative_to(folder)).read_text() == path.read_text()


@pytest.fixture
def place(settings, tmp_path) -> Place:
    return make_place(settings, tmp_path)


@pytest.fixture
def benchmark() -> Any:
    return make_benchmark()
