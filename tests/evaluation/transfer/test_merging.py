"""Two installations' labels of one benchmark become one, whichever is merged into the other."""

from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import transaction
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from annotate.models import Aspect, EscalationCase, GoldPassage, Vote
from annotate.voting.models import altered_cases
from corpus.judgments.models import PRECEDENCE
from corpus.judgments.services import record_judgment, weigh, withdraw_judgment
from corpus.models import Benchmark, Judgment, Query, Source, Status
from evaluation.models import MergeConflict, Transfer
from evaluation.tasks import transfer
from evaluation.transfer import services
from evaluation.transfer.conflicts import choose
from evaluation.transfer.merging.run import Merge
from kit.errors import Refused
from kit.models import Event, Quota
from tests.evaluation.transfer.world import make_world
from tests.factories import make_benchmark, make_gold, make_member, make_passage, make_query

START = datetime(2026, 1, 1, tzinfo=UTC)
PASSAGES = 3
Said = tuple[int, str, int]
# A passage, who says something of it, and what: 0, 1, or that the label is taken back.
SAID = st.tuples(
    st.integers(0, PASSAGES - 1), st.sampled_from(sorted(PRECEDENCE)), st.integers(0, 2)
)


def make_side(slug: str, *told: list[Said]) -> Benchmark:
    """A benchmark with these labels: all sides say the first ones at the same moments."""
    benchmark = make_benchmark(slug)
    query = make_query(benchmark)
    passages = [make_passage(benchmark, f"p{at}") for at in range(PASSAGES)]
    make_gold(query, passages[0])
    admin = make_member(benchmark, f"admin-of-{slug}", "admin")
    for turn, each in enumerate(told):
        for at, (passage, source, label) in enumerate(each):
            moment = START + timedelta(days=turn * (1 + len(slug)), seconds=at)
            if label == 2:
                labels = Judgment.objects.standing().filter(query=query, passage=passages[passage])
                if found := labels.first():
                    withdraw_judgment(judgment=found, actor=admin)
                continue
            made = record_judgment(
                query=query, passage=passages[passage], label=label, source=source, provenance={}
            )
            Judgment.objects.filter(pk=made.pk).update(created_at=moment)
    return benchmark


def labels_of(benchmark: Benchmark) -> set[Any]:
    rows = Judgment.objects.filter(query__domain__benchmark=benchmark)
    rows = rows.exclude(source=Source.ORIGINAL)
    return {
        (j.passage.pid, j.source, j.label, j.created_at) for j in rows.select_related("passage")
    }


def standing_in(benchmark: Benchmark) -> dict[str, Any]:
    rows = Judgment.objects.standing().filter(query__domain__benchmark=benchmark)
    return {j.passage.pid: (j.label, weigh(j)) for j in rows.select_related("passage")}


def conflicts_in(benchmark: Benchmark) -> set[Any]:
    rows = MergeConflict.objects.filter(benchmark=benchmark).select_related("passage")
    return {(c.kind, c.passage.pid, frozenset((c.ours, c.theirs))) for c in rows if c.passage}


def merged(base: list[Said], one: list[Said], other: list[Said], *, turned: bool) -> Any:
    with transaction.atomic():
        sides = [make_side("a", base, one), make_side("bb", base, other)]
        here, there = sides[::-1] if turned else sides
        before, stood = labels_of(here), standing_in(here)
        Merge(here, there, digest="d" * 64, actor=None).run()
        found = labels_of(here), standing_in(here), conflicts_in(here)
        assert before <= found[0]
        again = Merge(here, there, digest="d" * 64, actor=None)
        again.run()
        assert (labels_of(here), standing_in(here), conflicts_in(here)) == found
        assert (dict(again.told.added), again.told.conflict_count) == ({}, 0)
        # In a conflict what stood here stands.
        for _, pid, _ in found[2]:
            assert found[1].get(pid) == stood.get(pid)
        transaction.set_rollback(True)
    return found


