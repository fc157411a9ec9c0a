"""Verbs on aspects (docs/protocol.md 3.1)."""

from types import SimpleNamespace

import pytest
from django.core.exceptions import PermissionDenied

from annotate.models import Aspect, Scale
from annotate.workspace.aspects import (
    add_aspect,
    move_aspect,
    normalised_weights,
    remove_aspect,
    restore_aspect,
    save_aspect,
)
from annotate.workspace.gold import assign_passage
from kit.errors import Conflict, Refused
from kit.models import Event


def weighted(*raw):
    return [SimpleNamespace(weight=weight) for weight in raw]


def test_shares_of_3_2_1_are_a_half_a_third_a_sixth():
    assert normalised_weights(weighted(3, 2, 1)) == pytest.approx([0.5, 1 / 3, 1 / 6])


def test_shares_of_the_printed_example():
    # 5:2:2:1:1 over 11 is printed as .46 .18 .18 .09 .09 (docs/protocol.md 7, row 1).
    shares = normalised_weights(weighted(5, 2, 2, 1, 1))
    assert [round(share, 2) for share in shares] == [0.45, 0.18, 0.18, 0.09, 0.09]
    assert sum(shares) == pytest.approx(1)


def test_weights_that_sum_to_nothing_are_an_error():
    with pytest.raises(ValueError, match="sum to 0"):
        normalised_weights(weighted(0, 0))


def test_no_aspects_have_no_shares():
    assert normalised_weights([]) == []


def add(world, **fields):
    return add_aspect(query=world.query, actor=world.voters[0], **fields)


def save(aspect, actor, expected=1, **fields):
    values = {"content": "c", "rationale": "r", "weight": 3} | fields
    return save_aspect(aspect=aspect, actor=actor, expected=expected, **values)


def test_aspects_are_numbered_and_named(world):
    first, second = add(world, content="one", weight=5), add(world)
    assert (first.k, first.weight, first.scale) == (1, 5, Scale.LIKERT5)
    assert (first.aspect_id, second.aspect_id) == ("biology-12-a1", "biology-12-a2")


def test_number_of_a_removed_aspect_is_never_used_again(world, expert):
    add(world)
    remove_aspect(aspect=add(world), actor=expert)
    assert add(world).k == 3


def test_new_aspect_takes_the_scale_of_the_others(world):
    Aspect.objects.create(query=world.query, k=1, scale=Scale.LIKERT3, weight=2)
    assert add(world).scale == Scale.LIKERT3
    with pytest.raises(Refused) as refusal:
        add(world, weight=4)
    assert refusal.value.field == "weight"


def test_saving_counts_the_version_and_keeps_the_event(world, expert):
    aspect = save(add(world), expert, content="They turn.", weight=4)
    assert (aspect.content, aspect.rationale, aspect.weight, aspect.version) == (
        "They turn.",
        "r",
        4,
        2,
    )
    assert aspect.updated_by == expert
    event = Event.objects.get(verb="save aspect")
    assert (event.actor, event.scope, event.data["content"]) == (expert, "garden", "They turn.")


def test_stale_save_is_refused_with_the_present_row(world, expert):
    aspect = add(world)
    save(aspect, world.voters[1], content="theirs")
    with pytest.raises(Conflict) as conflict:
        save(aspect, expert, content="mine")
    assert conflict.value.current.content == "theirs"
    aspect.refresh_from_db()
    assert (aspect.content, aspect.version) == ("theirs", 2)


def test_saving_the_same_again_changes_nothing(world, expert):
    aspect = add(world)
    save(aspect, expert)
    assert save(aspect, expert, expected=1).version == 2
    assert Event.objects.filter(verb="save aspect").count() == 1


def test_weight_off_the_scale_is_refused(world, expert):
    aspect = add(world)
    for weight in (0, 6):
        with pytest.raises(Refused):
            save(aspect, expert, weight=weight)


def test_aspect_with_passages_cannot_be_removed(world, expert):
    aspect = add(world)
    assign_passage(query=world.query, passage=world.passage, aspect=aspect, actor=expert)
    with pytest.raises(Refused, match="a1 still has 1 passage"):
        remove_aspect(aspect=aspect, actor=expert)
    assert Aspect.objects.present().count() == 1


def test_removed_aspect_comes_back_as_it_was(world, expert):
    first, second = add(world, content="one"), add(world, content="two")
    remove_aspect(aspect=first, actor=expert)
    assert list(Aspect.objects.present()) == [second]
    with pytest.raises(Refused, match="removed"):
        save(first, expert, expected=2)
    restore_aspect(aspect=first, actor=expert)
    assert [each.content for each in Aspect.objects.present()] == ["one", "two"]


def test_aspects_move_by_one_and_stop_at_the_edge(world, expert):
    first, _, third = add(world), add(world), add(world)
    move_aspect(aspect=third, actor=expert, direction="up")
    assert [each.k for each in Aspect.objects.present()] == [1, 3, 2]
    move_aspect(aspect=first, actor=expert, direction="up")
    assert [each.k for each in Aspect.objects.present()] == [1, 3, 2]
    move_aspect(aspect=first, actor=expert, direction="down")
    assert [each.k for each in Aspect.objects.present()] == [3, 1, 2]


def test_moving_does_not_make_typed_text_stale(world, expert):
    aspect, _ = add(world), add(world)
    move_aspect(aspect=aspect, actor=world.voters[1], direction="down")
    assert save(aspect, expert, expected=1, content="typed").content == "typed"


def test_only_annotators_of_the_domain_write(world):
    aspect = add(world)
    for person in (world.reviewer, world.admin, world.outsider, world.stranger):
        for verb in (
            lambda actor: add_aspect(query=world.query, actor=actor),
            lambda actor: save(aspect, actor),
            lambda actor: remove_aspect(aspect=aspect, actor=actor),
            lambda actor: restore_aspect(aspect=aspect, actor=actor),
            lambda actor: move_aspect(aspect=aspect, actor=actor, direction="up"),
        ):
            with pytest.raises(PermissionDenied):
                verb(person)
    assert Aspect.objects.get().version == 1
