import pytest

from corpus.imports.context import CHUNK, KINDS
from corpus.models import (
    CorpusVersion,
    Document,
    Domain,
    GoldVersion,
    Judgment,
    Passage,
    Pool,
    PoolEntry,
    Query,
)
from corpus.texts.finding import find_passages
from kit.models import Event
from tests.corpus.import_files import (
    PAGE,
    PASSAGES,
    bright_pro,
    bright_row,
    example,
    imported,
    question,
    write_lines,
)
from tests.factories import index_texts

pytestmark = pytest.mark.django_db
COUNTED = (Query, Passage, Document, Judgment, GoldVersion, CorpusVersion, Pool, PoolEntry, Domain)


def sizes() -> list[int]:
    return [model.objects.count() for model in COUNTED]


def problems(run) -> list[str]:
    return [f"{p['file']}:{p['line']} {p['field']}: {p['message']}" for p in run.problems]


def current_gold() -> set[tuple[str, str, int]]:
    rows = Judgment.objects.original()
    return set(rows.values_list("query__qid", "passage__pid", "label"))


def test_what_came_in_is_visible_and_counted(benchmark, tmp_path) -> None:
    folder = bright_pro(
        tmp_path,
        pages=[{"id": "light/Moth.txt", "content": PAGE, "source_url": "https://moth.example/"}],
        pairs=[{"query_id": 7, "doc_id": "light/Moth_1.txt"}],
    )
    run = imported(benchmark, folder)
    assert (run.status, run.error, run.problems, run.percent) == ("done", "", [], 100)
    assert {kind: run.summary[kind]["added"] for kind in KINDS} == {
        "queries": 1,
        "passages": 3,
        "documents": 1,
        "judgments": 2,
        "aspects": 0,
        "pairs": 1,
        "rankings": 0,
        "wordings": 0,
        "licences": 0,
    }
    version = CorpusVersion.objects.current(benchmark)
    assert (version, version.layers, version.state) == (run.version, [version.pk], "ready")
    texts = dict(Passage.objects.in_version(version).values_list("pid", "text"))
    assert texts == PASSAGES
    assert Domain.objects.ready().get().name == "biology"
    assert current_gold() == {("7", "light/Moth_0.txt", 1), ("7", "light/Lamp_0.txt", 1)}
    pool = Pool.objects.get()
    assert (pool.name, pool.entries.get().passage.pid) == (
        f"{tmp_path.name} pairs",
        "light/Moth_1.txt",
    )


def test_the_import_is_recorded(benchmark, tmp_path) -> None:
    run = imported(benchmark, bright_pro(tmp_path))
    event = Event.objects.get(verb="import")
    assert (event.target_id, event.scope) == (str(run.pk), "light")
    assert event.data["queries"] == {"added": 1, "present": 0, "filled": 0}


def test_passages_know_where_they_stand_in_their_page(benchmark, tmp_path) -> None:
    repeated = {"id": "light/Lamp.txt", "content": PASSAGES["light/Lamp_0.txt"] * 2}
    pages = [{"id": "light/Moth.txt", "content": "\U0001f98b " + PAGE}, repeated]
    imported(benchmark, bright_pro(tmp_path, pages=pages))
    moth = Passage.objects.get(pid="light/Moth_1.txt")
    assert moth.document.doc_id == "light/Moth.txt"
    assert moth.document.text[moth.start : moth.end] == moth.text
    lamp = Passage.objects.get(pid="light/Lamp_0.txt")
    assert (lamp.document.doc_id, lamp.start) == ("light/Lamp.txt", None)  # twice: never guessed


def test_the_same_files_again_change_nothing(benchmark, tmp_path) -> None:
    folder = bright_pro(
        tmp_path,
        examples=[example(gold_ids=["light/Moth_0.txt", "never/loaded_0.txt"])],
        aspects=[],
        pages=[{"id": "light/Moth.txt", "content": PAGE}],
        pairs=[{"query_id": 7, "doc_id": "light/Moth_1.txt"}],
    )
    imported(benchmark, folder)
    before = sizes()
    run = imported(benchmark, folder)
    assert (run.status, run.version, sizes()) == ("done", None, before)
    present = {kind: run.summary[kind]["present"] for kind in ("queries", "passages", "documents")}
    assert present == {"queries": 1, "passages": 4, "documents": 1}
    assert run.summary["judgments"] == {"added": 0, "present": 2}
    assert run.summary["pairs"] == {"added": 0, "present": 1}
    assert not any(run.summary[kind]["added"] for kind in ("queries", "passages", "documents"))


