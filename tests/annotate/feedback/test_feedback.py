"""What voters learn of their own votes: nothing open, nobody's name, no check by elimination."""

from datetime import UTC, datetime

import pytest
from django.core.exceptions import PermissionDenied

from annotate.feedback.services import (
    history_sheet,
    kept_back,
    mark_seen,
    reasons_of_majority,
    send_message,
    shown_votes,
    split_sections,
    to_reread,
)
from annotate.models import Batch, EscalationCase, ExamAttempt, Vote, VoterMessage
from annotate.voting.services import cast_vote
from annotate.workspace.gold import discard_passage, undo_verdict
from corpus.access import enter
from kit.errors import Refused
from kit.models import Event
from tests.annotate.batching import answer_all, make_batch_world, submit, take
from tests.annotate.test_api import script
from tests.annotate.world import World, hx, make_world, signed_in

pytestmark = pytest.mark.django_db


def decided(world: World, *labels: int | None) -> EscalationCase:
    """A case with a vote of each voter in turn, each with a reason that names its number."""
    case = world.case()
    for number, (voter, label) in enumerate(zip(world.voters, labels, strict=False), 1):
        cast_vote(case=case, voter=voter, label=label, reason=f"Reason {number}.")
    case.refresh_from_db()
    return case


def access(world: World, person):
    return enter(person, world.benchmark.slug)


def test_own_vote_beside_the_label_with_the_majoritys_reasons_and_no_name() -> None:
    world = make_world()
    case = decided(world, 0, 1, 1)
    me = world.voters[0]
    (vote,) = shown_votes(me.pk, world.benchmark)
    assert (vote.label, vote.final, vote.expert) == (0, 1, None)
    assert sorted(reasons_of_majority(vote)) == ["Reason 2.", "Reason 3."]
    client = signed_in(me)
    for url in ("feedback/", f"feedback/votes/{vote.pk}/"):
        page = client.get(world.url(url)).content.decode()
        for other in (*world.voters[1:], world.admin, world.reviewer):
            assert other.username not in page
    assert "Reason 2." in page
    assert client.get(world.url("feedback/"), **hx("results")).status_code == 200
    theirs = Vote.objects.get(case=case, voter=world.voters[1])
    assert client.get(world.url(f"feedback/votes/{theirs.pk}/")).status_code == 404


def test_nothing_of_cases_that_may_open_again() -> None:
    """An expert closed it after one vote: taken back, the voter could vote again."""
    world = make_world()
    me = world.voters[0]
    case = decided(world, 0)
    assert not shown_votes(me.pk, world.benchmark).exists()
    pair = {"query": case.query, "passage": case.passage}
    discard_passage(**pair, reason="noise", actor=world.voters[4])
    case.refresh_from_db()
    assert case.status == "closed"
    assert not shown_votes(me.pk, world.benchmark).exists()
    undo_verdict(**pair, actor=world.voters[4])
    # After five votes nobody can vote again, whatever becomes of the verdict.
    full = decided(world, 0, 1, None, None, None)
    assert not shown_votes(me.pk, world.benchmark).exists()
    other = world.outsider
    world.benchmark.memberships.get(user=other).domains.set(world.benchmark.domains.all())
    discard_passage(query=full.query, passage=full.passage, reason="noise", actor=other)
    assert [each.case for each in shown_votes(me.pk, world.benchmark)] == [full]


def test_agreement_over_time_with_an_interval() -> None:
    world = make_world()
    me = world.voters[0]
    for labels in ((0, 1, 1), (1, 1, 1), (1, 0, 1), (None, 1, 1)):
        decided(world, *labels)
    decided(world, 1)  # open
    old = decided(world, 1, 0, 0)
    Vote.objects.filter(case=old).update(created_at=datetime(2026, 3, 1, tzinfo=UTC))
    domain = world.query.domain
    ExamAttempt.objects.create(
        person=me,
        domain=domain,
        is_practice=True,
        items=[1, 2, 3, 4],
        pass_mark=90,
        status="done",
        right=3,
        ended_at=datetime(2026, 3, 2, tzinfo=UTC),
    )
    everything, *_, march = history_sheet(me.pk, world.benchmark).rows
    assert [cell.value for cell in everything] == ["all", 5, 0.5, 1, None, 0.75]
    assert everything[2].low is None  # all of one query
    assert (march[0].value, march[2].value, march[5].value) == ("2026-03", 0.0, 0.75)


@pytest.mark.slow
def test_what_is_missing_does_not_tell_a_check() -> None:
    """Every case of an accepted batch is closed; still no item is known to be the check."""
    world = make_batch_world(cases=9)
    me = world.voters[0]
    for voter in world.voters[:3]:
        batch = take(world, voter)
        answer_all(world, batch)
        assert submit(world, batch).status == "accepted"
    assert not EscalationCase.objects.exclude(status="closed").exists()
    mine = Batch.objects.get(voter=me)
    back = kept_back(me.pk, world.benchmark)
    shown = shown_votes(me.pk, world.benchmark)
    listed = {vote.case_id for vote in shown}
    cases = set(mine.items.exclude(case=None).values_list("case", flat=True))
    assert (len(back), len(listed), back | listed) == (2, 7, cases)
    # The choice does not move: what was kept back stays so.
    assert kept_back(me.pk, world.benchmark) == back
    (row, _) = history_sheet(me.pk, world.benchmark).rows
    assert row[4].value == 1.0
    check = mine.items.get(case=None).check_item
    client, api = signed_in(me), script(me)
    for url in ("feedback/", "feedback/?q=gold"):
        assert check.passage.pid not in client.get(world.url(url)).content.decode()
    found = api.get(f"/api{world.url('feedback/votes/')}").json()["results"]
    assert {each["case"] for each in found} == {str(vote.case.public_id) for vote in shown}


