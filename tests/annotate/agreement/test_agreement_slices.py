"""Votes cut by domain, month, guideline, pair and person; and read from the database."""

from datetime import UTC, datetime

import pytest

from annotate.agreement.people import pair_reports, person_reports
from annotate.agreement.ratings import Rating, Scale
from annotate.agreement.slices import measured, sliced
from annotate.models import Vote
from annotate.voting.agreement import vote_opinions
from annotate.voting.services import cast_vote
from tests.factories import make_passage, make_query

BINARY = Scale("nominal", (0, 1))


def opinions(table, **fields):
    """Rows of labels per item, one column per rater, None for no label."""
    return [
        Rating(item=item, rater=f"r{column}", label=label, person=column, **fields)
        for item, row in enumerate(table, start=fields.pop("first", 1))
        for column, label in enumerate(row)
        if label is not None
    ]


# docs/protocol.md 6.11, one column per voter.
SIX = [(1, 1, 1), (0, 1, 1), (0, 0, 0), (0, 0, 1), (1, 1, 1), (0, 0, 0)]


def test_whole_slice_has_the_worked_value_and_the_items_behind_it():
    found = measured(opinions(SIX), BINARY)
    assert found.coefficient("fleiss_kappa").value == pytest.approx(0.555556, abs=5e-7)
    assert found.coefficient("cohen_kappa").value is None
    assert (found.n_items, found.n_shared, found.split) == (6, 6, (2, 4))
    # Each split item has one 0-1 pair in three, both ways: 2 * 1/2 * 2 = 2 in each cell.
    assert found.table == ((7.0, 2.0), (2.0, 7.0))


def test_an_item_goes_whole_into_its_last_month_and_into_mixed_guidelines():
    base = {"rater": "a", "label": 1, "person": 1}
    rows = [
        Rating(item=1, month="2026-09", guideline="1", **base),
        Rating(item=1, month="2026-10", guideline="2", **base | {"rater": "b"}),
        Rating(item=2, month="2026-09", guideline="1", **base | {"label": 0}),
        Rating(item=2, month="2026-09", guideline="1", **base | {"rater": "b"}),
    ]
    months = {each.key: each for each in sliced(rows, BINARY, "month")}
    assert {key: each.n_items for key, each in months.items()} == {"2026-09": 1, "2026-10": 1}
    assert months["2026-09"].split == (2,)
    versions = {each.key: each.n_items for each in sliced(rows, BINARY, "guideline")}
    assert versions == {"1": 1, "mixed": 1}


def test_slices_by_domain_hold_every_item_once():
    rows = [*opinions(SIX, domain="biology"), *opinions(SIX[:2], first=7, domain="weather")]
    found = sliced(rows, BINARY, "domain")
    assert [(each.key, each.n_items) for each in found] == [("biology", 6), ("weather", 2)]
    assert found[0].coefficient("fleiss_kappa").value == pytest.approx(0.555556, abs=5e-7)


def test_pairs_have_kappa_and_their_split_items():
    first, second, third = pair_reports(opinions(SIX), BINARY)
    assert {(each.first, each.second) for each in (first, second, third)} == {
        ("r0", "r1"),
        ("r0", "r2"),
        ("r1", "r2"),
    }
    pair = next(
        each for each in (first, second, third) if (each.first, each.second) == ("r0", "r1")
    )
    # r0: 1 0 0 0 1 0; r1: 1 1 0 0 1 0. Five of six agree; chance (4*3 + 2*3) / 36 = .5.
    assert pair.split == (2,)
    values = {each.name: each.value for each in pair.coefficients}
    assert values == pytest.approx({"percent_agreement": 5 / 6, "cohen_kappa": 2 / 3})
    assert pair_reports(opinions(SIX), BINARY, at_least=7) == ()


def test_weights_give_pairs_their_weighted_kappas():
    likert = Scale("ordinal", (1, 2, 3, 4, 5))
    a, b = (5, 4, 3, 2, 1, 5, 3, 4, 2, 1), (5, 3, 3, 2, 2, 4, 3, 5, 2, 3)
    (pair,) = pair_reports(opinions(list(zip(a, b, strict=True))), likert)
    values = [each.value for each in pair.coefficients]
    assert values == pytest.approx([0.5, 0.375, 0.583333, 0.75], abs=5e-7)


