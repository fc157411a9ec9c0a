"""Batches: consent, checks, accepted or rejected as a whole (docs/protocol.md 2.4)."""

from datetime import timedelta

import pytest
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.utils import timezone

from annotate.batches.checks import checks_in
from annotate.batches.services import answer_item, return_batch, submit_batch
from annotate.models import Batch, BatchItem, Consent, EscalationCase, Vote, VoteSlot
from annotate.plans.services import give_consent, needs_consent
from annotate.voting.models import altered_cases
from annotate.voting.services import Answer, cast_vote, withdraw_vote
from corpus.models import Judgment
from kit.errors import Conflict, Refused
from kit.models import Event
from tests.annotate.batching import (
    access_of,
    answer_all,
    give,
    submit,
    take,
)
from tests.annotate.world import signed_in, write_plan
from tests.markup import one_line

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(batch_world):
    return batch_world


@pytest.fixture
def batch(world):
    return take(world, world.voters[0])


@pytest.mark.parametrize(("size", "checks"), [(1, 1), (5, 1), (10, 1), (14, 1), (16, 2), (100, 10)])
def test_a_tenth_of_a_batch_at_least_one_is_checks(size, checks) -> None:
    assert checks_in(size) == checks


def test_batch_of_ten_holds_nine_cases_and_one_check(batch) -> None:
    items = list(batch.items.all())
    assert [item.place for item in items] == list(range(1, 11))
    assert sum(item.check_item is not None for item in items) == 1
    assert len({item.case_id for item in items if item.case_id}) == 9
    assert batch.slots.count() == 9


def test_small_batch_has_its_check_too(world) -> None:
    EscalationCase.objects.exclude(pk=world.cases[0].pk).delete()
    assert take(world, world.voters[0]).items.count() == 2


def test_places_of_checks_are_by_chance(world) -> None:
    places = set()
    for voter in world.voters:
        items = take(world, voter).items.exclude(check_item=None)
        places |= {item.place for item in items}
    assert len(places) > 1


@pytest.mark.slow
def test_checks_are_relevant_and_not(world) -> None:
    expected = set()
    for voter in world.voters * 4:
        batch = take(world, voter)
        checks = batch.items.exclude(check_item=None)
        expected |= set(checks.values_list("check_item__expected", flat=True))
        return_batch(batch=batch, access=access_of(world, voter))
    assert expected == {0, 1}


def test_check_looks_like_a_case(world) -> None:
    """Its arguments are those of another item, its quotes stand in its own passage."""
    item = take(world, world.voters[0]).items.exclude(check_item=None).get()
    check = item.check_item
    assert [each["reason"] for each in check.snapshot["positions"]] == [
        "It states the turning.",
        "It leaves the reason open.",
    ]
    for position in check.snapshot["positions"]:
        for quote in position["references"]:
            assert check.passage.text[quote["start"] : quote["end"]] == quote["text"]
    gold = Judgment.objects.original().filter(query=check.query, passage=check.passage)
    assert gold.exists() == bool(check.expected)


def test_second_request_gives_the_same_batch(world, batch) -> None:
    assert take(world, world.voters[0]) == batch
    assert Batch.objects.count() == 1


def test_database_refuses_a_second_open_batch(world, batch) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Batch.objects.create(plan=batch.plan, voter=batch.voter, size=1, expires_at=timezone.now())


def test_votes_count_only_once_the_batch_is_accepted(world) -> None:
    batches = [take(world, voter) for voter in world.voters[:3]]
    for batch in batches:
        answer_all(world, batch)
    assert not Vote.objects.exists()
    assert not Judgment.objects.filter(source="human").exists()
    for batch in batches:
        assert submit(world, batch).status == "accepted"
    assert set(Vote.objects.values_list("status", "batch__status")) == {("standing", "accepted")}
    closed = EscalationCase.objects.filter(status="closed")
    assert closed.count() == Judgment.objects.filter(source="human").count() > 0
    assert set(closed.values_list("votes_in", flat=True)) == {3}
    assert altered_cases(Vote.objects.order_by("case", "pk")) == []


