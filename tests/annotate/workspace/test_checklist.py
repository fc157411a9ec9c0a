"""What is missing before a query can be submitted."""

import pytest

from annotate.models import Aspect, AspectChange, GoldPassage
from annotate.workspace.aspects import add_aspect, save_aspect
from annotate.workspace.changes import last_change
from annotate.workspace.checklist import missing
from annotate.workspace.gold import assign_passage, discard_passage
from annotate.workspace.restructuring import undo_change
from tests.factories import make_gold, make_passage


@pytest.fixture
def world(world):
    make_gold(world.query, world.passage)
    return world


def kinds(world, *, blocking=True):
    return [item.kind for item in missing(query=world.query) if item.blocking == blocking]


def test_a_query_that_nobody_began_misses_everything(world):
    assert kinds(world) == ["undecided", "no_aspects"]


def test_an_item_leads_to_where_it_is_done(world):
    item = missing(query=world.query)[0]
    pk = world.passage.pk
    assert item.url == f"/b/garden/queries/{world.query.pk}/?passage={pk}#passage-{pk}"
    assert world.passage.pid in item.text


def test_a_whole_query_misses_nothing(world):
    expert = world.voters[0]
    one, two = (
        add_aspect(query=world.query, actor=expert, content=text, weight=weight)
        for text, weight in (("Backs to the light.", 5), ("Heat is no lure.", 2))
    )
    assert kinds(world) == ["undecided", "support", "support"]
    assign_passage(query=world.query, passage=world.passage, aspect=one, actor=expert)
    other = make_passage(world.benchmark, "lamps/page_9.txt", "biology")
    assign_passage(query=world.query, passage=other, aspect=two, actor=expert)
    assert missing(query=world.query) == []


def test_a_discarded_original_is_decided(world):
    discard_passage(query=world.query, passage=world.passage, reason="noise", actor=world.voters[0])
    assert kinds(world) == ["no_aspects"]


def test_hints_do_not_stand_in_the_way(world):
    expert = world.voters[0]
    text = "Insects turn backs toward lights. They roll. They circle. Nobody knows why."
    add_aspect(query=world.query, actor=expert, content=text, weight=3)
    assert kinds(world, blocking=False) == ["long", "count"]
    add_aspect(query=world.query, actor=expert, content=text.replace("roll", "tilt"))
    assert kinds(world, blocking=False) == ["long", "long", "close"]


def test_a_weight_that_nobody_chose_stands_in_the_way(world):
    expert = world.voters[0]
    aspect = add_aspect(query=world.query, actor=expert, content="One point.")
    texts = {"content": "One point.", "rationale": "", "actor": expert, "aspect": aspect}
    assert "unweighed" in kinds(world)
    save_aspect(expected=1, weight=None, **texts)
    assert "unweighed" in kinds(world)
    AspectChange.objects.update(updated_at="2026-11-20T00:00Z")  # another sitting
    # The weight that it began with is a choice as soon as somebody says so.
    save_aspect(expected=1, weight=3, **texts)
    assert "unweighed" not in kinds(world)
    undo_change(change=last_change(world.query, expert), actor=expert)
    assert "unweighed" in kinds(world)


def test_an_aspect_that_says_nothing_stands_in_the_way(world):
    add_aspect(query=world.query, actor=world.voters[0])
    assert "empty" in kinds(world)


def test_a_passage_of_an_aspect_that_is_gone_asks_for_another(world):
    expert = world.voters[0]
    aspect = add_aspect(query=world.query, actor=expert, content="One point.", weight=3)
    assign_passage(query=world.query, passage=world.passage, aspect=aspect, actor=expert)
    Aspect.objects.filter(pk=aspect.pk).update(removed_at="2026-11-20T00:00Z")
    assert kinds(world) == ["asking", "no_aspects"]


def test_an_imported_assignment_that_gold_does_not_list_is_decided_anew(world):
    aspect = add_aspect(query=world.query, actor=world.voters[0], content="One.", weight=3)
    lost = make_passage(world.benchmark, "lamps/page_8.txt", "biology")
    GoldPassage.objects.create(aspect=aspect, query=world.query, passage=lost)
    assert kinds(world) == ["undecided", "unlisted"]


def test_two_scales_in_one_query_stand_in_the_way(world):
    for number, scale in enumerate(("likert5", "likert3"), start=1):
        Aspect.objects.create(
            query=world.query, k=number, content=f"Point {number}.", scale=scale, weight=2
        )
    assert "scale" in kinds(world)


def test_it_asks_few_questions(world, django_assert_max_num_queries):
    for number in range(8):
        add_aspect(query=world.query, actor=world.voters[0], content=f"Point {number}.")
    with django_assert_max_num_queries(6):
        missing(query=world.query)
