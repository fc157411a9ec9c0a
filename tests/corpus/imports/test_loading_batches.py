"""Loads as columns, against the same rows one by one, and what they must not lose by being fast."""

import pytest

from corpus.importers import reading
from corpus.imports.context import MAX_ROWS, Pace
from corpus.models import CorpusVersion, Passage, VersionState
from tests.corpus.import_files import bright_pro, example, imported

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch) -> None:
    """Three records a block, two blocks a transaction."""
    monkeypatch.setattr(reading, "BLOCK_ROWS", 3)
    monkeypatch.setattr(Pace, "is_full", lambda self, rows, characters: rows >= 6)


def folder(root, documents, **parts):
    return bright_pro(root, **({"examples": [], "aspects": [], "documents": documents} | parts))


def texts(count: int, **changes: str) -> list[dict]:
    rows = [{"id": f"p{n}", "content": f"text {n}"} for n in range(count)]
    return [row | {"content": changes.get(row["id"], row["content"])} for row in rows]


def problems(run) -> list[str]:
    return [f"{p['file']}:{p['line']} {p['message']}" for p in run.problems]


def stored() -> dict[str, str | None]:
    return dict(Passage.objects.values_list("pid", "text"))


def test_every_row_is_stored_and_counted_once(benchmark, tmp_path) -> None:
    rows = texts(20)
    run = imported(benchmark, folder(tmp_path, rows))
    assert (run.status, run.summary["passages"]["added"]) == ("done", 20)
    assert stored() == {row["id"]: row["content"] for row in rows}


def test_titles_and_addresses_are_stored_where_given(benchmark, tmp_path) -> None:
    rows = texts(4)
    rows[1] |= {"title": "One", "source_url": "https://one.example/"}
    imported(benchmark, folder(tmp_path, rows))
    found = set(Passage.objects.values_list("pid", "title", "source_url"))
    assert ("p1", "One", "https://one.example/") in found
    assert ("p0", "", "") in found


@pytest.mark.parametrize("second", [2, 5, 14])
def test_an_id_given_twice_is_found_wherever_it_stands(benchmark, tmp_path, second) -> None:
    rows = texts(15)
    rows[second] = {"id": "p1", "content": "text 1"}
    run = imported(benchmark, folder(tmp_path / "a", rows))
    odd = {each["what"]: each["count"] for each in run.summary["oddities"]}
    assert odd == {"texts repeated under their id": 1}
    assert run.summary["passages"]["added"] == len(stored()) == 14

    rows = [{"id": f"q{each['id']}", "content": each["content"]} for each in rows]
    rows[second]["content"] = "other"
    run = imported(benchmark, folder(tmp_path / "b", rows))
    assert problems(run) == [
        f"documents/biology.jsonl:{second + 1} qp1 stands earlier in this load with another text, "
        "title, address or date. Texts are never edited: give it a new id."
    ]
    assert len(stored()) == 14


@pytest.mark.parametrize(("first", "second"), [(0, 5), (3, 9), (3, 5), (8, 4)])
def test_a_clash_beside_a_block_that_was_taken_apart_names_the_later_row(
    benchmark, tmp_path, first, second
) -> None:
    rows = texts(12)
    rows[4] = {"id": 4, "content": "a number for an id"}
    rows[second] = {"id": f"p{first}", "content": "other"}
    (found,) = problems(imported(benchmark, folder(tmp_path, rows)))
    later = max(first, second) + 1
    assert found.startswith(f"documents/biology.jsonl:{later} p{first} stands earlier in this load")


def test_a_longer_file_adds_what_is_new_and_counts_the_rest(benchmark, tmp_path) -> None:
    imported(benchmark, folder(tmp_path / "a", texts(8)))
    run = imported(benchmark, folder(tmp_path / "b", texts(20)))
    assert run.summary["passages"] == {"added": 12, "present": 8, "filled": 0}
    assert Passage.objects.count() == 20
    changed = folder(tmp_path / "c", texts(25, p7="changed"))
    (found,) = problems(imported(benchmark, changed))
    assert found.startswith("documents/biology.jsonl:8 p7 stands here already")
    assert Passage.objects.count() == 20


def test_gold_without_text_is_filled_in_by_a_batch(benchmark, tmp_path) -> None:
    gold = [example(gold_ids=["p4", "late"])]
    imported(benchmark, folder(tmp_path / "a", texts(2), examples=gold))
    run = imported(benchmark, folder(tmp_path / "b", texts(10)))
    assert run.summary["passages"] == {"added": 7, "present": 2, "filled": 1}
    assert stored() == {f"p{n}": f"text {n}" for n in range(10)} | {"late": None}


def test_a_problem_anywhere_keeps_everything_out(benchmark, tmp_path) -> None:
    rows = texts(30)
    rows[25] = {"id": "p25"}
    run = imported(benchmark, folder(tmp_path, rows))
    assert problems(run) == ["documents/biology.jsonl:26 This field is missing."]
    assert (run.status, Passage.objects.count(), CorpusVersion.objects.count()) == ("failed", 0, 0)


def test_a_load_extends_what_was_loaded_and_not_what_was_made_of_it(benchmark, tmp_path) -> None:
    original = imported(benchmark, folder(tmp_path / "a", texts(4))).version
    cleaned = CorpusVersion.objects.create(
        benchmark=benchmark,
        parent=original,
        name="cleaned",
        recipe={"kind": "cleaned"},
        state=VersionState.READY,
    )
    CorpusVersion.objects.filter(pk=cleaned.pk).update(layers=[cleaned.pk])
    again = imported(benchmark, folder(tmp_path / "a", texts(4)))
    assert (again.version, again.summary["passages"]["present"]) == (None, 4)
    assert CorpusVersion.objects.current(benchmark) == original  # labels hang on its passages
    more = imported(benchmark, folder(tmp_path / "b", texts(6))).version
    assert (more.parent, more.layers) == (original, [original.pk, more.pk])


def test_transactions_grow_while_they_are_short_and_shrink_when_people_would_wait() -> None:
    pace = Pace()
    pace._people_wait = True
    pace.rows = 2000
    for seconds, rows in [(0.05, 4000), (0.05, 8000), (0.05, MAX_ROWS), (0.2, MAX_ROWS)]:
        pace._learn(pace.rows, seconds)
        assert pace.rows == rows
    for rows in (5000, 2500, 1250, 625, 500, 500):
        pace._learn(pace.rows, 0.6)
        assert pace.rows == rows
    pace._learn(3, 0.01)  # a short one of few rows says nothing
    assert pace.rows == 500
