"""Final releases: what refuses them, what verify_release finds, and what changed since."""

import io
import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from annotate.adjudication.services import settle_case
from annotate.answers.citing import foreign_citations
from annotate.models import EscalationCase, Vote, VotingPlan
from annotate.workspace.gold import assign_passage, discard_passage, undo_verdict
from corpus.access import enter
from corpus.models import Judgment, Passage, Query, Source
from debate.audits.services import audit_bound, draw_sample
from debate.models import Debate, DebateRun, Turn
from evaluation.content.evidence import pseudonyms
from evaluation.exporters.files import write_sums
from evaluation.models import Release
from evaluation.releases.building import carry_out
from evaluation.releases.findings import audit_fault, label_checks
from evaluation.releases.services import start_here
from evaluation.verification.diff import compare
from evaluation.verification.folder import verify
from tests.debate.runs.test_screens import make_debate, make_run
from tests.evaluation.conftest import Garden, label, make_case, make_garden, make_support
from tests.factories import make_member, make_passage, make_pool
from tests.worlds import in_a_world


def build(garden: Garden, folder: Path, version: str = "1.0.0", **options) -> Release:
    release = start_here(benchmark=garden.benchmark, version=version, folder=folder, **options)
    release.refresh_from_db()
    carry_out(release)
    release.refresh_from_db()
    return release


def debated(garden: Garden, pid: str, value: int, *answers: str) -> Judgment:
    """A label of a debate with its turns, as outcomes are stored."""
    passage = garden.passages[pid]
    pool = make_pool(garden.benchmark, (garden.query, passage), name=f"pool {pid}")
    run = DebateRun.objects.create(
        benchmark=garden.benchmark, pool=pool, name="r", endpoint="e", model="m"
    )
    debate = Debate.objects.create(
        run=run, query=garden.query, passage=passage, status="agreed", label=value, round=1
    )
    from llm.models import Call

    for place, answer in enumerate(answers):
        call = Call.objects.create(
            key=f"{pid}{place}",
            attempt=1,
            role="debate_turn",
            model="m",
            endpoint="e",
            status="answered",
            request={},
            text=answer,
            created_at="2026-01-01T00:00Z",
        )
        Turn.objects.create(
            debate=debate,
            round=1,
            agent="AB"[place],
            response="yes" if value else "no",
            label=value,
            call=call,
            prompt_sha256="0",
        )
    return label(
        garden.query, passage, value, Source.DEBATE, round=1, provenance={"debate": debate.pk}
    )


def voted(garden: Garden, pid: str, *labels: int | None) -> Judgment:
    case = make_case(garden.query, garden.passages[pid], status="closed")
    votes = [
        Vote.objects.create(
            case=case,
            voter=make_member(garden.benchmark, f"voter-{pid}-{place}", "annotator"),
            label=value,
        )
        for place, value in enumerate(labels)
    ]
    given = {"rule": "majority-3", "case": case.pk, "votes": [vote.pk for vote in votes]}
    majority = int(sum(filter(None, labels)) * 2 > len(labels))
    made = label(garden.query, garden.passages[pid], majority, Source.HUMAN, provenance=given)
    EscalationCase.objects.filter(pk=case.pk).update(judgment=made)
    return made


def make_sound(garden: Garden) -> Garden:
    """The garden, in which nothing refuses a final release: b3 voted down, b2's debate stored."""
    Judgment.objects.filter(source="debate").delete()
    debated(garden, "b2", 1, '{"response": "yes"}', 'Sure: {"response": "Yes."}')
    voted(garden, "b3", 0, 0, 1)
    # The expert's verdict on b1 as the verb stores it.
    Judgment.objects.filter(source="expert").update(provenance={"rule": "discarded"})
    return garden


@pytest.fixture(scope="module")
def planted(undone_database) -> Garden:
    return make_sound(make_garden())


@pytest.fixture
def sound(garden) -> Garden:
    return garden


@pytest.fixture(scope="module")
def made(planted, tmp_path_factory) -> Path:
    """A final release of it, whose row is in no test's database."""
    folder = tmp_path_factory.mktemp("made") / "r"
    in_a_world(lambda: build(planted, folder, final=True))
    return folder


@pytest.fixture
def folder(made, tmp_path) -> Path:
    """Its copy, to be altered."""
    return Path(shutil.copytree(made, tmp_path / "r"))


