"""Places of cases: one person at a time, never more than the quota, leases that come back."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotate.models import EscalationCase, Vote, VoteSlot, VotingPlan
from annotate.voting.eligibility import waiting_for
from annotate.voting.services import AlreadyVoted, cast_vote, withdraw_vote
from annotate.voting.slots import MOST_HELD, next_slot
from annotate.workspace.aspects import add_aspect
from annotate.workspace.gold import assign_passage, undo_verdict
from corpus.access import enter
from kit.errors import Refused
from tests.annotate.test_api import script, send
from tests.annotate.world import hx, in_turn, signed_in, write_plan

pytestmark = pytest.mark.django_db


def access_of(world, person):
    return enter(person, world.benchmark.slug)


def next_case(world, person, after=None):
    plan = VotingPlan.objects.current(world.benchmark)
    slot = next_slot(access=access_of(world, person), plan=plan, after=after)
    return slot and slot.case


def held(case) -> list[int]:
    return list(case.slots.exclude(voter=None).values_list("voter", flat=True))


def run_out(case) -> None:
    """Let every lease on the case be over."""
    case.slots.filter(vote=None).update(expires_at=timezone.now() - timedelta(minutes=1))


def test_case_is_handed_to_three_people_and_not_to_a_fourth(world) -> None:
    case = world.case()
    assert [next_case(world, voter) for voter in world.voters] == [case, case, case, None, None]
    assert sorted(held(case)) == sorted(voter.pk for voter in world.voters[:3])
    assert not waiting_for(access_of(world, world.voters[3])).exists()
    assert waiting_for(access_of(world, world.voters[0])).count() == 1


def test_person_gets_the_case_they_hold_until_it_is_done(world) -> None:
    world.case(), world.case()
    first = next_case(world, world.voters[0])
    assert next_case(world, world.voters[0]) == first
    cast_vote(case=first, voter=world.voters[0], label=1)
    second = next_case(world, world.voters[0])
    assert second not in (None, first)
    cast_vote(case=second, voter=world.voters[0], label=1)
    assert next_case(world, world.voters[0]) is None


def test_lease_that_is_over_comes_back(world) -> None:
    case = world.case()
    for voter in world.voters[:3]:
        next_case(world, voter)
    run_out(case)
    assert next_case(world, world.voters[3]) == case
    assert world.voters[3].pk in held(case)
    assert len(held(case)) == 3


def test_vote_after_the_lease_counts_while_nobody_took_the_place(world) -> None:
    case = next_case(world, world.voters[0]) or world.case()
    next_case(world, world.voters[0])
    run_out(case)
    assert cast_vote(case=case, voter=world.voters[0], label=1).label == 1


def test_vote_after_the_place_went_to_others_is_refused(world) -> None:
    case = world.case()
    next_case(world, world.voters[0])
    run_out(case)
    for voter in world.voters[1:4]:
        assert next_case(world, voter) == case
    with pytest.raises(Refused, match="Enough people are judging"):
        cast_vote(case=case, voter=world.voters[0], label=1)
    assert not Vote.objects.exists()
    case.refresh_from_db()
    assert case.votes_in == 0


def test_left_for_later_frees_the_place(world) -> None:
    cases = [world.case(), world.case()]
    first = next_case(world, world.voters[0])
    second = next_case(world, world.voters[0], after=first)
    assert {first, second} == set(cases)
    assert held(first) == []
    assert next_case(world, world.voters[0], after=second) == first


def test_database_keeps_the_quota_by_itself(world) -> None:
    case = world.case()
    voter = world.voters[0]
    wrong = [
        {"case": case, "place": 3, "voter": None},
        {"case": case, "place": 6, "voter": None},
        {"case": case, "place": 0, "voter": None},
    ]
    case.slots.filter(place=1).update(voter=voter)
    wrong.append({"case": case, "place": 4, "voter": voter})
    for fields in wrong:
        with pytest.raises(IntegrityError), transaction.atomic():
            VoteSlot.objects.create(benchmark=world.benchmark, turn=1, **fields)


def test_abstention_adds_one_place_and_never_more_than_five(world) -> None:
    case = world.case()
    counts = []
    for voter in world.voters:
        cast_vote(case=case, voter=voter, label=None, reason="cut off")
        counts.append(case.slots.count())
    assert counts == [3, 3, 4, 5, 5]
    case.refresh_from_db()
    assert case.status == "expert"


def test_place_of_an_abstention_taken_back_goes_again(world) -> None:
    case = world.case()
    votes = [
        cast_vote(case=case, voter=voter, label=label, reason="cut off")
        for voter, label in zip(world.voters, (1, 0, None), strict=False)
    ]
    assert case.slots.count() == 4
    withdraw_vote(vote=votes[2], actor=world.voters[2])
    assert case.slots.count() == 3
    cast_vote(case=case, voter=world.voters[3], label=1)
    case.refresh_from_db()
    assert (case.status, case.label, case.votes_in) == ("closed", 1, 3)


def test_nobody_votes_on_a_passage_they_brought_in(world) -> None:
    case, mine = world.case(), world.voters[0]
    aspect = add_aspect(query=case.query, actor=mine)
    pair = {"query": case.query, "passage": case.passage}
    assign_passage(**pair, aspect=aspect, actor=mine)
    undo_verdict(**pair, actor=mine)
    case.refresh_from_db()
    assert case.status == "open"
    assert next_case(world, mine) is None
    assert next_case(world, world.voters[1]) == case
    with pytest.raises(Refused, match="brought this passage in"):
        cast_vote(case=case, voter=mine, label=1)


def test_second_tab_is_shown_both_answers_and_decides(world) -> None:
    write_plan(world, reveal="start")
    case, other = world.case(), world.case()
    client, url = signed_in(world.voters[0]), world.url(f"vote/{case.public_id}/")
    client.post(url, {"label": "1"})
    stale = client.post(url, {"label": "0", "reason": "Half of it."}, **hx("vote-panel"))
    page = stale.content.decode()
    assert stale.status_code == 409
    assert "Keep “relevant”" in page
    assert "Make it “not relevant”" in page
    assert "Half of it." in page
    first = Vote.objects.get()
    assert first.label == 1
    client.post(url, {"label": "0", "reason": "Half of it.", "replaces": str(first.pk)})
    first.refresh_from_db()
    new = Vote.objects.standing().get()
    assert (new.label, new.reason, first.status) == (0, "Half of it.", "superseded")
    assert first.superseded_by == new
    case.refresh_from_db()
    assert case.votes_in == 1
    assert case.slots.exclude(voter=None).get().vote == new
    # The same answer again is no quarrel.
    assert client.post(url, {"label": "0"}).url == world.url(f"vote/{other.public_id}/")


def test_correction_of_a_vote_that_is_gone_is_refused(world) -> None:
    case, voter = world.case(), world.voters[0]
    vote = cast_vote(case=case, voter=voter, label=1)
    with pytest.raises(AlreadyVoted):
        cast_vote(case=case, voter=voter, label=0, replaces=vote.pk + 1)
    withdraw_vote(vote=vote, actor=voter)
    with pytest.raises(Refused, match="taken back meanwhile"):
        cast_vote(case=case, voter=voter, label=0, replaces=vote.pk)
    case.refresh_from_db()
    assert case.votes_in == 0


def test_api_shows_both_versions_of_a_stale_vote(world) -> None:
    case = world.case()
    api, path = script(world.voters[0]), f"cases/{case.public_id}/votes/"
    first = send(api, "post", path, {"label": 1})[1]
    status, answer = send(api, "post", path, {"label": 0})
    assert (status, answer["current"]["label"], answer["sent"]["label"]) == (409, 1, 0)
    status, new = send(api, "post", path, {"label": 0, "replaces": first["id"]})
    assert (status, new["label"]) == (201, 0)


def statements(captured) -> int:
    """Reads and writes, without what begins and ends a transaction."""
    words = ("SELECT", "INSERT", "UPDATE", "DELETE")
    return sum(each["sql"].startswith(words) for each in captured)


def test_next_and_submit_stay_cheap(world) -> None:
    write_plan(world, reveal="start")
    for _ in range(3):
        world.case()
    api = script(world.voters[0])
    with CaptureQueriesContext(connection) as captured:
        case = send(api, "get", "cases/next/")[1]["case"]["id"]
    assert statements(captured) <= 6
    with CaptureQueriesContext(connection) as captured:
        assert send(api, "post", f"cases/{case}/votes/", {"label": 1})[0] == 201
    # The lock of the query, where the database has one, comes on top.
    assert statements(captured) <= 9 + connection.features.has_select_for_update


def test_page_of_a_case_stays_cheap(world, client) -> None:
    write_plan(world, reveal="start")
    case = world.case()
    client.force_login(world.voters[0])
    client.get(f"/b/{world.benchmark.slug}/vote/", follow=True)
    with CaptureQueriesContext(connection) as captured:
        page = client.get(f"/b/{world.benchmark.slug}/vote/{case.public_id}/")
    assert page.status_code == 200
    assert statements(captured) <= 8


def test_queue_tells_nothing_of_when_cases_were_opened(world) -> None:
    cases = [world.case() for _ in range(20)]
    turns = list(EscalationCase.objects.order_by("slots__turn").distinct().values_list("pk"))
    assert turns != sorted(turns)
    assert len(turns) >= len(cases)


def test_who_opens_every_case_keeps_few_places(world) -> None:
    cases = [world.case() for _ in range(MOST_HELD + 3)]
    client = signed_in(world.voters[0])
    first = world.url(f"vote/{cases[0].public_id}/")
    client.post(first, {"label": "1"})  # judged, and waited for
    for case in cases[1:]:
        assert client.get(world.url(f"vote/{case.public_id}/")).status_code == 200
    mine = VoteSlot.objects.filter(voter=world.voters[0])
    held = set(mine.filter(committed_at=None).values_list("case", flat=True))
    assert held == {case.pk for case in cases[-MOST_HELD:]}
    assert mine.exclude(committed_at=None).get().case == cases[0]
    # What was given back can be judged all the same.
    client.post(world.url(f"vote/{cases[1].public_id}/"), {"label": "1"})
    assert mine.filter(case=cases[1]).exclude(committed_at=None).exists()


def test_a_place_whose_lease_is_over_stays_while_others_are_free(world) -> None:
    """So what I am offered does not tell that somebody judged the case meanwhile."""
    first = in_turn(world.case(), world.case())[0]
    plan = VotingPlan.objects.current(world.benchmark)
    me = enter(world.voters[0], world.benchmark.slug)
    assert next_slot(access=me, plan=plan).case == first
    VoteSlot.objects.filter(voter=me.user).update(expires_at=timezone.now() - timedelta(1))
    for voter in world.voters[1:3]:
        other = enter(voter, world.benchmark.slug)
        assert next_slot(access=other, plan=plan).case == first
        cast_vote(case=first, voter=voter, label=1)
    assert next_slot(access=me, plan=plan).case == first