def test_more_texts_extend_the_version_without_copying(benchmark, tmp_path) -> None:
    first = imported(benchmark, bright_pro(tmp_path / "a")).version
    more = bright_pro(
        tmp_path / "b", examples=[], aspects=[], documents=[{"id": "n", "content": ""}]
    )
    second = imported(benchmark, more).version
    assert (second.parent, second.layers) == (first, [first.pk, second.pk])
    assert (first.name, second.name) == ("original", "original 2")
    assert Passage.objects.in_version(first).count() == 3
    assert Passage.objects.in_version(second).count() == 4
    assert Passage.objects.filter(version=second).get().text == ""  # loaded, and empty


def test_gold_without_text_is_kept_as_ids_and_filled_in_later(benchmark, tmp_path) -> None:
    row = bright_row(id="7", gold_ids=["light/Moth_0.txt", "gone_0.txt"])
    run = imported(benchmark, write_lines(tmp_path / "biology.jsonl", [row]), "bright")
    stub = Passage.objects.in_version(run.version).get(pid="light/Moth_0.txt")
    assert (stub.text, run.summary["passages"]["added"]) == (None, 2)
    odd = {each["what"]: each for each in run.summary["oddities"]}["gold passages without text"]
    assert (odd["count"], odd["examples"][0]) == (2, "biology: light/Moth_0.txt")

    folder = bright_pro(tmp_path / "b", examples=[], aspects=[])
    later = imported(benchmark, folder)
    stub.refresh_from_db()
    assert stub.text == PASSAGES["light/Moth_0.txt"]
    assert later.summary["passages"] == {"added": 2, "present": 0, "filled": 1}
    assert Passage.objects.in_version(later.version).filter(pid=stub.pid).count() == 1


def test_text_that_is_filled_in_after_indexing_is_found_by_its_words(benchmark, tmp_path) -> None:
    row = bright_row(id="7", gold_ids=["light/Moth_0.txt"])
    imported(benchmark, write_lines(tmp_path / "biology.jsonl", [row]), "bright")
    index_texts(benchmark)
    word = PASSAGES["light/Moth_0.txt"].split()[0]
    later = imported(benchmark, bright_pro(tmp_path / "b", examples=[], aspects=[]))
    # The newer version is not indexed yet: this is the older one's passage.
    found = find_passages(word, version=later.version)
    assert [each.pid for each in found] == ["light/Moth_0.txt"]


def test_another_gold_is_another_version_and_both_stay(benchmark, tmp_path) -> None:
    path = write_lines(tmp_path / "biology.jsonl", [bright_row()])
    imported(benchmark, path, "bright")
    (tmp_path / "gold").mkdir()
    qrels = tmp_path / "gold" / "biology.txt"
    qrels.write_text("0 0 a/b_0.txt 1\n0 0 late_0.txt 2\n")
    run = imported(benchmark, path, "bright", qrels)
    assert run.summary["gold"] == [
        {"domain": "biology", "name": "biology.txt", "state": "new", "judgments": 2}
    ]
    assert run.summary["judgments"] == {"added": 1, "present": 1}
    assert current_gold() == {("0", "a/b_0.txt", 1), ("0", "late_0.txt", 2)}
    old = GoldVersion.objects.get(name="as loaded")
    assert set(old.judgments.values_list("passage__pid", flat=True)) == {"a/b_0.txt", "a/b_1.txt"}

    before = sizes()
    run = imported(benchmark, path, "bright")
    assert run.summary["gold"][0]["state"] == "current again"
    assert GoldVersion.objects.get(is_current=True) == old
    assert sizes() == before
    assert Event.objects.filter(verb="gold version").count() == 3


