"""The agreement page of votes where little was voted on: each test has a world of its own."""

import pytest

from tests.annotate.world import make_world
from tests.evaluation.agreement.test_agreement import page, vote

pytestmark = pytest.mark.django_db


def test_one_label_only_says_so_instead_of_a_number():
    world = make_world()
    for _ in range(3):
        vote(world, world.case(), (1, 1, 1))
    shown = page(world, world.admin)
    assert "With a single category, agreement beyond chance is undefined (0/0)." in shown
    assert "open><summary>Low κ despite" in shown


def test_empty_page_says_what_to_do():
    world = make_world()
    vote(world, world.case(), (1, 0))
    assert "Agreement appears once cases have three votes." in page(world, world.admin)


@pytest.mark.slow
def test_model_stands_beside_the_majority():
    world = make_world()
    for n in range(12):
        # The first two are always right together; with an abstention they may tie.
        vote(world, world.case(), (n % 2, n % 2, 1 - n % 2 if n % 3 else n % 2))
    shown = page(world, world.admin)
    assert "They give the same label everywhere." in shown
    assert "the model is a second look, and decides nothing" in shown