@pytest.mark.parametrize("label", [1, 0])
def test_failed_check_rejects_the_batch_and_reopens_its_places(world, label) -> None:
    batch = take(world, world.voters[0])
    answer_all(world, batch, label=label, fail=1)
    assert submit(world, batch).status == "rejected"
    assert batch.failed_checks == 1
    assert not Vote.objects.exists()
    assert not VoteSlot.objects.exclude(voter=None).exists()
    assert set(EscalationCase.objects.values_list("votes_in", flat=True)) == {0}
    # What was answered is kept, as what it is.
    assert batch.items.filter(answered_at=None).count() == 0
    assert Event.objects.get(verb="reject batch").data["failed"] == 1
    others = [take(world, voter) for voter in world.voters[1:4]]
    cases = set(batch.items.values_list("case", flat=True)) - {None}
    assert cases <= {case for each in others for case in each.items.values_list("case", flat=True)}


def test_rejected_voter_never_sees_the_same_cases_or_checks_again(world) -> None:
    batch = take(world, world.voters[0])
    answer_all(world, batch, fail=1)
    submit(world, batch)
    again = take(world, world.voters[0])
    for kind in ("case", "check_item"):
        both = [set(each.items.values_list(kind, flat=True)) for each in (batch, again)]
        assert set.intersection(*both) <= {None}
    case = batch.items.exclude(case=None).first().case
    write_plan(world, batch_size=0)
    with pytest.raises(Refused, match="in a batch before"):
        cast_vote(case=case, voter=world.voters[0], label=1)


def test_admin_is_told_of_rejected_batches(world) -> None:
    batch = take(world, world.voters[0])
    answer_all(world, batch, fail=1)
    submit(world, batch)
    page = one_line(signed_in(world.admin).get(world.url("voting/")))
    assert f"Batch {batch.pk}" in page
    assert "annotator-1" in page
    home = one_line(signed_in(world.admin).get("/home/annotate/"))
    assert "1 batch was rejected" in home


def test_check_that_cannot_be_judged_is_not_passed(world, batch) -> None:
    answer_all(world, batch)
    give(world, batch.items.exclude(check_item=None).get(), None, reason="Cut off.")
    assert submit(world, batch).status == "rejected"


def test_case_that_cannot_be_judged_is_data(world, batch) -> None:
    answer_all(world, batch)
    item = batch.items.exclude(case=None).first()
    with pytest.raises(Refused):
        give(world, item, None)
    give(world, item, None, reason="Cut off.")
    assert submit(world, batch).status == "accepted"
    assert Vote.objects.get(case=item.case).label is None


def test_unfinished_batch_is_not_handed_in(world, batch) -> None:
    answer_all(world, batch)
    batch.items.filter(place=3).update(answered_at=None)
    with pytest.raises(Refused, match="1 of 10"):
        submit_batch(batch=batch, access=access_of(world, batch.voter))
    batch.refresh_from_db()
    assert (batch.status, batch.ended_at) == ("open", None)


def test_answers_change_until_the_batch_is_handed_in_and_no_longer(world, batch) -> None:
    answer_all(world, batch, label=1)
    item = batch.items.exclude(case=None).first()
    give(world, item, 0)
    submit(world, batch)
    vote = Vote.objects.get(case=item.case)
    assert vote.label == 0
    with pytest.raises(Refused, match="submitted"):
        give(world, item, 1)
    with pytest.raises(Refused, match="with its batch"):
        withdraw_vote(vote=vote, actor=batch.voter)
    with pytest.raises(Refused):
        submit(world, batch)
    assert Vote.objects.count() == 9


