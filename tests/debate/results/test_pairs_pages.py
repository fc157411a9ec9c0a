"""The list of a run's pairs over several pages, and the file of all of them."""

from typing import Any

import pytest
from django.test import Client

from debate.models import Debate
from tests.debate.results.test_screens_pairs import make_many, rows_of
from tests.debate.runs.test_screens import make_run, url
from tests.factories import make_benchmark, make_member

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def many(undone_database: None) -> tuple[Any, list[Debate]]:
    """A run of 123 pairs, and they."""
    run = make_run(make_benchmark(), status="done")
    return run, make_many(run, 123)


@pytest.fixture
def client(many) -> Client:
    client = Client()
    client.force_login(make_member(many[0].benchmark, "admin", "admin"))
    return client


def walk(client: Client, address: str, step: str) -> list[list[int]]:
    """Keys of every page from `address` on, following its links."""
    pages = []
    for _ in range(20):
        table = client.get(address).context["table"]
        pages.append([row.pk for row in table.rows])
        if not getattr(table, f"has_{step}"):
            return pages
        address = address.split("?")[0] + getattr(table, f"{step}_query")
    raise AssertionError("no end")


@pytest.mark.parametrize(
    ("sort", "key"),
    [
        ("", lambda d: d.pk),
        ("passage", lambda d: (d.passage_id, d.pk)),
        ("query", lambda d: (d.query_id, d.pk)),
        ("outcome", lambda d: (d.status, d.pk)),
    ],
)
@pytest.mark.parametrize("sign", ["", pytest.param("-", marks=pytest.mark.slow)])
def test_pages_hold_every_pair_once_in_order_both_ways(client, many, sort, key, sign) -> None:
    if sign and not sort:
        pytest.skip("the plain order has no other way round")
    run, made = many
    wanted = [each.pk for each in sorted(made, key=key, reverse=bool(sign))]
    address = url("debates", run.pk) + (f"?sort={sign}{sort}" if sort else "")
    pages = walk(client, address, "next")
    assert [len(page) for page in pages] == [50, 50, 23]
    assert [pk for page in pages for pk in page] == wanted
    last = client.get(address).context["table"]
    for _ in range(2):
        last = client.get(url("debates", run.pk) + last.next_query).context["table"]
    back = walk(client, url("debates", run.pk) + last.previous_query, "previous")
    assert [pk for page in reversed(back) for pk in page] == wanted[:100]


def test_rows_that_end_meanwhile_move_nobody_to_another_page(client, many) -> None:
    """An offset would skip a row for each that leaves an earlier page."""
    run, made = many
    disputed = [each.pk for each in made if each.status == "escalated"]
    assert len(disputed) == 41
    table = client.get(url("debates", run.pk), {"sort": "passage"}).context["table"]
    Debate.objects.filter(pk=made[0].pk).delete()
    following = client.get(url("debates", run.pk) + table.next_query).context["table"]
    assert following.rows[0].pk == made[50].pk


def test_file_holds_what_is_filtered_and_all_of_it(client, many) -> None:
    run, made = many
    response = client.get(url("debates-csv", run.pk), {"status": "agreed"})
    assert response["Content-Disposition"] == f'attachment; filename="demo-run-{run.pk}-pairs.csv"'
    rows = rows_of(response)
    agreed = [str(each.pk) for each in made if each.status == "agreed"]
    assert [row["debate"] for row in rows] == agreed
    assert {(row["outcome"], row["label"], row["round"]) for row in rows} == {("agreed", "1", "1")}
    assert len(rows_of(client.get(url("debates-csv", run.pk)))) == 123
