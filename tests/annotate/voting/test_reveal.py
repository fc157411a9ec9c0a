"""Commit first, then read the debate: arms, agents in random order, and what arms do (D25)."""

from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.utils import timezone

from annotate.models import Condition, EscalationCase, Vote, VoteSlot, VotingPlan
from annotate.plans.report import conditions_sheet
from annotate.plans.services import as_shown, condition_of
from annotate.voting.services import cast_vote, finish_abandoned
from corpus.judgments.services import record_judgment
from corpus.models import Membership
from debate.models import Debate, DebateRun
from kit.errors import Refused
from kit.models import Event
from kit.runs.periodic import PeriodicTasks
from tests.annotate.test_api import script, send
from tests.annotate.world import make_snapshot, signed_in, write_plan
from tests.factories import make_member, make_pool
from tests.markup import one_line

pytestmark = pytest.mark.django_db
SAID = "It states the turning."


def page_of(client, url: str) -> str:
    return one_line(client.get(url))


def test_first_judgment_comes_before_the_positions_and_a_vote_is_two_keys(world, me) -> None:
    case = world.case()
    url = world.url(f"vote/{case.public_id}/")
    before = page_of(me, url)
    assert "From the passage alone" in before
    for secret in (SAID, "<mark", "Agent A", "practice"):
        assert secret not in before
    assert me.post(url, {"label": "1", "elapsed_ms": "700", "stage": "first"}).url == url
    assert not Vote.objects.exists()
    after = page_of(me, url)
    assert SAID in after
    assert "Your first judgment: relevant" in after
    assert 'value="1" data-key="k"' in after
    me.post(url, {"label": "1", "elapsed_ms": "1900", "stage": "final"})
    vote = Vote.objects.get()
    assert (vote.label, vote.first_label, vote.arm, vote.saw_positions) == (1, 1, "after", True)
    assert (vote.first_ms, vote.elapsed_ms) == (700, 1900)


def test_changing_ones_mind_needs_a_reason_and_keeps_both(world, me) -> None:
    url = world.url(f"vote/{world.case().public_id}/")
    me.post(url, {"label": "1", "stage": "first"})
    asked = me.post(url, {"label": "0", "stage": "final"})
    assert asked.status_code == 422
    assert "what changed your mind" in one_line(asked)
    # Ctrl+Enter in the reason field sends what was chosen.
    assert 'name="asked" value="0"' in one_line(asked)
    me.post(url, {"asked": "0", "reason": "B is right.", "stage": "final"})
    vote = Vote.objects.get()
    assert (vote.label, vote.first_label, vote.reason) == (0, 1, "B is right.")


def test_first_judgment_stays_whatever_another_tab_sends(world, me) -> None:
    case = world.case()
    url = world.url(f"vote/{case.public_id}/")
    me.post(url, {"label": "1", "stage": "first"})
    answer = me.post(url, {"label": "0", "stage": "first", "reason": "x"}, follow=True)
    assert "relevant, in another tab; it stays" in one_line(answer)
    assert case.slots.get(voter=world.voters[0]).first_label == 1
    assert not Vote.objects.exists()


def test_cannot_be_judged_is_final_at_once(world, me) -> None:
    url = world.url(f"vote/{world.case().public_id}/")
    me.post(url, {"label": "abstain", "reason": "cut off", "stage": "first"})
    vote = Vote.objects.get()
    assert (vote.label, vote.saw_positions, vote.first_label) == (None, False, None)


def test_api_commits_and_then_shows_the_positions(world) -> None:
    case, api = world.case(), script(world.voters[0])
    shown = send(api, "get", "cases/next/")[1]["case"]
    assert (shown["stage"], shown["snapshot"]["positions"]) == ("first", [])
    path = f"cases/{case.public_id}/first-judgment/"
    status, shown = send(api, "post", path, {"label": 0, "elapsed_ms": 5})
    assert (status, shown["stage"], shown["first_label"]) == (201, "final", 0)
    assert len(shown["snapshot"]["positions"]) == 2
    assert send(api, "post", path, {"label": 1})[0] == 409
    assert send(api, "get", "cases/next/")[1]["case"] == shown
    vote = send(api, "post", f"cases/{case.public_id}/votes/", {"label": 1, "reason": "A."})[1]
    assert (vote["label"], vote["first_label"], vote["saw_positions"]) == (1, 0, True)