def test_person_beside_the_others():
    table = [(1, 1, 0), (1, 1, 1), (0, 0, 0), (0, 0, 1), (1, 0, 0), (0, 0, None)]
    people = {each.rater: each for each in person_reports(opinions(table), BINARY)}
    odd = people["r2"]
    # The others agree on items 1 to 4 and tie on 5: r2 is with them on 2 and 3 only.
    assert odd.n_labels == 5
    assert (odd.agreement.hits, odd.agreement.n) == (2, 4)
    assert odd.against == (1, 4)
    assert odd.with_majority.table == ((1, 1), (1, 1))
    assert odd.with_majority.balanced_accuracy == 0.5
    assert people["r0"].agreement.n == 4
    assert person_reports([], BINARY) == ()


def test_dawid_skene_stands_beside_the_majority():
    table = [(k, k, 1 - k if n % 3 else k) for n in range(60) for k in (n % 2,)]
    rates = {each.rater: each.modelled for each in person_reports(opinions(table), BINARY)}
    assert rates["r0"] > 0.95
    assert rates["r2"] == pytest.approx(1 / 3, abs=0.03)


def vote(world, case, labels, when=None):
    for voter, label in zip(world.voters, labels, strict=False):
        reason = "" if label is not None else "cut off"
        row = cast_vote(case=case, voter=voter, label=label, reason=reason)
        if when:
            Vote.objects.filter(pk=row.pk).update(created_at=when)


def test_report_reads_standing_votes_of_this_benchmark(world, django_assert_num_queries):
    september = datetime(2026, 9, 30, 23, 30, tzinfo=UTC)
    for labels in SIX:
        vote(world, world.case(), labels, september)
    later = world.case()
    vote(world, later, (1, None, 1))
    vote(world, world.case(), (1, 0))  # still open: nobody learns of these votes
    Vote.objects.create(case=later, voter=world.voters[4], label=1, status="withdrawn")
    with django_assert_num_queries(1):
        found = vote_opinions(world.benchmark)
    overall = measured(found, BINARY)
    assert len(found) == 20
    fleiss = overall.coefficient("fleiss_kappa")
    assert fleiss.value == pytest.approx(0.555556, abs=5e-7)
    assert fleiss.notes == ("Over the 6 items with exactly 3 labels; 1 left out.",)
    assert overall.split == (world.cases[1].pk, world.cases[3].pk)
    assert [each.key for each in sliced(found, BINARY, "domain")] == ["biology"]
    months = sliced(found, BINARY, "month")
    assert [each.n_items for each in months] == [6, 1]
    assert months[0].key == "2026-09"
    assert [each.key for each in sliced(found, BINARY, "guideline")] == ["0"]
    assert len(pair_reports(found, BINARY, at_least=6)) == 3
    people = person_reports(found, BINARY)
    assert {each.rater for each in people} == {each.pk for each in world.voters[:3]}


def test_votes_are_cut_by_domain_and_other_benchmarks_are_left_out(world):
    other = make_query(world.benchmark, "13", "weather")
    page = make_passage(world.benchmark, "sky/page_1.txt", "weather")
    vote(world, world.case(), (1, 1, 1))
    vote(world, world.case(query=other, passage=page), (0, 0, 1))
    found = sliced(vote_opinions(world.benchmark), BINARY, "domain")
    assert [(each.key, each.n_items) for each in found] == [("biology", 1), ("weather", 1)]
    elsewhere = world.stranger.memberships.get().benchmark
    assert vote_opinions(elsewhere) == []


def test_without_votes_the_reports_say_why_there_is_nothing(world):
    found = vote_opinions(world.benchmark)
    overall = measured(found, BINARY)
    assert overall.n_items == 0
    assert sliced(found, BINARY, "domain") == pair_reports(found, BINARY, at_least=1) == ()
    assert person_reports(found, BINARY) == ()
    assert all(each.value is None and each.reason for each in overall.coefficients)
