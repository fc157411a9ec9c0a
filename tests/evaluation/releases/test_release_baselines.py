"""Labels of LARA and of the graded judge in a release: derived again, and caught when touched."""

import json
from pathlib import Path
from typing import Any

import pytest

from annotate.models import EscalationCase
from annotate.voting.services import cast_vote
from corpus.models import Benchmark
from debate.adoption.services import adopt_run
from debate.models import DebateRun
from debate.runs.configuration import LaraOptions, RunConfig
from debate.tasks import run_debates
from evaluation.exporters.files import SUMS, write_sums
from evaluation.verification.folder import verify
from evaluation.verification.rows import Report
from llm import endpoints
from tests.corpus.cleaning.rooms import clean
from tests.debate.runs.making import hold, pool_of
from tests.evaluation.conftest import release_into
from tests.factories import make_gold, make_member

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _write_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llm.pump.GROUP_SECONDS", 0.01)


@pytest.fixture
def endpoint() -> Any:
    with endpoints.practice_if_unconfigured() as found:
        yield found


def simulated(benchmark: Benchmark, endpoint: Any, **options: Any) -> DebateRun:
    """Over p0 to p10, of which the old gold knows all: relevant from seven tenths on."""
    pool = pool_of(benchmark, *range(11))
    for entry in pool.entries.select_related("passage"):
        make_gold(entry.query, entry.passage, label=int(int(entry.passage.pid[1:]) >= 7))
    config = RunConfig(kind="lara", lara=LaraOptions(**{"budget": 0.25} | options))
    return hold(pool, endpoint, config)


def live(benchmark: Benchmark, endpoint: Any, **options: Any) -> DebateRun:
    options = {"budget": 0.4, "mode": "live", "batch": 2} | options
    config = RunConfig(kind="lara", lara=LaraOptions(**options))
    run = hold(pool_of(benchmark, *range(11)), endpoint, config)
    voters = [make_member(benchmark, f"voter-{n}", "annotator") for n in range(3)]
    while run.status != "done":
        for case in EscalationCase.objects.open():
            for voter in voters:
                cast_vote(case=case, voter=voter, label=int(int(case.passage.pid[1:]) >= 7))
        run_debates(run.pk)
        run.refresh_from_db()
    return run


def released(run: DebateRun, folder: Path) -> Report:
    adopt_run(run=run, actor=None)
    release_into(run.benchmark, folder)
    return verify(folder)


IN_GROUPS = {"groups": 2, "seed": 3}


@pytest.mark.few
@pytest.mark.parametrize(
    ("variant", "options"),
    [
        ("lara_reference", {"smooth": True}),
        ("lara_logistic", IN_GROUPS),
        *(
            pytest.param(*each, marks=pytest.mark.slow)
            for each in (
                ("lara_reference", {}),  # as in the tests of what was touched
                ("lara_reference", IN_GROUPS),
                ("lara_logistic", {}),
                ("lara_logistic", {"smooth": True}),
            )
        ),
    ],
)
def test_a_simulated_course_is_followed_again(
    benchmark, endpoint, tmp_path, variant, options
) -> None:
    run = simulated(benchmark, endpoint, variant=variant, **options)
    report = released(run, tmp_path / "r")
    assert report.differences == []
    assert (report.derived, report.unverified) == (8, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "variant", ["lara_reference", pytest.param("lara_logistic", marks=pytest.mark.slow)]
)
def test_a_course_with_people_is_followed_again(benchmark, endpoint, tmp_path, variant) -> None:
    report = released(live(benchmark, endpoint, variant=variant), tmp_path / "r")
    assert report.differences == []
    # Four pairs by three votes each, the others by the calibrated model.
    assert (report.derived, report.unverified) == (11, 0)


