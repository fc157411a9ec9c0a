"""Fields that collections bring beside their texts, and what is filled in by a later load."""

from datetime import date

import pytest

from corpus.benchmarks.services import create_benchmark
from corpus.imports import named as loading_gather
from corpus.models import Document, GoldVersion, Judgment, Passage, PassageIndexRun, Query
from tests.corpus.import_files import bright_pro, bright_row, imported, write_lines

pytestmark = pytest.mark.django_db
TOPIC = (
    "<top><num>1</num><title>moths</title>\n"
    "<desc>Why moths\n<narr>Lamps count, and fires.\n</top>\n"
)


def trec(root, *, topics: str = "", qrels: str = ""):
    root.mkdir(parents=True, exist_ok=True)
    if topics:
        (root / "topics.txt").write_text(topics)
    if qrels:
        (root / "qrels.txt").write_text(qrels)
    return root


def beir(root, *, meta: object = None, title: str = "t"):
    write_lines(root / "queries.jsonl", [{"_id": "1", "text": "q", "metadata": {"hard": True}}])
    row = {"_id": "d", "title": title, "text": "x"} | ({"year": meta} if meta else {})
    write_lines(root / "corpus.jsonl", [row])
    return root


def messages(run) -> list[str]:
    return [each["message"] for each in run.problems]


def test_description_and_narrative_are_kept(benchmark, tmp_path) -> None:
    run = imported(benchmark, trec(tmp_path / "light", topics=TOPIC), "trec")
    query = Query.objects.get()
    assert (run.problems, query.text) == ([], "moths")
    assert (query.description, query.narrative) == ("Why moths", "Lamps count, and fires.")


def test_unknown_fields_are_kept_and_compared(benchmark, tmp_path) -> None:
    imported(benchmark, beir(tmp_path / "a" / "set", meta=1999), "beir")
    assert Query.objects.get().extra == {"metadata": {"hard": True}}
    assert Passage.objects.get().extra == {"year": 1999}
    again = imported(benchmark, beir(tmp_path / "a" / "set", meta=1999), "beir")
    assert again.summary["passages"]["present"] == 1
    # What a file leaves out clashes with nothing; what it says otherwise does.
    assert imported(benchmark, beir(tmp_path / "b" / "set"), "beir").status == "done"
    other = imported(benchmark, beir(tmp_path / "c" / "set", meta=2000), "beir")
    assert "d stands here already with another text" in messages(other)[0]


def test_a_query_known_by_its_judgments_gets_its_text_later(benchmark, tmp_path) -> None:
    qrels = "1 0 d 2\n"
    imported(benchmark, trec(tmp_path / "a" / "light", qrels=qrels), "trec")
    query = Query.objects.get()
    assert (query.text, query.title) == ("", "Query 1 (text not loaded)")
    run = imported(benchmark, trec(tmp_path / "b" / "light", topics=TOPIC, qrels=qrels), "trec")
    assert run.summary["queries"] == {"added": 0, "present": 0, "filled": 1}
    query.refresh_from_db()
    assert (query.text, query.narrative) == ("moths", "Lamps count, and fires.")
    again = imported(benchmark, trec(tmp_path / "b" / "light", topics=TOPIC, qrels=qrels), "trec")
    assert again.summary["queries"] == {"added": 0, "present": 1, "filled": 0}
    # Its id alone says nothing against the text.
    ids = imported(benchmark, trec(tmp_path / "a" / "light", qrels=qrels), "trec")
    assert (ids.status, Query.objects.get().text) == ("done", "moths")


def test_a_text_that_was_filled_in_is_not_edited(benchmark, tmp_path) -> None:
    imported(benchmark, trec(tmp_path / "a" / "light", topics=TOPIC), "trec")
    other = TOPIC.replace("moths</title>", "bats</title>")
    run = imported(benchmark, trec(tmp_path / "b" / "light", topics=other), "trec")
    assert messages(run)[0].startswith("Query 1 is here already with another text.")


def test_subtopics_are_kept_and_make_another_gold(benchmark, tmp_path) -> None:
    first = "1 1 d 1\n1 2 d 2\n"
    imported(benchmark, trec(tmp_path / "a" / "light", topics=TOPIC, qrels=first), "trec")
    judged = Judgment.objects.get()
    assert (judged.label, judged.subtopics) == (2, {"1": 1, "2": 2})
    same = imported(benchmark, trec(tmp_path / "a" / "light", topics=TOPIC, qrels=first), "trec")
    assert same.summary["gold"][0]["state"] == "unchanged"
    other = "1 1 d 2\n1 2 d 2\n"
    imported(benchmark, trec(tmp_path / "b" / "light", topics=TOPIC, qrels=other), "trec")
    assert GoldVersion.objects.count() == 2
    assert Judgment.objects.original().get().subtopics == {"1": 2, "2": 2}


