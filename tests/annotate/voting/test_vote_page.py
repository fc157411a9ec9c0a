"""The vote page: the path by keys and without JavaScript, who may see it, hostile text."""

import pytest

from annotate.models import CaseStatus, EscalationCase, Vote
from annotate.voting.services import cast_vote
from tests.annotate.world import (
    TEXT,
    hx,
    in_turn,
    make_snapshot,
    signed_in,
    write_plan,
)
from tests.factories import make_passage
from tests.markup import one_line


@pytest.fixture
def world(world):
    """A world whose voters see the positions from the start: one step for every vote."""
    write_plan(world, reveal="start")
    return world


def test_vote_leads_to_the_first_case_that_waits(world, me):
    first, second = in_turn(world.case(), world.case())
    assert me.get(world.url("vote/")).url == world.url(f"vote/{first.public_id}/")
    assert me.get(world.url(f"vote/?after={first.public_id}")).url == world.url(
        f"vote/{second.public_id}/"
    )
    assert me.get(world.url(f"vote/?after={second.public_id}")).url == world.url(
        f"vote/{first.public_id}/"
    )


def test_nothing_waiting_says_what_to_do(world, me):
    response = me.get(world.url("vote/"))
    assert response.status_code == 200
    assert "Nothing waits for your vote" in one_line(response)


def test_case_shows_pair_positions_and_marks(world, me):
    page = one_line(me.get(world.url(f"vote/{world.case().public_id}/")))
    quote = "They rolled their backs to the light."
    start = TEXT.index(quote)
    assert f'id="mark-{start}">{quote}</mark>' in page
    assert page.count("not in the passage") == 1
    assert page.index("Agent A</b>") < page.index("Agent B</b>")
    assert page.count('data-key="e"') + page.count('data-key="r"') == 1
    assert "They like ultraviolet." in page
    assert "practice model" not in page


def test_practice_debate_is_marked(world, me):
    case = world.case(snapshot=make_snapshot(practice=True))
    assert "practice model" in one_line(me.get(world.url(f"vote/{case.public_id}/")))


def test_unreadable_case_without_positions_can_be_judged(world, me):
    case = world.case(kind="unreadable", snapshot=make_snapshot(positions=[], rounds=1))
    page = one_line(me.get(world.url(f"vote/{case.public_id}/")))
    assert "Judge from the passage alone." in page
    assert 'data-key="1"' in page


def test_passage_without_text_is_shown_honestly(world, me):
    passage = make_passage(world.benchmark, "lost.txt", text=None)
    page = one_line(me.get(world.url(f"vote/{world.case(passage=passage).public_id}/")))
    assert "Text not loaded" in page


def test_vote_by_htmx_gives_the_next_case_without_a_page(world, me):
    first, second = in_turn(world.case(), world.case())
    data = {"label": "1", "elapsed_ms": "4200"}
    url = world.url(f"vote/{first.public_id}/")
    response = me.post(url, data, follow=True, **hx("vote-panel"))
    assert response.redirect_chain == [(world.url(f"vote/{second.public_id}/"), 302)]
    vote = Vote.objects.get()
    assert (vote.case, vote.label, vote.elapsed_ms) == (first, 1, 4200)
    fragment = one_line(me.get(response.redirect_chain[0][0], **hx("vote-panel")))
    assert fragment.startswith('<div id="vote-panel">')
    assert 'id="vote-form"' in fragment
    assert 'hx-swap-oob="true"' in fragment
    assert "<html" not in fragment


def test_vote_without_javascript_leads_to_the_next_page(world, me):
    first, second = world.case(), world.case()
    response = me.post(world.url(f"vote/{first.public_id}/"), {"label": "0"}, follow=True)
    assert response.redirect_chain == [(world.url(f"vote/{second.public_id}/"), 302)]
    assert "<html" in one_line(response)
    assert Vote.objects.get().label == 0


def test_last_vote_leads_to_the_empty_page(world, me):
    response = me.post(world.url(f"vote/{world.case().public_id}/"), {"label": "1"}, follow=True)
    assert response.redirect_chain == [(world.url("vote/"), 302)]
    assert "Nothing waits for your vote" in one_line(response)


def test_abstention_asks_for_a_reason_and_keeps_it(world, me):
    url = world.url(f"vote/{world.case().public_id}/")
    asked = me.post(url, {"label": "abstain"}, **hx("vote-panel"))
    assert asked.status_code == 422
    assert "Say in a few words" in one_line(asked)
    me.post(url, {"asked": "abstain", "reason": "cut off"})
    vote = Vote.objects.get()
    assert (vote.label, vote.reason) == (None, "cut off")


