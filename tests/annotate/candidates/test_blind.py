"""What agents said of aspects, and whether it is audited, reads the same to who votes."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from annotate.models import Aspect, EscalationCase, SupportLabel
from annotate.support.services import record_support
from annotate.voting.cases import open_case
from corpus.models import Pool, PoolEntry
from tests.annotate.world import World, make_snapshot, make_world
from tests.factories import make_member, make_ranking
from tests.walking import Walk, differences
from tests.worlds import in_a_world

pytestmark = pytest.mark.django_db
# What a proposal, its query or its passage may be read by.
PLACES = ("/candidates/", "/passages/", "/holes/", "/leaderboard/")


@pytest.fixture
def world(settings: Any) -> World:
    """A proposal for an aspect of a query, and somebody who may vote on it."""
    settings.SESSION_ENGINE = "django.contrib.sessions.backends.cache"
    world = make_world()
    make_ranking(world.query, world.passage.pid)
    aspect = Aspect.objects.create(query=world.query, k=1, content="One point.")
    pool = Pool.objects.create(benchmark=world.benchmark, name="gaps", of_aspects=True)
    entry = PoolEntry.objects.create(pool=pool, query=world.query, passage=world.passage, aspect=1)
    # Another label stands in every world: that machines said something is no secret.
    other = Aspect.objects.create(query=world.query, k=2, content="Another.")
    record_support(aspect=other, passage=world.passage, label=0, source="debate", provenance={})
    world.aspect = aspect
    world.people = {
        "voter": make_member(world.benchmark, "voter", "annotator"),
        "both": make_member(world.benchmark, "both", "annotator", "reviewer"),
        "reader": make_member(world.benchmark, "reader", "reviewer"),
    }
    world.rows = {
        "query": [world.query.pk],
        "passage": [world.passage.pk],
        "candidate": [entry.pk],
        "aspect": [aspect.pk],
        "case": [UUID(int=1)],  # none of these routes
    }
    return world


def said(world: World, label: int) -> None:
    record_support(
        aspect=world.aspect, passage=world.passage, label=label, source="debate", provenance={}
    )


def audited(world: World) -> None:
    said(world, 1)
    open_case(
        origin="audit:1:1",
        kind="audit",
        query=world.query,
        passage=world.passage,
        aspect=world.aspect,
        snapshot=make_snapshot() | {"positions": [], "aspect": "One point."},
    )


def seen(world: World, who: str, make: Callable[[], None]) -> dict[tuple[str, str], Any]:
    def look() -> dict[tuple[str, str], Any]:
        make()
        walk = Walk(
            world.people[who], world.benchmark.slug, world.rows, fragments=False, filters=False
        )
        return {key: value for place in PLACES for key, value in walk.seen(place).items()}

    return in_a_world(look)


@pytest.mark.slow
@pytest.mark.parametrize("who", ["voter", "both"])
def test_a_voter_reads_the_same_whatever_agents_said_and_whether_it_is_audited(
    who: str, world: World
) -> None:
    yes = seen(world, who, lambda: said(world, 1))
    opened = [address for (address, _), what in yes.items() if not isinstance(what, int)]
    assert sum("/candidates/" in address for address in opened) >= 4  # pages and API
    for other in (lambda: said(world, 0), lambda: None, lambda: audited(world)):
        assert differences(yes, seen(world, who, other)) == []


@pytest.mark.slow
def test_the_comparison_can_fail(world: World) -> None:
    yes, no = (seen(world, "reader", lambda label=label: said(world, label)) for label in (1, 0))
    assert differences(yes, no)
    assert not EscalationCase.objects.exists()
    assert SupportLabel.objects.count() == 1
