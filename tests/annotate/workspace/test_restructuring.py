"""Split, merge, reorder, clarify: history and undo of each, and passages that ask."""

import pytest
from django.core.exceptions import PermissionDenied

from annotate.models import Aspect, AspectChange, GoldPassage
from annotate.workspace.aspects import add_aspect, move_aspect, remove_aspect, save_aspect
from annotate.workspace.checklist import missing
from annotate.workspace.gold import assign_passage, discard_passage, undo_verdict
from annotate.workspace.restructuring import Part, merge_aspects, split_aspect, undo_change
from corpus.models import Judgment
from kit.errors import Conflict, Refused
from kit.models import Event
from tests.factories import make_gold, make_passage

PARTS = [Part("Backs turn to the light.", 5), Part("The path bends.", 2, "Seen in films.")]


@pytest.fixture
def aspects(world, expert):
    texts = ("Light and paths.", "Heat is no lure.", "Heat does not draw them.")
    return [add_aspect(query=world.query, actor=expert, content=text, weight=3) for text in texts]


@pytest.fixture
def attached(world, expert, aspects):
    """Two passages on a1, one of them as an import brings it; one on a2."""
    pages = [
        world.passage,
        *(make_passage(world.benchmark, f"lamps/{n}.txt", "biology") for n in range(2)),
    ]
    make_gold(world.query, pages[1])
    GoldPassage.objects.create(aspect=aspects[0], query=world.query, passage=pages[1])
    for passage, aspect in ((pages[0], aspects[0]), (pages[2], aspects[1])):
        assign_passage(query=world.query, passage=passage, aspect=aspect, actor=expert)
    return pages


def order(world):
    return [each.k for each in Aspect.objects.filter(query=world.query).present()]


def stands_on(world):
    rows = GoldPassage.objects.standing().filter(query=world.query)
    return {gold.passage.pid: gold.aspect.k for gold in rows.select_related("passage", "aspect")}


def asking(world):
    return [item.kind for item in missing(query=world.query)].count("asking")


def split(aspect, actor, parts=PARTS, expected=1):
    return split_aspect(aspect=aspect, parts=parts, actor=actor, expected=expected)


def test_parts_take_the_place_and_new_numbers(world, expert, aspects):
    split(aspects[0], expert)
    assert order(world) == [4, 5, 2, 3]
    four, five = Aspect.objects.filter(query=world.query).present()[:2]
    assert (four.content, four.weight, four.aspect_id) == (
        "Backs turn to the light.", 5, "biology-12-a4"
    )  # fmt: skip
    assert (five.rationale, five.weighed) == ("Seen in films.", True)
    assert Event.objects.get(verb="split aspect").data == {"before": [1], "after": [4, 5]}


def test_every_passage_of_a_split_aspect_asks_and_keeps_its_label(world, expert, aspects, attached):
    split(aspects[0], expert)
    assert asking(world) == 2
    labels = Judgment.objects.standing().filter(query=world.query, label=1)
    assert {label.passage_id for label in labels} == {attached[0].pk, attached[2].pk}
    for passage in attached[:2]:
        part = Aspect.objects.get(query=world.query, k=4)
        assign_passage(query=world.query, passage=passage, aspect=part, actor=expert)
    assert asking(world) == 0


def test_merge_asks_the_passages_of_both(world, expert, aspects, attached):
    expected = {aspects[0].pk: 1, aspects[1].pk: 1}
    merge_aspects(aspects=aspects[:2], into=Part("Both.", 4), actor=expert, expected=expected)
    assert order(world) == [4, 3]
    assert asking(world) == 3


def test_undo_of_a_split_brings_everything_back(world, expert, aspects, attached):
    before = stands_on(world)
    change = split(aspects[0], expert)
    part = Aspect.objects.get(query=world.query, k=5)
    assign_passage(query=world.query, passage=attached[0], aspect=part, actor=expert)
    undo_change(change=change, actor=expert)
    assert order(world) == [1, 2, 3]
    assert stands_on(world) == before
    assert asking(world) == 0
    with pytest.raises(Refused, match="undone already"):
        undo_change(change=change, actor=expert)


def test_undo_leaves_what_was_decided_elsewhere_and_asks_for_what_came_since(
    world, expert, aspects, attached
):
    change = split(aspects[0], expert)
    part = Aspect.objects.get(query=world.query, k=4)
    discard_passage(query=world.query, passage=attached[0], reason="noise", actor=expert)
    new = make_passage(world.benchmark, "lamps/new.txt", "biology")
    assign_passage(query=world.query, passage=new, aspect=part, actor=expert)
    undo_change(change=change, actor=expert)
    assert attached[0].pid not in stands_on(world)
    assert stands_on(world)[new.pid] == 4
    assert asking(world) == 1


