import json
from collections import defaultdict
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from corpus.models import CorpusVersion, GoldVersion, Judgment, Passage, Source
from tests.evaluation.conftest import Garden, label, make_aspect, make_support, release_into
from tests.factories import make_benchmark, make_gold, make_passage, make_query, make_version


def rows(folder: Path, configuration: str, split: str) -> list[dict]:
    return pq.read_table(folder / configuration / f"{split}.parquet").to_pylist()


def qrels(path: Path) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for line in path.read_text().splitlines():
        qid, zero, pid, value = line.split()
        assert zero == "0"
        found[qid][pid] = int(value)
    return found


def jsonl(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_examples_carry_published_columns_and_answers(garden: Garden, tmp_path: Path) -> None:
    release_into(garden.benchmark, tmp_path / "out")
    assert rows(tmp_path / "out", "examples", "biology") == [
        {
            "id": 7,
            "query": garden.query.text,
            "gold_ids": ["b0", "b2"],
            "reference_answer": "",
            "answers": ["mulch", "shade"],
        }
    ]
    plain = rows(tmp_path / "out", "examples", "earth_science")
    assert [(row["id"], row["gold_ids"], row["answers"]) for row in plain] == [(12, ["e0"], [])]


def test_aspects_keep_raw_weight_scale_and_passages(garden: Garden, tmp_path: Path) -> None:
    release_into(garden.benchmark, tmp_path / "out")
    assert rows(tmp_path / "out", "aspects", "biology") == [
        {
            "id": "biology-7-a1",
            "content": "Point 1 of the answer.",
            "weight": 3,
            "supporting_docs": ["b0"],
            "scale": "likert5",
        },
        {
            "id": "biology-7-a2",
            "content": "Point 2 of the answer.",
            "weight": 1,
            "supporting_docs": ["b2"],
            "scale": "likert5",
        },
    ]
    assert not (tmp_path / "out/aspects/earth_science.parquet").exists()


def test_passages_of_an_aspect_stand_in_the_order_they_were_assigned(garden, tmp_path) -> None:
    """As in the file they were loaded from: the second piece of a page before the tenth."""
    first, second = garden.query.aspects.order_by("k")
    for aspect, name in ((second, "b/extraction_9"), (first, "b/extraction_2"), (first, "b/a_10")):
        passage = make_passage(garden.benchmark, f"{name}.txt", "biology")
        make_support(aspect, passage)
    release_into(garden.benchmark, tmp_path / "out")
    found = rows(tmp_path / "out", "aspects", "biology")
    assert [row["supporting_docs"] for row in found] == [
        ["b0", "b/extraction_2.txt", "b/a_10.txt"],
        ["b2", "b/extraction_9.txt"],
    ]
    [example] = rows(tmp_path / "out", "examples", "biology")
    assert example["gold_ids"] == [pid for row in found for pid in row["supporting_docs"]]


def test_removed_aspect_and_ended_support_stay_out(garden: Garden, tmp_path: Path) -> None:
    now = garden.query.created_at
    garden.query.aspects.filter(k=2).update(removed_at=now)
    garden.passages["b0"].gold_passages.update(ended_at=now)
    release_into(garden.benchmark, tmp_path / "out")
    found = rows(tmp_path / "out", "aspects", "biology")
    assert [(row["id"], row["supporting_docs"]) for row in found] == [("biology-7-a1", [])]


def test_aspects_are_ordered_by_number_not_by_text(garden: Garden, tmp_path: Path) -> None:
    make_aspect(garden.query, 10)
    release_into(garden.benchmark, tmp_path / "out")
    found = rows(tmp_path / "out", "aspects", "biology")
    assert [row["id"] for row in found] == ["biology-7-a1", "biology-7-a2", "biology-7-a10"]


def test_documents_hold_texts_byte_for_byte(garden: Garden, tmp_path: Path) -> None:
    text = "Été\r\n\ttabs “quotes” \U0001f331 %27 end "
    Passage.objects.filter(pid="b3").update(text=text)
    release_into(garden.benchmark, tmp_path / "out")
    found = rows(tmp_path / "out", "documents", "biology")
    assert [row["id"] for row in found] == ["b0", "b1", "b2", "b3"]
    assert found[3]["content"] == text


def test_discarded_gold_leaves_the_expert_view_only(garden: Garden, tmp_path: Path) -> None:
    release_into(garden.benchmark, tmp_path / "out")
    base, refined, expert = (
        qrels(tmp_path / f"out/qrels/biology.{view}.txt") for view in ("base", "refined", "expert")
    )
    assert base == {"7": {"b0": 1, "b1": 1}}
    assert refined == {"7": {"b0": 1, "b1": 1, "b2": 1}}
    assert expert == {"7": {"b0": 1, "b1": 0, "b2": 1}}


def test_machines_and_voters_never_lower_original_gold(garden: Garden, tmp_path: Path) -> None:
    graded = make_passage(garden.benchmark, "e3", "earth-science")
    make_gold(garden.plain, graded, label=3)
    label(garden.plain, garden.passages["e0"], 0, Source.DEBATE)
    label(garden.plain, graded, 1, Source.HUMAN)
    release = release_into(garden.benchmark, tmp_path / "out")
    for view in ("refined", "expert"):
        found = qrels(tmp_path / f"out/qrels/earth_science.{view}.txt")
        assert found == {"12": {"e0": 1, "e1": 0, "e3": 3}}
    assert rows(tmp_path / "out", "examples", "earth_science")[0]["gold_ids"] == ["e0", "e3"]
    assert release.counts["contested"] == {"debate": 1, "expert": 1}
    card = (tmp_path / "out/README.md").read_text()
    assert "call 2 of the 4 passages in the" in card
    assert "(debate 1, expert 1)" in card


def test_gold_ids_without_aspects_follow_the_expert(garden: Garden, tmp_path: Path) -> None:
    label(garden.plain, garden.passages["e0"], 0, Source.EXPERT)
    release_into(garden.benchmark, tmp_path / "out")
    assert rows(tmp_path / "out", "examples", "earth_science")[0]["gold_ids"] == []
    assert jsonl(tmp_path / "out/bridge/earth_science.jsonl")[0]["doc_id"] == ["e0"]


def test_judged_not_relevant_is_written_as_zero(garden: Garden, tmp_path: Path) -> None:
    release_into(garden.benchmark, tmp_path / "out")
    assert qrels(tmp_path / "out/qrels/earth_science.base.txt") == {"12": {"e0": 1, "e1": 0}}


def test_bridge_lists_refined_positives(garden: Garden, tmp_path: Path) -> None:
    release_into(garden.benchmark, tmp_path / "out")
    assert jsonl(tmp_path / "out/bridge/biology.jsonl") == [
        {
            "q_id": "7",
            "query": garden.query.text,
            "answers": ["mulch", "shade"],
            "doc_id": ["b0", "b1", "b2"],
        }
    ]


def test_trial_label_changes_nothing(garden: Garden, tmp_path: Path) -> None:
    label(garden.query, garden.passages["b3"], 1, Source.LLMJUDGE, trial=True)
    release_into(garden.benchmark, tmp_path / "out")
    assert "b3" not in qrels(tmp_path / "out/qrels/biology.refined.txt")["7"]
    written = jsonl(tmp_path / "out/provenance/biology.jsonl")
    assert "b3" not in {row["passage_id"] for row in written}


def test_gold_that_is_not_current_stays_out(garden: Garden, tmp_path: Path) -> None:
    GoldVersion.objects.filter(domain=garden.plain.domain).update(is_current=False)
    gold = GoldVersion.objects.create(domain=garden.plain.domain, name="newer", digest="d2")
    Judgment.objects.create(
        query=garden.plain,
        passage=garden.passages["e1"],
        label=1,
        source=Source.ORIGINAL,
        gold_version=gold,
    )
    release_into(garden.benchmark, tmp_path / "out")
    assert qrels(tmp_path / "out/qrels/earth_science.base.txt") == {"12": {"e1": 1}}


def test_only_current_corpus_version_is_released(garden: Garden, tmp_path: Path) -> None:
    recut = make_version(garden.benchmark, "re-cut")
    domain = garden.query.domain
    Passage.objects.create(version=recut, domain=domain, pid="b0#A", text="A cut.")
    release = release_into(garden.benchmark, tmp_path / "out")
    assert [row["id"] for row in rows(tmp_path / "out", "documents", "biology")] == ["b0#A"]
    outside = next(each for each in release.faults if each["check"] == "outside_corpus")
    # b0, b1 (base) and b2 of biology, e0 of earth-science; e1 is not relevant.
    assert outside["count"] == 4
    assert rows(tmp_path / "out", "examples", "biology")[0]["gold_ids"] == []
    assert qrels(tmp_path / "out/qrels/earth_science.refined.txt") == {}
    assert jsonl(tmp_path / "out/provenance/biology.jsonl") == []


def test_version_that_still_loads_is_invisible(garden: Garden, tmp_path: Path) -> None:
    CorpusVersion.objects.create(benchmark=garden.benchmark, name="loading", layers=[])
    release_into(garden.benchmark, tmp_path / "out")
    assert len(rows(tmp_path / "out", "documents", "biology")) == 4


def test_ids_become_text_when_one_is_no_integer(garden: Garden, tmp_path: Path) -> None:
    make_query(garden.benchmark, "007", "earth-science")
    release_into(garden.benchmark, tmp_path / "out")
    assert rows(tmp_path / "out", "examples", "biology")[0]["id"] == "7"
    ids = [row["id"] for row in rows(tmp_path / "out", "examples", "earth_science")]
    assert ids == ["12", "007"]


def test_columns_are_equal_over_splits(garden: Garden, tmp_path: Path) -> None:
    release_into(garden.benchmark, tmp_path / "out")
    first, second = (
        pq.read_schema(tmp_path / f"out/examples/{split}.parquet")
        for split in ("biology", "earth_science")
    )
    assert first == second


def test_answers_column_is_absent_without_answers(db, tmp_path: Path) -> None:
    benchmark = make_benchmark()
    make_gold(make_query(benchmark, answers=[]), make_passage(benchmark))
    release_into(benchmark, tmp_path / "out")
    names = pq.read_schema(tmp_path / "out/examples/biology.parquet").names
    assert names == ["id", "query", "gold_ids", "reference_answer"]


def test_provenance_has_one_row_per_label(garden: Garden, tmp_path: Path) -> None:
    release_into(garden.benchmark, tmp_path / "out")
    written = jsonl(tmp_path / "out/provenance/biology.jsonl")
    assert [(row["passage_id"], row["source"], row["label"]) for row in written] == [
        ("b0", "original", 1),
        ("b1", "original", 1),
        ("b1", "expert", 0),
        ("b2", "debate", 1),
    ]
    assert written[3] == {
        "query_id": "7",
        "passage_id": "b2",
        "label": 1,
        "source": "debate",
        "status": "standing",
        "round": 2,
        "practice": False,
        "provenance": {"debate": 5},
    }


def test_superseded_label_stays_in_provenance(garden: Garden, tmp_path: Path) -> None:
    label(garden.query, garden.passages["b2"], 0, Source.HUMAN)
    release_into(garden.benchmark, tmp_path / "out")
    written = jsonl(tmp_path / "out/provenance/biology.jsonl")
    states = [(row["source"], row["status"]) for row in written if row["passage_id"] == "b2"]
    assert states == [("debate", "superseded"), ("human", "standing")]


def test_pandas_reads_the_numbers_of_the_database(garden: Garden, tmp_path: Path) -> None:
    import pandas as pd

    release = release_into(garden.benchmark, tmp_path / "out")
    counts = {
        name: sum(len(pd.read_parquet(path)) for path in (tmp_path / "out" / name).glob("*"))
        for name in ("examples", "aspects", "documents")
    }
    benchmark = garden.benchmark
    assert counts["examples"] == sum(each.queries.count() for each in benchmark.domains.all())
    assert counts["aspects"] == garden.query.aspects.present().count()
    assert counts["documents"] == Passage.objects.filter(domain__benchmark=benchmark).count()
    examples = pd.read_parquet(tmp_path / "out/examples/biology.parquet")
    aspects = pd.read_parquet(tmp_path / "out/aspects/biology.parquet")
    assert set(examples.gold_ids[0]) == set(aspects.supporting_docs.explode())
    assert aspects.weight.sum() == sum(each.weight for each in garden.query.aspects.all())
    assert release.counts["gold"] == sum(
        len(pd.read_parquet(path).gold_ids.explode())
        for path in (tmp_path / "out/examples").glob("*")
    )


def test_counts_follow_protocol(garden: Garden, tmp_path: Path) -> None:
    release = release_into(garden.benchmark, tmp_path / "out")
    counts = {key: value for key, value in release.counts.items() if key != "splits"}
    assert counts == {
        "queries": 2,
        "aspects": 2,
        "gold": 3,  # b0, b2, e0
        "base": 3,  # b0, b1, e0
        "holes": 1,  # b2
        "dropped": 1,  # b1
        "judged": 5,
        "documents": 6,
        "sources": {"debate": [1, 0], "expert": [0, 1], "original": [2, 1]},
        "contested": {"expert": 1},  # b1
    }
    assert list(release.counts["splits"]) == ["biology", "earth_science"]


@pytest.mark.slow
def test_number_of_queries_does_not_grow_with_rows(
    garden: Garden, tmp_path: Path, django_assert_num_queries, django_assert_max_num_queries
) -> None:
    with django_assert_max_num_queries(200) as small:
        release_into(garden.benchmark, tmp_path / "small", "0.1.0")
    for i in range(20):
        query = make_query(garden.benchmark, str(100 + i), "biology")
        passage = make_passage(garden.benchmark, f"more-{i}", "biology")
        make_gold(query, passage)
        make_support(make_aspect(query, 1), passage)
    with django_assert_num_queries(len(small)):
        release_into(garden.benchmark, tmp_path / "large", "0.2.0")


@pytest.mark.parametrize("name", ["biology", "earth_science"])
def test_folder_holds_every_format(garden: Garden, tmp_path: Path, name: str) -> None:
    release = release_into(garden.benchmark, tmp_path / "out")
    assert {path for path in release.files if name in path} >= {
        f"examples/{name}.parquet",
        f"documents/{name}.parquet",
        f"bridge/{name}.jsonl",
        f"qrels/{name}.base.txt",
        f"qrels/{name}.refined.txt",
        f"qrels/{name}.expert.txt",
        f"provenance/{name}.jsonl",
    }
