"""An audited pair beside a dispute, and beside itself before it was drawn: the same to a voter.

Every route is asked (tests/walking.py). Of an audit a voter may learn that there is something to
judge, and nothing else.
"""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User

from annotate.models import CaseKind, EscalationCase, VoteSlot
from annotate.voting.cases import open_case
from corpus.judgments.services import record_judgment
from corpus.models import Passage, Query, Source
from debate.audits.services import add_fillers, draw_audit
from debate.models import Debate
from evaluation.scores import sheets
from kit.models import Event
from tests.annotate.test_api import script, send
from tests.annotate.world import World, hx, make_snapshot, make_world, signed_in, write_plan
from tests.debate.runs.test_screens import make_debate, make_run
from tests.factories import make_gold, make_member, make_passage, make_query, make_ranking
from tests.walking import Walk, differences
from tests.worlds import in_a_world

pytestmark = pytest.mark.django_db
PAIRS = 2
VOTERS = {"voter": ("annotator",), "both": ("annotator", "reviewer")}
# Where cases are listed or counted: there a new one shows, whatever it is for.
OF_CASES = ("/vote/", "/disputes/", "/cases/", "home/annotate/")


@pytest.fixture
def world(settings: Any) -> World:
    """Queries with old gold, a ranking and a pair each, which a run decided or could not."""
    settings.SESSION_ENGINE = "django.contrib.sessions.backends.cache"
    world = make_world()
    benchmark = world.benchmark
    world.people = {name: make_member(benchmark, name, *roles) for name, roles in VOTERS.items()}
    world.run = make_run(benchmark, status="done")
    world.pairs = []
    for number in range(PAIRS):
        query = make_query(benchmark, f"q{number}", "biology")
        gold, passage = (make_passage(benchmark, f"{n}{number}", "biology") for n in ("g", "p"))
        make_gold(query, gold)
        ranked = make_ranking(query, passage.pid, gold.pid)
        world.ranking = ranked.run
        world.pairs.append((query, passage))
    # One that stays as the agents left it in every world.
    other = make_passage(benchmark, "other", "biology")
    record_judgment(query=query, passage=other, label=1, source=Source.DEBATE, provenance={})
    return world


def agreed(world: World) -> None:
    """The pairs as the agents agreed on them."""
    for pair in world.pairs:
        agree(world, pair)


def audited(world: World) -> None:
    """The same, drawn for an audit."""
    agreed(world)
    draw_audit(run=world.run, size=PAIRS, seed=1, actor=world.admin)


def agree(world: World, pair: tuple[Query, Passage]) -> None:
    of = {"query": pair[0], "passage": pair[1]}
    label = record_judgment(**of, label=1, source=Source.DEBATE, provenance={})
    make_debate(world.run, "agreed", label=1, round=1, judgment=label, **of)


def disputed(world: World) -> None:
    """The pairs as the agents argued over them."""
    for query, passage in world.pairs:
        pair = {"query": query, "passage": passage}
        debate = make_debate(world.run, "escalated", **pair)
        origin, answers = f"debate:{debate.pk}", list(query.answers)
        snapshot = make_snapshot(question=query.text, answers=answers)
        debate.case = open_case(origin=origin, kind=CaseKind.DISPUTE, snapshot=snapshot, **pair)
        debate.save()


def case_id(number: int) -> UUID:
    return UUID(int=number * 7 % 5)


def name_cases() -> None:
    """The same ids in each world, in no order: they are drawn by chance."""
    for number, case in enumerate(EscalationCase.objects.order_by("passage__pid"), 1):
        case.public_id = case_id(number)
        case.save()


def walked(world: World, who: str, make: Callable[[World], None]) -> Any:
    def see() -> Any:
        make(world)
        name_cases()
        sheets.carry_out(sheets.request_sheet(benchmark=world.benchmark, actor=None, claimed=True))
        rows = {
            "query": [query.pk for query, _ in world.pairs],
            "passage": [passage.pk for _, passage in world.pairs],
            "case": [case_id(number) for number in range(1, PAIRS + 2)],  # the last is nobody's
            "run": [world.run.pk],
            "debate": list(Debate.objects.values_list("pk", flat=True)),
            "pool": [world.run.pool_id],
            "ranking": [world.ranking.pk],
            "vote": [1],
        }
        # Other orders and filters for who may open more.
        filters = who == "both"
        walk = Walk(world.people[who], world.benchmark.slug, rows, fragments=False, filters=filters)
        return walk.seen()

    return in_a_world(see)


