"""What tokens cost: dated prices, the formula of docs/protocol.md 1.4. Pure but for `table`.

A price is in USD per million tokens and is found by endpoint, model and day. Models that no row
names have no price: their cost is unknown, and a run with a budget is refused.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Final, Self

from django.conf import settings

from llm.endpoints import Endpoint, SettingsError, read_file
from llm.profiles import most_input
from llm.requests import Request, Usage

ANY_ENDPOINT: Final = "*"
_SUPPLIED: Final = Path(__file__).with_name("prices.json")
_FIELDS: Final = frozenset({"endpoint", "model", "valid_from", "input", "cached", "output"})
_MILLION: Final = Decimal(1_000_000)
_MOST: Final = Decimal(10_000)


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens, from a day on; `valid_from` is None for what costs nothing."""

    input: Decimal
    cached: Decimal
    output: Decimal
    endpoint: str = ANY_ENDPOINT
    model: str = ""
    valid_from: date | None = None

    @property
    def is_free(self) -> bool:
        """Whether nothing is ever charged."""
        return not (self.input or self.cached or self.output)

    def cost(self, usage: Usage) -> Decimal:
        """USD of one answered call: ((in - cached) p_in + cached p_cached + out p_out) / 10^6."""
        plain = usage.input - usage.cached_input
        counted = plain * self.input + usage.cached_input * self.cached + usage.output * self.output
        return counted / _MILLION

    def bound(self, request: Request) -> Decimal | None:
        """USD that a call cannot exceed, nothing of it cached; unknown without a longest answer."""
        if self.is_free:
            return Decimal(0)
        if request.max_tokens is None:
            return None
        dearest = max(self.input, self.cached)
        return (most_input(request) * dearest + request.max_tokens * self.output) / _MILLION


FREE: Final = Price(Decimal(0), Decimal(0), Decimal(0))


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Price rows to look things up in."""

    rows: tuple[Price, ...]

    @classmethod
    def parse(cls, rows: Any) -> Self:
        """Read rows {endpoint, model, valid_from, input, cached, output}. Raises SettingsError.

        Numbers may be strings, so that no binary fraction comes between; `endpoint` may be "*".
        """
        if not isinstance(rows, list):
            raise SettingsError("A price table is a list of rows.")
        return cls(tuple(_price(number, row) for number, row in enumerate(rows, start=1)))

    def find(self, endpoint: Endpoint, model: str, *, on: date) -> Price | None:
        """The price on that day: the endpoint's own row before any endpoint's, the latest first.

        The practice model and endpoints that are marked free cost nothing.
        """
        if endpoint.is_practice or endpoint.is_free:
            return FREE
        valid = [
            row
            for row in self.rows
            if row.model == model
            and row.endpoint in (endpoint.name, ANY_ENDPOINT)
            and row.valid_from is not None
            and row.valid_from <= on
        ]
        # At the end of equals stands the row of the operator's own file.
        valid.sort(key=lambda row: (row.endpoint != ANY_ENDPOINT, row.valid_from))
        return valid[-1] if valid else None

    def demand(self, endpoint: Endpoint, model: str, *, on: date) -> Price:
        """The same, for who cannot go on without. Raises SettingsError with what to do."""
        price = self.find(endpoint, model, on=on)
        if price is None:
            raise SettingsError(
                f"No price is known for the model “{model}” at the endpoint “{endpoint.name}” "
                f"on {on.isoformat()}, so no budget can be kept. Add its row to the price table "
                "(ASSAY_PRICES), or run without a budget."
            )
        return price


def table() -> PriceTable:
    """The rows that come with Assay and those of the file ASSAY_PRICES. Raises SettingsError."""
    files = [_SUPPLIED, *([Path(settings.ASSAY_PRICES)] if settings.ASSAY_PRICES else [])]
    found = [read_file(each, PriceTable.parse, what="The price table ") for each in files]
    return PriceTable(sum((each.rows for each in found), ()))


def costs(usage: Usage, endpoint: Endpoint | None) -> dict[str, Any]:
    """Tokens, and what they come to at the endpoint by today's price, if one is known."""
    today = datetime.now(UTC).date()
    price = table().find(endpoint, endpoint.default_model, on=today) if endpoint else None
    return {
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "usd": price.cost(usage) if price else None,
    }


def _price(number: int, row: Any) -> Price:
    where = f"row {number}"
    if not isinstance(row, dict) or set(row) != _FIELDS:
        raise SettingsError(f"{where} needs exactly the fields {', '.join(sorted(_FIELDS))}.")
    if not all(isinstance(row[name], str) and row[name] for name in ("endpoint", "model")):
        raise SettingsError(f"{where}: endpoint and model are names.")
    try:
        valid_from = date.fromisoformat(row["valid_from"])
    except (TypeError, ValueError):
        raise SettingsError(f"{where}: valid_from is a day such as 2025-08-07.") from None
    read, cached, wrote = (
        _amount(where, each, row[each]) for each in ("input", "cached", "output")
    )
    return Price(read, cached, wrote, row["endpoint"], row["model"], valid_from)


def _amount(where: str, name: str, value: Any) -> Decimal:
    # The ledger counts in millionths of a millionth of a dollar, so a price has six decimals.
    try:
        amount = Decimal("NaN") if isinstance(value, bool | float) else Decimal(value)
        if 0 <= amount <= _MOST and amount == round(amount, 6):
            return amount
    except (TypeError, ValueError, InvalidOperation):
        pass
    raise SettingsError(
        f"{where}: {name} is an amount in USD per million tokens, from 0 to {_MOST}, "
        "with 6 decimals at most."
    )
