"""Lists (search, filters, order, pages, whatever stands in a URL) and the figures in them."""

import math
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import QueryDict
from django.template.loader import render_to_string
from django.utils import timezone

from kit.lists.report_tables import Cell, ReportTable, text
from kit.lists.tables import Column, Filter, ListPage, Table, keys_first
from kit.templatetags import assay, figures

pytestmark = pytest.mark.django_db

TABLE = Table(
    search=("username", "email"),
    filters=(
        Filter("staff", "Role", (("1", "Staff"), ("0", "Others")), lookup="is_staff"),
        Filter("page", "Taken", (("x", "X"),)),
    ),
    columns=(Column("name", "Name", ("username",)), Column("note", "Note", numeric=True)),
    order=("-username",),
    size=3,
)


@pytest.fixture
def people() -> QuerySet[User]:
    User.objects.bulk_create(
        User(username=f"p{i}", email="moth@a.example" if i % 2 else "bee@b.example", is_staff=i < 3)
        for i in range(7)
    )
    return User.objects.all()


def read(people: QuerySet[User], query: str = "", table: Table = TABLE) -> ListPage[User]:
    return table.read(people, QueryDict(query).dict())


def names(page: ListPage[Any]) -> str:
    return " ".join(row.username for row in page.rows)


def test_first_page_in_the_default_order(people: QuerySet[User]):
    page = read(people)
    assert names(page) == "p6 p5 p4"
    assert (page.first, page.last, page.total, page.more_than) == (1, 3, 7, False)
    assert (page.has_previous, page.has_next) == (False, True)


def test_last_page_is_short(people: QuerySet[User]):
    page = read(people, "page=3")
    assert (names(page), page.first, page.last, page.has_next) == ("p0", 7, 7, False)


@pytest.mark.parametrize("number", ["4", "99", "9" * 30, "9" * 6000, "two", "1.5", "²"])
def test_bad_page_is_the_last(people: QuerySet[User], number: str):
    assert names(read(people, f"page={number}")) == "p0"


@pytest.mark.parametrize("number", ["", "0", "-3", "1", "%20 1"])
def test_page_before_the_first_is_the_first(people: QuerySet[User], number: str):
    assert read(people, f"page={number}").number == 1


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("moth", "p5 p3 p1"),
        ("MOTH p3", "p3"),
        ("p3 bee", ""),
        ("  ", "p6 p5 p4"),
        ("%00", "p6 p5 p4"),
        ("p%00 1", "p1"),
        ("%25", ""),
    ],
)
def test_search_every_word_in_some_field(people: QuerySet[User], words: str, expected: str):
    assert names(read(people, f"q={words}")) == expected


def test_search_by_function(people: QuerySet[User]):
    table = Table(search=lambda rows, words: rows.filter(username=words))
    assert names(read(people, "q=p2", table)) == "p2"


def test_search_undeclared_is_ignored(people: QuerySet[User]):
    page = read(people, "q=p2", Table())
    assert (page.total, page.search, page.searchable) == (7, "", False)


def test_filter_narrows_and_is_kept_in_links(people: QuerySet[User]):
    page = read(people, "staff=1&q=p")
    assert names(page) == "p2 p1 p0"
    assert page.query == "?q=p&staff=1"
    assert page.is_filtered


@pytest.mark.parametrize("query", ["staff=2", "staff=", "staff=drop", "nothing=1", "is_staff=1"])
def test_unknown_parameters_are_ignored(people: QuerySet[User], query: str):
    page = read(people, query)
    assert (page.total, page.query, page.is_filtered) == (7, "?", False)


def test_filter_by_function_with_choices_of_the_request(people: QuerySet[User]):
    by_start = Filter(
        "kind", "Kind", apply=lambda rows, value: rows.filter(email__startswith=value)
    )
    table = Table(filters=(by_start,))
    offered = {"kind": [("bee", "Bees")]}
    assert table.read(people, {"kind": "bee"}, choices=offered).total == 4
    assert table.read(people, {"kind": "moth"}, choices=offered).total == 7


def test_sort_up_then_down(people: QuerySet[User]):
    up, down = read(people, "sort=name"), read(people, "sort=-name")
    assert (names(up), names(down)) == ("p0 p1 p2", "p6 p5 p4")
    assert (up.columns[0].sorted, up.columns[0].query) == ("ascending", "?sort=-name")
    assert (down.columns[0].sorted, down.columns[0].query) == ("descending", "?sort=name")


@pytest.mark.parametrize("sort", ["password", "note", "-note", "--name", "username"])
def test_sort_by_undeclared_is_ignored(people: QuerySet[User], sort: str):
    page = read(people, f"sort={sort}")
    assert (names(page), page.sort) == ("p6 p5 p4", "")


def test_sorting_alone_is_no_filter(people: QuerySet[User]):
    assert not read(people, "sort=name").is_filtered


def test_page_links_keep_search_and_order(people: QuerySet[User]):
    page = read(people, "q=p&sort=name&page=2")
    assert page.next_query == "?q=p&sort=name&page=3"
    assert page.previous_query == "?q=p&sort=name&page=1"


def test_links_escape_what_was_typed(people: QuerySet[User]):
    assert read(people, "q=a%26b%3D%22").query == "?q=a%26b%3D%22"


def test_empty_list_has_no_rows_and_no_pages():
    page = read(User.objects.none())
    assert (page.first, page.last, page.total, page.number, page.has_next) == (0, 0, 0, 1, False)


