"""People with two tabs each, over real HTTP: no case over its quota, no vote lost or doubled."""

import os
import subprocess
from collections.abc import Iterator

import pytest

from annotate.models import VotingPlan
from kit.management.commands.serve import web_command
from tests.annotate.world import World, make_world
from tests.bench.server import ROOT, free_port, wait_for_port
from tests.factories import make_member, make_token
from tests.services.processes import database_url
from tests.voting_load import check_kept, vote_in_tabs

pytestmark = [pytest.mark.services, pytest.mark.django_db(transaction=True)]
PEOPLE, CASES = 10, 40


@pytest.fixture
def world(transactional_db) -> World:
    world = make_world()
    VotingPlan.objects.create(benchmark=world.benchmark, version=1, reveal="start")
    for _ in range(CASES):
        world.case()
    return world


@pytest.fixture
def web(world) -> Iterator[str]:
    """The web server, as `serve` starts it, on the test's own database."""
    port = free_port()
    setting = os.environ | {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": database_url(),
        "ASSAY_PLAIN_STATIC": "1",
    }
    process = subprocess.Popen(web_command("127.0.0.1", port, 2), cwd=ROOT, env=setting)
    try:
        wait_for_port(port, process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(240)


def test_people_in_two_tabs_fill_every_case_and_none_twice(world, web) -> None:
    people = [make_member(world.benchmark, f"p{n}", "annotator") for n in range(PEOPLE)]
    tokens = [make_token(person) for person in people]
    tally = vote_in_tabs(web, world.benchmark.slug, tokens, tabs=2)
    check_kept(tally)
    assert len(tally.given) == 3 * CASES
