"""Every format through the product's own loading: what is read is what is stored."""

import pytest

from corpus.importers.formats import FORMATS
from corpus.models import Document, Judgment, Passage, Query
from tests.corpus.import_files import imported
from tests.fuzz.samples import SAMPLES, TEXT, zipped
from tests.fuzz.trial import write

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("format", FORMATS)
def test_samples_load_twice_as_once(benchmark, tmp_path, format) -> None:
    root = tmp_path / "nq"
    write(root, SAMPLES[format][0])
    first = imported(benchmark, root, format)
    assert (first.status, first.problems) == ("done", [])
    counts = (Query.objects.count(), Passage.objects.count(), Judgment.objects.count())
    again = imported(benchmark, root, format)
    assert again.status == "done"
    assert sum(again.summary[kind]["added"] for kind in ("queries", "passages", "judgments")) == 0
    assert (Query.objects.count(), Passage.objects.count(), Judgment.objects.count()) == counts


@pytest.mark.parametrize("format", FORMATS)
def test_a_zip_of_samples_loads(benchmark, tmp_path, format) -> None:
    path = tmp_path / "nq.zip"
    path.write_bytes(zipped(SAMPLES[format][0]))
    run = imported(benchmark, path, format)
    assert (run.status, run.problems) == ("done", [])
    assert Query.objects.exists()


def test_long_documents_are_the_pages_of_their_passages(benchmark, tmp_path) -> None:
    write(tmp_path, SAMPLES["bright"][0])
    imported(benchmark, tmp_path, "bright")
    passage = Passage.objects.get(pid="a/b_0.txt")
    assert passage.document == Document.objects.get(doc_id="a/b.txt")
    assert passage.document.text[passage.start : passage.end] == passage.text == TEXT


@pytest.mark.parametrize(
    ("format", "folder", "qrels", "counts"),
    [
        ("hotpotqa", "hotpotqa", "", (250, 2500, 2500)),
        # Loaded, counted and compared in test_shared_data, too.
        *(
            pytest.param(*each, marks=pytest.mark.slow)
            for each in (
                ("cranfield", "cranfield", "", (225, 1400, 1837)),
                ("bright", "bright", "", (417, 1623, 3803)),
                ("trec", "llmjudge", "", (50, 11621, 11686)),
                ("trec", "llmjudge", "llmjudge/submissions/Olz-gpt4o.txt", (50, 4414, 4423)),
            )
        ),
        ("trec", "trec_eval-tests/qrels.test", "", (3, 3338, 3681)),
    ],
)
def test_real_collections_load_with_their_counts(
    benchmark, shared, format, folder, qrels, counts
) -> None:
    run = imported(benchmark, shared / folder, format, shared / qrels if qrels else None)
    assert (run.status, run.problems) == ("done", [])
    found = (Query.objects.count(), Passage.objects.count(), Judgment.objects.count())
    assert found == counts
