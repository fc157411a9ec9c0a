"""A world whose people vote in batches, with gold of which checks are made."""

from typing import Any

from django.contrib.auth.models import User

from annotate.batches.services import answer_item, submit_batch, take_batch
from annotate.models import Batch, BatchItem, VotingPlan
from annotate.voting.services import Answer
from corpus.access import Access, enter
from tests.annotate.world import World, make_world, write_plan
from tests.factories import make_gold, make_passage, make_query


def make_batch_world(*, cases: int = 12, gold: int = 6, **plan: Any) -> World:
    """So many open cases, and gold of other queries with text of its own."""
    world = make_world()
    for _ in range(cases):
        world.case()
    for n in range(gold):
        query = make_query(world.benchmark, f"g{n}", "biology")
        text = f"This is how it stands in page {n}. It goes on for a while. Nothing more is said."
        make_gold(query, make_passage(world.benchmark, f"gold/{n}", "biology", text=text))
    write_plan(world, **{"batch_size": 10, "reveal": "none", **plan})
    return world


def access_of(world: World, person: User) -> Access:
    """The person's place in the world's benchmark."""
    return enter(person, world.benchmark.slug)


def take(world: World, person: User) -> Batch:
    """A batch for this person."""
    plan = VotingPlan.objects.current(world.benchmark)
    return take_batch(access=access_of(world, person), plan=plan)


def answer_all(world: World, batch: Batch, *, label: int = 1, fail: int = 0) -> None:
    """Answer every item: checks rightly, but for `fail` of them; cases with the label."""
    for item in batch.items.select_related("check_item", "case__passage", "batch__plan"):
        given = label
        if item.check_item is not None:
            given = item.check_item.expected if fail <= 0 else 1 - item.check_item.expected
            fail -= 1
        give(world, item, given)


def give(world: World, item: BatchItem, label: int | None, **more: Any) -> BatchItem:
    """Answer one item."""
    access = access_of(world, item.batch.voter)
    return answer_item(item=item, access=access, answer=Answer(label, **more))


def submit(world: World, batch: Batch) -> Batch:
    """Hand the batch in and read it again."""
    submit_batch(batch=batch, access=access_of(world, batch.voter))
    batch.refresh_from_db()
    return batch
