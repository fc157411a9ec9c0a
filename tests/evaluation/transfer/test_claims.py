"""A pseudonym of a file becomes a person of this installation, where both can be one."""

from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import transaction
from django.test import Client

from annotate.models import (
    Adjudication,
    AnswerReview,
    Aspect,
    Batch,
    ReferenceAnswer,
    Review,
    Vote,
    VoteSlot,
    WeightScore,
)
from annotate.voting.models import altered_cases
from corpus.judgments.services import assessors, record_judgment
from corpus.models import Benchmark, Judgment
from evaluation.transfer import services
from evaluation.transfer.claims import claim, claimed, strangers
from evaluation.transfer.merging.run import Merge
from evaluation.transfer.writing import pseudonyms
from evaluation.verification.folder import verify
from kit import audit
from kit.account import people
from kit.errors import Refused
from kit.models import Event
from tests.evaluation.conftest import make_garden
from tests.evaluation.releases.test_release_final import build, make_sound
from tests.evaluation.transfer.test_people import _side, case_of, merge, stranger, vote
from tests.evaluation.transfer.world import make_world, number_apart
from tests.factories import make_benchmark, make_member, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def side() -> SimpleNamespace:
    """A benchmark with a member, an admin, and what a file brought of one stranger."""
    made = _side("a")
    made.person = make_member(made.benchmark, "ann", "annotator")
    made.admin = make_member(made.benchmark, "boss", "admin")
    made.stranger = stranger(1)
    return made


def become(side: SimpleNamespace) -> int:
    who = {"pseudonym": side.stranger.username, "person": side.person, "actor": side.admin}
    return claim(benchmark=side.benchmark, **who)


def test_what_a_stranger_decided_becomes_a_members_and_its_chain_holds(
    side: SimpleNamespace,
) -> None:
    case, other = case_of(side), case_of(side, 1)
    vote(case, stranger(2), 1)
    first = vote(case, side.stranger, 1)
    vote(case, stranger(3), 0)
    Vote.objects.filter(pk=vote(other, side.stranger, 0).pk).update(label=1)
    label = record_judgment(
        query=side.query,
        passage=side.passages[2],
        label=1,
        source="expert",
        provenance={},
        actor=side.stranger,
    )
    with transaction.atomic():
        told = {"person": side.stranger.pk, "case": side.stranger.pk}
        audit.record(actor=None, verb="x", target=case, scope="a#votes", data=told)
    elsewhere = make_benchmark("elsewhere")
    with transaction.atomic():
        audit.record(actor=side.stranger, verb="x", target=case, scope="elsewhere", data={})
    votes = Vote.objects.order_by("case", "pk")
    assert altered_cases(votes) == [other.pk]
    assert strangers(side.benchmark)[side.stranger] == 3
    assert become(side) == 3
    first.refresh_from_db()
    assert first.voter == side.person
    # An altered vote stays known as such; the others are as they were cast.
    assert altered_cases(votes) == [other.pk]
    assert assessors([label])[label.pk]["person"] == side.person.pk
    event = Event.objects.get(verb="x", scope="a#votes")
    assert event.data == {"person": side.person.pk, "case": side.stranger.pk}
    assert strangers(elsewhere) == {side.stranger: 1}
    event = Event.objects.get(verb="claim pseudonym")
    assert (event.actor, event.scope) == (side.admin, "a#merges")
    assert event.data == {
        "pseudonym": side.stranger.pk,
        "person": side.person.pk,
        "rows": 3,
    }
    assert claimed(side.benchmark) == {side.stranger: side.person}
    with pytest.raises(Refused, match="Nothing that a file brought stands under"):
        become(side)


@pytest.mark.slow
def test_a_release_with_claimed_votes_verifies(db: None, tmp_path: Path) -> None:
    garden = make_sound(make_garden())
    build(garden, tmp_path / "before", final=True)
    voter = Vote.objects.first().voter  # type: ignore[union-attr]
    User.objects.filter(pk=voter.pk).update(username=f"erased-{1:020x}", is_active=False)
    person = make_member(garden.benchmark, "ann", "annotator")
    claim(benchmark=garden.benchmark, pseudonym=f"erased-{1:020x}", person=person, actor=None)
    assert Vote.objects.filter(voter=person).count() == 1
    release = build(garden, tmp_path / "after", "1.1.0", final=True)
    assert (release.status, release.state, release.error) == ("done", "final", "")
    for name in ("before", "after"):
        assert verify(tmp_path / name).differences == []


