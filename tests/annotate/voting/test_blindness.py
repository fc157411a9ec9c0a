"""Two worlds that differ only in another person's vote look the same to a voter.

Masked is what differs in every answer anyway: CSRF tokens and nonces (world.masked).
"""

import pytest

from annotate.voting.services import cast_vote
from tests.annotate.world import hx, masked, signed_in
from tests.factories import make_member
from tests.walking import HEADERS_APART
from tests.worlds import in_a_world


@pytest.fixture
def world(world):
    world.both = make_member(world.benchmark, "both", "annotator", "reviewer", "admin")
    world.case(), world.case()
    return world


def everything(world, person):
    """Every page of this room that the person can reach, whole and as a fragment."""
    client = signed_in(person)
    case, other = world.cases
    paths = [
        "/home/annotate/",
        *map(
            world.url,
            [
                "vote/",
                f"vote/?after={case.public_id}",
                f"vote/{case.public_id}/",
                f"vote/{other.public_id}/",
                "queries/",
                f"queries/{world.query.pk}/",
                "passages/",
                f"passages/{case.passage_id}/",
                "disputes/",
                "disputes/?status=open",
                "disputes/?sort=-outcome",
                "disputes/?sort=status",
                f"disputes/{case.public_id}/",
            ],
        ),
    ]
    answers = {}
    for path in paths:
        for headers in ({}, hx("vote-panel")):
            response = client.get(path, **headers)
            kept = {name: value for name, value in response.items() if name not in HEADERS_APART}
            answers[path, bool(headers)] = (response.status_code, kept, masked(response))
    return answers


def seen_after(world, person, votes):
    """What the person sees in a world with these votes of others on the first case."""

    def look():
        for voter, label in zip(world.voters[1:], votes, strict=False):
            reason = "" if label is not None else "unclear"
            cast_vote(case=world.cases[0], voter=voter, label=label, reason=reason)
        return everything(world, person)

    return in_a_world(look)


OTHERS = ([None, None, 1], [1], [0], [None], [1, 1], [0, 1], [None, 0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("role", "others"),
    [
        ("both", OTHERS[:1]),
        *(pytest.param(role, OTHERS, marks=pytest.mark.slow) for role in ("voter", "both")),
    ],
)
def test_votes_of_others_on_an_open_case_cannot_be_seen(world, role, others):
    person = world.voters[0] if role == "voter" else world.both
    without = seen_after(world, person, [])
    for votes in others:
        assert seen_after(world, person, votes) == without, votes


@pytest.mark.parametrize(
    "others",
    [([None, 0],), pytest.param(([1], [0], [None]), marks=pytest.mark.slow)],
)
def test_votes_of_others_cannot_be_seen_after_ones_own(world, others):
    cast_vote(case=world.cases[0], voter=world.voters[0], label=1)
    without = seen_after(world, world.voters[0], [])
    for votes in others:
        assert seen_after(world, world.voters[0], votes) == without, votes


@pytest.mark.slow
def test_own_vote_can_be_seen(world):
    """The comparison above can fail: what a voter may know does change the page."""
    before = seen_after(world, world.voters[0], [])
    cast_vote(case=world.cases[0], voter=world.voters[0], label=1)
    assert seen_after(world, world.voters[0], []) != before


def record_after(world, person, label):
    """What the record says of a vote on an open case, its time left out."""

    def look():
        cast_vote(case=world.cases[0], voter=world.voters[1], label=label, reason="unclear")
        events = signed_in(person).get("/api/b/garden/events/").json()["results"]
        return [{name: told for name, told in each.items() if name != "at"} for each in events]

    return in_a_world(look)


def test_the_record_says_to_no_admin_who_votes_what_others_said(world):
    seen = [record_after(world, world.both, label) for label in (1, 0, None)]
    assert "vote" in [each["verb"] for each in seen[0]]
    assert seen[0] == seen[1] == seen[2]
    # Who is admin alone reads it.
    assert record_after(world, world.admin, 1) != record_after(world, world.admin, 0)


def test_votes_are_shown_once_the_case_is_closed(world):
    case = world.cases[0]
    client = signed_in(world.reviewer)
    url = world.url(f"disputes/{case.public_id}/")
    for voter, label in zip(world.voters, [1, 0], strict=False):
        cast_vote(case=case, voter=voter, label=label, reason=f"because of {label}")
    page = client.get(url).content.decode()
    assert "Voter 1" not in page
    assert "because of" not in page
    cast_vote(case=case, voter=world.voters[2], label=1)
    page = client.get(url).content.decode()
    assert [page.count(f"Voter {n}</b>") for n in (1, 2, 3, 4)] == [1, 1, 1, 0]
    assert "because of 0" in page
    assert "annotator-2" not in page


def test_votes_that_gave_no_majority_stay_hidden(world):
    case = world.cases[0]
    for voter in world.voters:
        cast_vote(case=case, voter=voter, label=None, reason="secret words")
    page = signed_in(world.reviewer).get(world.url(f"disputes/{case.public_id}/")).content.decode()
    assert "secret words" not in page
    assert "settles it" in page
