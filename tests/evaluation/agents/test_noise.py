"""What repeating alone does: flips, orders, and marks that vanish (numbers by hand)."""

from math import sqrt

import pytest

from evaluation.agents.models import AgentRun
from evaluation.agents.protocol.measures import flips, noise, order_flips
from evaluation.agents.reading import Figures
from evaluation.agents.trust.noise import mark_best, noise_tables
from kit.lists.report_tables import Cell, ReportTable, text
from tests.annotate.world import signed_in
from tests.evaluation.agents.room import make_place
from tests.evaluation.agents.test_agent_screens import judged


def test_a_query_flips_where_repetitions_lie_on_both_sides_of_four_points() -> None:
    # (4, 3) and (5, 1) flip; (4, 5) and (3, 1) do not; (2) is one repetition and is not counted.
    assert flips([(4, 3), (5, 1), (4, 5), (3, 1), (2,)]) == (2, 4)
    assert flips([]) == (0, 0)
    assert flips([(3.5, 4)]) == (1, 1)


def test_an_order_flips_where_now_the_one_run_is_better_and_now_the_other() -> None:
    one = {1: {0: 5, 1: 3}, 2: {0: 5, 1: 4}, 3: {0: 2, 1: 2}, 4: {0: 1}, 5: {0: 1, 1: 2}}
    other = {1: {0: 4, 1: 4}, 2: {0: 4, 1: 4}, 3: {0: 1, 1: 3}, 4: {0: 2}, 6: {0: 3, 1: 3}}
    # Query 1: 5 > 4, then 3 < 4: flips. 2: 5 > 4, then equal: keeps. 3: 2 > 1, then 2 < 3: flips.
    # 4 has one repetition, 5 and 6 are of one run alone.
    assert order_flips(one, other) == (2, 3)
    assert order_flips(one, {}) == (0, 0)
    # A repetition that only one has says nothing.
    assert order_flips({1: {0: 5, 2: 1}}, {1: {0: 4, 1: 4}}) == (0, 0)


def run_of(name: str, quality: dict[int, dict[int, float]]) -> Figures:
    made = AgentRun(name=name, retriever="bm25")
    return Figures(made, points={"quality": quality, "completeness": {}})


def test_two_single_runs_must_differ_by_what_repeating_does() -> None:
    one = run_of("One", {1: {0: 4, 1: 2}, 2: {0: 5, 1: 5}})
    other = run_of("Other", {1: {0: 1, 1: 3}, 2: {0: 4, 1: 4}})
    # Within one: query 1 has variance ((4-3)^2 + (2-3)^2) / 1 = 2, query 2 has 0; the mean is 1.
    # Between: means 3 and 5, variance 2. Least: 1.96 sqrt(2 * 1 / 2) = 1.96.
    found = noise([[4, 2], [5, 5]])
    assert found is not None
    assert (found.queries, found.within, found.between) == (2, 1, 2)
    assert found.least == pytest.approx(1.96)
    alone, pairs = noise_tables([], [one, other])
    assert [row[0].value for row in alone.rows] == ["One", "Other"]
    assert alone.rows[0][5].value == pytest.approx(1.96)
    (row,) = pairs.rows
    # Query 1: 4 > 1, then 2 < 3: flips; query 2: 5 > 4 twice. Apart: (3 + 5) / 2 - (2 + 4) / 2 = 1.
    assert (row[2].value, row[3].value, row[4].value) == (2, 0.5, 1)
    assert row[5].value == pytest.approx(1.96 * sqrt((1 + 1) / 2))
    assert row[6].value == "nothing"


def sheet(*values: float) -> ReportTable:
    rows = tuple((text(f"run {n}"), Cell(value)) for n, value in enumerate(values))
    return ReportTable("t", "T", ("run", "quality"), rows)


@pytest.mark.parametrize(
    ("values", "marked", "words"),
    [
        ((2.0, 4.5), 1, ""),  # 2.5 apart, more than 1.96
        ((2.6, 4.5), None, "no more than 1.96 apart"),  # 1.9 apart
        ((4.5, 1.0, 4.0), None, "no more than 1.96"),  # the second counts, not the last
        ((4.5,), None, ""),
    ],
)
def test_the_best_is_marked_where_its_lead_exceeds_the_noise_alone(values, marked, words) -> None:
    runs = [run_of("One", {1: {0: 4, 1: 2}, 2: {0: 5, 1: 5}}), run_of("Other", {1: {0: 1}})]
    table = mark_best(sheet(*values), runs, {"quality": "quality"})
    best = [place for place, row in enumerate(table.rows) if row[1].best]
    assert best == ([] if marked is None else [marked])
    assert words in " ".join(table.notes)


def test_without_a_repeated_run_nothing_is_marked_and_the_table_says_why() -> None:
    table = mark_best(sheet(1.0, 5.0), [run_of("One", {1: {0: 4}})], {"quality": "quality"})
    assert not any(row[1].best for row in table.rows)
    assert "no run was repeated" in table.notes[0]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_the_board_shows_noise_of_fixed_rounds_too_and_marks_the_best(settings, tmp_path) -> None:
    place = make_place(settings, tmp_path)
    one, other = place.run(rounds=2, repetitions=2), place.run(rounds=2, repetitions=2)
    for run, quality in ((one, 5), (other, 2)):
        judged(place, run).verdicts.update(quality=quality, completeness=quality)
    client = signed_in(place.room.admin)
    sheets = {each["name"]: each for each in client.get(
        f"/api{place.room.url('agent-board/')}"
    ).json()}  # fmt: skip
    rows = [[cell["value"] for cell in row] for row in sheets["noise"]["rows"]]
    assert [row[:5] for row in rows] == [
        [run.name, name, 2, 0, 0] for run in (one, other) for name in ("completeness", "quality")
    ]
    assert rows[0][6] == 0  # no query flips
    (first, second) = ([cell["value"] for cell in row] for row in sheets["orders"]["rows"])
    assert first[1:] == ["completeness", 2, 0, 3, 0, "a difference"]
    assert second[1] == "quality"
    page = client.get(place.room.url("agent-board/")).content.decode()
    assert page.count('<b class="best">5.000</b>') == 2
