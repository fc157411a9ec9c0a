"""Attention checks of batches whose cases are about aspects: nothing tells them apart."""

import pytest

from annotate.batches.checks import choose_checks
from annotate.models import Aspect, GoldPassage
from annotate.voting.cases import open_case
from corpus.access import enter
from tests.annotate.world import make_snapshot, make_world
from tests.factories import make_gold, make_passage, make_query

pytestmark = pytest.mark.django_db
LONG = "A sentence that is long enough to be quoted. And another one that is as long as that."


def test_a_check_is_about_an_aspect_where_the_cases_are_and_its_answer_is_known() -> None:
    world = make_world()
    aspects = {}
    for number in range(6):
        query = make_query(world.benchmark, f"q{number}", "biology", answers=[f"answer {number}"])
        gold = make_passage(world.benchmark, f"g{number}", "biology", text=LONG)
        make_gold(query, gold)
        aspect = Aspect.objects.create(query=query, k=1, content=f"Point {number}.")
        GoldPassage.objects.create(aspect=aspect, query=query, passage=gold)
        aspects[query.pk] = (aspect.content, gold.pk)
    own = Aspect.objects.create(query=world.query, k=1, content="What is asked.")
    case = open_case(
        origin="debate:1",
        kind="dispute",
        query=world.query,
        passage=world.passage,
        aspect=own,
        snapshot=make_snapshot() | {"answers": [], "aspect": own.content},
    )
    access = enter(world.voters[0], world.benchmark.slug)
    found = choose_checks(access=access, cases=[case], count=4, seed=3)
    assert {each.expected for each in found} == {0, 1}
    for each in found:
        text, gold = aspects[each.query_id]
        assert (each.snapshot["aspect"], each.snapshot["answers"]) == (text, [])
        assert (each.passage_id == gold) == bool(each.expected)