@pytest.mark.slow
@pytest.mark.django_db
@given(*[st.lists(SAID, max_size=4)] * 3)
def test_merging_is_idempotent_and_both_ways_round_come_to_the_same(
    base: list[Said], one: list[Said], other: list[Said]
) -> None:
    labels, standing, conflicts = merged(base, one, other, turned=False)
    turned_labels, turned_standing, turned_conflicts = merged(base, one, other, turned=True)
    assert labels == turned_labels
    assert conflicts == turned_conflicts
    open_pairs = {pid for _, pid, _ in conflicts}
    assert {pid: found for pid, found in standing.items() if pid not in open_pairs} == {
        pid: found for pid, found in turned_standing.items() if pid not in open_pairs
    }


@pytest.mark.django_db
def test_the_heavier_label_stands_and_equals_that_differ_wait_for_an_admin() -> None:
    here = make_side("a", [], [(0, "debate", 0), (1, "expert", 0), (2, "human", 1)])
    there = make_side("bb", [], [(0, "expert", 1), (1, "human", 1), (2, "human", 0)])
    Merge(here, there, digest="d" * 64, actor=None).run()
    found = {pid: label for pid, (label, _) in standing_in(here).items()}
    assert found == {"p0": 1, "p1": 0, "p2": 1}
    (conflict,) = MergeConflict.objects.all()
    assert (conflict.passage.pid, conflict.ours, conflict.theirs) == (
        "p2",
        "1 (human)",
        "0 (human)",
    )
    assert conflict.judgment.status == Status.TRIAL
    admin = User.objects.get(username="admin-of-a")
    choose(conflict=conflict, choice="theirs", actor=admin)
    assert standing_in(here)["p2"][0] == 0
    told = Event.objects.get(verb="choose in conflict")
    assert (told.actor, told.data["choice"]) == (admin, "theirs")
    with pytest.raises(Refused, match="Somebody chose already"):
        choose(conflict=conflict, choice="ours", actor=admin)
    again = Merge(here, there, digest="d" * 64, actor=None)
    again.run()
    assert (standing_in(here)["p2"][0], again.told.conflict_count) == (0, 0)


@pytest.mark.django_db
@pytest.mark.parametrize("turned", [False, True])
def test_an_experts_label_that_was_taken_back_for_a_weaker_one_is_a_conflict(turned) -> None:
    base, taken_back = [(0, "expert", 1)], [(0, "expert", 2), (0, "human", 0)]
    one, other = make_side("a", base, []), make_side("bb", base, taken_back)
    here, there = (other, one) if turned else (one, other)
    stood = standing_in(here)
    Merge(here, there, digest="d" * 64, actor=None).run()
    assert standing_in(here) == stood
    (found,) = MergeConflict.objects.all()
    assert {found.ours, found.theirs} == {"1 (expert)", "0 (human)"}


@pytest.mark.django_db
def test_texts_that_differ_are_left_out_and_aspects_of_both_are_a_conflict() -> None:
    here, there = make_side("a", []), make_side("bb", [(0, "expert", 1), (1, "expert", 1)])
    there.domains.get().queries.filter(qid="2").delete()
    changed = there.versions.get().passages.get(pid="p0")
    type(changed).objects.filter(pk=changed.pk).update(text="Another text.")
    make_query(there, "only there")
    for side in (here, there):
        query = Query.objects.get(domain__benchmark=side, qid="1")
        aspect = Aspect.objects.create(query=query, k=1, content=f"Point of {side.slug}")
        passage = side.versions.get().passages.get(pid="p1")
        GoldPassage.objects.create(aspect=aspect, query=query, passage=passage)
    report = Merge(here, there, digest="d" * 64, actor=None).run()
    assert report["left_out"] == [
        {"what": "judgment of 1", "why": "its passage is not here, or has another text"},
        {"what": "only there", "why": "a query that is not here"},
    ]
    assert [(c["kind"], c["ours"], c["theirs"]) for c in report["conflicts"]] == [
        ("aspects", "Point of a", "Point of bb"),
        ("gold", "a1", "a2"),
    ]
    rows = Aspect.objects.filter(query__domain__benchmark=here).order_by("k")
    assert [(each.k, each.removed_at is None) for each in rows] == [(1, True), (2, False)]
    assert GoldPassage.objects.standing().filter(query__domain__benchmark=here).count() == 1


