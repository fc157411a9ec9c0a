"""Worlds that are made once for the tests of a module.

Each test gets a copy of the objects, and what it does to the rows is undone. A module whose tests
have transactions of their own makes its world for each of them instead.
"""

from copy import deepcopy

import pytest

from tests.annotate.answering import Room, make_room
from tests.annotate.batching import make_batch_world
from tests.annotate.panels.drawing import make_panel_world
from tests.annotate.reviewing import Desk, make_desk
from tests.annotate.world import World, make_world, signed_in
from tests.factories import make_benchmark, make_query


@pytest.fixture(scope="module")
def made_world(undone_database: None) -> World:
    return make_world()


@pytest.fixture
def world(db: None, made_world: World) -> World:
    """Voters, a reviewer, an admin, one query with one passage."""
    return deepcopy(made_world)


@pytest.fixture(scope="module")
def made_room(undone_database: None) -> Room:
    return make_room()


@pytest.fixture
def room(db: None, made_room: Room) -> Room:
    """A query with everything an answer needs, and another."""
    return deepcopy(made_room)


@pytest.fixture(scope="module")
def made_desk(undone_database: None) -> Desk:
    return make_desk()


@pytest.fixture
def desk(db: None, made_desk: Desk) -> Desk:
    """A query that is ready for its second review."""
    return deepcopy(made_desk)


@pytest.fixture(scope="module")
def made_batch_world(undone_database: None) -> World:
    return make_batch_world()


@pytest.fixture
def batch_world(db: None, made_batch_world: World) -> World:
    """Twelve open cases, gold for checks, and a plan with batches of ten."""
    return deepcopy(made_batch_world)


@pytest.fixture(scope="module")
def made_panel_world(undone_database: None) -> World:
    return make_panel_world()


@pytest.fixture
def panel_world(db: None, made_panel_world: World) -> World:
    """Pooled pairs in two domains, and a practice bank of each."""
    return deepcopy(made_panel_world)


@pytest.fixture
def benchmark():
    return make_benchmark()


@pytest.fixture
def expert(world):
    return world.voters[0]


@pytest.fixture
def me(world):
    return signed_in(world.voters[0])


@pytest.fixture
def query(benchmark):
    return make_query(benchmark, "7")
