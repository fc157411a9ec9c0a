"""docs/protocol.md 2.4: three votes, majority; abstentions draw further voters, five at most."""

from itertools import product

import pytest

from annotate.voting.majority import CAP, Decision, decide

OPEN, EXPERT = Decision("open"), Decision("expert")
YES, NO = Decision("closed", 1), Decision("closed", 0)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([], OPEN),
        ([1], OPEN),
        ([1, 1], OPEN),
        ([1, 1, 0], YES),
        ([1, 1, 1], YES),
        ([0, 1, 0], NO),
        ([0, 0, 0], NO),
        ([1, None, 1], YES),
        ([1, 0, None], OPEN),
        ([1, None, None], OPEN),
        ([None, None, None], OPEN),
        ([1, 0, None, 0], NO),
        ([1, None, None, 1], YES),
        ([1, 0, None, None], OPEN),
        ([1, 0, None, None, 1], YES),
        ([1, 0, None, None, None], EXPERT),
        ([None] * 5, EXPERT),
        ([None, None, None, 1, 1], YES),
    ],
)
def test_decision_follows_the_table(labels, expected):
    assert decide(labels) == expected


def every_sequence():
    return [labels for n in range(CAP + 1) for labels in product((0, 1, None), repeat=n)]


def test_order_of_votes_does_not_matter():
    for labels in every_sequence():
        assert decide(labels) == decide(sorted(labels, key=str))


def test_swapping_the_labels_swaps_the_outcome():
    swap = {0: 1, 1: 0, None: None}
    for labels in every_sequence():
        there, back = decide(labels), decide([swap[label] for label in labels])
        assert (there.state, swap[there.label]) == (back.state, back.label)


def test_closed_label_leads_with_two_votes_or_more():
    for labels in every_sequence():
        decision = decide(labels)
        if decision.state == "closed":
            assert labels.count(decision.label) >= 2
            assert labels.count(decision.label) > labels.count(1 - decision.label)


def test_three_binary_votes_never_tie():
    assert {decide(labels).state for labels in product((0, 1), repeat=3)} == {"closed"}


def test_voting_ends_with_the_fifth_vote():
    assert all(decide(labels).state != "open" for labels in product((0, 1, None), repeat=CAP))