def test_answer_based_on_an_older_one_is_refused(world, batch) -> None:
    item = batch.items.first()
    access = access_of(world, batch.voter)
    answer_item(item=item, access=access, answer=Answer(1), expected=0)
    with pytest.raises(Conflict) as conflict:
        answer_item(item=item, access=access, answer=Answer(0), expected=0)
    assert (conflict.value.current.label, conflict.value.current.version) == (1, 1)
    assert BatchItem.objects.get(pk=item.pk).label == 1


def test_items_of_a_batch_that_took_too_long_come_back(world, batch) -> None:
    answer_all(world, batch)
    VoteSlot.objects.filter(batch=batch).update(expires_at=timezone.now() - timedelta(1))
    for voter in world.voters[1:4]:
        answer_all(world, other := take(world, voter))
        assert submit(world, other).status == "accepted"
    assert submit(world, batch).status == "accepted"
    counts = EscalationCase.objects.values_list("votes_in", flat=True)
    assert max(counts) == 3
    assert batch.lost_items + batch.votes.count() == 9
    assert batch.lost_items > 0


def test_returned_batch_frees_its_places_and_its_cases_may_come_again(world, batch) -> None:
    return_batch(batch=batch, access=access_of(world, batch.voter))
    assert not VoteSlot.objects.exclude(voter=None).exists()
    assert take(world, world.voters[0]).items.exclude(case=None).count() == 9


def test_batch_of_another_person_is_nobody_elses(world, batch) -> None:
    access = access_of(world, world.voters[1])
    for verb in (submit_batch, return_batch):
        with pytest.raises(PermissionDenied):
            verb(batch=batch, access=access)
    client = signed_in(world.voters[1])
    for path in ("", "1/"):
        assert client.get(world.url(f"vote/batches/{batch.pk}/{path}")).status_code == 404


def test_single_votes_are_refused_where_people_vote_in_batches(world) -> None:
    with pytest.raises(Refused, match="in batches"):
        cast_vote(case=world.cases[0], voter=world.voters[0], label=1)


def test_without_gold_the_batch_is_refused_and_holds_nothing(world) -> None:
    Judgment.objects.all().delete()
    with pytest.raises(Refused, match="Tell an admin"):
        take(world, world.voters[0])
    assert not VoteSlot.objects.exclude(voter=None).exists()
    assert not Batch.objects.exists()


# --- Consent ---------------------------------------------------------------------------------


def test_nobody_votes_before_they_agreed_to_text_and_pay(world) -> None:
    plan = write_plan(world, consent_text="You may stop at any time.", hourly_pay="7.50")
    client = signed_in(world.voters[0])
    assert client.get(world.url("vote/")).url == world.url("vote/consent/")
    with pytest.raises(Refused, match="accept the terms"):
        take(world, world.voters[0])
    page = one_line(client.get(world.url("vote/consent/")))
    # Ten items at a minute each, at 7.50 an hour.
    assert "You may stop at any time." in page
    assert "about 10 minutes" in page
    assert "1.25 USD at 7.50 USD an hour" in page
    assert client.post(world.url("vote/consent/"), {"version": plan.version}).status_code == 302
    assert Consent.objects.get().plan == plan
    assert take(world, world.voters[0]).size == 10


def test_changed_terms_ask_again_and_other_changes_do_not(world) -> None:
    plan = write_plan(world, consent_text="A")
    access = access_of(world, world.voters[0])
    give_consent(plan=plan, access=access, version=plan.version)
    assert not needs_consent(write_plan(world, batch_size=20), access)
    changed = write_plan(world, consent_text="B")
    assert needs_consent(changed, access)
    with pytest.raises(Refused, match="changed meanwhile"):
        give_consent(plan=changed, access=access, version=plan.version)