# Small cases that `make test` runs: test_audits.py, test_nothing_that_a_voter_gets_differs_by_kind.
@pytest.mark.slow
@pytest.mark.parametrize("who", ["both", "voter"])
def test_no_route_tells_an_audited_pair_from_a_dispute_or_that_it_was_drawn(
    who: str, world: World
) -> None:
    """And a draw changes nothing but what lists cases."""
    seen = walked(world, who, audited)
    assert sum(not isinstance(each, int) for each in seen.values()) > 60
    assert differences(seen, walked(world, who, disputed)) == []
    found = differences(walked(world, who, agreed), seen)
    assert [each for each in found if not any(words in each for words in OF_CASES)] == []


@pytest.mark.parametrize("needs_span", [False, True])
def test_a_case_without_positions_is_judged_as_one_with_them(
    needs_span: bool, world: World
) -> None:
    """By page and API, until the first judgment; then its vote is given like any other."""
    write_plan(world, needs_span=needs_span)
    empty = {"positions": [], "rounds": 0}
    with_debate, without = world.case(), world.case(snapshot=make_snapshot(**empty))
    client, api = signed_in(world.voters[0]), script(world.voters[0])
    stages = []
    for case in (with_debate, without):
        page = client.get(world.url(f"vote/{case.public_id}/"), **hx("vote-panel"))
        stages.append((page.context["stage"], "From the passage alone" in page.content.decode()))
    assert stages == [("first", True)] * 2
    for case in (with_debate, without):
        told = send(api, "post", f"cases/{case.public_id}/first-judgment/", {"label": 1})
        assert (told[0], told[1]["stage"], told[1]["first_label"]) == (201, "final", 1)
        assert bool(told[1]["snapshot"]["positions"]) == (case == with_debate)
        body = {"label": 1, "span": {"start": 0, "end": 5}}
        status, vote = send(api, "post", f"cases/{case.public_id}/votes/", body)
        assert (status, vote["first_label"]) == (201, 1)
        assert vote["saw_positions"] == (case == with_debate)


def test_on_a_page_the_judgment_of_what_has_no_positions_is_the_vote(world: World) -> None:
    case = world.case(snapshot=make_snapshot(positions=[], rounds=0))
    signed_in(world.voters[0]).post(
        world.url(f"vote/{case.public_id}/"), {"label": "1", "stage": "first"}
    )
    vote = case.votes.get()
    assert (vote.label, vote.arm, vote.saw_positions) == (1, "", False)


def test_an_audit_makes_fillers_of_disputes_that_nobody_was_given(world: World) -> None:
    agreed(world)
    taken = world.case()
    for number in range(9):
        query = make_query(world.benchmark, f"d{number}", "biology")
        pair = {"query": query, "passage": make_passage(world.benchmark, f"d{number}", "biology")}
        debate = make_debate(world.run, "escalated", **pair)
        debate.case = world.case(origin=f"debate:{debate.pk}", **pair)
        debate.save()
        taken = taken if number else debate.case
    VoteSlot.objects.filter(case=taken, place=1).update(voter=world.voters[0])
    draw_audit(run=world.run, size=PAIRS, seed=1, actor=world.admin)
    fillers = world.run.debates.filter(is_decoy=True).select_related("case")
    # As many as there are pairs, but at most every fourth of the eight that nobody has.
    assert len(fillers) == 2
    assert all(each.case.snapshot["positions"] == [] for each in fillers)
    alone = EscalationCase.objects.filter(kind=CaseKind.DISPUTE, snapshot__rounds=0)
    assert {each.pk for each in alone} == {each.case_id for each in fillers}
    assert taken.pk not in {each.case_id for each in fillers}
    event = Event.objects.get(verb="draw audit")
    assert event.data["fillers"] == 2
    # What others have audited in the domain wants fillers of its own, and gets them once.
    world.case(
        kind=CaseKind.AUDIT,
        origin="training:1",
        query=query,
        passage=make_passage(world.benchmark, "graded", "biology"),
    )
    for wanted in (1, 0):
        assert add_fillers(world.run.debates.all(), [query.domain_id], "again") == wanted


def test_the_comparison_can_fail(world: World) -> None:
    """To who votes on nothing the label is shown, and its row goes when it is drawn."""
    url = f"/api/b/{world.benchmark.slug}/judgments/?source=debate"

    def rows(make: Callable[[World], None], person: User) -> int:
        def see() -> int:
            make(world)
            return script(person).get(url).json()["count"]

        return in_a_world(see)

    assert [rows(make, world.reviewer) for make in (agreed, audited)] == [PAIRS + 1, 1]
    assert [rows(make, world.voters[0]) for make in (agreed, audited)] == [0, 0]
