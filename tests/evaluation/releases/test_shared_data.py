"""Every collection, query set, gold and run of ../shared/data: loaded, stored, exported, compared.

What went in is read here by a few lines of plain Python, not by Assay's importers, and what came
out likewise; they are compared as content. These differences are meant:

- ids that a format lacks are made: a HotpotQA passage is `{question}/{paragraph}`;
- Cranfield's codes 1 to 4 are the labels 4 to 1, and its queries are numbered by their order;
- a gold id that stands twice in one query counts once, and `"N/A"` excludes nothing;
- what is given as empty (a title, a list) is the same as what is not given.

| folder | loaded as | exported as | compared |
| --- | --- | --- | --- |
| bright/queries, qrels, qrels-fixed | bright | bright | every field of every query; both golds |
| bright/runs-reasonir | trec_run | with bright | every ranking and score |
| bright/noisy-text | beir (texts made into one) | beir, trec | every text, byte for byte |
| bright/reasoning-queries | trec topics | trec | every text |
| cranfield | cranfield | beir, trec | texts, titles, queries, labels |
| hotpotqa | hotpotqa | beir | questions, answers, paragraphs, labels |
| llmjudge | trec, and again per judge | trec | labels of people and of two judges |
| trec_eval-tests | trec, trec_run | trec | every qrels file, every run |
| agreement/snow2008 | trec (votes as subtopics) | trec | 8,000 votes |
| web-cleaning-dev | trec (JSON lines) | trec | true main texts, byte for byte |
"""

import gzip
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from corpus.benchmarks.services import create_benchmark
from corpus.models import Document, GoldVersion, Judgment, Passage, PoolEntry, Query, RankedList
from evaluation.releases.exporting import export_benchmark
from tests.corpus.import_files import imported, write_lines

pytestmark = pytest.mark.django_db
TASKS = ("biology", "pony", "psychology", "robotics")


@pytest.fixture
def benchmark():
    return create_benchmark(name="Real", slug="real", actor=None)


@pytest.fixture
def export(benchmark, tmp_path):
    """Export to a new folder."""

    def to(format: str, name: str = "out") -> Path:
        folder = tmp_path / name
        export_benchmark(benchmark=benchmark, folder=folder, format=format)
        return folder

    return to


def loaded(benchmark, path: Path, format: str, qrels: Path | None = None) -> Any:
    run = imported(benchmark, path, format, qrels)
    assert (run.status, run.problems) == ("done", [])
    return run


def lines_of(path: Path) -> list[str]:
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    return [line for line in text.split("\n") if line.strip()]


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines_of(path)]


def qrels_of(path: Path) -> set[tuple[str, str, int]]:
    """Query, passage and label of every line that is no comment."""
    columns = [line.split() for line in lines_of(path) if not line.startswith("#")]
    return {(qid, pid, int(label)) for qid, _, pid, label in columns}


def run_of(path: Path) -> dict[str, list[tuple[str, float]]]:
    """Passages and scores by query, in the order of the file."""
    found: dict[str, list[tuple[str, float]]] = {}
    for line in lines_of(path):
        qid, _, pid, _, score = line.split()[:5]
        found.setdefault(qid, []).append((pid, float(score)))
    return found


def counts() -> tuple[int, int, int]:
    return Query.objects.count(), Passage.objects.count(), Judgment.objects.count()


@pytest.mark.slow
def test_bright_with_both_golds_and_its_runs(shared, benchmark, export) -> None:
    root = shared / "bright"
    loaded(benchmark, root, "bright", root / "qrels")
    assert counts() == (417, 1623, 3803)
    first = export("bright", "first")
    loaded(benchmark, root, "bright", root / "qrels-fixed")
    loaded(benchmark, root / "runs-reasonir", "trec_run")
    assert (GoldVersion.objects.count(), RankedList.objects.count()) == (6, 417)
    second = export("bright", "second")
    (run,) = (second / "runs").iterdir()
    for task in TASKS:
        asked = rows_of(root / f"queries/{task}.jsonl.gz")
        assert [as_stored(row) for row in rows_of(first / f"examples/{task}.jsonl")] == [
            as_stored(row) for row in asked
        ]
        assert qrels_of(first / f"qrels/{task}.txt") == qrels_of(root / f"qrels/{task}.txt")
        assert qrels_of(second / f"qrels/{task}.txt") == qrels_of(root / f"qrels-fixed/{task}.txt")
        given = run_of(root / f"runs-reasonir/{task}.run.gz")
        assert run_of(run / f"{task}.run") == given


