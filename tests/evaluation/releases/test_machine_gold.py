"""Machine gold of aspects in a release: a file of its own, verified, and loaded again."""

import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from annotate.candidates.gaps import find_gaps
from annotate.candidates.reading import in_state, proposals
from annotate.models import Aspect, EscalationCase, SupportLabel
from annotate.support.services import record_support
from annotate.voting.services import cast_vote
from corpus.access import enter
from corpus.judgments.services import record_judgment
from corpus.models import CorpusVersion, Passage, Pool, PoolEntry, Query
from corpus.versions.services import make_current
from evaluation.content.reading import read_queries
from evaluation.content.view import view_of
from evaluation.exporters.bright_pro import MACHINE_GOLD
from evaluation.scores.services import GoldView, labels_in
from evaluation.verification.diff import compare
from evaluation.verification.folder import verify
from tests.annotate.world import signed_in
from tests.debate.runs.test_aspects import (  # noqa: F401
    debated,
    first,
    garden,
    passage,
    practice,
    shown,
)
from tests.evaluation.conftest import release_into, same_when_imported
from tests.evaluation.leaderboard.test_matched_pool import derive
from tests.evaluation.releases.test_release_content import jsonl, qrels, rows
from tests.factories import make_member
from tests.worlds import in_a_world

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def told(garden: Any) -> Any:  # noqa: F811
    """Agents say that p10 supports a1, three people say it of p6."""
    run = debated(garden)
    for n in range(3):
        voter = make_member(garden, f"v{n}", "annotator")
        cast_vote(case=EscalationCase.objects.get(), voter=voter, label=1)
    # As if a real model had said so.
    SupportLabel.objects.update(practice=False)
    type(run).objects.update(practice=False)
    return garden


def test_it_stands_in_a_file_of_its_own_and_comes_back_equal(told, tmp_path) -> None:
    folder = tmp_path / "release"
    release_into(told, folder)
    agents, people = rows(folder, "machine_gold", "biology")
    assert agents == {
        "id": "biology-1-a1", "doc_id": "p10", "source": "debate", "round": agents["round"],
        "models": ["practice-1"],
    }  # fmt: skip
    assert (people["doc_id"], people["source"], people["models"]) == ("p6", "human", [])
    # In none of the experts' files.
    assert [row["supporting_docs"] for row in rows(folder, "aspects", "biology")] == [[], ["gold"]]
    assert rows(folder, "examples", "biology")[0]["gold_ids"] == ["gold"]
    assert qrels(folder / "qrels/biology.expert.txt")["1"] == {"gold": 1}
    card = (folder / "README.md").read_text()
    assert "| debate | two agents that agreed in a debate | practice-1 | 1 |" in card
    assert 'path: "machine_gold/biology.parquet"' in card
    assert "machine_gold/biology.parquet" in {each["@id"] for each in json.loads(
        (folder / "croissant.json").read_text())["distribution"]}  # fmt: skip

    report = verify(folder)
    assert (report.differences, report.unverified) == ([], 0)
    evidence = jsonl(folder / "evidence/machine_gold/biology.jsonl")
    assert [(row["aspect"], row["rule"], len(row.get("votes", ()))) for row in evidence] == [
        *((1, "debate", 0), (1, "majority-3", 3))
    ]
    assert [row["passage_id"] for row in jsonl(folder / "evidence/votes.jsonl")] == ["p6"]
    in_a_world(lambda: same_when_imported(folder, tmp_path / "again"))


def test_a_release_without_it_has_no_word_of_it(told, tmp_path) -> None:
    release_into(told, tmp_path / "with")
    record_support(
        aspect=Aspect.objects.get(k=2), passage=passage("p10"), label=1, source="debate",
        provenance={},
    )  # fmt: skip  # conflicts wait for the expert
    SupportLabel.objects.filter(source="human").update(practice=True)
    release_into(told, tmp_path / "without", "0.2.0")
    assert "machine" not in (tmp_path / "without/README.md").read_text()
    assert not list((tmp_path / "without").rglob("machine_gold*"))
    (change,) = compare(tmp_path / "with", tmp_path / "without")
    assert (change.what, change.rows) == (
        *("machine gold removed", ("biology-1-a1 p10", "biology-1-a1 p6")),
    )


def test_an_altered_row_is_named(told, tmp_path) -> None:
    folder = tmp_path / "release"
    release_into(told, folder)
    agents, people = rows(folder, "machine_gold", "biology")
    for altered, why in (
        ([agents | {"id": "biology-1-a2"}, people], "no evidence says that it supports"),
        ([agents | {"source": "human"}, people], "its source is not that of its evidence"),
        ([agents, people, agents], "it stands there twice"),
        ([agents], "its evidence says that it is machine gold"),
        ([agents, people, agents | {"doc_id": "gold"}], "an expert assigned it"),
    ):
        table = pa.Table.from_pylist(altered, schema=MACHINE_GOLD)
        pq.write_table(table, folder / "machine_gold/biology.parquet")
        found = [each.why for each in verify(folder, checksums=False).differences]
        assert any(words.startswith(why) for words in found), (why, found)
    # Without the answers that they are made of nobody says so.
    evidence = folder / "evidence/machine_gold/biology.jsonl"
    told_of = [row | {"label": 0} for row in jsonl(evidence)]
    evidence.write_text("".join(f"{json.dumps(row)}\n" for row in told_of))
    found = [each.why for each in verify(folder, checksums=False).differences]
    assert "by its evidence it does not support the aspect" in found
    assert "its votes are not those that the chain of votes was made of" in found