def test_votes_of_both_close_a_case_and_a_trial_changes_nothing(
    transactional_db: None, tmp_path: Path, settings: Any
) -> None:
    settings.RELEASES = tmp_path / "releases"
    (tmp_path / "card").mkdir()
    world: SimpleNamespace = make_world(tmp_path / "card")
    here = world.benchmark
    Vote.objects.filter(case=world.case).exclude(pk=world.vote.pk).delete()
    services.write_file(benchmark=here, path=tmp_path / "base.zip")
    there = services.import_file(path=tmp_path / "base.zip", slug="there")
    case = EscalationCase.objects.get(
        query__domain__benchmark=there, passage__pid=world.passage.pid, query__qid=world.query.qid
    )
    for name in ("one", "two"):
        Vote.objects.create(case=case, voter=make_member(there, name, "annotator"), label=1)
    services.write_file(benchmark=there, path=tmp_path / "there.zip")
    before = Vote.objects.count(), Event.objects.count(), User.objects.count()
    out = StringIO()
    call_command("merge_benchmark", "demo", tmp_path / "there.zip", dry_run=True, stdout=out)
    assert "Added: 2 × vote." in out.getvalue()
    assert (Vote.objects.count(), Event.objects.count(), User.objects.count()) == before
    call_command("merge_benchmark", "demo", tmp_path / "there.zip", stdout=out)
    world.case.refresh_from_db()
    assert (world.case.status, world.case.label, world.case.judgment.source) == (
        *("closed", 1),
        "human",
    )
    votes = Vote.objects.filter(case=world.case).order_by("pk")
    assert (len(votes), altered_cases(votes)) == (3, [])
    # Whose vote was here already is known, though the file says no name.
    assert votes[0].voter.username == "spare"
    assert all(each.voter.username.startswith("erased-") for each in votes[1:])
    told = Event.objects.filter(scope="demo#merges", verb="merge vote")
    digest = services.open_file(tmp_path / "there.zip").manifest["digest"]
    assert {each.data["from"] for each in told} == {digest}
    report = services.merge_file(benchmark=here, path=tmp_path / "there.zip", actor=None)
    assert report["added"] == {}
    assert not Benchmark.objects.filter(slug__startswith="merging").exists()


@pytest.mark.slow
def test_an_uploaded_file_is_looked_at_before_it_is_merged(
    transactional_db: None, tmp_path: Path, settings: Any, client: Client
) -> None:
    """It counts against the quota and the limit of uploads, and goes once it is merged."""
    settings.ASSAY_DATA, settings.UPLOADS = tmp_path, tmp_path / "uploads"
    here = make_side("a", [])
    client.force_login(User.objects.get(username="admin-of-a"))
    services.write_file(benchmark=here, path=tmp_path / "base.zip")
    there = services.import_file(path=tmp_path / "base.zip", slug="there")
    (query,) = Query.objects.filter(domain__benchmark=there)
    passage = there.versions.get().passages.get(pid="p1")
    record_judgment(query=query, passage=passage, label=1, source="expert", provenance={})
    services.write_file(benchmark=there, path=tmp_path / "there.zip")
    api = "/api/b/a/transfers/"

    def send() -> Any:
        with (tmp_path / "there.zip").open("rb") as file:
            return client.post(f"{api}merge/", {"file": file})

    settings.ASSAY_UPLOAD_LIMIT, limit = 100, settings.ASSAY_UPLOAD_LIMIT
    assert send().status_code == 413
    settings.ASSAY_UPLOAD_LIMIT = limit
    Quota.objects.create(scope="a", bytes=100)
    assert "may keep" in send().json()["detail"]
    Quota.objects.all().delete()
    assert not here.transfers.exists()

    run = Transfer.objects.get(pk=send().json()["id"])
    assert not list((tmp_path / "uploads").iterdir())
    transfer(run.pk)
    run.refresh_from_db()
    assert (run.status, run.report["added"], standing_in(here)) == ("done", {"judgment": 1}, {})
    assert services.place_of(run).exists()
    assert client.post(f"{api}{run.pk}/apply/").status_code == 200
    transfer(run.pk)
    run.refresh_from_db()
    assert (run.status, run.error, standing_in(here)["p1"][0]) == ("done", "", 1)
    assert not services.place_of(run).exists()
    assert client.post(f"{api}{run.pk}/apply/").status_code == 409
