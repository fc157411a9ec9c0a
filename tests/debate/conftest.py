"""What tests of this room share."""

import pytest

from llm import endpoints
from tests.annotate.answering import make_room
from tests.factories import make_benchmark, make_member, make_passage, make_pool, make_query


@pytest.fixture
def endpoint():
    with endpoints.practice_if_unconfigured() as found:
        yield found


@pytest.fixture
def benchmark():
    return make_benchmark()


@pytest.fixture
def practice():
    with endpoints.practice_if_unconfigured() as endpoint:
        yield endpoint


@pytest.fixture
def room():
    return make_room()


@pytest.fixture
def pool(benchmark):
    return make_pool(benchmark, (make_query(benchmark), make_passage(benchmark)))


@pytest.fixture
def admin(benchmark):
    return make_member(benchmark, "admin", "admin")
