"""Pictures: where their marks stand, what they say to those who do not see them."""

import re
from datetime import date, timedelta
from xml.etree.ElementTree import Element, fromstring

import pytest

from kit.charts.drawing import LEFT, RIGHT, TOP, apart, axis, tick_step
from kit.charts.plots import MAX_ROWS, Slope, Square, burn_down, growth, heat_map, scatter, slopes


def read(drawing: object) -> Element:
    """The picture as a tree: what is not well-formed fails here."""
    return fromstring(str(drawing))


def words(tree: Element, css: str = "") -> list[str]:
    return [each.text or "" for each in tree.iter("text") if each.get("class", "").startswith(css)]


@pytest.mark.parametrize(
    ("span", "count", "whole", "step"),
    [
        (10, 5, False, 2),
        (0.3, 5, False, 0.1),
        (3, 5, True, 1),
        (3, 5, False, 1),
        (1234, 5, True, 500),
    ],
)
def test_ticks_are_1_2_or_5_times_a_power_of_ten(span, count, whole, step):
    assert tick_step(span, count, whole=whole) == pytest.approx(step)


def test_an_axis_holds_its_values_between_ticks_and_never_passes_its_limits():
    found = axis("share", [0.93, 1.0], 200, 0, limits=(0.0, 1.0))
    assert (found.low, found.high, found.steps[-1]) == (pytest.approx(0.92), 1.0, 1.0)
    assert (found(found.low), found(1.0)) == (200, 0)
    one = axis("systems", [1, 2, 3], 0, 100, whole=True, zero=True)
    assert one.steps == [0, 1, 2, 3]


def test_words_are_moved_apart_within_the_ends_in_their_order():
    assert apart([5, 5, 90], 10, 0, 92) == [5, 15, 90]
    assert apart([90, 91, 92], 10, 0, 92) == [72, 82, 92]


def test_growth_counts_systems_in_whole_numbers_and_names_both_axes():
    tree = read(growth("g", "Holes", "systems", "holes reached", [[1, 2, 2], [0, 1, 2]]))
    assert words(tree, "tick") == ["0", "1", "2", "0", "1", "2", "3"]
    assert words(tree, "axis") == ["↑ holes reached", "systems →"]
    assert growth("g", "Holes", "systems", "holes", [[0, 0]]) is None


def test_slopes_say_ranks_and_directions_in_words_and_signs():
    lines = [Slope("BM25", 0.4, 0.5, 1, 2), Slope("DIVER <v1>", 0.3, 0.6, 2, 1)]
    tree = read(slopes("s", "Before and after", ("base", "refined"), lines))
    assert tree.find("desc").text == "Ranks: BM25 falls from 1 to 2; DIVER <v1> rises from 2 to 1."
    assert words(tree, "tick up") == ["2 DIVER <v1> 30.0", "1 ▲ 60.0 DIVER <v1>"]
    labelled = tree.get("aria-labelledby").split()
    assert labelled == [tree.find("title").get("id"), tree.find("desc").get("id")]


def test_scatter_counts_the_points_of_both_sides_of_its_diagonal():
    tree = read(
        scatter("q", "Queries", "A", "B", [("1", 0.2, 0.4), ("2", 0.5, 0.5), ("3", 0.9, 0)])
    )
    assert "1 above the diagonal, where B is higher, 1 below it, 1 on it" in tree.find("desc").text
    assert [each.get("class") for each in tree.iter("circle")] == [
        "speck up", "speck off", "speck down",
    ]  # fmt: skip


def test_a_heat_map_with_links_is_no_image_and_leaves_what_is_unknown_blank():
    cells = [[Square(0.5, "50", url="/x/", name="BM25 in biology"), Square(None, "–")]]
    tree = read(heat_map("h", "Holes", ["BM25"], ["biology", "a domain with a long name"], cells))
    assert tree.get("role") == "group"
    assert tree.find("a").get("aria-label") == "BM25 in biology"
    assert [each.get("fill-opacity") for each in tree.iter("rect")] == ["0.450", "0.000"]


def test_a_picture_of_many_rows_says_that_it_shows_the_first():
    rows = [f"system {n}" for n in range(MAX_ROWS + 6)]
    tree = read(heat_map("h", "Holes", rows, ["biology"], [[Square(0.5, "50")]] * len(rows)))
    assert len(list(tree.iter("rect"))) == MAX_ROWS
    assert tree.find("desc").text.endswith(f"The first {MAX_ROWS} of {MAX_ROWS + 6}.")


def test_a_burn_down_leads_to_the_days_of_its_forecast():
    first = date(2026, 1, 1)
    left = [(first + timedelta(days=n), 40 - 10 * n) for n in range(3)]
    tree = read(burn_down("b", "Votes", "votes", left, (2, 4, 8)))
    assert (
        "none on about 07 Jan 2026, between 05 Jan 2026 and 11 Jan 2026" in tree.find("desc").text
    )
    (fan,) = (each for each in tree.iter("polygon") if each.get("class") == "fan")
    places = [tuple(map(float, point.split(","))) for point in fan.get("points").split()]
    assert places[0] == (pytest.approx(LEFT + (RIGHT - 10 - LEFT) * 2 / 10, abs=0.1), 121)
    assert {y for _, y in places[1:]} == {216}
    assert TOP < 121 < 216
    assert burn_down("b", "Votes", "votes", left[:1], None) is None
    done = burn_down("b", "Votes", "votes", [*left, (left[-1][0], 0)], (0, 0, 0))
    assert not re.search("polygon", str(done))