def test_undo_of_a_merge_knows_where_each_passage_came_from(world, expert, aspects, attached):
    before = stands_on(world)
    expected = {aspect.pk: 1 for aspect in aspects[:2]}
    change = merge_aspects(
        aspects=aspects[:2], into=Part("Both.", 4), actor=expert, expected=expected
    )
    merged = Aspect.objects.get(query=world.query, k=4)
    for passage in attached:
        assign_passage(query=world.query, passage=passage, aspect=merged, actor=expert)
    undo_change(change=change, actor=expert)
    assert (order(world), stands_on(world)) == ([1, 2, 3], before)


def test_changes_are_undone_from_the_newest(world, expert, aspects):
    first = split(aspects[0], expert)
    part = Aspect.objects.get(query=world.query, k=4)
    second = split(part, expert)
    with pytest.raises(Refused, match="a4 was taken away"):
        undo_change(change=first, actor=expert)
    undo_change(change=second, actor=expert)
    undo_change(change=first, actor=expert)
    assert order(world) == [1, 2, 3]


def test_numbers_are_never_used_again(world, expert, aspects):
    undo_change(change=split(aspects[0], expert), actor=expert)
    assert add_aspect(query=world.query, actor=expert).k == 6


def test_taking_back_a_verdict_after_a_split_does_not_lose_the_label(
    world, expert, aspects, attached
):
    split(aspects[0], expert)
    part = Aspect.objects.get(query=world.query, k=4)
    assign_passage(query=world.query, passage=attached[0], aspect=part, actor=expert)
    undo_verdict(query=world.query, passage=attached[0], actor=expert)
    assert stands_on(world)[attached[0].pid] == 1
    assert asking(world) == 2


@pytest.mark.parametrize(
    "parts", [PARTS[:1], [PARTS[0], Part(" ", 3)], [PARTS[0], Part("Off.", 6)], PARTS * 4]
)
def test_a_split_that_makes_no_sense_is_refused_whole(world, expert, aspects, parts):
    with pytest.raises(Refused):
        split(aspects[0], expert, parts)
    assert order(world) == [1, 2, 3]


def test_a_stale_split_or_merge_is_a_conflict(world, expert, aspects):
    save_aspect(aspect=aspects[0], actor=expert, expected=1, content="New.", rationale="", weight=3)
    with pytest.raises(Conflict) as conflict:
        split(aspects[0], expert)
    assert conflict.value.current.content == "New."
    with pytest.raises(Conflict):
        merge_aspects(
            aspects=aspects[:2],
            into=Part("Both.", 4),
            actor=expert,
            expected={aspect.pk: 1 for aspect in aspects},
        )


def test_an_aspect_cannot_be_merged_with_itself_or_a_stranger(world, expert, aspects):
    from tests.factories import make_query

    other = add_aspect(query=make_query(world.benchmark, "13", "biology"), actor=expert)
    for pair in ([aspects[0], aspects[0]], [aspects[0], other]):
        with pytest.raises(Refused):
            merge_aspects(aspects=pair, into=PARTS[0], actor=expert, expected={})


def test_writing_on_is_one_change_and_one_undo(world, expert, aspects):
    for version, text in enumerate(("Light", "Light bends", "Light bends paths."), start=1):
        save_aspect(
            aspect=aspects[0],
            actor=expert,
            expected=version,
            content=text,
            rationale="",
            weight=3,
        )
    change = AspectChange.objects.first()
    assert (change.kind, change.before[0]["content"]) == ("clarify", "Light and paths.")
    undo_change(change=change, actor=expert)
    assert Aspect.objects.get(pk=aspects[0].pk).content == "Light and paths."


def test_a_newer_text_is_not_undone_with_an_older_change(world, expert, aspects):
    other = world.voters[1]
    for version, who in ((1, expert), (2, other)):
        save_aspect(
            aspect=aspects[0],
            actor=who,
            expected=version,
            content=f"By {who}.",
            rationale="",
            weight=3,
        )
    older = AspectChange.objects.all()[1]
    with pytest.raises(Refused, match="written again"):
        undo_change(change=older, actor=expert)


def test_order_addition_and_removal_are_undone(world, expert, aspects):
    move_aspect(aspect=aspects[2], actor=expert, direction="up")
    undo_change(change=AspectChange.objects.first(), actor=expert)
    assert order(world) == [1, 2, 3]
    remove_aspect(aspect=aspects[1], actor=expert)
    undo_change(change=AspectChange.objects.first(), actor=expert)
    assert order(world) == [1, 2, 3]
    add = AspectChange.objects.filter(kind="add").last()
    undo_change(change=add, actor=expert)
    assert order(world) == [2, 3]


def test_an_addition_with_passages_is_not_undone(world, expert, aspects, attached):
    with pytest.raises(Refused, match="a1 has 2 passages"):
        undo_change(change=AspectChange.objects.filter(kind="add").last(), actor=expert)


def test_only_annotators_of_the_domain_restructure(world, aspects):
    change = AspectChange.objects.first()
    for person in (world.reviewer, world.admin, world.outsider, world.stranger):
        with pytest.raises(PermissionDenied):
            split(aspects[0], person)
        with pytest.raises(PermissionDenied):
            undo_change(change=change, actor=person)
