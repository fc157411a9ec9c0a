"""DChunk on a corpus: loaded pages, where vectors are from, and what the recipe says."""

import pytest

from corpus.chunking.sentences import sentences
from corpus.cleaning.rules import clean as by_rules
from corpus.models import Benchmark, CorpusVersion, Crosswalk, Document, Passage
from corpus.versions.effective import effective_labels
from llm import endpoints
from llm.models import Call
from tests.corpus.cleaning.rooms import clean, texts
from tests.corpus.scripted import cleaner
from tests.factories import make_benchmark, make_gold, make_passage, make_query

pytestmark = pytest.mark.django_db(transaction=True)
SHORT = {"long_from": 60, "most": 40}


def sentence(n: int, subject: str) -> str:
    return f"Of {subject} the book says in chapter {n} that they were seen {n + 3} times by night."


MOTHS = [sentence(n, "moths and lamps") for n in range(30)]
FERNS = [sentence(n, "ferns and spores") for n in range(30)]
BOOK = " ".join([*MOTHS, *FERNS])


@pytest.fixture
def benchmark() -> Benchmark:
    """A long page with a gold passage, a judged one, and one that is not in it; a page without
    passages; two short pages; and a passage by itself."""
    made = make_benchmark()
    version = CorpusVersion.objects.current(made)
    make_passage(made, "lone/x_0.txt", text=MOTHS[0])
    pages = {"book.txt": BOOK, "alone.txt": BOOK.replace("book", "leaflet"), "short.txt": MOTHS[1]}
    pages["note.txt"] = FERNS[1]
    domain = made.domains.get()
    page = {
        name: Document.objects.create(
            version=version, domain=domain, doc_id=name, title=name.title(), text=text
        )
        for name, text in pages.items()
    }
    query = make_query(made, "1")
    found = {
        name: make_passage(made, name, text=text, document=page[of])
        for name, of, text in (
            ("book_0.txt", "book.txt", " ".join(FERNS[3:7])),
            ("book_1.txt", "book.txt", MOTHS[2]),
            ("book_2.txt", "book.txt", "Nowhere in the book."),
            ("note_0.txt", "note.txt", FERNS[1]),
        )
    }
    make_gold(query, found["book_0.txt"])
    make_gold(query, found["book_1.txt"], found["book_2.txt"], label=0)
    return made


@pytest.mark.slow
def test_a_long_page_is_cut_as_a_whole_and_its_labels_are_inherited(benchmark) -> None:
    run = clean(benchmark, preset="dchunk", options=SHORT)
    assert (run.status, run.error, run.practice) == ("done", "", False)
    made = texts(run)
    # 60 sentences of 17 words in either, two of them in a chunk of at most 40.
    for name in ("book.txt", "alone.txt"):
        chunks = {pid: text for pid, text in made.items() if pid.startswith(f"{name}#c")}
        assert len(chunks) >= 30
        assert [f"{name}#c{n + 1}" for n in range(len(chunks))] == sorted(
            chunks, key=lambda pid: int(pid.rpartition("c")[2])
        )
        whole = BOOK if name == "book.txt" else BOOK.replace("book", "leaflet")
        starts = [whole[a:b].strip() for a, b in sentences(whole)]
        assert all(any(each.startswith(start) for start in starts) for each in chunks.values())
        assert all(len(each.split()) <= 40 for each in chunks.values())
        assert set(whole.split()) == {word for each in chunks.values() for word in each.split()}
    # What is short, or not found in its page, stays as it is.
    assert made["short.txt"] == by_rules(MOTHS[1])
    assert made["note_0.txt"] == by_rules(FERNS[1])
    assert made["book_2.txt"] == "Nowhere in the book."
    assert not made.keys() & {"book_0.txt", "book_1.txt", "book.txt", "note.txt"}
    found = effective_labels(run.version)
    # Its chunk holds sentences of the page that stand in no passage: nobody can have judged them.
    assert [(each.label, each.why) for each in found.lost] == [
        (0, "its text stands in a passage together with text that nobody judged")
    ]
    assert found.lost[0].passage == Passage.objects.get(pid="book_1.txt", version=run.source).pk
    inherited = {Passage.objects.get(pk=each.passage): each.label for each in found.labels}
    gold = [new for new, label in inherited.items() if label > 0]
    assert gold
    assert [new.pid for new, label in inherited.items() if label == 0] == ["book_2.txt"]
    assert all(new.extra["gold"] and new.title == "Book.Txt" for new in gold)
    # Gold and the rest are cut apart: no chunk of gold holds another sentence.
    own = set(" ".join(FERNS[3:7]).split())
    assert all(set(new.text.split()) <= own for new in gold)
    assert run.figures["pages cut"] == 2
    assert (
        run.total
        == run.done
        == Document.objects.count()
        + Passage.objects.filter(version=run.source, document=None).count()
    )


@pytest.mark.slow
def test_a_passage_with_the_id_of_its_page_is_that_page(benchmark) -> None:
    same = make_passage(benchmark, "alone.txt", text=MOTHS[5])
    make_gold(make_query(benchmark, "2"), same)
    run = clean(benchmark, preset="dchunk", options=SHORT)
    assert run.status == "done"
    assert "alone.txt" not in texts(run)
    assert Crosswalk.objects.filter(old=same, carries=True).exists()
    assert {each.label for each in effective_labels(run.version).lost} == {0}


@pytest.mark.slow
def test_the_recipe_says_how_it_was_cut(benchmark) -> None:
    options = SHORT | {"threshold": 0.3, "overlap": 0.1}
    recipe = clean(benchmark, preset="dchunk", options=options, name="a").version.recipe
    assert {name: recipe[name] for name in options} == options
    assert (recipe["embedder"], recipe["model"]) == ("lsa", "")
    assert not Call.objects.exists()
    with endpoints.practice_if_unconfigured() as practice:
        by_model = clean(
            benchmark, practice, preset="dchunk", options=SHORT | {"embedder": "model"}, name="b"
        )
    assert (by_model.version.recipe["embedder"], by_model.practice) == ("model", True)
    assert by_model.version.recipe["model"] == "practice-1"
    assert "embedder" not in clean(benchmark, preset="diver_rules", name="c").version.recipe


def test_a_model_is_asked_where_an_endpoint_is_set_up(benchmark, settings) -> None:
    with cleaner(settings, lambda role, text: text) as server:
        run = clean(benchmark, server.endpoint, preset="dchunk", options=SHORT, name="a")
        assert (run.version.recipe["embedder"], run.version.recipe["model"]) == (
            "model",
            "scripted",
        )
        asked = server.asked.total()
        own = SHORT | {"embedder": "lsa"}
        clean(benchmark, server.endpoint, preset="dchunk", options=own, name="b")
        assert server.asked.total() == asked > 0


def test_hashed_words_only_where_there_is_too_little_text_for_more() -> None:
    benchmark = make_benchmark()
    make_passage(benchmark, "a_0.txt", text=" ".join(MOTHS[:8]))
    run = clean(benchmark, preset="dchunk", options=SHORT)
    assert run.status == "done"
    assert run.version.recipe["embedder"] == "words"