def as_stored(row: dict[str, Any]) -> dict[str, Any]:
    """A BRIGHT query with its gold as a set and without what says nothing."""
    row = {**row, "id": str(row["id"]), "gold_ids": sorted(set(row["gold_ids"]))}
    row["excluded_ids"] = [each for each in row.get("excluded_ids", []) if each != "N/A"]
    return {name: value for name, value in row.items() if value not in ("", [], None)}


def test_cranfield_as_beir_and_as_trec(shared, benchmark, export) -> None:
    root = shared / "cranfield"
    loaded(benchmark, root, "cranfield")
    assert counts() == (225, 1400, 1837)
    given = [line.split() for line in lines_of(root / "cranqrel")]
    labels = {(qid, pid, 5 - int(code)) for qid, pid, code in given}
    texts = cranfield_texts(root / "cran.all.1400")
    asked = cranfield_texts(root / "cran.qry")
    folder = export("beir") / "cranfield"
    found = rows_of(folder / "corpus.jsonl")
    assert [row["_id"] for row in found] == [str(n) for n in range(1, 1401)]
    assert [squeezed(row["text"]) for row in found] == [squeezed(each) for each in texts]
    assert [n for n, each in enumerate(texts, start=1) if not each.strip()] == [471, 995]
    queries = rows_of(folder / "queries.jsonl")
    assert [row["_id"] for row in queries] == [str(n) for n in range(1, 226)]
    assert [squeezed(row["text"]) for row in queries] == [squeezed(each) for each in asked]
    rows = [line.split("\t") for line in lines_of(folder / "qrels/test.tsv")[1:]]
    assert {(qid, pid, int(label)) for qid, pid, label in rows} == labels
    assert Counter(label for *_, label in labels) == {4: 353, 3: 387, 2: 734, 1: 363}
    again = export("trec", "trec") / "cranfield"
    assert qrels_of(again / "qrels.txt") == labels


def cranfield_texts(path: Path) -> list[str]:
    """What stands under `.W` in each record; in 240, 576 and 578 other fields come between."""
    texts: list[str] = []
    field = ""
    for line in path.read_text().split("\n"):
        if line.startswith(".I "):
            texts.append("")
        field = line if re.fullmatch(r"\.[A-Z]|\.I .*", line) else field
        texts[-1] += f"{line}\n" if field == ".W" and line != ".W" else ""
    return texts


def squeezed(text: str) -> str:
    return " ".join(text.split())


def test_hotpotqa_with_answers_and_unsupporting_paragraphs(shared, benchmark, export) -> None:
    path = shared / "hotpotqa" / "dev_250.jsonl.gz"
    loaded(benchmark, path, "hotpotqa")
    given = rows_of(path)
    assert PoolEntry.objects.count() == sum(len(row["contexts"]) for row in given)
    folder = export("beir") / "hotpotqa"
    assert {
        (row["_id"], row["text"], tuple(row["answers"]))
        for row in rows_of(folder / "queries.jsonl")
    } == {
        (row["question_id"], row["question_text"], tuple(dict.fromkeys(spans_of(row))))
        for row in given
    }
    paragraphs = [
        (f"{row['question_id']}/{each['id']}", each["title"], each["paragraph_text"])
        for row in given
        for each in row["contexts"]
    ]
    found = rows_of(folder / "corpus.jsonl")
    assert [(row["_id"], row.get("title", ""), row["text"]) for row in found] == paragraphs
    labels = [line.split("\t") for line in lines_of(folder / "qrels/test.tsv")[1:]]
    assert [(qid, pid, label) for qid, pid, label in labels] == [
        (row["question_id"], f"{row['question_id']}/{c['id']}", str(int(c["is_supporting"])))
        for row in given
        for c in row["contexts"]
    ]
    assert sum(label == "1" for *_, label in labels) == 500


