"""The home page: one button that goes on, what is left of each kind, what was done."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from annotate.assignments.services import claim_query
from annotate.guidelines.services import publish_guideline
from annotate.models import Assignment, WorkState
from annotate.voting.services import cast_vote
from annotate.worked import last_days, progress, seconds_a_vote
from tests.annotate.batching import answer_all, give, make_batch_world, submit, take
from tests.annotate.world import hx, signed_in
from tests.markup import one_line


def home(person) -> str:
    return one_line(signed_in(person).get("/home/annotate/"))


@pytest.mark.slow
def test_an_open_batch_goes_on_where_it_was_left_and_counts_checks_as_items(db) -> None:
    world = make_batch_world()
    person = world.voters[0]
    assert "Take a batch" in home(person)
    batch = take(world, person)
    for item in batch.items.all()[:3]:
        give(world, item, 1, elapsed_ms=20_000)
    assert f"Vote 4 of {batch.size}" in home(person)
    assert f"<b>{batch.size - 3} left</b>" in home(person)
    assert seconds_a_vote(person, batch.plan) == 20
    answer_all(world, batch)
    assert "Submit the batch" in home(person)
    submit(world, batch)
    # Checks become no votes; a sum without them would tell how many there were of what.
    assert last_days(person, timezone.localdate())[0]["votes"] == batch.size
    assert home(world.admin).count("<tbody>") == 0


def test_a_vote_says_how_far_one_is_and_the_workspace_its_state_at_once(world) -> None:
    world.case()
    voter = signed_in(world.voters[0])
    page = one_line(voter.get(world.url("vote/"), follow=True))
    assert "<b>1 of 1</b>" in page
    assert "about 60 s left" in page
    voter.post(world.url("queue/next/"))
    added = voter.post(world.url(f"queries/{world.query.pk}/aspects/"), **hx("aspect-list"))
    state = '<span id="work-state" class="tag" hx-swap-oob="true">in progress</span>'
    assert state in one_line(added)
    asked = one_line(voter.get(world.url(f"vote/{world.cases[0].public_id}/"), **hx("vote-panel")))
    assert 'id="vote-progress" class="meta" hx-swap-oob="true"' in asked


def test_guidelines_that_changed_since_ones_last_vote_are_told(world) -> None:
    voter = world.voters[0]
    changed = "The guidelines changed since you last voted"
    save = {"benchmark": world.benchmark, "actor": world.admin, "note": "Titles count."}
    publish_guideline(text="Old.", expected=0, **save)
    assert changed not in home(voter)  # who has not voted yet reads them first
    world.case()
    cast_vote(case=world.cases[0], voter=voter, label=1, reason="So.")
    assert changed not in home(voter)
    publish_guideline(text="New.", expected=1, **save)
    assert f"{changed}</a>: Titles count." in home(voter)
    assert changed not in home(world.voters[1])


def test_an_accepted_query_waits_for_its_reference_answer(world) -> None:
    voter, words = world.voters[0], "Reference answers to write"
    assignment = claim_query(query=world.query, actor=voter)
    assert words not in home(voter)
    Assignment.objects.filter(pk=assignment.pk).update(state=WorkState.ACCEPTED)
    assert words in home(voter)
    assert words not in home(world.voters[1])
    Assignment.objects.filter(pk=assignment.pk).update(state=WorkState.ANSWERED)
    assert words not in home(voter)


def test_where_nothing_waits_a_query_can_be_taken_and_a_reviewer_sees_what_there_is(world) -> None:
    voter, reviewer = world.voters[0], world.reviewer
    page = home(voter)
    assert "unassigned quer" in page
    assert page.count('class="primary"') == 1
    assert f'action="{world.url("queue/next/")}"' in page
    signed_in(voter).post(world.url("queue/next/"))
    assert f'action="{world.url("queue/next/")}"' not in home(voter)
    assert f'<a href="{world.url("disputes/")}">disputes</a>' in home(reviewer)
    assert "As a reviewer" not in home(voter)


def test_progress_counts_and_goes_by_the_gaps_between_ones_own_answers(db):
    begin = timezone.now()
    for number in range(4):
        name = f"p{number}"
        User.objects.create(username=name, date_joined=begin + timedelta(seconds=40 * number))
    people = User.objects.filter(username__startswith="p")
    far = progress(4, 36, people, "date_joined")
    assert far == {"place": 5, "done": 4, "total": 40, "seconds_left": 36 * 40}
    # Two gaps say nothing, and a night is none.
    assert progress(4, 36, people.exclude(username="p0"), "date_joined")["seconds_left"] == 0
    people.filter(username="p3").update(date_joined=begin + timedelta(hours=9))
    assert progress(4, 0, people, "date_joined")["seconds_left"] == 0
    assert progress(4, 0, people, "date_joined")["place"] == 4