def test_a_load_of_other_queries_keeps_the_gold_of_the_domain(benchmark, tmp_path) -> None:
    for n, qid in enumerate(("q1", "q2")):
        path = write_lines(tmp_path / f"{n}.jsonl", [question(qid)])
        imported(benchmark, path, "hotpotqa")
    assert {qid for qid, *_ in current_gold()} == {"q1", "q2"}
    before = sizes()
    run = imported(benchmark, tmp_path / "0.jsonl", "hotpotqa")
    assert run.summary["gold"][0]["state"] == "unchanged"
    assert sizes() == before


def test_the_same_ids_in_two_domains_are_two_things(benchmark, tmp_path) -> None:
    for task in ("theoremqa_questions", "theoremqa_theorems"):
        bright_pro(tmp_path, task=task, aspects=[])
    imported(benchmark, tmp_path)
    assert Query.objects.filter(qid="7").count() == 2
    assert Passage.objects.filter(pid="light/Moth_0.txt").count() == 2


def test_ids_and_texts_are_stored_as_they_were_given(benchmark, tmp_path) -> None:
    odd = {
        " =a%27/[1]_0.txt ": " \u2028lines\r\n\ttabs \U0001f98b ",
        "\u00e9\u0301/..": "\ufeffbom \\N \\. \\x",
    }
    folder = bright_pro(
        tmp_path,
        examples=[example(id="007 ", query="\n title\r\n", gold_ids=list(odd))],
        aspects=[],
        documents=[{"id": pid, "content": text} for pid, text in odd.items()],
    )
    assert imported(benchmark, folder).status == "done"
    assert dict(Passage.objects.values_list("pid", "text")) == odd
    assert Query.objects.values_list("qid", "text").get() == ("007 ", "\n title\r\n")


@pytest.mark.parametrize(
    ("parts", "fault"),
    [
        (
            {"documents": [{"id": "light/Moth_0.txt", "content": "Another text."}]},
            "documents/biology.jsonl:1 content: light/Moth_0.txt stands here already with another",
        ),
        (
            {"examples": [example(query="Another question?")]},
            "examples/biology.jsonl:1 query: Query 7 is here already with another text.",
        ),
        (
            {"examples": [example(answers=["new"])]},
            "examples/biology.jsonl:1 answers: Query 7 is here already with another answers.",
        ),
        (
            {"pages": [{"id": "light/Moth.txt", "content": "Another page."}]},
            "pages/biology.jsonl:1 content: light/Moth.txt stands here already with another",
        ),
    ],
)
def test_the_same_id_with_other_content_is_a_problem(benchmark, tmp_path, parts, fault) -> None:
    pages = [{"id": "light/Moth.txt", "content": PAGE}]
    imported(benchmark, bright_pro(tmp_path / "a", pages=pages))
    before = sizes()
    run = imported(benchmark, bright_pro(tmp_path / "b", aspects=[], **parts))
    (found,) = problems(run)
    assert found.startswith(fault)
    assert (run.status, sizes()) == ("failed", before)
    assert run.error == ("1 problem found, so nothing was loaded. Fix the file and load it again.")


def test_content_that_a_file_leaves_out_clashes_with_nothing(benchmark, tmp_path) -> None:
    full = example(answers=["yes"], reasoning="because")
    imported(benchmark, bright_pro(tmp_path / "a", examples=[full]))
    assert imported(benchmark, bright_pro(tmp_path / "b")).status == "done"
    assert Query.objects.get().answers == ["yes"]


def test_rows_repeated_in_a_load_are_odd_and_clashing_ones_a_problem(benchmark, tmp_path) -> None:
    page = {"id": "a", "content": "x"}
    folder = bright_pro(tmp_path, examples=[example(), example()], documents=[page, page])
    odd = {o["what"]: o["count"] for o in imported(benchmark, folder).summary["oddities"]}
    assert (odd["queries repeated"], odd["texts repeated under their id"]) == (1, 1)

    clash = [{"id": "b", "content": "x"}, {"id": "b", "content": "y"}]
    run = imported(benchmark, bright_pro(tmp_path, documents=clash))
    assert problems(run)[0].startswith(
        "documents/biology.jsonl:2 content: b stands earlier in this load"
    )


