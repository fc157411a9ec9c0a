"""Imports beside what experts decided, and supports that a newer gold no longer lists."""

import shutil
from pathlib import Path

import pytest

from annotate.models import Aspect, GoldPassage
from annotate.workspace.gold import assign_passage, discard_passage, undo_verdict
from annotate.workspace.loading import DECIDED, UNLISTED, run_import
from corpus.benchmarks.services import create_benchmark
from corpus.models import Benchmark, ImportRun, Judgment, Passage, Query
from tests.annotate.world import signed_in
from tests.corpus.import_files import aspect, bright_pro, claimed, example, write_lines
from tests.factories import make_member
from tests.markup import one_line

pytestmark = pytest.mark.django_db
MOTH, LAMP = "light/Moth_0.txt", "light/Lamp_0.txt"


@pytest.fixture
def benchmark():
    return create_benchmark(name="Light", slug="light", actor=None)


@pytest.fixture
def expert(benchmark):
    return make_member(benchmark, "annotator-1", "annotator")


def load(benchmark: Benchmark, path: Path, **options) -> ImportRun:
    run = claimed(benchmark, path, **options)
    run_import(run)
    assert (run.status, run.problems) == ("done", [])
    return run


def odd(run: ImportRun, what: str) -> tuple[int, list[str]]:
    found = {each["what"]: (each["count"], each["examples"]) for each in run.summary["oddities"]}
    return found.get(what, (0, []))


def pair(pid: str = MOTH) -> dict[str, object]:
    return {"query": Query.objects.get(), "passage": Passage.objects.get(pid=pid)}


def standing(pid: str = MOTH) -> list[int]:
    rows = GoldPassage.objects.standing().filter(passage__pid=pid)
    return list(rows.values_list("aspect__k", flat=True))


def newer_gold(folder: Path) -> Path:
    """The same query with a gold that lists one passage only."""
    row = {"id": "7", "query": example()["query"], "gold_ids": [MOTH]}
    return write_lines(folder / "biology.jsonl", [row])


def test_discarded_passage_is_not_assigned_by_aspects_that_come_later(
    benchmark, expert, tmp_path
) -> None:
    folder = bright_pro(tmp_path / "full")
    bare = Path(shutil.copytree(folder, tmp_path / "bare"))
    shutil.rmtree(bare / "aspects")
    load(benchmark, bare)
    discard_passage(**pair(), reason="noise", actor=expert)
    run = load(benchmark, folder)
    assert (standing(MOTH), standing(LAMP)) == ([], [2])
    assert odd(run, DECIDED) == (1, [f"biology-7: {MOTH}"])


def test_verdict_that_was_taken_back_still_keeps_the_import_off(
    benchmark, expert, tmp_path
) -> None:
    load(benchmark, bright_pro(tmp_path))
    undo_verdict(**pair(), actor=expert)  # of the assignment that the import brought
    run = load(benchmark, tmp_path)
    assert standing() == []
    assert odd(run, DECIDED)[0] == 1


def test_passage_that_an_expert_moved_stays_where_it_is(benchmark, expert, tmp_path) -> None:
    load(benchmark, bright_pro(tmp_path))
    assign_passage(**pair(), aspect=Aspect.objects.get(k=2), actor=expert)
    run = load(benchmark, tmp_path)
    assert standing() == [2]
    assert odd(run, DECIDED)[0] == 1


def test_untouched_import_is_no_oddity(benchmark, tmp_path) -> None:
    load(benchmark, bright_pro(tmp_path))
    run = load(benchmark, tmp_path)
    assert odd(run, DECIDED) == odd(run, UNLISTED) == (0, [])


def test_imported_assignment_that_was_restored_is_still_the_imports(
    benchmark, expert, tmp_path
) -> None:
    load(benchmark, bright_pro(tmp_path))
    discard_passage(**pair(), reason="noise", actor=expert)
    undo_verdict(**pair(), actor=expert)
    run = load(benchmark, tmp_path)
    assert standing() == [1]
    assert odd(run, DECIDED) == (0, [])


def test_confirming_an_imported_assignment_is_an_experts_label(benchmark, expert, tmp_path) -> None:
    load(benchmark, bright_pro(tmp_path))
    first = assign_passage(**pair(), aspect=Aspect.objects.get(k=1), actor=expert)
    again = assign_passage(**pair(), aspect=Aspect.objects.get(k=1), actor=expert)
    assert first == again
    label = Judgment.objects.standing().get()
    assert (label.source, label.label, first.judgment) == ("expert", 1, label)


def test_supports_that_a_newer_gold_leaves_out_are_listed(benchmark, tmp_path) -> None:
    load(benchmark, bright_pro(tmp_path / "a"))
    run = load(benchmark, newer_gold(tmp_path / "b"), format="bright")
    assert odd(run, UNLISTED) == (1, [f"biology-7: {LAMP}"])
    assert [gold.passage.pid for gold in GoldPassage.objects.unlisted()] == [LAMP]
    again = load(benchmark, newer_gold(tmp_path / "b"), format="bright")
    assert odd(again, UNLISTED) == (0, [])


def test_support_that_an_expert_confirmed_needs_no_gold(benchmark, expert, tmp_path) -> None:
    load(benchmark, bright_pro(tmp_path / "a"))
    assign_passage(**pair(LAMP), aspect=Aspect.objects.get(k=2), actor=expert)
    run = load(benchmark, newer_gold(tmp_path / "b"), format="bright")
    assert odd(run, UNLISTED) == (0, [])


def test_workspace_asks_for_a_verdict_on_an_unlisted_support(benchmark, expert, tmp_path) -> None:
    load(benchmark, bright_pro(tmp_path / "a"))
    load(benchmark, newer_gold(tmp_path / "b"), format="bright")
    query, lamp = Query.objects.get(), Passage.objects.get(pid=LAMP)
    workspace = f"/b/light/queries/{query.pk}/"
    page = signed_in(expert).get(workspace)
    assert page.context["board"].current.passage == lamp  # opened as the next thing to decide
    assert "a2, but not in the current gold: undecided" in one_line(page)
    assert "1 other to decide anew" in one_line(page)
    second = Aspect.objects.get(k=2)
    signed_in(expert).post(f"{workspace}passages/{lamp.pk}/assign/", {"aspect": second.pk})
    page = one_line(signed_in(expert).get(workspace))
    assert "Every original is decided and every aspect has a passage." in page


def test_aspect_on_another_passage_than_before_is_still_a_problem(benchmark, tmp_path) -> None:
    load(benchmark, bright_pro(tmp_path / "a"))
    swapped = [aspect(1, supporting_docs=[LAMP]), aspect(2, supporting_docs=[MOTH])]
    run = claimed(benchmark, bright_pro(tmp_path / "b", aspects=swapped))
    run_import(run)
    assert [each["field"] for each in run.problems] == ["supporting_docs"] * 2
