"""Training data as files: three shapes, where each text is from, what is left out."""

import json
from collections import Counter
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from corpus.judgments.services import record_judgment, withdraw_judgment
from corpus.models import Judgment, Source
from evaluation.exporters.training import FORMATS
from evaluation.models import TrainingDocument, TrainingRun
from evaluation.training.exporting import export_training
from kit.errors import Refused
from llm.models import Call
from tests.corpus.reranking.room import TEXTS, Room, make_room
from tests.evaluation.training.room import ASIDE, PAGE, driven, passage, start, writing

pytestmark = pytest.mark.django_db(transaction=True)
TITLED = f"On mulch\n{PAGE}"


@pytest.fixture
def room(settings, tmp_path) -> Room:
    return make_room(settings, tmp_path)


@pytest.fixture
def run(room, settings) -> TrainingRun:
    """Of the first query b1 and a written page are positive, b4 and a written text negative."""
    with writing(settings):
        return driven(start(room))


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def of_first(run: TrainingRun, folder: Path, shape: str) -> list[dict[str, Any]]:
    """The lines of the first query, without its name in them."""
    export_training(run=run, folder=folder, format=shape)
    name = "anchor" if shape == "sentence-transformers" else "query"
    rows = [row for row in lines(folder / "train.jsonl") if row[name].startswith("Does mulch")]
    return [{key: value for key, value in row.items() if key != name} for row in rows]


def test_three_shapes_hold_the_same(run, tmp_path) -> None:
    bad = [TEXTS["b4"], ASIDE]
    assert of_first(run, tmp_path / "diver", "diver") == [
        {"response": TEXTS["b1"], "rejected_response": bad},
        {"response": TITLED, "rejected_response": bad},
    ]
    assert of_first(run, tmp_path / "st", "sentence-transformers") == [
        {"positive": good, "negative": each} for good in (TEXTS["b1"], TITLED) for each in bad
    ]
    assert of_first(run, tmp_path / "flag", "flagembedding") == [
        {"pos": [TEXTS["b1"], TITLED], "neg": bad}
    ]


@pytest.mark.few
@pytest.mark.parametrize("shape", FORMATS)
def test_every_text_leads_to_its_call_or_label(room, settings, tmp_path, shape) -> None:
    with writing(settings):
        run = driven(start(room, labels=5, name="labelled"))
    export_training(run=run, folder=tmp_path / "out", format=shape)
    data, sources = (lines(tmp_path / "out" / name) for name in ("train.jsonl", "sources.jsonl"))
    assert len(data) == len(sources) > 1
    for row, source in zip(data, sources, strict=True):
        good = row.get("pos") or [row.get("response") or row.get("positive")]
        bad = row.get("neg") or row.get("rejected_response") or [row.get("negative")]
        for texts, side in ((good, source["positives"]), (bad, source["negatives"])):
            for text, each in zip(texts, side, strict=True):
                document = TrainingDocument.objects.get(pk=each["document"])
                assert document.item.query.qid == source["query_id"]
                whole = document.passage.text if document.passage else document.whole
                assert text.endswith(whole)
                if each["kind"] == "label":
                    judged = Judgment.objects.get(pk=each["judgment"])
                    assert judged.passage == document.passage
                else:
                    assert Call.objects.get(pk=each["call"]).role == document.kind
    kinds = Counter(each["kind"] for row in sources for each in row["positives"])
    assert set(kinds) == {"label", "grade", "written positive"}


def test_no_negative_carries_a_relevant_label_and_unjudged_ones_are_marked(
    room, run, tmp_path
) -> None:
    def negatives(name: str) -> list[dict[str, Any]]:
        report = export_training(run=run, folder=tmp_path / name, format="flagembedding")
        found[name] = report
        (row,) = [
            row for row in lines(tmp_path / name / "sources.jsonl") if row["domain"] == "biology"
        ]
        return [each for each in row["negatives"] if each["kind"] == "grade"]

    found: dict[str, Any] = {}
    (before,) = negatives("before")
    assert (before["passage"], before["score"], before["unjudged"]) == (passage("b4").pk, 3, True)
    # People call it irrelevant: judged, and still a negative.
    given = {"query": room.first, "passage": passage("b4"), "provenance": {}}
    record_judgment(label=0, source=Source.HUMAN, **given)
    (judged,) = negatives("judged")
    assert "unjudged" not in judged
    assert found["before"]["unjudged_negatives"] - found["judged"]["unjudged_negatives"] == 1
    # An expert calls it relevant.
    record_judgment(label=1, source=Source.EXPERT, **given)
    assert negatives("after") == []
    assert found["after"]["left_out"]["negatives that are labelled relevant"] == 1
    # And what was graded 7 irrelevant.
    given["passage"] = passage("b1")
    record_judgment(label=0, source=Source.EXPERT, **given)
    negatives("last")
    assert found["last"]["left_out"]["positives that are labelled irrelevant"] == 1
    # Nothing of the run changed.
    assert run.documents.get(passage__pid="b4").use == "negative"