def test_clashes_are_found_however_far_apart_they_stand(benchmark, tmp_path) -> None:
    rows = [{"id": f"p{n}", "content": str(n)} for n in range(CHUNK + 5)]
    rows += [{"id": "p1", "content": "1"}, {"id": "p2", "content": "other"}]
    run = imported(benchmark, bright_pro(tmp_path, aspects=[], documents=rows))
    (found,) = problems(run)
    assert found.startswith(f"documents/biology.jsonl:{CHUNK + 7} content: p2 stands earlier")
    assert Passage.objects.count() == 0


def test_pairs_and_judgments_of_nothing_known_are_problems(benchmark, tmp_path) -> None:
    pairs = [{"query_id": 9, "doc_id": "light/Moth_0.txt"}, {"query_id": 7, "doc_id": "no"}]
    assert problems(imported(benchmark, bright_pro(tmp_path / "a", pairs=pairs))) == [
        "pairs/biology.jsonl:1 : There is no query 9 in biology.",
        "pairs/biology.jsonl:2 : There is no passage no in biology.",
    ]
    path = write_lines(tmp_path / "biology.jsonl", [bright_row()])
    (tmp_path / "gold").mkdir()
    (tmp_path / "gold" / "biology.txt").write_text("0 0 x 1\n12 0 x 1\n0 0 x 0\n")
    run = imported(benchmark, path, "bright", tmp_path / "gold")
    assert problems(run) == [
        "gold/biology.txt:3 label: x has the label 1 for this query earlier in this load.",
    ]


def test_a_hundred_problems_are_collected_and_no_more(benchmark, tmp_path) -> None:
    rows = [bright_row(id=str(n), query=None) for n in range(150)]
    run = imported(benchmark, write_lines(tmp_path / "biology.jsonl", rows), "bright")
    assert len(run.problems) == 100
    assert run.problems[99] == {
        "file": "biology.jsonl",
        "line": 100,
        "field": "query",
        "message": "This field is missing.",
    }
    assert sizes() == [0] * len(COUNTED)


def test_pools_of_one_name_are_told_apart(benchmark, tmp_path) -> None:
    for n, qid in enumerate(("q1", "q2")):
        path = write_lines(tmp_path / str(n) / "dev.jsonl", [question(qid)])
        imported(benchmark, path, "hotpotqa")
    assert set(Pool.objects.values_list("name", flat=True)) == {
        "dev.jsonl pairs",
        "dev.jsonl pairs 2",
    }


@pytest.mark.slow
def test_real_bright_loads_whole(benchmark, shared) -> None:
    folder = shared / "bright"
    assert imported(benchmark, folder, "bright").status == "done"
    counts = {d.name: d.queries.count() for d in Domain.objects.ready()}
    assert counts == {"biology": 103, "psychology": 101, "robotics": 101, "pony": 112}
    run = imported(benchmark, folder, "bright", folder / "qrels-fixed")
    golds = {each["domain"]: (each["state"], each["judgments"]) for each in run.summary["gold"]}
    assert golds["biology"] == ("new", 393)
    assert golds["pony"] == ("unchanged", 2219)
    biology = GoldVersion.objects.filter(domain__name="biology")
    assert sorted(gold.judgments.count() for gold in biology) == [372, 393]


def test_real_hotpotqa_loads_whole(benchmark, shared) -> None:
    run = imported(benchmark, shared / "hotpotqa" / "dev_250.jsonl.gz", "hotpotqa")
    assert run.status == "done"
    assert (Query.objects.count(), Passage.objects.with_text().count()) == (250, 2500)
    assert Judgment.objects.original().filter(label=1).count() == 500
    assert Pool.objects.get().entries.count() == 2500


def test_the_number_of_queries_does_not_grow_with_the_rows(
    benchmark, tmp_path, django_assert_max_num_queries
) -> None:
    path = write_lines(tmp_path / "dev.jsonl", [question(f"q{n}") for n in range(400)])
    with django_assert_max_num_queries(100):
        imported(benchmark, path, "hotpotqa")