def test_counting_stops_but_pages_go_on(people: QuerySet[User]):
    table = Table(order=("username",), size=2, count_limit=4)
    second, last, beyond = (read(people, f"page={n}", table) for n in (2, 4, 5))
    assert (second.total, second.more_than, second.has_next) == (4, True, True)
    assert (names(last), last.has_next) == ("p6", False)
    assert names(beyond) == "p2 p3"


def test_known_total_is_not_counted_and_every_page_is_the_same(
    people: QuerySet[User], django_assert_num_queries: Any
):
    table = Table(order=("username",), size=2, count_limit=4)
    shown = []
    for number in range(1, 6):  # the fifth lies past the end
        with django_assert_num_queries(2):
            shown.append(table.read(people, {"page": str(number)}, total=7))
    assert [names(page) for page in shown] == ["p0 p1", "p2 p3", "p4 p5", "p6", "p6"]
    assert [page.has_next for page in shown] == [True, True, True, False, False]
    assert {(page.total, page.more_than) for page in shown} == {(7, False)}


@pytest.mark.parametrize("order", ["username", "-username"])
def test_skipping_from_either_end_finds_the_same_rows(people: QuerySet[User], order: str):
    rows = people.order_by(order)
    for start in range(9):
        for end in range(start, 10):
            expected = list(rows[start:end])
            assert keys_first(rows, start, end) == expected
            assert keys_first(rows, start, end, known=7) == expected


def test_order_by_unique_fields_needs_no_key(people: QuerySet[User]):
    table = Table(columns=TABLE.columns, order=("username",), unique=("username",))
    assert table.matches(people, {}).query.order_by == ("username",)
    assert table.matches(people, {"sort": "-name"}).query.order_by == ("-username",)
    by_mail = Table(order=("email",), unique=("username",))
    assert by_mail.matches(people, {}).query.order_by == ("email", "pk")


@pytest.mark.parametrize("query", ["", "page=2", "q=p&staff=1", "page=99"])
def test_three_queries_whatever_is_asked(
    people: QuerySet[User], query: str, django_assert_num_queries: Any
):
    with django_assert_num_queries(3):
        read(people, query)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(2491, "2,491"), (0, "0"), (3.0, "3"), (3.14159, "3.14"), (None, "–"), (math.nan, "–")],
)
def test_number_readable_and_unknown_is_a_dash(value: float | None, shown: str):
    assert figures.number(value) == shown


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [(0.4, 0, "40 %"), (0.0346, 1, "3.5 %"), (0, 0, "0 %"), (None, 0, "–"), (math.nan, 1, "–")],
)
def test_percent_undefined_is_not_zero(value: float | None, digits: int, shown: str):
    assert figures.percent(value, digits) == shown


def test_share_of_nothing_is_undefined():
    assert (figures.share(1, 4), figures.share(0, 4), figures.share(1, 0)) == (0.25, 0.0, None)


def test_when_today_is_a_time_and_earlier_a_date():
    now = timezone.localtime().replace(hour=14, minute=3)
    assert figures.when(now) == "14:03"
    assert figures.when(datetime(2025, 2, 1, 9, 5, tzinfo=timezone.get_current_timezone())) == (
        "1 Feb 2025, 09:05"
    )
    assert figures.when(now - timedelta(days=1)) != "14:03"
    assert figures.when(None) == "–"


def test_verbatim_keeps_carriage_returns_and_escapes():
    assert assay.verbatim("a\r\n<b>&") == "a&#13;\n&lt;b&gt;&amp;"


def test_bar_widths_sum_to_the_whole():
    parts = [{"name": "", "value": value, "css": ""} for value in (5, 3, 0)]
    drawn = assay.bar(parts)["parts"]
    assert [(part["x"], part["width"]) for part in drawn] == [(0, 625), (625, 375), (1000, 0)]


def test_bar_of_nothing_is_empty():
    assert assay.bar([{"name": "a", "value": 0, "css": "r1"}])["parts"][0]["width"] == 0


def test_paging_says_where_one_is(people: QuerySet[User]):
    text = " ".join(render_to_string("kit/paging.html", {"table": read(people, "page=2")}).split())
    assert "4–6 of 7" in text
    assert 'data-key="[" href="?page=1"' in text
    assert 'data-key="]" href="?page=3"' in text


def test_filters_keep_what_was_asked(people: QuerySet[User]):
    page = read(people, "q=a%22b&staff=1&sort=name")
    text = render_to_string("kit/filters.html", {"table": page})
    assert 'value="a&quot;b"' in text
    assert '<option value="1" selected>' in text
    assert '<input type="hidden" name="sort" value="name">' in text


@pytest.mark.parametrize(("query", "title"), [("q=zzz", "Nothing matches"), ("", "No people yet")])
def test_empty_list_says_why(query: str, title: str):
    page = read(User.objects.all(), query)
    assert title in render_to_string("kit/empty.html", {"table": page, "title": "No people yet"})


def test_a_table_of_a_report_escapes_links_and_shows_intervals() -> None:
    row = (
        text("<b>", "/?a=1&b=2"),
        Cell(0.5, "coefficient", 0.25, 0.75),
        Cell(None, "coefficient", url="/gone"),
        Cell(3, best=True),
    )
    sheet = ReportTable("t", "T", ("Who & what", "κ", "none", "n"), (row,))
    page = render_to_string("kit/report_table.html", {"sheet": sheet})
    cells = [
        '<td data-label="Who &amp; what"><a href="/?a=1&amp;b=2">&lt;b&gt;</a></td>',
        '<td class="n" data-label="κ">0.500 <span class="interval">0.250 to 0.750</span></td>',
        '<td class="n" data-label="none">–</td>',
        '<td class="n" data-label="n"><b class="best">3</b></td>',
    ]
    assert "".join(cells) in page
