"""Drawing a reference panel, freezing the reasons, opening and closing it."""

from collections import Counter
from functools import partial

import pytest
from django.core.exceptions import PermissionDenied

from annotate.models import CaseKind, CaseStatus, EscalationCase, PanelStatus, ReferenceItem
from annotate.panels import services as verbs
from annotate.voting.cases import open_case
from annotate.voting.eligibility import waiting_for
from corpus.judgments.services import record_judgment
from corpus.models import Judgment, Source
from kit.errors import Refused
from kit.models import Event
from tests.annotate.panels.drawing import (
    REASONS,
    WRITER,
    access_of,
    first_item,
    give,
    make_panel,
    make_panel_world,
    practise,
)
from tests.annotate.world import make_snapshot
from tests.factories import make_passage, make_pool, make_query


@pytest.fixture
def world(db):
    return make_panel_world()


def pairs(panel):
    return list(panel.items.values_list("case__query__qid", "case__passage__pid"))


def test_draws_one_passage_of_each_query_and_so_many_queries_of_each_domain(world):
    panel = make_panel(world, open_it=False, per_domain=3)
    drawn = pairs(panel)
    assert Counter(qid[0] for qid, _ in drawn) == {"b": 3, "w": 3}
    assert len({qid for qid, _ in drawn}) == 6
    assert all(pid.startswith(qid + "/") for qid, pid in drawn)
    assert panel.drawn == [
        {"domain": "biology", "queries": 4, "drawn": 3},
        {"domain": "weather", "queries": 4, "drawn": 3},
    ]
    event = Event.objects.get(verb="draw reference panel")
    assert (event.actor, event.data["seed"]) == (world.admin, 1)


def test_the_same_seed_draws_the_same_pairs_again_and_another_seed_others(world):
    first = pairs(make_panel(world, open_it=False, seed=7))
    ReferenceItem.objects.all().delete()
    EscalationCase.objects.all().delete()
    assert pairs(make_panel(world, open_it=False, seed=7, name="again")) == first
    ReferenceItem.objects.all().delete()
    EscalationCase.objects.all().delete()
    assert pairs(make_panel(world, open_it=False, seed=8, name="other")) != first


def test_passages_differ_among_queries_that_share_a_pool(db):
    """A hash of the passage alone would draw one passage for every query that has it."""
    world = make_panel_world(queries=0)
    texts = [make_passage(world.benchmark, f"shared/{n}", "biology") for n in range(8)]
    queries = [make_query(world.benchmark, f"s{n}", "biology") for n in range(12)]
    make_pool(world.benchmark, *((q, p) for q in queries for p in texts), name="shared")
    panel = make_panel(world, open_it=False, per_domain=12)
    assert len({pid for _, pid in pairs(panel)}) > 3


def test_leaves_out_what_cannot_be_judged_or_was_judged_by_an_expert(db):
    world = make_panel_world(queries=0)
    query = make_query(world.benchmark, "q", "biology")
    bare = make_query(world.benchmark, "bare", "biology", answers=[" "])
    unloaded, labelled, left = (
        make_passage(world.benchmark, f"x/{n}", "biology", text=text)
        for n, text in enumerate((None, "known", "left"))
    )
    pool = make_pool(
        world.benchmark,
        *((query, each) for each in (unloaded, labelled, left)),
        (bare, left),
        name="odd",
    )
    record_judgment(query=query, passage=labelled, label=1, source=Source.EXPERT, provenance={})
    assert pairs(make_panel(world, open_it=False, pool=pool)) == [("q", "x/2")]
    with pytest.raises(Refused, match="No pair is left"):
        make_panel(world, open_it=False, pool=pool, name="once more")