def test_button_wins_over_the_open_reason_field(world, me):
    url = world.url(f"vote/{world.case().public_id}/")
    me.post(url, {"asked": "abstain", "label": "1", "reason": "clear enough"})
    vote = Vote.objects.get()
    assert (vote.label, vote.reason) == (1, "clear enough")


@pytest.mark.parametrize("label", ["", "2", "yes"])
def test_vote_without_a_choice_is_refused(world, me, label):
    response = me.post(world.url(f"vote/{world.case().public_id}/"), {"label": label})
    assert response.status_code == 422
    assert not Vote.objects.exists()


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "elapsed", ["", "-5", "soon", "9" * 30, "0" * 12 + "9" * 5000, "86400001", "²"]
)
def test_senseless_time_is_not_known(world, me, elapsed):
    me.post(world.url(f"vote/{world.case().public_id}/"), {"label": "1", "elapsed_ms": elapsed})
    assert Vote.objects.get().elapsed_ms is None


def test_vote_on_a_case_decided_meanwhile_goes_on(world, me):
    first, second = world.case(), world.case()
    for voter in world.voters[1:4]:
        cast_vote(case=first, voter=voter, label=1)
    response = me.post(world.url(f"vote/{first.public_id}/"), {"label": "0"}, follow=True)
    assert response.redirect_chain == [(world.url(f"vote/{second.public_id}/"), 302)]
    assert "was decided meanwhile" in one_line(response)
    assert "decided meanwhile" in one_line(me.get(world.url(f"vote/{first.public_id}/")))


def test_undo_takes_the_last_vote_back(world, me):
    first, second = world.case(), world.case()
    for case in (first, second):
        me.post(world.url(f"vote/{case.public_id}/"), {"label": "1"})
    response = me.post(world.url("vote/undo/"))
    assert response.url == world.url(f"vote/{second.public_id}/")
    assert list(Vote.objects.standing().values_list("case", flat=True)) == [first.pk]
    second.refresh_from_db()
    assert second.votes_in == 0


def test_undo_of_a_named_vote(world, me):
    first, second = world.case(), world.case()
    for case in (first, second):
        me.post(world.url(f"vote/{case.public_id}/"), {"label": "1"})
    me.post(world.url("vote/undo/"), {"case": str(first.public_id)})
    assert list(Vote.objects.standing().values_list("case", flat=True)) == [second.pk]


def test_undo_of_a_closed_case_is_refused_in_words(world, me):
    case = world.case()
    for voter in world.voters[1:3]:
        cast_vote(case=case, voter=voter, label=1)
    me.post(world.url(f"vote/{case.public_id}/"), {"label": "1"})
    response = me.post(world.url("vote/undo/"), {"at": ""}, follow=True)
    assert "its votes stay as they are" in one_line(response)
    assert EscalationCase.objects.get().status == CaseStatus.CLOSED


def test_who_may_vote(world):
    url = world.url(f"vote/{world.case().public_id}/")
    people = [world.voters[0], world.outsider, world.reviewer, world.admin, world.stranger]
    assert [signed_in(who).get(url).status_code for who in people] == [200, 403, 403, 403, 404]
    assert [signed_in(who).post(url).status_code for who in people] == [422, 403, 403, 403, 404]


def test_reviewer_is_told_who_votes(world):
    world.case()
    response = signed_in(world.reviewer).get(world.url("vote/"))
    assert response.status_code == 200
    assert "Votes are given by annotators" in one_line(response)


def test_case_of_another_benchmark_is_not_found(world):
    case = world.case()
    assert signed_in(world.stranger).get(f"/b/elsewhere/vote/{case.public_id}/").status_code == 404


def test_hostile_text_is_escaped(world, me):
    evil = "<script>alert(1)</script>"
    text = f"Before {evil} after."
    quote = {"text": evil, "start": 7, "end": 7 + len(evil)}
    position = {
        "agent": evil,
        "response": evil,
        "round": evil,
        "reason": evil,
        "references": [quote, {"text": evil + "x", "start": None, "end": None}],
        "earlier": [{"round": 1, "response": evil}],
    }
    passage = make_passage(world.benchmark, f"{evil}.txt", text=text, title=evil)
    snapshot = make_snapshot(question=evil, answers=[evil], positions=[position, position])
    case = world.case(passage=passage, snapshot=snapshot)
    page = one_line(me.get(world.url(f"vote/{case.public_id}/")))
    assert evil not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;</mark>" in page
