"""What calls of a configuration's models cost, how long they take, how many are let through."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from statistics import fmean
from typing import Any, Final

from debate.configuration import RunConfig
from debate.forecast import ENOUGH, Limit, Pair
from llm import endpoints
from llm.endpoints import EndpointError, UnknownEndpoint
from llm.models import Call
from llm.prices import Price, PriceError, table
from llm.requests import Usage

# How many calls of a model are looked at.
_SAMPLE: Final = 200
# Of the ledger the latest calls alone are looked at: no index leads to those of one model.
_MOST_CALLS: Final = 20_000


def price_of(config: RunConfig) -> Any:
    """USD of (input, output) tokens, each seat taken to have its share; None without a price."""
    prices = [_price(seat.endpoint, seat.model) for seat in config.everybody]
    known = [price for price in prices if price is not None]
    if len(known) < len(prices):
        return None

    def cost(input_tokens: float, output_tokens: float) -> float:
        usage = Usage(input=round(input_tokens), output=round(output_tokens))
        return fmean(float(price.cost(usage)) for price in known) if known else 0.0

    return cost


def _price(endpoint: str, model: str) -> Price | None:
    try:
        return table().find(endpoints.get(endpoint), model, on=datetime.now(UTC).date())
    except (UnknownEndpoint, EndpointError, PriceError):
        return None


def call_seconds(config: RunConfig, measured: Sequence[Pair]) -> float | None:
    """How long a call takes: in the measured pairs, else in the latest calls of each model."""
    if not config.agents:
        return 0.0
    timed = [(pair.seconds, pair.calls) for pair in measured if pair.seconds is not None]
    if len(timed) >= ENOUGH:
        return sum(seconds for seconds, _ in timed) / sum(calls for _, calls in timed)
    means = [_latest_seconds(seat.endpoint, seat.model) for seat in config.everybody]
    known = [each for each in means if each is not None]
    return fmean(known) if len(known) == len(means) else None


def _latest_seconds(endpoint: str, model: str) -> float | None:
    newest = Call.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    calls = Call.objects.answered().filter(pk__gt=newest - _MOST_CALLS, elapsed_s__isnull=False)
    asked = calls.filter(endpoint=endpoint, model=model)
    found = list(asked.order_by("-pk").values_list("elapsed_s", flat=True)[:_SAMPLE])
    return fmean(each or 0.0 for each in found) if found else None


def limits_of(config: RunConfig) -> list[Limit]:
    """What each endpoint of the agents takes in a minute, and its share of the calls."""
    seats = [seat.endpoint for seat in config.agents]
    shares: Mapping[str, float] = {name: seats.count(name) / len(seats) for name in seats}
    found = []
    for name, share in shares.items():
        try:
            endpoint = endpoints.get(name)
        except (UnknownEndpoint, EndpointError):
            continue
        found.append(Limit(share, endpoint.requests_per_minute, endpoint.tokens_per_minute))
    return found