def test_what_was_taken_for_its_label_is_left_out_once_no_label_stands(
    room, settings, tmp_path
) -> None:
    given = {"query": room.first, "passage": passage("b4"), "provenance": {}}
    label = record_judgment(label=1, source=Source.EXPERT, **given)
    with writing(settings):
        run = driven(start(room, labels=5))
    document = run.documents.get(kind="labelled", passage=passage("b4"))
    assert (document.use, document.judgment) == ("positive", label)
    withdraw_judgment(judgment=label, actor=None)
    report = export_training(run=run, folder=tmp_path / "out", format="diver")
    assert report["left_out"]["labels that were taken back"] == 1
    rows = lines(tmp_path / "out" / "train.jsonl")
    assert rows
    assert TEXTS["b4"] not in {row["response"] for row in rows}


def test_the_mixture_counts_each_text_once(run, tmp_path) -> None:
    given: dict[str, Any] = {"run": run, "format": "sentence-transformers", "tokenizer": "words"}
    report = export_training(folder=tmp_path / "out", **given)
    assert report == lines(tmp_path / "out" / "mixture.json")[0]
    # "Does mulch keep garden soil moist in summer?" and "How do actors send messages?"
    assert report["lengths"]["query"] == {"mean": 6.5, "median": 6.5, "most": 8}
    bad = [len(each.split()) for each in (TEXTS["b4"] or "", ASIDE, "Messages are typed.")]
    assert report["lengths"]["negative"]["most"] == max(bad)
    assert report["lengths"]["negative"]["median"] == sorted(bad)[1]
    assert "length in tokens (words)" in (tmp_path / "out" / "README.md").read_text()
    with pytest.raises(Refused, match="no tokenizer 'x'"):
        export_training(folder=tmp_path / "none", **given | {"tokenizer": "x"})
    # b1, b4, a page and an aside; of the other query p1 and a page, and p2 (its aside is rejected).
    assert report["queries"] == {"biology": 1, "pony": 1}
    assert report["domains"] == [
        {"use": "negative", "value": "biology", "texts": 2},
        {"use": "negative", "value": "pony", "texts": 1},
        {"use": "positive", "value": "biology", "texts": 2},
        {"use": "positive", "value": "pony", "texts": 2},
    ]
    assert {(row["use"], row["value"]): row["texts"] for row in report["sources"]} == {
        ("negative", "grade"): 2,
        ("negative", "written negative"): 1,
        ("positive", "grade"): 2,
        ("positive", "written positive"): 2,
    }
    assert {(row["use"], row["value"]): row["texts"] for row in report["scores"]} == {
        ("negative", "0"): 1,
        ("negative", "3"): 1,
        ("positive", "7"): 1,
        ("positive", "8"): 1,
    }
    assert sum(row["texts"] for row in report["languages"]) == 7
    assert report["left_out"] == {
        "queries that failed": 0,
        "passages graded 4 to 6": 2,
        "replies that failed a check": 1,
    }
    card = (tmp_path / "out" / "README.md").read_text()
    assert "Do not measure on this benchmark" in card
    assert "| biology | positive | 2 |" in card
    assert "| passages graded 4 to 6 | 2 |" in card
    assert "practice model" not in card


def test_queries_without_both_sides_are_left_out(room, settings, tmp_path) -> None:
    with writing(settings, grades={}):  # all are 0
        run = driven(start(room, positives=0, negatives=0))
    report = export_training(run=run, folder=tmp_path / "out", format="diver")
    assert (report["lines"], report["left_out"]["queries without a positive"]) == (0, 2)
    assert (tmp_path / "out" / "train.jsonl").read_text() == ""


def test_commands_make_and_export_without_an_endpoint(room, tmp_path) -> None:
    out = StringIO()
    made = ("make_training_data", "ranked")
    call_command(*made, "--json", "--labels", "0", "--negatives", "0", stdout=out)
    told = json.loads(out.getvalue())
    assert (told["status"], told["states"]) == ("done", {"made": 2})
    assert told["documents"]["positive"] >= 2
    folder, out = tmp_path / "out", StringIO()
    export = ("export_training", "ranked", "--format", "diver", "--out", str(folder))
    call_command(*export, stdout=out)
    assert "lines of" in out.getvalue()
    assert "practice model" in (folder / "README.md").read_text()
    names = {path.name for path in folder.iterdir()}
    assert names == {"train.jsonl", "sources.jsonl", "mixture.json", "README.md", "SHA256SUMS"}
    with pytest.raises(CommandError, match="not empty"):
        call_command(*export)
    with pytest.raises(CommandError, match="no such run"):
        call_command(*export, "--run", "99")
    with pytest.raises(CommandError, match="There is no retrieval run 'tops'; there are: BM25"):
        call_command(*made, "--run", "tops")


def test_only_a_run_that_is_done_is_exported(room, run, settings, tmp_path) -> None:
    with writing(settings):
        waits = start(room, name="waits")
    with pytest.raises(Refused, match="is done"):
        export_training(run=waits, folder=tmp_path / "out", format="diver")
    with pytest.raises(Refused, match="formats are"):
        export_training(run=run, folder=tmp_path / "out", format="csv")
    assert not (tmp_path / "out").exists()
