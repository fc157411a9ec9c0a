"""What tests of this room share."""

import pytest

from corpus.benchmarks.services import create_benchmark
from llm import endpoints
from tests.corpus.reranking.room import Room, make_room


@pytest.fixture
def benchmark():
    return create_benchmark(name="Light", slug="light", actor=None)


@pytest.fixture
def room(settings, tmp_path) -> Room:
    return make_room(settings, tmp_path)


@pytest.fixture
def practice():
    with endpoints.practice_if_unconfigured() as endpoint:
        yield endpoint