def test_sound_content_becomes_final_and_verifies(sound, tmp_path) -> None:
    release = build(sound, tmp_path / "r", final=True)
    assert (release.status, release.error, release.state) == ("done", "", "final")
    assert "This is a draft" not in (tmp_path / "r/README.md").read_text()
    report = verify(tmp_path / "r")
    assert report.differences == []
    assert (report.derived, report.unverified) == (3, 0)
    out = io.StringIO()
    call_command("verify_release", str(tmp_path / "r"), stdout=out)
    assert "Nothing differs." in out.getvalue()


@pytest.mark.slow
def test_a_final_release_says_how_to_cite_it_and_a_draft_does_not(sound, tmp_path) -> None:
    build(sound, tmp_path / "draft", "0.9.0")
    build(sound, tmp_path / "final", "1.0.0", final=True)
    draft, final = ((tmp_path / name / "README.md").read_text() for name in ("draft", "final"))
    assert f"{sound.benchmark.name}, version 1.0.0;" in final.partition("## How to cite")[2]
    assert "How to cite" not in draft
    assert "do not cite it" in draft
    told = [
        json.loads((tmp_path / name / "croissant.json").read_text()).get("citeAs")
        for name in ("draft", "final")
    ]
    assert told == [None, f"{sound.benchmark.name}, version 1.0.0"]


def test_built_twice_every_byte_is_the_same(sound, tmp_path) -> None:
    first = build(sound, tmp_path / "a", final=True)
    call_command(
        "build_release",
        "garden",
        version="1.0.0",
        out=tmp_path / "b",
        final=True,
        stdout=io.StringIO(),
    )
    for name in first.files:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name


def unfit_case(garden: Garden) -> str:
    make_case(garden.query, garden.passages["b0"])
    return "open_cases"


def unfit_practice(garden: Garden) -> str:
    Judgment.objects.filter(source="debate").update(practice=True)
    return "practice_labels"


def unfit_text(garden: Garden) -> str:
    passage = garden.passages["b0"]
    passage.text = None
    passage.save()
    return "gold_without_text"


def unfit_citation(garden: Garden) -> str:
    garden.query.reference_answer = "Mulch helps [b0] [b3]."
    garden.query.save()
    return "foreign_citations"


@pytest.mark.few(2)
@pytest.mark.parametrize("spoil", [unfit_case, unfit_practice, unfit_text, unfit_citation])
def test_faults_refuse_a_final_release_and_name_their_rows(sound, tmp_path, spoil) -> None:
    check = spoil(sound)
    release = build(sound, tmp_path / "r", final=True)
    assert release.status == "failed"
    assert release.error.startswith("A final release is refused")
    assert check in [fault["check"] for fault in release.faults]
    assert all(fault["rows"] for fault in release.faults)
    assert not (tmp_path / "r").exists()
    draft = build(sound, tmp_path / "d", "1.0.1")
    assert draft.status == "done"
    assert check in [fault["check"] for fault in draft.faults]


def test_two_aspects_of_one_passage_refuse_it(sound, tmp_path, monkeypatch) -> None:
    from annotate.models import Aspect
    from evaluation.exporters.faults import find_faults
    from evaluation.exporters.records import AspectRecord, Label, QueryRecord

    assert Aspect.objects.count() == 2
    record = QueryRecord(
        1,
        "7",
        "q",
        labels=(Label("b0", 1, 1),),
        aspects=(AspectRecord(1, "x", 1, "s", ("b0",)), AspectRecord(2, "y", 1, "s", ("b0",))),
    )
    [fault] = [each for each in find_faults("s", [record]) if each.check == "two_aspects"]
    assert (fault.count, fault.rows[0]["passage"]) == (1, "b0")


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("as [doc_1] and [doc_2] say", []),
        ("as [doc_3] says", ["doc_3"]),
        ("as [doc_0] says", ["doc_0"]),
        ("[g1] [doc g2] [x9]", ["x9"]),
        ("[citation needed] [sic]", []),
        ("[other/page.txt]", ["other/page.txt"]),
        ("[x9] again [x9]", ["x9"]),
    ],
)
def test_citations(answer, found) -> None:
    assert foreign_citations(answer, ["g1", "g2"], {"g1", "g2", "x9"}) == found


