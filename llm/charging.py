"""What the calls of one endpoint cost, and who pays them."""

from datetime import UTC, date, datetime
from decimal import Decimal

from llm.endpoints import Endpoint
from llm.estimates import most_input
from llm.prices import Price, PriceTable
from llm.records import Charge
from llm.requests import Request


class Charging:
    """Makes the charge of each request: its price of the day, and what it can cost at most."""

    def __init__(self, endpoint: Endpoint, prices: PriceTable, account_id: int | None) -> None:
        self._endpoint, self._prices, self._account_id = endpoint, prices, account_id
        self._known: dict[tuple[str, date], Price | None] = {}

    def charge(self, request: Request) -> Charge:
        """The charge; without a price or a longest answer nobody knows a bound."""
        price = self._price(request.model)
        bound = None if price is None else self._bound(request, price)
        return Charge(self._account_id, price, bound)

    def _bound(self, request: Request, price: Price) -> Decimal | None:
        if price.is_free:
            return Decimal(0)
        if request.max_tokens is None:
            return None
        return price.bound(input_tokens=most_input(request), output_tokens=request.max_tokens)

    def _price(self, model: str) -> Price | None:
        day = datetime.now(UTC).date()
        if (model, day) not in self._known:
            self._known[model, day] = self._prices.find(self._endpoint, model, on=day)
        return self._known[model, day]
