"""Gold and other parts from the qrels of any benchmark: folders of BEIR, TREC files, HotpotQA."""

import gzip
import itertools

import pytest

from corpus.benchmarks.services import create_benchmark
from corpus.models import Benchmark, CleanedPage, CleaningRun, Document, Passage
from corpus.versions.effective import effective_labels
from llm import endpoints
from tests.corpus.cleaning.rooms import FERNS, MENU, MOTHS, clean
from tests.corpus.import_files import imported, write_lines
from tests.factories import (
    make_benchmark,
    make_document,
    make_gold,
    make_passage,
    make_query,
)

pytestmark = pytest.mark.django_db(transaction=True)

TEXTS = {
    "msmarco_passage_05_11": FERNS,
    "msmarco_passage_05_12": MOTHS,
    "msmarco_passage_05_13": MENU,
}


@pytest.fixture
def benchmark() -> Benchmark:
    return create_benchmark(name="Qrels", slug="qrels", actor=None)


@pytest.fixture
def endpoint():
    with endpoints.practice_if_unconfigured() as found:
        yield found


def parts(run: CleaningRun) -> dict[str, bool]:
    """Whether each new passage is cut from gold."""
    rows = Passage.objects.filter(version=run.version).order_by("pid")
    return {pid: extra["gold"] for pid, extra in rows.values_list("pid", "extra")}


def labelled(run: CleaningRun) -> set[tuple[str, int]]:
    """(new passage, label) of what holds in the new version; relevant ones are never lost."""
    found = effective_labels(run.version)
    assert all(each.label == 0 for each in found.lost)
    return {
        (Passage.objects.get(pk=passage).pid, held.label)
        for (_, passage), held in found.pairs.items()
    }


@pytest.mark.parametrize("end", ["", ".txt"])
def test_a_folder_of_beir(benchmark, endpoint, tmp_path, end) -> None:
    root = tmp_path / "marco"
    corpus = [{"_id": pid + end, "title": "", "text": text} for pid, text in TEXTS.items()]
    write_lines(root / "corpus.jsonl", corpus)
    write_lines(root / "queries.jsonl", [{"_id": "1", "text": "Why no seeds?"}])
    (root / "qrels").mkdir()
    rows = f"1\tmsmarco_passage_05_11{end}\t2\n1\tmsmarco_passage_05_12{end}\t0\n"
    (root / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\n" + rows)
    assert imported(benchmark, root, "beir").problems == []
    run = clean(benchmark, endpoint)
    # Three documents, not pieces of one page, whatever their ids look like.
    pages = set(CleanedPage.objects.values_list("page_id", "is_gold"))
    assert pages == {(pid + end, pid.endswith("11")) for pid in TEXTS}
    assert parts(run) == {
        f"msmarco_passage_05_11{end}#gA": True,
        f"msmarco_passage_05_11{end}#gB": True,
        f"msmarco_passage_05_12{end}#iA": False,
    }
    assert (f"msmarco_passage_05_11{end}#gB", 2) in labelled(run)
    assert (f"msmarco_passage_05_12{end}#iA", 0) in labelled(run)


def test_files_of_trec(benchmark, endpoint, tmp_path) -> None:
    root = tmp_path / "dl"
    root.mkdir()
    documents = "".join(
        f"<DOC><DOCNO>{pid}</DOCNO><TEXT>{text}</TEXT></DOC>\n" for pid, text in TEXTS.items()
    )
    (root / "docs.sgml").write_text(documents)
    (root / "topics.txt").write_text("<top><num>7</num><title>Moths</title></top>\n")
    (root / "qrels.txt").write_text("7 0 msmarco_passage_05_12 3\n7 0 msmarco_passage_05_13 0\n")
    assert imported(benchmark, root, "trec").problems == []
    run = clean(benchmark, endpoint)
    assert parts(run)["msmarco_passage_05_12#gA"] is True
    assert ("msmarco_passage_05_12#gA", 3) in labelled(run)


def test_gold_of_trec_is_found_in_the_page_it_is_from(benchmark, endpoint, tmp_path) -> None:
    """Exactly where its letters stand, else by alignment; the rest is what lies between."""
    root = tmp_path / "dl"
    root.mkdir()
    pieces = {
        "d1-a": MOTHS,
        "d1-b": FERNS[FERNS.index("A spore") :].replace("the garden", "our garden"),
    }
    documents = "".join(
        f"<DOC><DOCNO>{pid}</DOCNO><TEXT>{text}</TEXT></DOC>\n" for pid, text in pieces.items()
    )
    (root / "docs.sgml").write_text(documents)
    (root / "topics.txt").write_text("<top><num>7</num><title>Moths</title></top>\n")
    (root / "qrels.txt").write_text("7 0 d1-a 1\n7 0 d1-b 1\n")
    assert imported(benchmark, root, "trec").problems == []
    first = Passage.objects.get(pid="d1-a")
    text = f"{FERNS}\n\nLamps stand in the street, and their light is seen afar.\n\n{MOTHS}"
    page = Document.objects.create(
        version=first.version, domain=first.domain, doc_id="d1", text=text
    )
    Passage.objects.update(document=page)
    run = clean(benchmark, endpoint)
    made = dict(Passage.objects.filter(version=run.version).values_list("pid", "text"))
    gold = [text for pid, text in made.items() if "#g" in pid]
    other = " ".join(text for pid, text in made.items() if "#i" in pid)
    assert sorted(gold) == sorted([MOTHS, FERNS[FERNS.index("A spore") :]])
    assert "no seeds" in other
    assert "Moths" not in other
    assert effective_labels(run.version).lost == []


@pytest.mark.parametrize("between", ["", "Bats eat moths all night."])
def test_a_no_does_not_reach_text_of_the_page_that_no_passage_covers(endpoint, between) -> None:
    benchmark = make_benchmark()
    query = make_query(benchmark, "1")
    judged = ["Ferns have no seeds at all.", "Owls sleep by day."]
    page = make_document(
        benchmark, "d1", text="\n\n".join(filter(None, (judged[0], between, judged[1])))
    )
    old = [
        make_passage(benchmark, f"d1-{n}", text=text, document=page)
        for n, text in enumerate(judged)
    ]
    make_gold(query, *old, label=0)
    run = clean(benchmark, endpoint)
    found = effective_labels(run.version)
    assert [each.label for each in found.labels] == ([] if between else [0])
    assert [each.passage for each in found.lost] == ([each.pk for each in old] if between else [])


@pytest.mark.slow
def test_hotpotqa(benchmark, endpoint, shared, tmp_path) -> None:
    """Its first fifty questions: all 250 took half a minute and say the same."""
    with gzip.open(shared / "hotpotqa" / "dev_250.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = list(itertools.islice(file, 50))
    (tmp_path / "dev_50.jsonl").write_text("".join(rows), encoding="utf-8")
    assert imported(benchmark, tmp_path / "dev_50.jsonl", "hotpotqa").status == "done"
    gold = set(
        Passage.objects.filter(judgments__label__gt=0).values_list("pid", flat=True).distinct()
    )
    assert len(gold) > 80
    run = clean(benchmark, endpoint)
    assert run.status == "done"
    pages = run.pages.filter(is_gold=True).values_list("page_id", flat=True)
    assert set(pages) == gold
    found = effective_labels(run.version)
    assert [each for each in found.lost if each.label > 0] == []
    carried = {part for each in found.pairs.values() if each.label > 0 for part in each.given_for}
    assert len(carried) == len(gold)