def test_a_disputed_pair_can_be_drawn_and_its_dispute_stays_before_voters(db):
    world = make_panel_world(queries=1, passages=1)
    query = world.benchmark.domains.get(name="biology").queries.get(qid="b0")
    passage = query.domain.passages.get(pid="b0/p0")
    dispute = open_case(
        origin="debate:1", kind="dispute", query=query, passage=passage, snapshot=make_snapshot()
    )
    panel = make_panel(world, open_it=False)
    assert ("b0", "b0/p0") in pairs(panel)
    assert list(waiting_for(access_of(world, world.voters[0]))) == [dispute]
    # And a debate that is held later finds the dispute, never the panel's item.
    again = open_case(
        origin="debate:2", kind="dispute", query=query, passage=passage, snapshot=make_snapshot()
    )
    assert again == dispute


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"per_domain": 0}, "per_domain"),
        ({"per_domain": 2001}, "per_domain"),
        ({"labels_per_item": 3}, "labels_per_item"),
        ({"check_percent": 101}, "check_percent"),
        ({"practice_items": 51}, "practice_items"),
        ({"seed": -1}, "seed"),
        ({"name": " "}, "name"),
    ],
)
def test_numbers_out_of_range_are_named(world, values, field):
    with pytest.raises(Refused) as refused:
        make_panel(world, **values)
    assert refused.value.field == field


def test_a_name_is_given_once_and_only_by_admins(world):
    make_panel(world)
    with pytest.raises(Refused, match="panel of this name"):
        make_panel(world)
    with pytest.raises(PermissionDenied):
        verbs.draw_panel(benchmark=world.benchmark, actor=world.reviewer, name="mine")


def test_each_item_has_as_many_places_as_labels_are_wanted(world):
    panel = make_panel(world, open_it=False, labels_per_item=2)
    assert {item.case.slots.count() for item in panel.items.all()} == {2}
    assert {item.case.kind for item in panel.items.all()} == {CaseKind.REFERENCE}


def test_the_spot_check_is_a_share_of_each_domain(db):
    world = make_panel_world(queries=10, passages=1)
    panel = make_panel(world, open_it=False, per_domain=10, check_percent=20)
    checked = panel.items.filter(in_spot_check=True)
    names = Counter(checked.values_list("case__query__domain__name", flat=True))
    assert names == {"biology": 2, "weather": 2}


def test_opens_only_with_its_reasons_or_when_told_to(world):
    panel = make_panel(world, open_it=False, shows_hints=True)
    admin = access_of(world, world.admin)
    with pytest.raises(Refused, match="6 items have no reasons yet"):
        verbs.open_panel(panel=panel, access=admin)
    assert panel.status == PanelStatus.PREPARING
    verbs.open_panel(panel=panel, access=admin, without_hints=True)
    assert panel.is_open
    with pytest.raises(Refused, match="open already"):
        verbs.open_panel(panel=panel, access=admin)


def test_does_not_open_before_the_bank_can_fill_the_practice(db):
    world = make_panel_world(practice=4)
    with pytest.raises(Refused, match="fewer than 5 practice items for biology, weather"):
        make_panel(world)
    panel = make_panel(world, name="four", practice_items=4, seed=2)
    assert panel.is_open


def test_reasons_are_frozen_once_and_never_after_the_opening(world):
    panel = make_panel(world, open_it=False, shows_hints=True)
    item = first_item(panel)
    freeze = partial(verbs.freeze_reasons, panel=panel)
    assert freeze(positions={item.pk: REASONS}, provenance=WRITER) == {item.pk}
    other = WRITER | {"model": "other"}
    assert freeze(positions={item.pk: REASONS[:1]}, provenance=other) == set()
    item.refresh_from_db()
    item.case.refresh_from_db()
    assert item.hints == WRITER
    assert item.case.snapshot["positions"] == REASONS
    access = access_of(world, world.admin)
    verbs.open_panel(panel=panel, access=access, without_hints=True)
    bare = panel.items.without_hints().first()
    assert freeze(positions={bare.pk: REASONS}, provenance=WRITER) == set()


def test_closing_gives_up_what_nobody_labelled_and_keeps_the_rest(world):
    panel = make_panel(world, labels_per_item=2)
    one, two = world.voters[:2]
    practise(world, panel, one, two)
    whole, half = panel.items.filter(case__query__domain__name="biology")[:2]
    give(world, whole, one, 1), give(world, whole, two, 1)
    give(world, half, one, 0)
    verbs.close_panel(panel=panel, access=access_of(world, world.admin))
    assert (panel.status, panel.dropped) == (PanelStatus.CLOSED, 4)
    assert set(panel.items.values_list("pk", flat=True)) == {whole.pk, half.pk}
    half.case.refresh_from_db()
    assert half.case.status == CaseStatus.EXPERT
    assert EscalationCase.objects.filter(kind=CaseKind.REFERENCE).count() == 2
    assert Judgment.objects.filter(source=Source.EXPERT).count() == 1