def test_vote_sent_at_once_was_judged_from_the_passage_alone(world) -> None:
    vote = cast_vote(case=world.case(), voter=world.voters[0], label=1)
    assert (vote.arm, vote.first_label, vote.saw_positions) == ("after", 1, False)


def test_case_without_positions_has_no_arm(world, me) -> None:
    case = world.case(snapshot=make_snapshot(positions=[], rounds=0))
    me.post(world.url(f"vote/{case.public_id}/"), {"label": "1"})
    assert Vote.objects.get().arm == ""


def test_first_judgment_is_kept_beyond_the_lease_and_counts_in_the_end(world, me) -> None:
    case = world.case()
    me.post(world.url(f"vote/{case.public_id}/"), {"label": "0", "stage": "first"})
    plan = VotingPlan.objects.current(world.benchmark)
    assert finish_abandoned(plan) == 0
    VoteSlot.objects.filter(committed_at=None).update(voter=None)
    VoteSlot.objects.update(expires_at=timezone.now() - timedelta(1))
    assert not VoteSlot.objects.free(timezone.now()).exclude(voter=None).exists()
    assert finish_abandoned(plan) == 1
    vote = Vote.objects.get()
    assert (vote.label, vote.voter, vote.first_label) == (0, world.voters[0], 0)
    assert finish_abandoned(plan) == 0
    assert vote.abandoned
    event = Event.objects.get(verb="count abandoned judgment")
    assert (event.actor, event.target_id) == (None, str(vote.pk))


def test_the_worker_sweeps_left_judgments_and_frees_places_that_may_not_count(world, me) -> None:
    """One who left is no annotator any more: their place must not block the case for ever."""
    case = world.case()
    for voter in world.voters[:2]:
        signed_in(voter).post(
            world.url(f"vote/{case.public_id}/"), {"label": "1", "stage": "first"}
        )
    VoteSlot.objects.filter(committed_at__isnull=False).update(
        expires_at=timezone.now() - timedelta(1)
    )
    Membership.objects.get(user=world.voters[1]).delete()
    PeriodicTasks().do_due(now=0.0)
    (vote,) = Vote.objects.all()
    assert (vote.voter, vote.label, vote.abandoned) == (world.voters[0], 1, True)
    assert VoteSlot.objects.free(timezone.now()).filter(case=case).count() == 2
    event = Event.objects.get(verb="let go of abandoned judgment")
    assert (event.data["person"], event.data["label"]) == (world.voters[1].pk, 1)
    assert Event.objects.filter(verb="first judgment").count() == 2
    for voter in world.voters[2:4]:
        cast_vote(case=case, voter=voter, label=0)
    case.refresh_from_db()
    assert (case.status, case.label) == ("closed", 0)


def test_a_left_judgment_was_neither_kept_nor_changed(world) -> None:
    case = world.case()
    record_judgment(query=case.query, passage=case.passage, label=1, source="expert", provenance={})
    for voter, abandoned in zip(world.voters, (True, False), strict=False):
        Vote.objects.create(
            case=case,
            voter=voter,
            label=1,
            first_label=1,
            saw_positions=True,
            arm="after",
            abandoned=abandoned,
        )
    (row,) = conditions_sheet(world.benchmark).rows
    assert (row[3].value, row[7].value) == (2, 0.0)


# --- Order and names -------------------------------------------------------------------------


def test_agents_stand_in_random_order_under_names_that_follow_it() -> None:
    snapshot = make_snapshot()
    snapshot["positions"][0]["reason"] = "Agent B overlooks it; agent A (You) does not."
    seen = {}
    for seed in range(20):
        shown = as_shown(snapshot, seed=seed, shown=True)["positions"]
        assert [each["agent"] for each in shown] == ["A", "B"]
        assert all("stance" not in each for each in shown)
        seen[shown[0]["response"]] = next(p["reason"] for p in shown if p["response"] == "yes")
    assert seen["yes"] == "Agent B overlooks it; agent A (You) does not."
    assert seen["no"] == "Agent A overlooks it; agent B (You) does not."
    assert snapshot["positions"][0]["agent"] == "A"