def test_a_title_of_any_length_is_stored_whole(benchmark, tmp_path) -> None:
    title = "A long title. " * 500
    page = [{"id": "light/Moth.txt", "content": "Menu", "title": title}]
    run = imported(benchmark, bright_pro(tmp_path / "a", pages=page))
    assert (run.problems, Document.objects.get().title) == ([], title)
    imported(benchmark, beir(tmp_path / "b" / "set", title=title), "beir")
    assert Passage.objects.get(pid="d").title == title


def test_a_domain_whose_name_holds_a_slash_is_refused(benchmark, tmp_path, monkeypatch) -> None:
    from corpus.importers.rows import Location
    from corpus.imports.context import open_context
    from tests.corpus.import_files import claimed

    context = open_context(claimed(benchmark, tmp_path))
    context.touch("import/1", Location("f"))
    assert "It holds a slash" in context.tally.problems[0].message


def test_more_than_memory_should_hold_is_a_problem(benchmark, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(loading_gather, "MAX_ROWS", 3)
    run = imported(benchmark, bright_pro(tmp_path))
    assert messages(run) == ["This is too much for one load. Load it in parts, domain by domain."]
    assert not Passage.objects.exists()


def test_a_new_version_asks_for_its_text_index(benchmark, tmp_path) -> None:
    run = imported(benchmark, bright_pro(tmp_path))
    assert PassageIndexRun.objects.get().version == run.version
    imported(benchmark, bright_pro(tmp_path))
    assert PassageIndexRun.objects.count() == 1


ABOUT = {"title": "Lamps", "source_url": "https://example.org/1", "fetched_on": "2024-05-31"}


def described(root, format: str, about: dict):
    """One passage that says this of itself, as each format has it."""
    row = {"id": "d", "content": "x", "_id": "d", "text": "x", "docno": "d", **about}
    is_bright = format.startswith("bright")
    names = ("id", "content") if is_bright else ("docno" if format == "trec" else "_id", "text")
    folder = root / "light"
    path = folder / ("documents/light.jsonl" if is_bright else "corpus.jsonl")
    write_lines(path, [{name: row[name] for name in (*names, *about)}])
    return folder


@pytest.mark.few(2)
@pytest.mark.parametrize("format", ["bright_pro", "bright", "beir", "bridge", "trec"])
def test_title_address_and_day_are_kept_and_compared(benchmark, tmp_path, format) -> None:
    assert imported(benchmark, described(tmp_path / "a", format, ABOUT), format).problems == []
    passage = Passage.objects.get()
    assert (passage.title, passage.source_url) == ("Lamps", "https://example.org/1")
    assert (passage.fetched_on, passage.extra) == (date(2024, 5, 31), None)
    again = imported(benchmark, described(tmp_path / "a", format, ABOUT), format)
    assert again.summary["passages"]["present"] == 1
    # What is left out clashes with nothing, what is said otherwise does.
    assert imported(benchmark, described(tmp_path / "b", format, {}), format).status == "done"
    others = {"title": "Moths", "source_url": "https://example.org/2", "fetched_on": "2024-06-01"}
    for name, value in others.items():
        path = described(tmp_path / name, format, {**ABOUT, name: value})
        run = imported(benchmark, path, format)
        assert "d stands here already with another text, title" in messages(run)[0]


def test_a_passage_that_its_page_speaks_for_agrees_with_it(benchmark, tmp_path) -> None:
    """As a release has it: pages are not in one, but what they say of their passages is."""
    page = {"id": "a/b.txt", "content": "Moths and lamps.", **ABOUT}
    passage = {"id": "a/b_0.txt", "content": "Moths"}
    for root, pages, documents in (
        ("a", [page], [passage]),
        ("b", [], [{**passage, "source_url": page["source_url"], "fetched_on": "2024-05-31"}]),
    ):
        folder = bright_pro(tmp_path / root, examples=[], aspects=[], documents=documents)
        if pages:
            write_lines(folder / "pages/biology.jsonl", pages)
        run = imported(benchmark, folder)
        assert (run.problems, run.status) == ([], "done")
    found = Passage.objects.get()
    assert (found.source_url, found.address) == ("", "https://example.org/1")
    assert str(found.fetched) == str(Document.objects.get().fetched_on) == "2024-05-31"


def test_first_line_is_a_title_only_where_the_format_has_titles(benchmark, tmp_path) -> None:
    text = "what similarity laws must be obeyed\nfor heated models ."
    (tmp_path / "cran.qry").write_text(f".I 001\n.W\n{text}\n")
    imported(benchmark, tmp_path, "cranfield")
    query = Query.objects.get()
    assert query.text == text
    assert query.title == "what similarity laws must be obeyed for heated models ."
    assert query.body == ""
    light = create_benchmark(name="Posts", slug="posts", actor=None)
    write_lines(tmp_path / "biology.jsonl", [bright_row(query="Why moths?\nLamps, say.")])
    run = imported(light, tmp_path / "biology.jsonl", "bright")
    assert run.problems == []
    post = Query.objects.get(domain__benchmark=light)
    assert (post.title, post.body) == ("Why moths?", "Lamps, say.")
