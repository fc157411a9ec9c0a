"""Every label that people make names its rule and what breaks a tie under it."""

import pytest

from annotate.adjudication.services import settle_case
from annotate.panels.settling import check_item
from annotate.voting.majority import RULE, TIE_BREAKS
from annotate.voting.services import cast_vote
from annotate.workspace.aspects import add_aspect
from annotate.workspace.gold import assign_passage, discard_passage, undo_verdict
from annotate.workspace.remaking import remake
from corpus.access import enter
from corpus.models import Judgment, Source
from tests.annotate.panels.drawing import (
    access_of,
    first_item,
    give,
    make_panel,
    make_panel_world,
    practise,
)
from tests.annotate.world import make_world
from tests.factories import make_document, make_passage

pytestmark = pytest.mark.django_db


def named() -> list[tuple[str, str]]:
    """Rule and tie-break of every label that people made, the oldest first."""
    made = Judgment.objects.filter(source__in=(Source.HUMAN, Source.EXPERT)).order_by("pk")
    return [(each.provenance["rule"], each.provenance["tie_break"]) for each in made]


def test_votes_and_what_a_third_person_settles() -> None:
    world = make_world()
    first, second = world.case(), world.case()
    for voter, label in zip(world.voters, (1, 1, 0), strict=False):
        cast_vote(case=first, voter=voter, label=label)
    for voter, label in zip(world.voters, (1, 0, None, None, None), strict=True):
        cast_vote(case=second, voter=voter, label=label, reason="for a reason")
    second.refresh_from_db()
    who = enter(world.admin, world.benchmark.slug)
    settle_case(case=second, access=who, label=1, reason="It says so.")
    assert named() == [(RULE, "another-voter-then-expert"), ("adjudicated", "none")]


def test_verdicts_of_experts_and_what_stands_again() -> None:
    world = make_world()
    expert, pair = world.voters[0], {"query": world.query, "passage": world.passage}
    aspect = add_aspect(query=world.query, actor=expert, content="Point.", weight=3)
    assign_passage(**pair, aspect=aspect, actor=expert)
    discard_passage(**pair, reason="noise", actor=expert)
    undo_verdict(**pair, actor=expert)  # the assignment stands again, as a new row
    assert named() == [
        ("assigned", "third-person"),
        ("discarded", "third-person"),
        ("assigned", "third-person"),
    ]


def test_passages_that_became_part_of_another_one() -> None:
    world = make_world()
    expert, page = world.voters[0], make_document(world.benchmark, text="One two three four.")
    aspect = add_aspect(query=world.query, actor=expert, content="Point.", weight=3)
    parts = [
        make_passage(world.benchmark, f"page/{at}", text=text, document=page, start=at, end=end)
        for at, end, text in ((0, 7, "One two"), (8, 18, "three four"))
    ]
    for part in parts:
        assign_passage(query=world.query, passage=part, aspect=aspect, actor=expert)
    remake(query=world.query, passages=parts, aspect=aspect, actor=expert)
    assert {*named()} == {("assigned", "third-person"), ("remade", "none")}


@pytest.mark.parametrize("wanted", [1, 2])
def test_labels_of_a_panel(wanted) -> None:
    world = make_panel_world(queries=1)
    panel = make_panel(world, labels_per_item=wanted, per_domain=1, check_percent=100)
    item = first_item(panel)
    practise(world, panel, *world.voters[:wanted])
    for expert in world.voters[:wanted]:
        give(world, item, expert, 1)
    who = access_of(world, world.admin)
    item.refresh_from_db()
    check_item(item=item, access=who, label=0, reason="It does not.")
    assert named() == [(f"reference-{wanted}", "senior"), ("reference-check", "none")]


def test_no_rule_is_without_a_tie_break() -> None:
    """And none of them is chance."""
    assert all(TIE_BREAKS.values())
    assert not any("random" in each or "chance" in each for each in TIE_BREAKS.values())