@pytest.mark.slow
def test_order_differs_between_people_and_stays_for_each(world) -> None:
    write_plan(world, reveal="start")
    cases = [world.case() for _ in range(6)]
    orders = set()
    for voter in world.voters[:3]:
        client = signed_in(voter)
        pages = [page_of(client, world.url(f"vote/{case.public_id}/")) for case in cases]
        order = tuple(page.index(SAID) < page.index("leaves the reason open") for page in pages)
        orders.add(order)
        again = [page_of(client, world.url(f"vote/{case.public_id}/")) for case in cases]
        assert order == tuple(
            page.index(SAID) < page.index("leaves the reason open") for page in again
        )
    assert len(orders) > 1


# --- Arms ------------------------------------------------------------------------------------


def test_study_gives_each_item_one_condition_of_everybody(world) -> None:
    plan = write_plan(world, reveal="study")
    arms = [condition_of(plan, make_snapshot(), "case", pk) for pk in range(300)]
    assert arms == [condition_of(plan, make_snapshot(), "case", pk) for pk in range(300)]
    for arm in (Condition.NONE, Condition.AFTER, Condition.START):
        assert 60 <= arms.count(arm) <= 140
    case = world.case()
    votes = [cast_vote(case=case, voter=voter, label=1) for voter in world.voters[:3]]
    assert len({vote.arm for vote in votes}) == 1


def test_no_debate_is_shown_in_its_arm_even_after_the_vote(world, me) -> None:
    write_plan(world, reveal="none")
    case = world.case()
    url = world.url(f"vote/{case.public_id}/")
    assert SAID not in page_of(me, url)
    me.post(url, {"label": "1"})
    assert SAID not in page_of(me, url)


def test_report_counts_by_arm_with_intervals(world) -> None:
    """Ten pairs that experts find relevant: two of four who saw the debate first were misled."""
    given = {
        "none": [(None, 1), (None, 1), (None, 0)],
        "start": [(None, 0), (None, 0), (None, 1), (None, 1)],
        "after": [(1, 0), (1, 1), (0, 1)],
    }
    for arm, labels in given.items():
        for voter, (first, label) in zip(world.voters, labels, strict=False):
            case = world.case()
            record_judgment(
                query=case.query, passage=case.passage, label=1, source="expert", provenance={}
            )
            Vote.objects.create(
                case=case,
                voter=voter,
                label=label,
                first_label=first,
                saw_positions=arm != "none",
                arm=arm,
                elapsed_ms=2000,
            )
    sheet = conditions_sheet(world.benchmark)
    rows = {row[0].value: row for row in sheet.rows}
    shares = {name: round(row[4].value, 3) for name, row in rows.items()}
    assert shares == {
        "No debate shown": 0.667,
        "After a first judgment": 0.667,
        "From the start": 0.5,
    }
    after = rows["After a first judgment"]
    assert (after[1].value, after[3].value, after[5].value) == (3, 3, 2.0)
    assert (after[7].value, after[8].value) == (0.5, 1.0)
    assert after[4].low < after[4].value < after[4].high
    assert rows["From the start"][7].value is None
    admin = signed_in(world.admin)
    assert "Right to wrong after debate" in page_of(admin, world.url("voting/"))
    lines = b"".join(admin.get(world.url("voting/arms.csv")).streaming_content).decode()
    assert lines.splitlines()[0].startswith("Condition,Votes,Cannot be judged")


def test_numbers_of_the_arms_lead_to_their_votes(world) -> None:
    """As many votes behind each number as it counts; none of a case that is still judged."""
    given = [(1, 0), (1, 1), (0, 1), (1, None)]
    for voter, (first, label) in zip(world.voters, given, strict=False):
        case = world.case()
        Vote.objects.create(
            case=case, voter=voter, label=label, first_label=first, saw_positions=True,
            arm="after", elapsed_ms=2000, reason="for a reason",
        )  # fmt: skip
        pair = {"query": case.query, "passage": case.passage}
        record_judgment(**pair, label=1, source="expert", provenance={})
    sheet = conditions_sheet(world.benchmark, "items")
    (row,) = sheet.rows
    assert conditions_sheet(world.benchmark).rows[0][1].url == ""
    wanted = {"all": 4, "unjudged": 1, "known": 3, "timed": 4, "right_first": 2, "wrong_first": 1}
    links = {cell.url.split("show=")[1]: cell for cell in row if cell.url}
    assert links.keys() - {"led"} == wanted.keys()
    admin, path = signed_in(world.admin), "voting/arms/?arm=after&show="
    route = f"/api{world.url('voting/arms/items/?arm=after&show=')}"
    assert admin.get(f"{route}all").json() == {"votes": [], "kept_back": 4}
    assert "4 more on cases that are still judged" in page_of(admin, world.url(f"{path}all"))
    EscalationCase.objects.update(status="closed", label=1)
    for show, count in wanted.items():
        assert len(admin.get(f"{route}{show}").json()["votes"]) == count, show
        assert page_of(admin, world.url(path + show)).count(">Case ") == count, show
    (changed,) = admin.get(f"{route}wrong_first").json()["votes"]
    assert (changed["first_label"], changed["label"], changed["expert"]) == (0, 1, 1)
    # An admin who votes too is told of cases that votes have closed.
    world.benchmark.memberships.filter(user=world.admin).update(roles=["admin", "annotator"])
    assert admin.get(f"{route}all").json() == {"votes": [], "kept_back": 4}
    assert admin.get(world.url("voting/arms/?arm=after&show=nothing")).status_code == 404