def test_pay_needs_terms_and_plans_are_not_written_over(world) -> None:
    with pytest.raises(Refused) as refusal:
        write_plan(world, hourly_pay="7.50")
    assert refusal.value.field == "consent_text"
    client = signed_in(world.admin)
    fields = {"batch_size": 5, "reveal": "after", "lease_minutes": 5, "seconds_per_item": 5}
    fields["audit"] = 0
    fields |= {"currency": "USD", "expected": 0}
    answer = client.post(world.url("voting/"), fields)
    assert answer.status_code == 422
    assert "was written meanwhile" in one_line(answer)
    fields["expected"] = 1
    assert client.post(world.url("voting/"), fields).status_code == 302


# --- Screens ---------------------------------------------------------------------------------


def test_whole_batch_on_the_screen(world) -> None:
    client = signed_in(world.voters[0])
    home = one_line(client.get(world.url("vote/")))
    assert "Take a batch" in home
    answer = client.post(world.url("vote/batches/"), follow=True)
    batch = Batch.objects.get()
    items = {item.place: item for item in batch.items.select_related("check_item")}
    for _ in range(10):
        url = answer.redirect_chain[-1][0]
        item = items[int(url.rstrip("/").rsplit("/", 1)[1])]
        label = item.check_item.expected if item.check_item else 1
        answer = client.post(url, {"label": str(label), "elapsed_ms": "900"}, follow=True)
    assert answer.redirect_chain[-1][0] == world.url(f"vote/batches/{batch.pk}/")
    assert "All 10 items are judged" in one_line(answer)
    done = client.post(world.url(f"vote/batches/{batch.pk}/hand-in/"), follow=True)
    assert "Your batch was accepted" in one_line(done)
    assert set(Vote.objects.values_list("elapsed_ms", flat=True)) == {900}


def test_two_tabs_on_one_item_show_both_answers(world, batch) -> None:
    client = signed_in(world.voters[0])
    url = world.url(f"vote/batches/{batch.pk}/1/")
    assert client.post(url, {"label": "1", "version": "0"}).status_code == 302
    stale = client.post(url, {"label": "0", "version": "0"})
    page = one_line(stale)
    assert stale.status_code == 409
    assert "Keep “relevant”" in page
    assert "Make it “not relevant”" in page
    assert client.post(url, {"label": "0", "version": "1"}).status_code == 302
    assert batch.items.get(place=1).label == 0


def test_where_no_reason_is_left_a_check_is_like_what_has_none(world) -> None:
    """Every reason is met in the batch, and one of its cases, as of an audit, is judged from the
    passage alone. Words of our own would be those of checks alone."""
    for number, case in enumerate(world.cases):
        for position in case.snapshot["positions"]:
            position["reason"] = f"{position['agent']} has reason {min(number, 4)}."
        case.snapshot |= {"positions": []} if number == 0 else {}
        case.save()
    EscalationCase.objects.filter(pk__in=[case.pk for case in world.cases[5:]]).update(
        status="closed"
    )
    for voter in world.voters[:3]:
        batch = take(world, voter)
        assert batch.items.exclude(case=None).count() == 5
        assert batch.items.get(case=None).check_item.snapshot["positions"] == []


def test_a_check_repeats_no_reason_that_its_person_meets(world) -> None:
    """Sorted by their reasons, the items of all of a person's batches show no pair."""
    for number, case in enumerate(world.cases):
        for position in case.snapshot["positions"]:
            position["reason"] = f"{position['agent']} has reason {number}."
        case.save()
    EscalationCase.objects.filter(pk__in=[case.pk for case in world.cases[9:]]).update(
        status="closed"
    )
    me = world.voters[0]
    write_plan(world, batch_size=4)
    told: list[str] = []
    for _ in range(3):
        batch = take(world, me)
        for item in batch.items.select_related("case", "check_item"):
            snapshot = (item.case or item.check_item).snapshot
            told += [each["reason"] for each in snapshot["positions"]]
        answer_all(world, batch)
        assert submit(world, batch).status == "accepted"
    assert len(told) == len(set(told)) == 24
