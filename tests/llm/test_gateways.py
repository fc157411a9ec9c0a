"""Several endpoints in one run: each request goes to its own, and all share what is limited."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from llm.endpoints import SettingsError
from llm.errors import LLMError
from llm.gateway import Gateways
from llm.models import Account, Call
from llm.prices import PriceTable
from tests.llm.stub import Step, Stub, after, ask, status

pytestmark = pytest.mark.django_db(transaction=True)


def with_two(use: Any, first: Step, second: Step, **options: Any) -> Any:
    async def run() -> Any:
        async with Stub(first) as one, Stub(second) as two:
            known = [
                replace(one.endpoint, name="one"),
                replace(two.endpoint, name="two", api_key="sk-two"),
            ]
            async with Gateways(known=known, **{"concurrency": 8, **options}) as gateways:
                return await use(gateways, one, two)

    return asyncio.run(run())


async def both(gateways: Gateways, one: Stub, two: Stub) -> Any:
    asked = (gateways.complete(ask(endpoint=name), "s") for name in ("one", "two"))
    found = await asyncio.gather(*asked)
    keys = {stub.headers[0]["Authorization"] for stub in (one, two)}
    return [reply.text for reply in found], keys


def test_each_request_goes_to_its_endpoint_with_its_key() -> None:
    texts, keys = with_two(both, "first", "second")
    assert texts == ["first", "second"]
    assert keys == {"Bearer sk-stub", "Bearer sk-two"}
    assert set(Call.objects.values_list("endpoint", flat=True)) == {"one", "two"}


def test_calls_in_flight_are_bounded_over_all() -> None:
    async def many(gateways: Gateways, one: Stub, two: Stub) -> int:
        seen = []

        async def ask_one(number: int) -> None:
            await gateways.complete(ask(str(number), endpoint=("one", "two")[number % 2]), "")
            seen.append(one.in_flight + two.in_flight)

        await asyncio.gather(*(ask_one(number) for number in range(24)))
        return max(seen)

    assert with_two(many, after(0.02), after(0.02), concurrency=3) <= 3


def test_failure_names_its_endpoint_and_model() -> None:
    async def fail(gateways: Gateways, one: Stub, two: Stub) -> LLMError:
        with pytest.raises(LLMError) as caught:
            await gateways.complete(ask(endpoint="two", model="m-2"), "")
        return caught.value

    error = with_two(fail, "yes", status(404))
    assert error.words.startswith("The endpoint “two” knows no model “m-2”")
    assert error.status == 404


def test_unknown_endpoint_is_refused_before_anything_is_written() -> None:
    async def elsewhere(gateways: Gateways, one: Stub, two: Stub) -> None:
        with pytest.raises(SettingsError, match="three"):
            await gateways.complete(ask(endpoint="three"), "")

    with_two(elsewhere, "yes", "yes")
    assert Call.objects.count() == 0


def test_model_without_a_price_is_refused_where_a_limit_is_kept() -> None:
    row = {"endpoint": "one", "model": "stub-1", "valid_from": "2026-01-01"}
    prices = PriceTable.parse([{**row, "input": "1", "cached": "1", "output": "1"}])
    account = Account.objects.create(limit_units=10**12)

    async def ask_both(gateways: Gateways, one: Stub, two: Stub) -> int:
        await gateways.complete(ask(endpoint="one", max_tokens=10), "")
        with pytest.raises(SettingsError, match=r"stub-1.*two"):
            await gateways.complete(ask(endpoint="two", max_tokens=10), "")
        return len(two.asked)

    options = {"prices": prices, "account": account}
    assert with_two(ask_both, "yes", "yes", **options) == 0
    assert Call.objects.get().account_id == account.pk


def test_winding_down_takes_the_answers_on_their_way_and_sends_nothing_more() -> None:
    async def stop(gateways: Gateways, one: Stub, two: Stub) -> tuple[str, bool, int]:
        under_way = asyncio.create_task(gateways.complete(ask("early", endpoint="one"), ""))
        while not one.asked:
            await asyncio.sleep(0.005)
        ending = asyncio.create_task(gateways.wind_down(grace_s=30))
        await asyncio.sleep(0)
        late = asyncio.create_task(gateways.complete(ask("late", endpoint="one"), ""))
        await ending
        reply = await under_way
        is_done = late.done()
        late.cancel()
        return reply.text, is_done, len(one.asked)

    assert with_two(stop, after(0.2, "yes"), "yes") == ("yes", False, 1)
    assert list(Call.objects.values_list("status", flat=True)) == ["answered"]


def test_winding_down_does_not_wait_for_ever() -> None:
    async def stop(gateways: Gateways, one: Stub, two: Stub) -> bool:
        under_way = asyncio.create_task(gateways.complete(ask("early", endpoint="one"), ""))
        while not one.asked:
            await asyncio.sleep(0.005)
        await gateways.wind_down(grace_s=0.05)
        return under_way.done()

    assert with_two(stop, after(30), "yes") is False
    assert list(Call.objects.values_list("status", flat=True)) == ["possibly_paid"]