def test_report_counts_who_followed_a_wrong_agent_shown_first(world) -> None:
    from annotate.plans.services import first_response, order_seed

    expected = []
    for label in (0, 1, 0, 1, 0, 0):
        case = world.case()
        record_judgment(
            query=case.query, passage=case.passage, label=1, source="expert", provenance={}
        )
        Vote.objects.create(
            case=case, voter=world.voters[0], label=label, arm="start", saw_positions=True
        )
        seed = order_seed(world.voters[0].pk, case.pk)
        if first_response(case.snapshot, seed=seed) == "no":
            expected.append(label == 0)
    (row,) = conditions_sheet(world.benchmark).rows
    wanted = sum(expected) / len(expected) if expected else None
    assert row[6].value == wanted


# --- Supporting words ------------------------------------------------------------------------


def test_relevant_needs_its_words_where_the_plan_says_so(world, me) -> None:
    write_plan(world, needs_span=True, reveal="start")
    case = world.case()
    url = world.url(f"vote/{case.public_id}/")
    assert 'data-spans="#span-start, #span-end"' in page_of(me, url)
    asked = me.post(url, {"label": "1"})
    assert asked.status_code == 422
    assert "Mark the words" in one_line(asked)
    assert me.post(url, {"label": "1", "span_start": "0", "span_end": "9999"}).status_code == 422
    me.post(url, {"label": "1", "span_start": "0", "span_end": "5"})
    vote = Vote.objects.get()
    assert case.passage.text[vote.span_start : vote.span_end] == "Moths"
    assert cast_vote(case=case, voter=world.voters[1], label=0).span_start is None
    with pytest.raises(Refused) as refusal:
        cast_vote(case=case, voter=world.voters[2], label=1)
    assert refusal.value.field == "span"


# --- The debate itself -----------------------------------------------------------------------


@pytest.fixture
def debated(world):
    """An open case with its debate, and somebody who reviews and votes."""
    case = world.case()
    pool = make_pool(world.benchmark, (case.query, case.passage))
    run = DebateRun.objects.create(
        benchmark=world.benchmark, pool=pool, name="run", endpoint="practice", model="m"
    )
    debate = Debate.objects.create(run=run, query=case.query, passage=case.passage, case=case)
    both = make_member(world.benchmark, "both", "annotator", "reviewer")
    paths = [
        world.url(f"debates/{run.pk}/pairs/{debate.pk}/"),
        world.url(f"disputes/{case.public_id}/"),
    ]
    api = f"/api{world.url(f'debate-runs/{run.pk}/debates/{debate.pk}/')}"
    return SimpleNamespace(case=case, both=both, page=paths[0], dispute=paths[1], api=api)


def test_who_votes_reads_no_debate_and_positions_after_judging(world, debated) -> None:
    client = signed_in(debated.both)
    assert SAID not in page_of(client, debated.dispute)
    client.post(world.url(f"vote/{debated.case.public_id}/"), {"label": "1", "stage": "first"})
    assert SAID in page_of(client, debated.dispute)
    for address in (debated.page, debated.api):
        assert client.get(address).status_code == 403


def test_who_does_not_vote_reads_the_debate(world, debated) -> None:
    for person in (world.reviewer, world.admin, make_member(world.benchmark, "x", "reviewer")):
        assert signed_in(person).get(debated.page).status_code == 200