def test_only_members_and_pseudonyms_that_files_brought(side: SimpleNamespace) -> None:
    vote(case_of(side), side.stranger, 1)
    gone = make_user("gone")
    vote(case_of(side, 1), gone, 1)
    name = people.erase(person=gone, actor=None)
    with pytest.raises(Refused, match="Nothing that a file brought"):
        claim(benchmark=side.benchmark, pseudonym=name, person=side.person, actor=None)
    for outsider in (make_user("outsider"), None):
        side.person = outsider
        with pytest.raises(Refused, match="Choose an active member"):
            become(side)


def both_voted(side: SimpleNamespace) -> None:
    case = case_of(side)
    vote(case, side.stranger, 1)
    vote(case, side.person, 0)


def reviewed(side: SimpleNamespace) -> None:
    Review.objects.create(
        query=side.query, reviewer=side.stranger, author=side.person, status="accepted"
    )


def scored(side: SimpleNamespace) -> None:
    review = Review.objects.create(query=side.query, reviewer=side.stranger, status="accepted")
    WeightScore.objects.create(
        aspect=Aspect.objects.create(query=side.query, k=1, content="Cause"),
        review=review,
        scorer=side.stranger,
        author=side.person,
        weight=5,
        author_weight=1,
        scale="likert5",
    )


def answered(side: SimpleNamespace) -> None:
    answer = ReferenceAnswer.objects.create(
        query=side.query, author="person", version=1, text="So.", created_by=side.person
    )
    AnswerReview.objects.create(answer=answer, reviewer=side.stranger, verdict="fine")


def settled(side: SimpleNamespace) -> None:
    case = case_of(side, 0, status="expert")
    vote(case, side.person, 1)
    label = record_judgment(
        query=side.query,
        passage=side.passages[0],
        label=1,
        source="expert",
        provenance={"rule": "adjudicated"},
        actor=side.stranger,
    )
    Adjudication.objects.create(
        kind="majority",
        query=side.query,
        passage=side.passages[0],
        case=case,
        label=1,
        judgment=label,
        reason="So.",
        adjudicator=side.stranger,
    )


def asked(side: SimpleNamespace) -> None:
    case = case_of(side)
    vote(case, side.stranger, 1)
    slot = VoteSlot.objects.filter(case=case).first()
    VoteSlot.objects.filter(pk=slot.pk).update(voter=side.person)  # type: ignore[union-attr]


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (both_voted, r"both have a vote of case \d+"),
        (reviewed, "both had a part in review of biology-1"),
        (scored, r"both had a part in score \d+"),
        (answered, "both had a part in fine on answer"),
        (settled, r"both had a part in decision \d+ \(relevant, p0\), one as third"),
        (asked, "ann is just asked about a case"),
    ],
)
def test_two_people_of_one_decision_are_not_one(side: SimpleNamespace, make, words) -> None:
    make(side)
    before = list(Vote.objects.values_list("pk", "voter", "link")), Event.objects.count()
    with pytest.raises(Refused, match=words):
        become(side)
    assert (list(Vote.objects.values_list("pk", "voter", "link")), Event.objects.count()) == before


@pytest.mark.slow
def test_a_later_file_of_theirs_is_the_members_and_comes_back_as_known() -> None:
    sides = SimpleNamespace(a=_side("a"), b=_side("bb"))
    person = make_member(sides.a.benchmark, "ann", "annotator")
    vote(case_of(sides.b), stranger(1), 1, day=1)
    case_of(sides.a)
    merge(sides)
    name = stranger(1).username
    claim(benchmark=sides.a.benchmark, pseudonym=name, person=person, actor=None)
    vote(case_of(sides.b, 1), stranger(1), 0, day=2)
    report = merge(sides)
    assert (report["added"], report["left_out"]) == ({"escalation case": 1, "vote": 1}, [])
    given = Vote.objects.filter(case__query=sides.a.query).order_by("pk")
    assert [(each.voter, each.label) for each in given] == [(person, 1), (person, 0)]
    assert altered_cases(given) == []
    # Whoever erased their account here says nothing more elsewhere.
    vote(case_of(sides.b, 2), stranger(2), 0, day=3)
    people.erase(person=person, actor=None)
    assert merge(sides)["added"] == {"escalation case": 1, "vote": 1}
    # A file that still gives a pseudonym what is theirs here adds nothing.
    there = _side("c")
    vote(case_of(there), stranger(9), 1, day=1)
    merged = Merge(sides.a.benchmark, there.benchmark, digest="c" * 64, actor=None).run()
    assert (merged["added"], merged["present"]) == ({}, {"escalation case": 1, "vote": 1})