def spans_of(row: dict[str, Any]) -> list[str]:
    return [span for each in row["answers_objects"] for span in each["spans"]]


@pytest.mark.slow
def test_llmjudge_people_and_judges(shared, benchmark, export) -> None:
    root = shared / "llmjudge"
    loaded(benchmark, root, "trec")
    assert counts() == (50, 11621, 11686)
    folder = export("trec", "people") / "llmjudge"
    people = qrels_of(root / "human_dev_qrels.txt") | qrels_of(root / "human_test_qrels.txt")
    assert qrels_of(folder / "qrels.txt") == people
    asked = {row.split("\t")[0]: row.split("\t", 1)[1] for row in lines_of(root / "queries.tsv")}
    assert dict(Query.objects.values_list("qid", "text")) == asked
    for name in ("NISTRetrieval-instruct0", "Olz-gpt4o"):
        judge = root / f"submissions/{name}.txt"
        loaded(benchmark, root, "trec", judge)
        found = qrels_of(export("trec", judge.stem) / "llmjudge" / "qrels.txt")
        given = qrels_of(judge)
        judged = {qid for qid, *_ in given}
        assert {row for row in found if row[0] in judged} == given
    assert GoldVersion.objects.count() == 3  # each stays, and can be evaluated


TREC_QRELS = (
    "qrels.test",
    "qrels.123",
    "ir_measures/compat.qrels",
    # Read and counted in the tests of the TREC importer, too.
    *(
        pytest.param(name, marks=pytest.mark.slow)
        for name in ("qrels.test.with-comments", "qrels.rel_level", "qrels-302.test")
    ),
)


@pytest.mark.parametrize("name", TREC_QRELS)
def test_trec_evals_own_judgments(shared, benchmark, export, tmp_path, name) -> None:
    path = tmp_path / "nist" / "qrels.txt"
    path.parent.mkdir()
    path.write_bytes((shared / "trec_eval-tests" / name).read_bytes())
    loaded(benchmark, path.parent, "trec")
    given = {tuple(line.split()) for line in lines_of(path) if not line.startswith("#")}
    subtopics = {subtopic for _, subtopic, _, _ in given}
    found = {tuple(line.split()) for line in lines_of(export("trec") / "nist" / "qrels.txt")}
    if len(subtopics) > 1:
        assert (name, found) == ("qrels.123", given)
    else:  # one word in that column is an iteration and says nothing
        assert {(q, p, label) for q, _, p, label in found} == {(q, p, k) for q, _, p, k in given}
    assert Judgment.objects.count() == len({(qid, pid) for qid, _, pid, _ in given})


@pytest.mark.parametrize(
    ("name", "gold"),
    [
        pytest.param("results.test", "qrels.test", marks=pytest.mark.slow),
        pytest.param("results-302.test", "qrels-302.test", marks=pytest.mark.slow),
        ("results.trunc", "qrels.test"),  # cut short, with lines of junk
        ("ir_measures/compat.run", "ir_measures/compat.qrels"),
    ],
)
def test_trec_evals_own_runs(shared, benchmark, export, tmp_path, name, gold) -> None:
    root, inside = shared / "trec_eval-tests", tmp_path / "in"
    for kind, source in (("qrels/nist.txt", gold), ("runs/nist.run", name)):
        (inside / kind).parent.mkdir(parents=True)
        (inside / kind).write_bytes((root / source).read_bytes())
    loaded(benchmark, inside / "qrels" / "nist.txt", "trec")
    loaded(benchmark, inside / "runs" / "nist.run", "trec_run")
    known = set(Query.objects.values_list("qid", flat=True))
    given = {qid: first_of(each) for qid, each in run_of(root / name).items() if qid in known}
    found: dict[str, list[tuple[str, float]]] = {}
    for path in export("trec").glob("runs/*/nist.run"):
        found |= run_of(path)
    assert found == given
    assert given


