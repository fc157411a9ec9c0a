"""Tags of what is wrong with old gold: given, taken off, filtered by and counted."""

import pytest
from django.core.exceptions import PermissionDenied

from annotate.workspace import problems
from annotate.workspace.aspects import add_aspect
from annotate.workspace.gold import assign_passage, discard_passage
from annotate.workspace.remaking import undo_with_sources
from kit.errors import Refused
from kit.models import Event
from tests.factories import make_gold, make_passage


@pytest.fixture
def world(world):
    world.old = [
        make_passage(world.benchmark, f"old/p{n}.txt", "biology", text=f"Old {n}.")
        for n in range(4)
    ]
    make_gold(world.query, *world.old)
    return world


@pytest.fixture
def expert(world):
    return world.voters[0]


def counts(world):
    return problems.count_problems(problems.audited(world.benchmark))


def test_a_tag_is_given_once_and_taken_off(world, expert):
    for _ in range(2):
        problems.tag_problem(
            query=world.query,
            passage=world.old[0],
            problem="structural_noise",
            note="menus",
            actor=expert,
        )
    assert counts(world)["structural_noise"] == 1
    assert Event.objects.filter(verb="tag problem").count() == 1
    problems.untag_problem(
        query=world.query, passage=world.old[0], problem="structural_noise", actor=expert
    )
    assert counts(world)["structural_noise"] == 0
    assert problems.problems_of(world.query) == {}


def test_a_reason_to_discard_names_its_problem(world, expert):
    for passage, reason in zip(
        world.old, ("topic_only", "irrelevant", "noise", "fragment"), strict=True
    ):
        discard_passage(query=world.query, passage=passage, reason=reason, actor=expert)
    assert counts(world) == {
        "irrelevant_gold": 2,
        "incomplete_gold": 0,
        "structural_noise": 1,
        "semantic_discontinuity": 1,
    }
    undo_with_sources(query=world.query, passage=world.old[0], actor=expert)
    assert counts(world)["irrelevant_gold"] == 1


def test_incomplete_gold_is_said_of_the_whole_query(world, expert):
    problems.tag_problem(query=world.query, problem="incomplete_gold", actor=expert)
    assert counts(world)["incomplete_gold"] == 4
    assert problems.problems_of(world.query) == {None: ["incomplete_gold"]}


def test_verdicts_are_counted_and_filtered(world, expert):
    aspect = add_aspect(query=world.query, actor=expert, content="Point.", weight=3)
    assign_passage(query=world.query, passage=world.old[0], aspect=aspect, actor=expert)
    discard_passage(query=world.query, passage=world.old[1], reason="noise", actor=expert)
    rows = problems.audited(world.benchmark)
    found = problems.count_verdicts(rows)
    assert {name: count for name, count in found.items() if count} == {
        "undecided": 2,
        "assigned": 1,
        "noise": 1,
    }
    assert [each.passage for each in problems.by_verdict(rows, "noise")] == [world.old[1]]


@pytest.mark.parametrize(
    ("problem", "is_passage"),
    [("boring", True), ("incomplete_gold", True), ("structural_noise", False)],
)
def test_a_problem_that_does_not_fit_is_refused(world, expert, problem, is_passage):
    passage = world.old[0] if is_passage else None
    with pytest.raises(Refused):
        problems.tag_problem(query=world.query, passage=passage, problem=problem, actor=expert)


def test_only_old_gold_is_tagged_and_only_by_annotators(world, expert):
    with pytest.raises(Refused, match="original gold"):
        problems.tag_problem(
            query=world.query, passage=world.passage, problem="structural_noise", actor=expert
        )
    for person in (world.reviewer, world.admin, world.outsider):
        with pytest.raises(PermissionDenied):
            problems.tag_problem(query=world.query, problem="incomplete_gold", actor=person)