def test_a_rejected_batch_shows_no_item_and_counts_its_check() -> None:
    world = make_batch_world()
    me = world.voters[0]
    batch = take(world, me)
    answer_all(world, batch, fail=1)
    assert submit(world, batch).status == "rejected"
    (row, _) = history_sheet(me.pk, world.benchmark).rows
    assert row[4].value == 0.0
    assert not shown_votes(me.pk, world.benchmark).exists()
    open_batch = take(world, world.voters[1])
    answer_all(world, open_batch)
    assert history_sheet(world.voters[1].pk, world.benchmark).rows == ()


def test_sections_to_read_again_follow_from_what_differed() -> None:
    world = make_world()
    me = world.voters[0]
    assert to_reread(me.pk, world.benchmark) == []
    decided(world, 0, 1, 1)
    decided(world, None, 1, 1)
    titles = {each["title"]: each["why"] for each in to_reread(me.pk, world.benchmark)}
    assert titles == {
        "Is a passage relevant?": "you said “not relevant” where it was, once; you said “cannot "
        "be judged” where others could, once"
    }
    assert split_sections("Before.\n# One\ntext\n## Two\nmore") == [
        ("", "Before."),
        ("One", "text"),
        ("Two", "more"),
    ]


def test_an_admin_writes_about_what_the_voter_may_see() -> None:
    world = make_world()
    me, admin = world.voters[0], access(world, world.admin)
    case, open_case = decided(world, 0, 1, 1), decided(world, 1)
    sent = send_message(access=admin, person=me, text=" Read it again. ", case=case.public_id)
    assert (sent.text, sent.case, sent.author) == ("Read it again.", case, world.admin)
    event = Event.objects.get(verb="write to voter")
    assert (event.actor, event.scope) == (world.admin, "garden#votes")
    with pytest.raises(Refused, match="open ones"):
        send_message(access=admin, person=me, text="Look.", case=open_case.public_id)
    with pytest.raises(Refused, match="no batch"):
        send_message(access=admin, person=me, text="Look.", batch=1)
    with pytest.raises(Refused, match="no annotator"):
        send_message(access=admin, person=world.reviewer, text="Look.")
    with pytest.raises(PermissionDenied):
        send_message(access=access(world, world.reviewer), person=me, text="Look.")
    page = signed_in(me).get(world.url("feedback/")).content.decode()
    assert "Read it again." in page
    assert "Read it again." not in signed_in(world.voters[1]).get(world.url("feedback/")).text
    assert signed_in(me).post(world.url("feedback/seen/")).status_code == 302
    assert VoterMessage.objects.get().seen_at is not None
    assert mark_seen(access=access(world, me)) == 0


def test_labels_of_a_panel_are_no_votes_of_a_voter() -> None:
    world = make_world()
    decided(world, 0, 1, 1)
    pair = {"query": world.query, "passage": world.passage}
    case = EscalationCase.objects.create(origin="panel:1", kind="reference", **pair)
    for person in (world.voters[0], world.voters[4]):
        Vote.objects.create(case=case, voter=person, label=1)
    voters = signed_in(world.admin).get(world.url("voting/")).context["voters"]
    assert {name: votes for _, name, votes in voters} == {
        "annotator-1": 1,
        "annotator-2": 1,
        "annotator-3": 1,
    }


@pytest.mark.slow
def test_admins_see_the_page_and_send_from_it() -> None:
    world = make_world()
    decided(world, 0, 1, 1)
    me, client = world.voters[0], signed_in(world.admin)
    url = world.url(f"feedback/people/{me.pk}/")
    assert me.username in client.get(world.url("voting/")).content.decode()
    assert client.get(url).status_code == 200
    assert client.post(url, {"text": ""}).status_code == 422
    assert client.post(url, {"text": "Well done.", "batch": "7"}).status_code == 422
    assert client.post(url, {"text": "Well done."}).status_code == 302
    assert VoterMessage.objects.get().person == me
    assert client.get(world.url(f"feedback/people/{world.reviewer.pk}/")).status_code == 404
    api = script(world.admin)
    body = {"text": "Again."}
    assert api.post(f"/api{url}", body, format="json").status_code == 201
    assert len(api.get(f"/api{url}").json()["messages"]) == 2
    mine = script(me).get(f"/api{world.url('feedback/')}").json()
    assert [each["text"] for each in mine["messages"]] == ["Again.", "Well done."]
    (vote,) = script(me).get(f"/api{world.url('feedback/votes/')}").json()["results"]
    found = script(me).get(f"/api{world.url('feedback/votes/')}{vote['id']}/").json()
    assert (found["label"], found["final"], sorted(found["reasons"])) == (
        0,
        1,
        ["Reason 2.", "Reason 3."],
    )
