"""Both weight scales: where a benchmark begins, and moving a query to the other one."""

import pytest
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction

from annotate.models import Aspect, AspectChange
from annotate.workspace import scales
from annotate.workspace.aspects import add_aspect, normalised_weights, remove_aspect, restore_aspect
from annotate.workspace.restructuring import move_to_scale, undo_change
from kit.errors import Conflict, Refused


@pytest.fixture
def aspects(world, expert):
    return [add_aspect(query=world.query, actor=expert, weight=weight) for weight in (5, 2)]


def weights(world):
    rows = Aspect.objects.filter(query=world.query).present()
    return [(each.weight, each.scale) for each in rows]


def move(world, actor, chosen, scale="likert3", **more):
    return move_to_scale(query=world.query, scale=scale, weights=chosen, actor=actor, **more)


def test_an_admin_chooses_where_new_aspects_begin(world, expert):
    assert add_aspect(query=world.query, actor=expert, weight=5).scale == "likert5"
    scales.choose_scale(benchmark=world.benchmark, scale="likert3", actor=world.admin)
    from tests.factories import make_query

    fresh = add_aspect(query=make_query(world.benchmark, "13", "biology"), actor=expert)
    assert (fresh.scale, fresh.weight, fresh.weighed) == ("likert3", 2, False)
    # A query that was begun keeps its scale.
    assert add_aspect(query=world.query, actor=expert).scale == "likert5"
    with pytest.raises(PermissionDenied):
        scales.choose_scale(benchmark=world.benchmark, scale="likert5", actor=expert)
    with pytest.raises(Refused):
        scales.choose_scale(benchmark=world.benchmark, scale="likert7", actor=world.admin)


def test_a_query_moves_with_weights_that_a_person_chose(world, expert, aspects):
    move(world, expert, {aspects[0].pk: 3, aspects[1].pk: 1})
    assert weights(world) == [(3, "likert3"), (1, "likert3")]
    rows = Aspect.objects.filter(query=world.query)
    assert normalised_weights(rows) == pytest.approx([0.75, 0.25])
    change = AspectChange.objects.first()
    assert [(each["weight"], each["scale"]) for each in change.before] == [
        (5, "likert5"),
        (2, "likert5"),
    ]
    assert scales.earlier_weights(world.query, "likert5") == {aspects[0].pk: 5, aspects[1].pk: 2}
    undo_change(change=change, actor=expert)
    assert weights(world) == [(5, "likert5"), (2, "likert5")]


def test_no_weight_is_made_up(world, expert, aspects):
    for chosen in ({}, {aspects[0].pk: 3}, {aspects[0].pk: 3, aspects[1].pk: 4}):
        with pytest.raises(Refused, match="Choose a weight from 1 to 3 for"):
            move(world, expert, chosen)
    assert weights(world) == [(5, "likert5"), (2, "likert5")]


def test_one_aspect_that_is_off_the_scale_moves_alone(world, expert, aspects):
    remove_aspect(aspect=aspects[1], actor=expert)
    move(world, expert, {aspects[0].pk: 3})
    restore_aspect(aspect=aspects[1], actor=expert)
    assert weights(world) == [(3, "likert3"), (2, "likert5")]
    move(world, expert, {aspects[1].pk: 1})
    assert weights(world) == [(3, "likert3"), (1, "likert3")]
    with pytest.raises(Refused, match="already"):
        move(world, expert, {})


def test_a_weight_that_was_changed_meanwhile_is_a_conflict(world, expert, aspects):
    chosen = {aspects[0].pk: 3, aspects[1].pk: 1}
    with pytest.raises(Conflict):
        move(world, expert, chosen, versions={aspects[0].pk: 1, aspects[1].pk: 7})
    assert weights(world) == [(5, "likert5"), (2, "likert5")]


def test_shares_are_weighed_in_hundredths(world, expert, aspects):
    move(world, expert, {aspects[0].pk: 75, aspects[1].pk: 25}, scale="shares")
    assert weights(world) == [(75, "shares"), (25, "shares")]
    rows = Aspect.objects.filter(query=world.query)
    assert normalised_weights(rows) == pytest.approx([0.75, 0.25])
    fresh = add_aspect(query=world.query, actor=expert)
    assert (fresh.scale, fresh.chosen_weight) == ("shares", None)
    for wrong in (0, 101):
        with pytest.raises(Refused, match="from 1 to 100"):
            add_aspect(query=world.query, actor=expert, weight=wrong)
    with pytest.raises(Refused, match="on the scale shares in hundredths already"):
        move(world, expert, {}, scale="shares")
    with pytest.raises(IntegrityError), transaction.atomic():
        Aspect.objects.filter(pk=fresh.pk).update(weight=101)