@pytest.mark.slow
def test_a_claim_that_a_later_file_contradicts_is_left_out() -> None:
    sides = SimpleNamespace(a=_side("a"), b=_side("bb"))
    person = make_member(sides.a.benchmark, "ann", "annotator")
    for number in (1, 2):
        vote(case_of(sides.b, number), stranger(number), 1, day=number)
    merge(sides)
    for number in (1, 2):
        name = stranger(number).username
        claim(benchmark=sides.a.benchmark, pseudonym=name, person=person, actor=None)
    case = case_of(sides.b, 3)
    for number in (1, 2):
        vote(case, stranger(number), number - 1, day=4)
    (left,) = merge(sides)["left_out"]
    assert left["what"] == f"the claim of {stranger(2).username}"
    assert "both have a vote of case" in left["why"]


@pytest.mark.slow
def test_pages_api_and_command_claim_for_staff(
    transactional_db: None, tmp_path: Path, settings: Any
) -> None:
    settings.RELEASES = tmp_path / "releases"
    (tmp_path / "card").mkdir()
    world = make_world(tmp_path / "card")
    number_apart(6_000_000)
    services.write_file(benchmark=world.benchmark, path=tmp_path / "all.zip")
    boss = make_user("boss")
    copy = services.import_file(path=tmp_path / "all.zip", slug="copy", admin=boss)
    ann = make_member(copy, "ann", "annotator")
    names = [
        pseudonyms(world.benchmark)(User.objects.get(username=who).pk)
        for who in ("spare", "outsider")
    ]
    client = Client()
    client.force_login(ann)
    assert client.post("/b/copy/transfers/people/", {}).status_code == 403
    client.force_login(boss)
    # Who writes a file can write decisions into it: an admin alone makes them nobody's.
    for path in ("/b/copy/transfers/people/", "/api/b/copy/transfers/people/"):
        assert client.post(path, {"pseudonym": names[0]}).status_code == 403
    User.objects.filter(pk=boss.pk).update(is_staff=True)
    page = client.get("/b/copy/transfers/").content.decode()
    assert all(name in page for name in names)
    assert pseudonyms(copy)(ann.pk) in page
    listed = client.get("/api/b/copy/transfers/people/").json()
    assert {each["pseudonym"] for each in listed} >= set(names)
    refused = client.post("/b/copy/transfers/people/", {"pseudonym": names[0]})
    assert refused.status_code == 422
    sent = {"pseudonym": names[0], "person": ann.pk}
    assert client.post("/b/copy/transfers/people/", sent).status_code == 302
    assert Vote.objects.filter(case__query__domain__benchmark=copy, voter=ann).count() == 1
    sent = {"pseudonym": names[1], "username": "ann"}
    answer = client.post("/api/b/copy/transfers/people/", sent)
    # Both voted on the one case.
    assert (answer.status_code, "both have a vote" in answer.json()["detail"]) == (409, True)
    ben, err = make_member(copy, "ben", "annotator"), StringIO()
    call_command("merge_benchmark", "copy", claim=[(names[1], "ben")], stderr=err)
    assert f"{names[1]} is ben" in err.getvalue()
    votes = Vote.objects.filter(case__query__domain__benchmark=copy).order_by("case", "pk")
    assert (votes.filter(voter=ben).count(), altered_cases(votes)) == (1, [])
    for options in ({}, {"claim": [(names[0], "ben")], "dry_run": True}):
        with pytest.raises(CommandError, match=r"Name a file|cannot be tried"):
            call_command("merge_benchmark", "copy", **options)
    # What the claims changed travels as well.
    services.write_file(benchmark=copy, path=tmp_path / "copy.zip")
    again = services.import_file(path=tmp_path / "copy.zip", slug="again")
    assert claimed(again) == {}
    assert Judgment.objects.filter(query__domain__benchmark=again).exists()
    assert Benchmark.objects.get(slug="demo").pk == world.benchmark.pk
    assert Batch.objects.filter(voter=ann).count() <= 1