@pytest.mark.slow
def test_the_bar_of_agreement(sound, tmp_path) -> None:
    voted(sound, "b0", 1, 1, 1)
    # (0, 0, 1) and (1, 1, 1): (2/3 - 5/9) / (1 - 5/9).
    assert build(sound, tmp_path / "a", final=True, agreement_bar=0.2).status == "done"
    refused = build(sound, tmp_path / "b", "1.0.1", final=True, agreement_bar=0.9)
    assert refused.status == "failed"
    assert "below the bar" in refused.error
    assert "Fleiss' kappa over 6 votes is 0.250" in (tmp_path / "a/README.md").read_text()


def labelled(garden: Garden, count: int) -> DebateRun:
    """A run whose agents agreed of so many pairs that they are not relevant."""
    run = make_run(garden.benchmark, status="done")
    for _ in range(count):
        passage = make_passage(garden.benchmark, f"a{Debate.objects.count()}", text="Seen again.")
        given = label(garden.query, passage, 0, Source.DEBATE, round=1)
        pair = {"query": garden.query, "passage": passage}
        make_debate(run, "agreed", label=0, round=1, judgment=given, **pair)
    return run


def audit_of(run: DebateRun, count: int) -> None:
    """A blind audit of so many pairs of it, in which people find no error."""
    sample = draw_sample(run=run, size=count, seed=1, actor=None)
    EscalationCase.objects.filter(pk__in=sample.items.values("case")).update(
        status="closed", label=0
    )


@pytest.mark.slow
def test_the_bar_of_blind_audits(sound, tmp_path) -> None:
    VotingPlan.objects.create(benchmark=sound.benchmark, version=1, audit_bar=0.3)
    refused = build(sound, tmp_path / "a", final=True)
    assert [fault["check"] for fault in refused.faults] == ["audit_above_bar"]
    # No error of 8: 1 - .05^(1/8) = 31.2 %; of 12: 22.1 %.
    run = labelled(sound, 20)
    audit_of(run, 8)
    assert build(sound, tmp_path / "b", "1.0.1", final=True).status == "failed"
    audit_of(run, 4)
    assert build(sound, tmp_path / "c", "1.0.2", final=True).status == "done"
    card = (tmp_path / "c/README.md").read_text()
    told = "on, 12 pairs drawn, 0 of 12 decided wrong: at most 22.1% of labels (exact, 95 %)"
    assert f"- blind audit of agreed pairs: {told}; the bar is 30.0%" in card


def test_a_small_clean_run_does_not_answer_for_a_large_one_that_nobody_audited(sound) -> None:
    VotingPlan.objects.create(benchmark=sound.benchmark, version=1, audit_bar=0.5)
    small = labelled(sound, 10)
    audit_of(small, 10)
    # A bound of its own of 1 - .05^(1/10).
    assert audit_bound(sound.benchmark).bound == pytest.approx(0.258866, abs=1e-6)
    # People's labels take the places of what they judged; the run's were as good as before.
    for debate in small.debates.all():
        label(debate.query, debate.passage, 0, Source.HUMAN)
    assert audit_bound(sound.benchmark).bound == pytest.approx(0.258866, abs=1e-6)
    large = labelled(sound, 40)
    left = audit_bound(sound.benchmark)
    assert left.unaudited == [large.name]
    assert left.bound == pytest.approx((10 * 0.258866 + 40) / 50, abs=1e-6)
    (fault,) = audit_fault(sound.benchmark)
    assert fault.rows == ({"name": f"{large.name}, not audited"},)
    assert f"not audited, so all open: `{large.name}`" in label_checks(sound.benchmark)[-1]
    # Two bounds that hold together at 95 %: each at 97.5 %, 1 - .025^(1/n).
    audit_of(large, 20)
    expected = (10 * (1 - 0.025**0.1) + 40 * (1 - 0.025**0.05)) / 50
    left = audit_bound(sound.benchmark)
    assert (left.bound, left.unaudited) == (pytest.approx(expected), [])
    assert audit_fault(sound.benchmark) == []