def first_of(ranked: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """A passage that is ranked twice counts where it stands first (docs/protocol.md 1.5)."""
    seen: dict[str, float] = {}
    for pid, score in ranked:
        seen.setdefault(pid, score)
    return list(seen.items())


def test_preferences_are_no_judgments_and_say_so(shared, benchmark, tmp_path) -> None:
    path = tmp_path / "qrels.txt"
    path.write_bytes((shared / "trec_eval-tests" / "prefs.test").read_bytes())
    run = imported(benchmark, path, "trec")
    assert (run.status, Query.objects.count()) == ("failed", 0)
    assert "columns are needed" in run.problems[0]["message"]


def test_votes_of_many_workers_as_subtopics(shared, benchmark, export, tmp_path) -> None:
    rows = [line.split("\t") for line in lines_of(shared / "agreement/snow2008/rte.tsv")[1:]]
    path = tmp_path / "rte" / "qrels.txt"
    path.parent.mkdir()
    path.write_text("".join(f"rte {worker} {item} {vote}\n" for item, worker, vote, _ in rows))
    loaded(benchmark, path.parent, "trec")
    assert (len(rows), Judgment.objects.count()) == (8000, 800)
    found = [line.split("\t") for line in lines_of(export("trec") / "rte" / "qrels.txt")]
    assert sorted(found) == sorted(["rte", worker, item, vote] for item, worker, vote, _ in rows)


def test_crawled_text_comes_out_byte_for_byte(shared, benchmark, export, tmp_path) -> None:
    rows = rows_of(shared / "bright/noisy-text/200.jsonl.gz")
    folder = tmp_path / "noisy"
    texts = [{"_id": row["id"], "text": row["retrieved_text_concatenated"]} for row in rows]
    write_lines(folder / "corpus.jsonl", texts)
    asked = [{"_id": row["id"], "text": row["question_llm_generated"]} for row in rows]
    write_lines(folder / "queries.jsonl", asked)
    loaded(benchmark, folder, "beir")
    out = export("beir") / "noisy"
    assert rows_of(out / "corpus.jsonl") == texts
    assert rows_of(out / "queries.jsonl") == asked
    (path,) = (export("trec", "trec") / "noisy").glob("documents.*")
    again = create_benchmark(name="Again", slug="again", actor=None)
    loaded(again, path, "trec")
    found = Passage.objects.filter(version__benchmark=again).order_by("pk")
    assert list(found.values_list("pid", "text")) == [(e["_id"], e["text"]) for e in texts]


def test_true_main_texts_of_web_pages(shared, benchmark, export, tmp_path) -> None:
    truth = json.loads(
        (shared / "web-cleaning-dev/article-extraction/ground-truth.json").read_text()
    )
    rows = [{"id": name, "text": each["articleBody"]} for name, each in truth.items()]
    loaded(benchmark, write_lines(tmp_path / "web" / "documents.jsonl", rows).parent, "trec")
    (path,) = (export("trec") / "web").glob("documents.*")
    if path.suffix == ".jsonl":
        found = [(row["docno"], row["contents"]) for row in rows_of(path)]
        assert found == [(row["id"], row["text"]) for row in rows]
    assert list(Passage.objects.order_by("pk").values_list("text", flat=True)) == [
        row["text"] for row in rows
    ]


def test_rewritten_queries_of_bright(shared, benchmark, export, tmp_path) -> None:
    path = shared / "bright/reasoning-queries/tongsearch_7B.json.gz"
    given = list(json.loads(gzip.decompress(path.read_bytes())).values())
    rows = [{"qid": n, "query": text} for n, text in enumerate(given) if text]
    loaded(benchmark, write_lines(tmp_path / "rewritten" / "topics.jsonl", rows).parent, "trec")
    (path,) = (export("trec") / "rewritten").glob("topics.*")
    again = create_benchmark(name="Again", slug="again", actor=None)
    loaded(again, path, "trec")
    found = Query.objects.filter(domain__benchmark=again).order_by("pk")
    assert list(found.values_list("text", flat=True)) == [row["query"] for row in rows]
    assert not Document.objects.exists()