@pytest.mark.slow
def test_a_carried_label_of_a_course_is_followed_again(benchmark, endpoint, tmp_path) -> None:
    run = simulated(benchmark, endpoint)
    adopt_run(run=run, actor=None)
    once = clean(benchmark, preset="diver_rules").version
    twice = clean(benchmark, preset="diver_rules", source=once, name="twice").version
    folder = tmp_path / "r"
    release_into(benchmark, folder, corpus=twice)
    report = verify(folder)
    assert report.differences == []
    assert (report.derived, report.unverified) == (8, 0)

    path, course = course_of(folder)
    given = course["columns"].index("given")
    asked = [row for row in course["pairs"] if row[given] is not None]
    asked[0][given] = None
    found = [each for each in found_after(folder, path, [course]) if "carried/" in each]
    assert len(found) == 8
    assert all("has no label" in each for each in found)


def test_grades_are_read_again(benchmark, endpoint, tmp_path) -> None:
    config = RunConfig(kind="graded", samples=3)
    run = hold(pool_of(benchmark, 1, 3, 6, 10), endpoint, config)
    report = released(run, tmp_path / "r")
    assert report.differences == []
    assert (report.derived, report.unverified) == (4, 0)


def course_of(folder: Path) -> tuple[Path, dict[str, Any]]:
    [path] = (folder / "evidence/courses").iterdir()
    return path, json.loads(path.read_bytes())


def sum_anew(folder: Path) -> None:
    (folder / SUMS).unlink()
    write_sums(folder)


def found_after(folder: Path, path: Path, rows: list[Any]) -> list[str]:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    sum_anew(folder)
    return [f"{each.file} {each.passage}: {each.why}" for each in verify(folder).differences]


@pytest.mark.slow
def test_a_course_that_was_touched_is_named(benchmark, endpoint, tmp_path) -> None:
    folder = tmp_path / "r"
    assert not released(simulated(benchmark, endpoint), folder).differences
    path, course = course_of(folder)
    score, pick, given = (course["columns"].index(name) for name in ("score", "pick", "given"))
    places = {row[pick]: n for n, row in enumerate(course["pairs"]) if row[pick]}
    free = next(n for n, row in enumerate(course["pairs"]) if not row[pick])

    swapped = json.loads(json.dumps(course))
    swapped["pairs"][places[1]][pick], swapped["pairs"][places[2]][pick] = 2, 1
    found = found_after(folder, path, [swapped])
    assert len(found) == 8
    assert all("does not follow from the scores" in each for each in found)

    lost = json.loads(json.dumps(course))
    lost["pairs"][places[1]][given] = None
    assert all("has no label" in each for each in found_after(folder, path, [lost]))

    moved = json.loads(json.dumps(course))
    moved["pairs"][free][score] = 0.25
    found = found_after(folder, path, [moved])
    assert any(moved["pairs"][free][2] in each and "its answer scores" in each for each in found)

    path.unlink()
    sum_anew(folder)
    assert all("not in the release" in each.why for each in verify(folder).differences)


def test_a_label_of_lara_that_was_turned_is_named(benchmark, endpoint, tmp_path) -> None:
    folder = tmp_path / "r"
    assert not released(simulated(benchmark, endpoint), folder).differences
    [path] = (folder / "evidence").glob("*.jsonl")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[0]["label"] = 1 - rows[0]["label"]
    rows[1]["turns"][0]["score"] = 0.123
    found = found_after(folder, path, rows)
    assert any(rows[0]["passage_id"] in each and "its evidence" in each for each in found)
    assert any(rows[1]["passage_id"] in each and "gives probability" in each for each in found)


def test_a_grade_that_was_touched_is_named(benchmark, endpoint, tmp_path) -> None:
    folder = tmp_path / "r"
    run = hold(pool_of(benchmark, 1, 10), endpoint, RunConfig(kind="graded"))
    assert not released(run, folder).differences
    [path] = (folder / "evidence").glob("*.jsonl")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[0]["turns"][0]["score"] = 3.0
    rows[1]["threshold"] = 4
    found = found_after(folder, path, rows)
    assert any("reads grade" in each for each in found)
    assert any(rows[1]["passage_id"] in each and "its evidence 0" in each for each in found)