def test_people_are_pseudonyms_that_hold_in_one_release(sound, tmp_path, settings) -> None:
    build(sound, tmp_path / "r", final=True)
    rows = [json.loads(x) for x in (tmp_path / "r/evidence/biology.jsonl").read_text().splitlines()]
    votes = next(row["votes"] for row in rows if row["source"] == "human")
    assert len({vote["person"] for vote in votes}) == 3
    for path in (tmp_path / "r").rglob("*"):
        if path.is_file():
            assert b"voter-" not in path.read_bytes(), path
    assert pseudonyms("garden", "1.0.0")(5) == pseudonyms("garden", "1.0.0")(5)
    others = {pseudonyms("garden", "1.0.1")(5), pseudonyms("g", "1.0.0")(5)}
    assert pseudonyms("garden", "1.0.0")(5) not in others


def test_votes_altered_in_the_database_refuse_a_final_release(sound, tmp_path) -> None:
    # The majority is the same without the 1, so nothing but the chain shows it.
    Vote.objects.filter(label=1).update(label=0)
    refused = build(sound, tmp_path / "r", final=True)
    assert [each["check"] for each in refused.faults] == ["altered_votes"]
    assert [row["passage"] for row in refused.faults[0]["rows"]] == ["b3"]
    assert build(sound, tmp_path / "d", "1.0.1").faults == refused.faults


def test_a_draft_that_does_not_verify_says_so_and_a_final_release_is_refused(
    sound, tmp_path
) -> None:
    Turn.objects.filter(agent="A").update(label=0)
    refused = build(sound, tmp_path / "r", final=True)
    assert [each["check"] for each in refused.faults] == ["unverified"]
    draft = build(sound, tmp_path / "d", "1.0.1")
    (fault,) = draft.faults
    (found,) = verify(tmp_path / "d").differences
    why = "A's answer in round 1 reads 1, not 0"
    assert (fault["count"], found.why) == (1, why)
    assert fault["rows"] == [{"split": "biology", "query": "7", "passage": "b2", "why": str(found)}]
    card = (tmp_path / "d/README.md").read_text()
    assert "1 row does not follow from the evidence" in card


def test_links_of_votes_tell_of_nobody_and_of_no_order(sound, tmp_path) -> None:
    build(sound, tmp_path / "r", final=True)
    row = evidence_of(tmp_path / "r", "b3")
    *earlier, last = Vote.objects.order_by("pk").values_list("link", flat=True)
    written = b"".join(path.read_bytes() for path in (tmp_path / "r").rglob("*.*"))
    # One link a case: with one a vote, its pseudonyms of two releases could be joined.
    assert row["head"] == last
    assert not any(link.encode() in written for link in earlier)
    people = [vote["person"] for vote in row["votes"]]
    assert people == sorted(people)


def evidence_of(folder: Path, pid: str) -> dict:
    lines = (folder / "evidence/biology.jsonl").read_text().splitlines()
    return next(row for row in map(json.loads, lines) if row["passage_id"] == pid)


@pytest.mark.slow
def test_a_restored_verdict_names_who_judged_and_who_took_back(sound, tmp_path) -> None:
    judge, other, undoer = (
        make_member(sound.benchmark, name, "annotator") for name in ("judge", "other", "undoer")
    )
    aspect, passage = sound.query.aspects.get(k=1), sound.passages["b3"]
    pair = {"query": sound.query, "passage": passage}
    assign_passage(**pair, aspect=aspect, actor=judge)
    for _ in range(2):  # a verdict that was restored twice is still the judge's
        discard_passage(**pair, reason="noise", actor=other)
        undo_verdict(**pair, actor=undoer)
    name = pseudonyms("garden", "1.0.0")
    build(sound, tmp_path / "r", final=True)
    row = evidence_of(tmp_path / "r", "b3")
    assert (row["rule"], row["label"]) == ("assigned", 1)
    assert (row["person"], row["restored_by"]) == (name(judge.pk), name(undoer.pk))
    assert verify(tmp_path / "r").differences == []
    discard_passage(**pair, reason="noise", actor=other)
    build(sound, tmp_path / "s", "1.0.1", final=True)
    row = evidence_of(tmp_path / "s", "b3")
    assert row["person"] == pseudonyms("garden", "1.0.1")(other.pk)
    assert "restored_by" not in row


