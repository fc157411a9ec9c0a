"""Verdicts on passages (docs/protocol.md 3.1 steps 3 and 4)."""

import pytest
from django.core.exceptions import PermissionDenied

from annotate.models import GoldPassage
from annotate.workspace.aspects import add_aspect, remove_aspect
from annotate.workspace.gold import assign_passage, discard_passage, undo_verdict
from corpus.models import Judgment, Source
from kit.errors import Refused
from kit.models import Event
from tests.factories import make_gold, make_passage, make_query


@pytest.fixture
def aspects(world, expert):
    return [add_aspect(query=world.query, actor=expert) for _ in range(2)]


def pair(world):
    return {"query": world.query, "passage": world.passage}


def standing(world):
    return Judgment.objects.standing().filter(**pair(world)).first()


def test_assignment_writes_gold_passage_and_expert_label(world, expert, aspects):
    gold = assign_passage(**pair(world), aspect=aspects[0], actor=expert)
    label = standing(world)
    assert (gold.aspect, gold.judgment, gold.created_by) == (aspects[0], label, expert)
    assert (label.label, label.source) == (1, Source.EXPERT)
    event = Event.objects.get(verb="assign passage")
    assert (event.actor, event.scope, event.data["aspect"]) == (expert, "garden", 1)


def test_what_the_query_excludes_cannot_become_its_gold(world, expert, aspects):
    world.query.excluded_ids = [world.passage.pid]
    world.query.save()
    with pytest.raises(Refused, match="leave this passage out"):
        assign_passage(**pair(world), aspect=aspects[0], actor=expert)
    assert not GoldPassage.objects.exists()
    assert standing(world) is None
    # That it is no gold can be said.
    discard_passage(**pair(world), reason="noise", actor=expert)
    assert standing(world).label == 0


def test_passage_moves_to_another_aspect(world, expert, aspects):
    first = assign_passage(**pair(world), aspect=aspects[0], actor=expert)
    second = assign_passage(**pair(world), aspect=aspects[1], actor=expert)
    first.refresh_from_db()
    assert first.ended_at is not None
    assert list(GoldPassage.objects.standing()) == [second]
    assert standing(world) == second.judgment


def test_assigning_again_to_the_same_aspect_changes_nothing(world, expert, aspects):
    first = assign_passage(**pair(world), aspect=aspects[0], actor=expert)
    assert assign_passage(**pair(world), aspect=aspects[0], actor=expert) == first
    assert Judgment.objects.count() == 1


def test_confirming_an_imported_assignment_is_a_verdict(world, expert, aspects):
    make_gold(world.query, world.passage)
    imported = GoldPassage.objects.create(aspect=aspects[0], **pair(world))
    gold = assign_passage(**pair(world), aspect=aspects[0], actor=expert)
    label = standing(world)
    assert (label.label, label.source, gold.judgment) == (1, Source.EXPERT, label)
    assert list(GoldPassage.objects.standing()) == [gold]
    imported.refresh_from_db()
    assert imported.ended_by == label
    assert Event.objects.get(verb="assign passage").actor == expert


def test_discard_ends_the_assignment_with_a_label_0(world, expert, aspects):
    assign_passage(**pair(world), aspect=aspects[0], actor=expert)
    discard_passage(**pair(world), reason="topic_only", note="only lamps", actor=expert)
    label = standing(world)
    assert (label.label, label.source) == (0, Source.EXPERT)
    assert label.provenance == {
        "rule": "discarded",
        "tie_break": "third-person",
        "reason": "topic_only",
        "note": "only lamps",
        "guideline_version": 0,
    }
    assert not GoldPassage.objects.standing().exists()


def test_discard_needs_a_known_reason(world, expert):
    with pytest.raises(Refused) as refusal:
        discard_passage(**pair(world), reason="boring", actor=expert)
    assert refusal.value.field == "reason"
    assert standing(world) is None


def test_imported_gold_passage_is_moved_and_discarded(world, expert, aspects):
    make_gold(world.query, world.passage)
    imported = GoldPassage.objects.create(aspect=aspects[0], **pair(world))
    moved = assign_passage(**pair(world), aspect=aspects[1], actor=expert)
    imported.refresh_from_db()
    assert imported.ended_at is not None
    assert moved.judgment.label == 1
    discard_passage(**pair(world), reason="noise", actor=expert)
    assert standing(world).label == 0
    assert Judgment.objects.original().get().label == 1


def test_undo_of_imported_assignment_needs_no_label(world, expert, aspects):
    GoldPassage.objects.create(aspect=aspects[0], **pair(world))
    undo_verdict(**pair(world), actor=expert)
    assert not GoldPassage.objects.standing().exists()
    assert not Judgment.objects.exists()


def test_undo_leaves_the_passage_undecided(world, expert, aspects):
    assign_passage(**pair(world), aspect=aspects[0], actor=expert)
    undo_verdict(**pair(world), actor=expert)
    assert standing(world) is None
    assert not GoldPassage.objects.standing().exists()
    with pytest.raises(Refused):
        undo_verdict(**pair(world), actor=expert)


def test_removed_or_foreign_aspect_is_refused(world, expert, aspects):
    remove_aspect(aspect=aspects[0], actor=expert)
    other = make_query(world.benchmark, "13", "biology")
    foreign = add_aspect(query=other, actor=expert)
    for aspect in (aspects[0], foreign):
        with pytest.raises(Refused, match="gone"):
            assign_passage(**pair(world), aspect=aspect, actor=expert)


def test_passage_of_another_domain_is_refused(world, expert, aspects):
    elsewhere = make_passage(world.benchmark, "rain/page_1.txt", "weather")
    with pytest.raises(Refused, match="another domain"):
        assign_passage(query=world.query, passage=elsewhere, aspect=aspects[0], actor=expert)


def test_only_annotators_of_the_domain_give_verdicts(world, aspects):
    for person in (world.reviewer, world.admin, world.outsider, world.stranger):
        with pytest.raises(PermissionDenied):
            assign_passage(**pair(world), aspect=aspects[0], actor=person)
        with pytest.raises(PermissionDenied):
            discard_passage(**pair(world), reason="noise", actor=person)
        with pytest.raises(PermissionDenied):
            undo_verdict(**pair(world), actor=person)
    assert not Judgment.objects.exists()