def test_a_cleaned_version_inherits_it_under_the_same_rules(told, tmp_path) -> None:
    record_support(
        aspect=Aspect.objects.get(k=2), passage=passage("p2"), label=1, source="debate",
        provenance={},
    )  # fmt: skip
    loaded = CorpusVersion.objects.loaded(told)
    # p10 was cut in two; p6 and p2 were put into one, which supports two aspects now.
    becomes = {"p10": ["ten", "ten'"], "p6": ["six", "mixed"], "p2": ["mixed"], "gold": ["new"]}
    cleaned = derive(loaded, becomes)
    assert (held(told, loaded), held(told, cleaned)) == (
        {1: ["p10", "p6"], 2: ["p2"]},
        {1: ["ten", "ten'", "six"]},
    )

    make_current(version=cleaned, seen=loaded.pk, actor=None)
    told.refresh_from_db()
    folder = tmp_path / "release"
    release = release_into(told, folder)
    report = verify(folder)
    assert (report.differences, report.unverified) == ([], 0)
    # What p2 said went into a passage that supports two aspects: the card says so.
    (lost,) = [fault for fault in release.faults if fault["check"] == "uncarried_machine_gold"]
    assert [(row["aspect"], row["passage"]) for row in lost["rows"]] == [("biology-1-a2", "p2")]
    evidence = jsonl(folder / "evidence/machine_gold/biology.jsonl")
    assert [(row["passage_id"], row["given_for"], row["version"]) for row in evidence] == [
        ("ten", "p10", loaded.name), ("ten'", "p10", loaded.name), ("six", "p6", loaded.name)
    ]  # fmt: skip
    # What is gold of it already, or was judged for it, is not asked about again.
    assert not gaps(cleaned, "ten", "new")
    assert gaps(cleaned, "new") == {1: {"ten", "ten'", "six", "mixed", "new"}}

    # What was said of the passage itself counts before it, and what people refused there is none.
    piece = Passage.objects.get(version=cleaned, pid="ten'")
    record_support(aspect=first(), passage=piece, label=0, source="human", provenance={})
    record_judgment(
        query=Query.objects.get(), passage=Passage.objects.get(version=cleaned, pid="six"),
        label=0, source="human", provenance={}, actor=None,
    )  # fmt: skip
    assert held(told, cleaned) == {1: ["ten"]}
    assert held(told, loaded) == {1: ["p10", "p6"], 2: ["p2"]}
    # Nor is what people judge at this moment.
    case = EscalationCase.objects.get()
    EscalationCase.objects.filter(pk=case.pk).update(
        status="open", passage=Passage.objects.get(version=cleaned, pid="ten")
    )
    assert held(told, cleaned) == {}


def test_support_lifts_nothing_that_inherits_that_people_found_it_not_relevant(
    garden,  # noqa: F811
    tmp_path,
) -> None:
    loaded = CorpusVersion.objects.loaded(garden)
    query, aspect = Query.objects.get(), first()
    record_judgment(
        query=query, passage=passage("p2"), label=0, source="human", provenance={}, actor=None
    )
    once = derive(loaded, {"p2": ["two"], "p10": ["ten"], "gold": ["new"]})
    twice = derive(once, {"two": ["two'"], "ten": ["ten'"], "new": ["new'"]}, "again")
    for pid in ("two", "ten"):
        made = Passage.objects.get(version=once, pid=pid)
        record_support(aspect=aspect, passage=made, label=1, source="debate", provenance={})
        pool = Pool.objects.create(
            benchmark=garden, name=pid, corpus_version=once, of_aspects=True
        )  # fmt: skip
        PoolEntry.objects.create(pool=pool, query=query, passage=made, aspect=1)
    for version, gold, off in ((once, "ten", "two"), (twice, "ten'", "two'")):
        assert held(garden, version) == {1: [gold]}
        view = view_of(garden, version)
        (record,) = read_queries(view, view.splits["biology"])
        labels = labels_in(record, GoldView.MACHINE)
        assert (labels[gold], labels[off]) == (1, 0)
        # It fills no gap, and is not asked about either.
        assert gaps(version, off)[1] >= {gold, off}
    states = shown(garden, make_member(garden, "reviewer", "reviewer"))
    assert (states["two"], states["ten"]) == (("off_query", 1), ("candidate", 1))
    access = enter(make_member(garden, "admin", "admin"), garden.slug)
    for state, pids in (("off_query", ["two"]), ("candidate", ["ten"])):
        found = in_state(access, proposals(garden), state)
        assert list(found.values_list("passage__pid", flat=True)) == pids
    gold_of = signed_in(access.user).get("/api/b/demo/candidates/gold/").json()["results"]
    assert [row["passage"] for row in gold_of] == ["ten"]

    make_current(version=once, seen=loaded.pk, actor=None)
    garden.refresh_from_db()
    folder = tmp_path / "release"
    release_into(garden, folder)
    assert verify(folder).differences == []
    assert [row["doc_id"] for row in rows(folder, "machine_gold", "biology")] == ["ten"]


def held(benchmark: Any, version: CorpusVersion) -> dict[int, list[str]]:
    """Machine gold by number of the aspect in a corpus version."""
    view = view_of(benchmark, version)
    (record,) = read_queries(view, view.splits["biology"])
    found = {each.k: [one.passage for one in each.machine] for each in record.aspects}
    return {k: pids for k, pids in found.items() if pids}


def gaps(version: CorpusVersion, *found: str) -> dict[int, set[str]]:
    """By number of the aspects of which no run found gold, from what it found: what need not be
    asked about."""
    inside = Passage.objects.filter(version=version)
    pks = set(inside.filter(pid__in=found).values_list("pk", flat=True))
    (query,) = Query.objects.all()
    return {
        gap.k: set(inside.filter(pk__in=gap.taken).values_list("pid", flat=True))
        for gap in find_gaps(version, [query], {query.pk: pks})
    }
