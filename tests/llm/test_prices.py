"""What calls cost: the formula of docs/protocol.md 1.4, dated rows, unusable tables."""

import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from llm.endpoints import Endpoint, SettingsError
from llm.prices import FREE, PriceTable, table
from llm.requests import Usage
from tests.llm.stub import ask

DAY = date(2026, 3, 1)
HERE = Endpoint("here", "http://h/v1", "", False, "m")


def row(**changes: Any) -> dict[str, Any]:
    plain = {"endpoint": "*", "model": "m", "valid_from": "2026-01-01"}
    return {**plain, "input": "1", "cached": "0.5", "output": "4", **changes}


@pytest.fixture(autouse=True)
def _no_file(settings: Any) -> None:
    settings.ASSAY_PRICES = ""


def test_worked_example_costs_26_thousandths_of_a_dollar() -> None:
    # (100,000 - 40,000) x 0.25 + 40,000 x 0.025 + 5,000 x 2.00 = 15,000 + 1,000 + 10,000
    price = table().demand(HERE, "gpt-5-mini", on=DAY)
    usage = Usage(input=100_000, cached_input=40_000, output=5_000)
    assert price.cost(usage) == Decimal("0.026")
    assert price.valid_from == date(2025, 8, 7)


def test_reasoning_is_a_part_of_the_output_and_not_paid_twice() -> None:
    price = table().demand(HERE, "gpt-5", on=DAY)
    assert price.cost(Usage(input=0, output=100, reasoning=80)) == Decimal("0.001")


def test_bound_takes_everything_as_uncached() -> None:
    (price,) = PriceTable.parse([row()]).rows
    request = ask("x" * 1_000_000, schema_name="", max_tokens=500_000)
    # (1,000,000 of text + 18 of schema + 16 + 64 of a template) x 1 + 500,000 x 4, per million
    assert price.bound(request) == Decimal("3.000098")
    assert price.bound(ask(max_tokens=None)) is None


def test_latest_row_that_holds_on_the_day_counts() -> None:
    rows = PriceTable.parse(
        [row(valid_from="2026-02-01", input="2"), row(), row(valid_from="2026-04-01", input="9")]
    )
    found = {
        day: rows.find(HERE, "m", on=date.fromisoformat(day))
        for day in ("2025-12-31", "2026-01-01", "2026-01-31", "2026-02-01", "2026-04-01")
    }
    assert [price and int(price.input) for price in found.values()] == [None, 1, 1, 2, 9]


def test_own_row_of_an_endpoint_goes_before_that_of_any() -> None:
    own = row(endpoint="here", valid_from="2025-01-01", input="7")
    rows = PriceTable.parse([own, row()])
    assert rows.demand(HERE, "m", on=DAY).input == 7
    other = Endpoint("there", "http://t/v1", "", False, "m")
    assert rows.demand(other, "m", on=DAY).input == 1


def test_unknown_model_is_refused_with_what_to_do() -> None:
    with pytest.raises(SettingsError, match=r"gpt-5-mini-08-07.*here.*ASSAY_PRICES"):
        table().demand(HERE, "gpt-5-mini-08-07", on=DAY)


def test_practice_and_free_endpoints_cost_nothing() -> None:
    practice = Endpoint("practice", "", "", True, "practice-1")
    local = Endpoint("gpu", "http://g/v1", "", False, "m", is_free=True)
    for endpoint in (practice, local):
        assert table().find(endpoint, "whatever", on=DAY) == FREE
    assert FREE.cost(Usage(input=10**6, output=10**6)) == 0


def test_rows_of_the_operators_file_are_added(settings: Any, tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    path.write_text(json.dumps([row(model="llama"), row(model="gpt-5-mini", input=0)]))
    settings.ASSAY_PRICES = str(path)
    assert table().demand(HERE, "llama", on=DAY).output == 4
    assert table().demand(HERE, "gpt-5-mini", on=DAY).input == 0
    assert table().demand(HERE, "gpt-5", on=DAY).input == Decimal("1.25")


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ({"m": 1}, "list of rows"),
        ([row(), 5], "row 2"),
        ([row(unit="EUR")], "row 1 needs exactly"),
        ([row(input="-1")], "row 1: input"),
        ([row(output="0.0000001")], "row 1: output"),
        ([row(cached="NaN")], "row 1: cached"),
        ([row(cached="a lot")], "row 1: cached"),
        ([row(input=True)], "row 1: input"),
        ([row(input=None)], "row 1: input"),
        ([row(input="1e9")], "row 1: input"),
        ([row(valid_from="soon")], "row 1: valid_from"),
        ([row(valid_from=20260101)], "row 1: valid_from"),
        ([row(model="")], "row 1: endpoint and model"),
        ([row(endpoint=["here"])], "row 1: endpoint and model"),
    ],
)
def test_table_that_cannot_be_used_says_where(rows: Any, complaint: str) -> None:
    with pytest.raises(SettingsError, match=complaint):
        PriceTable.parse(rows)


@pytest.mark.parametrize(
    ("text", "words"),
    [("", ""), ("[", ""), ("\x00", ""), (None, " cannot be read")],
    ids=["empty", "cut", "no text", "absent"],
)
def test_file_that_is_no_json_is_named(
    settings: Any, tmp_path: Path, text: str | None, words: str
) -> None:
    path = tmp_path / "p.json"
    if text is not None:
        path.write_text(text)
    settings.ASSAY_PRICES = str(path)
    with pytest.raises(SettingsError, match=rf"p\.json{words}"):
        table()