@pytest.mark.slow
def test_what_a_third_person_settled_carries_decision_and_votes(sound, tmp_path) -> None:
    case = make_case(sound.query, sound.passages["b0"], status="expert")
    voters = [make_member(sound.benchmark, f"v{n}", "annotator") for n in range(5)]
    for voter, value in zip(voters, (1, 0, None, None, None), strict=True):
        Vote.objects.create(case=case, voter=voter, label=value)
    admin = make_member(sound.benchmark, "settler", "admin")
    settle_case(case=case, access=enter(admin, "garden"), label=1, reason="It does say so.")
    build(sound, tmp_path / "r", final=True)
    row, name = evidence_of(tmp_path / "r", "b0"), pseudonyms("garden", "1.0.0")
    assert (row["rule"], row["decision"], row["person"]) == ("adjudicated", 1, name(admin.pk))
    assert {vote["person"] for vote in row["votes"]} == {name(voter.pk) for voter in voters}
    assert verify(tmp_path / "r").differences == []
    rewrite(tmp_path / "r/evidence/biology.jsonl", row["person"], name(voters[0].pk))
    whys = {each.why for each in verify(tmp_path / "r").differences}
    assert "who settled it voted on it" in whys


def rewrite(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text, path
    path.write_text(text.replace(old, new, 1))
    write_sums(next(p for p in path.parents if (p / "SHA256SUMS").exists()))


def tampered(name: str, old: str, new: str, file: str, why: str):
    return pytest.param(name, old, new, file, why, id=f"{name}: {why}")


@pytest.mark.parametrize(
    ("name", "old", "new", "file", "why"),
    [
        tampered(
            "evidence/biology.jsonl",
            '"label":0,"guideline',
            '"label":1,"guideline',
            "evidence/biology.jsonl",
            "it says 0, its evidence 1",
        ),
        tampered(
            "evidence/biology.jsonl",
            '\\"response\\": \\"yes\\"',
            '\\"response\\": \\"no\\"',
            "evidence/biology.jsonl",
            "A's answer in round 1 reads 0, not 1",
        ),
        tampered(
            "qrels/biology.expert.txt", "7 0 b3 0", "7 0 b3 1", "qrels/biology.expert.txt", "0"
        ),
        tampered(
            "qrels/biology.refined.txt",
            "7 0 b2 1\n",
            "",
            "qrels/biology.refined.txt",
            "it says nothing",
        ),
        tampered(
            "provenance/biology.jsonl",
            '"passage_id":"b2","label":1',
            '"passage_id":"b2","label":0',
            "provenance/biology.jsonl",
            "not that of the evidence",
        ),
    ],
)
def test_every_row_that_differs_is_named(folder, name, old, new, file, why) -> None:
    rewrite(folder / name, old, new)
    found = verify(folder).differences
    assert any(each.file == file and why in each.why and each.query == "7" for each in found), found
    with pytest.raises(CommandError, match="differ"):
        call_command("verify_release", str(folder), stdout=io.StringIO())


def test_a_changed_byte_and_a_lost_file_are_named(folder) -> None:
    (folder / "bridge/biology.jsonl").write_text("x")
    (folder / "croissant.json").unlink()
    found = [(each.file, each.why) for each in verify(folder).differences]
    assert found[:2] == [
        ("bridge/biology.jsonl", "its checksum is another"),
        ("croissant.json", "the file is not there"),
    ]
    shutil.rmtree(folder / "provenance")
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("verify_release", str(folder), stdout=io.StringIO())


def test_subtopics_beir_and_croissant_say_the_same(folder) -> None:
    import pandas as pd

    assert (folder / "qrels/biology.aspects.txt").read_text() == "7 1 b0 1\n7 2 b2 1\n"
    corpus = [
        json.loads(x) for x in (folder / "beir/biology/corpus.jsonl").read_text().splitlines()
    ]
    documents = pd.read_parquet(folder / "documents/biology.parquet")
    assert [(row["_id"], row["text"], row["title"]) for row in corpus] == list(
        documents[["id", "content", "title"]].itertuples(index=False, name=None)
    )
    qrels = pd.read_csv(folder / "beir/biology/qrels/test.tsv", sep="\t", dtype=str)
    plain = [x.split() for x in (folder / "qrels/biology.expert.txt").read_text().splitlines()]
    assert qrels.to_numpy().tolist() == [[q, p, v] for q, _, p, v in plain]
    croissant = json.loads((folder / "croissant.json").read_text())
    sums = dict(
        reversed(line.split("  ")) for line in (folder / "SHA256SUMS").read_text().splitlines()
    )
    for file in croissant["distribution"]:
        assert sums[file["@id"]] == file["sha256"]
    for records in croissant["recordSet"]:
        file = records["field"][0]["source"]["fileObject"]["@id"]
        columns = [each["source"]["extract"]["column"] for each in records["field"]]
        assert columns == list(pd.read_parquet(folder / file).columns)


def test_pyndeval_reads_the_subtopic_qrels(folder) -> None:
    import pyndeval

    lines = (folder / "qrels/biology.aspects.txt").read_text().splitlines()
    qrels = [pyndeval.SubtopicQrel(q, k, p, int(v)) for q, k, p, v in map(str.split, lines)]
    run = [pyndeval.ScoredDoc("7", "b0", 2.0), pyndeval.ScoredDoc("7", "b2", 1.0)]
    assert pyndeval.ndeval(qrels, run, measures=["strec@10"])["7"]["strec@10"] == 1.0


def test_changes_since_an_older_release(sound, tmp_path) -> None:
    build(sound, tmp_path / "a", "0.1.0")
    assert compare(tmp_path / "a", tmp_path / "a") == []
    label(sound.plain, sound.passages["e1"], 1, Source.HUMAN)
    Query.objects.filter(pk=sound.query.pk).update(reference_answer="Mulch [b0].")
    aspect = sound.query.aspects.get(k=1)
    aspect.weight = 1
    aspect.save()
    make_support(aspect, sound.passages["b3"])
    build(sound, tmp_path / "b", "0.2.0")
    found = {(c.split, c.what): c.rows for c in compare(tmp_path / "a", tmp_path / "b")}
    assert found == {
        ("biology", "queries changed"): ("7 (reference_answer)",),
        ("biology", "aspects changed"): ("biology-7-a1 (weight)",),
        ("biology", "passages of aspects added"): ("biology-7-a1 b3",),
        ("earth_science", "labels of the refined view changed"): ("12 e1: 0 to 1",),
        ("earth_science", "labels of the expert view changed"): ("12 e1: 0 to 1",),
    }


@pytest.mark.slow
def test_screens_and_api_of_final_releases(sound, tmp_path) -> None:
    client = Client()
    client.force_login(make_member(sound.benchmark, "garden-admin", "admin"))
    given = {"version": "1.0.0", "final": "on", "agreement_bar": "0.2"}
    assert client.post("/b/garden/releases/", given).status_code == 302
    release = Release.objects.get()
    assert (release.state, release.agreement_bar) == ("final", 0.2)
    EscalationCase.objects.update(status="open")
    assert release.claim()
    carry_out(release)
    page = client.get(f"/b/garden/releases/{release.pk}/").content.decode()
    assert "Why it was refused" in page
    assert "still waits for votes" in page
    first = build(sound, tmp_path / "a", "1.1.0")
    label(sound.plain, sound.passages["e1"], 1, Source.HUMAN)
    second = build(sound, tmp_path / "b", "1.2.0")
    base = f"/b/garden/releases/{second.pk}/since/{first.pk}/"
    assert "labels of the refined view changed" in client.get(base).content.decode()
    assert "# Changes from 1.1.0 to 1.2.0" in client.get(f"{base}changelog/").content.decode()
    changes = client.get(f"/api{base}").json()
    assert changes[0]["rows"] == ["12 e1: 0 to 1"]
    wrong = client.get(f"/b/garden/releases/{second.pk}/since/{release.pk}/")
    assert wrong.status_code == 302
    by_api = client.post(
        "/api/b/garden/releases/",
        {"version": "2.0.0", "final": True, "agreement_bar": 2},
        content_type="application/json",
    )
    assert by_api.status_code == 400


def test_a_title_that_changed_is_named_and_an_older_release_without_titles_is_read(
    sound, tmp_path
) -> None:
    build(sound, tmp_path / "a", "0.1.0")
    Passage.objects.filter(pid="b0").update(title="On mulch")
    build(sound, tmp_path / "b", "0.2.0")
    newer = tmp_path / "b/documents/biology.parquet"
    found = {(c.split, c.what): c.rows for c in compare(tmp_path / "a", tmp_path / "b")}
    assert found == {("biology", "documents changed"): ("b0 (title)",)}
    pq.write_table(pq.read_table(newer, columns=["id", "content"]), newer)
    assert compare(tmp_path / "a", tmp_path / "b") == []
