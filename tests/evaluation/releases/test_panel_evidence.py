"""What a release says of the labels of a reference panel, and how they are verified."""

import pytest

from evaluation.content.evidence import pseudonyms, read_evidence
from evaluation.content.view import view_of
from evaluation.releases.findings import database_faults
from evaluation.verification.rules import NotDerived, derive
from tests.annotate.panels.drawing import (
    first_item,
    give,
    make_panel,
    make_panel_world,
    practise,
)


@pytest.fixture
def world(db):
    return make_panel_world()


def evidence(world):
    domain = world.benchmark.domains.get(name="biology")
    name = pseudonyms(world.benchmark.slug, "1.0.0")
    return list(read_evidence(view_of(world.benchmark), domain, name)), name


@pytest.mark.parametrize("labels", [1, 2])
def test_each_expert_stands_beside_the_label_and_it_can_be_derived(world, labels):
    panel = make_panel(world, labels_per_item=labels)
    people = world.voters[:labels]
    practise(world, panel, *people)
    for person in people:
        give(world, first_item(panel), person, 1)
    (row,), name = evidence(world)
    assert row["rule"] == f"reference-{labels}"
    votes = {(vote["person"], vote["label"]) for vote in row["votes"]}
    assert votes == {(name(person.pk), 1) for person in people}
    # A label that two agreed on is nobody's alone.
    assert ("person" in row) == (labels == 1)
    assert derive(row, supporting=False) == row["label"] == 1


def vote(person, label):
    return {"person": person, "label": label}


@pytest.mark.parametrize(
    ("rule", "votes", "words"),
    [
        ("reference-2", [vote("a", 1)], "wanted 2 experts"),
        ("reference-2", [vote("a", 1), vote("a", 1)], "wanted 2 experts"),
        ("reference-2", [vote("a", 1), vote("b", 0)], "do not agree"),
        ("reference-1", [vote("a", None)], "do not agree"),
        ("reference-1", [], "wanted 1 experts"),
    ],
)
def test_a_label_without_its_experts_fails(rule, votes, words):
    row = {"source": "expert", "rule": rule, "label": 1, "votes": votes}
    with pytest.raises(NotDerived, match=words):
        derive(row, supporting=False)


def test_an_unfinished_panel_is_no_fault_of_a_release(world):
    panel = make_panel(world, labels_per_item=2)
    practise(world, panel, *world.voters[:2])
    item = first_item(panel)
    give(world, item, world.voters[0], 1), give(world, item, world.voters[1], 0)
    domain = item.case.query.domain
    checks = {fault.check for fault in database_faults(view_of(world.benchmark), "test", domain)}
    assert not checks & {"open_cases", "expert_cases"}
