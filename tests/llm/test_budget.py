"""A hard limit: never overspent by any number of workers, and nearly all of it usable."""

import asyncio
import random
import threading
import time
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from llm.endpoints import Endpoint
from llm.errors import OverBudget, Permanent, Transient
from llm.gateway import Gateways
from llm.ledger import writing
from llm.ledger.reading import spending
from llm.ledger.writing import Intent
from llm.models import Account, Call, to_units
from llm.prices import PriceTable
from llm.profiles import most_input
from llm.requests import Reply, Usage
from tests.llm.stub import Step, Stub, after, ask, completion, status, through

pytestmark = pytest.mark.django_db(transaction=True)
# 1 USD per million tokens in, 2 out: a call of 100 in (40 cached) and 20 out costs
# (60 x 1 + 40 x 0.5 + 20 x 2) / 10^6 = $0.00012.
ROW = {"endpoint": "stub", "model": "stub-1", "valid_from": "2026-01-01"}
PRICES = PriceTable.parse([{**ROW, "input": "1", "cached": "0.5", "output": "2"}])
COST = Decimal("0.00012")
LONGEST = 100  # tokens of an answer
HERE = Endpoint("stub", "http://127.0.0.1:9/v1", "", False, "stub-1")
HOUR = timedelta(hours=1)


def account(usd: str | Decimal | None) -> Account:
    limit = None if usd is None else to_units(Decimal(usd))
    return Account.objects.create(limit_units=limit)


def priced(text: str, of: Account, **changes: Any) -> Intent:
    request = ask(text, **{"max_tokens": LONGEST, **changes})
    price = PRICES.find(HERE, request.model, on=date(2026, 6, 1))
    bound = price.bound(request) if price else None
    return Intent(request, "", account_id=of.pk, price=price, bound=bound)


def shows_its_calls(of: Account) -> bool:
    of.refresh_from_db()
    found = spending(of.calls.all())
    return (found.usd, found.reserved_usd) == (of.spent_usd, of.reserved_usd)


def bound(text: str = "x") -> Decimal:
    request = ask(text, max_tokens=LONGEST)
    return Decimal(most_input(request) + 2 * LONGEST) / 10**6


def reply(usage: Usage | None) -> Reply:
    return Reply(text="yes", usage=usage, elapsed_s=0.1)


def test_bound_is_reserved_with_the_intent_and_released_by_the_answer() -> None:
    spender = account("1")
    intent = priced("x", spender)
    (pk,) = writing.intend([intent])
    spender.refresh_from_db()
    assert (spender.spent_usd, spender.reserved_usd) == (0, bound())
    assert pk is not None
    writing.settle([(pk, reply(Usage(100, 40, 20)))])
    spender.refresh_from_db()
    assert (spender.spent_usd, spender.reserved_usd) == (COST, 0)
    call = Call.objects.get()
    assert (call.usd, call.bound_usd, str(call.price_date)) == (COST, bound(), "2026-01-01")
    assert (call.price_input, call.price_cached, call.price_output) == (1, Decimal("0.5"), 2)


ENDS = {
    "answered": (reply(Usage(100, 40, 20)), COST, False),
    "answered without usage": (reply(None), Decimal(0), True),
    "possibly paid": (Transient("broke", maybe_paid=True), Decimal(0), True),
    "refused": (Permanent("HTTP 400"), Decimal(0), False),
}


@pytest.mark.parametrize(("result", "spent", "is_held"), ENDS.values(), ids=ENDS.keys())
def test_only_what_is_known_is_released(result: Any, spent: Decimal, is_held: bool) -> None:
    spender = account("1")
    intent = priced("x", spender)
    (pk,) = writing.intend([intent])
    writing.settle([(pk or 0, result)])
    spender.refresh_from_db()
    assert (spender.spent_usd, spender.reserved_usd) == (spent, bound() if is_held else 0)
    assert shows_its_calls(spender)


def test_late_answer_of_a_lost_call_is_charged_once() -> None:
    spender = account("1")
    (pk,) = writing.intend([priced("x", spender)])
    writing.list_lost_calls(older_than=timedelta(0))
    spender.refresh_from_db()
    assert spender.reserved_usd == bound()
    for _ in range(2):
        writing.settle([(pk or 0, reply(Usage(100, 40, 20)))])
    assert shows_its_calls(spender)
    assert (spender.spent_usd, spender.reserved_usd) == (COST, 0)


def test_second_answer_to_the_same_request_is_paid_too() -> None:
    spender = account("1")
    intent = priced("x", spender)
    calls = [writing.intend([intent])[0] for _ in range(2)]
    for pk in calls:
        writing.settle([(pk or 0, reply(Usage(100, 40, 20)))])
    assert shows_its_calls(spender)
    assert (spender.spent_usd, spender.reserved_usd) == (2 * COST, 0)


def test_of_a_group_those_that_fit_are_written_and_no_other() -> None:
    spender = account(bound() * 2)
    found = writing.intend([priced(text, spender) for text in "abc"])
    assert [pk is None for pk in found] == [False, False, True]
    assert Call.objects.count() == 2
    assert shows_its_calls(spender)


def test_call_without_a_bound_fits_only_an_account_without_a_limit() -> None:
    limited, free = account("1000"), account(None)
    for changes in ({"max_tokens": None}, {"model": "unknown"}):
        intents = [priced("x", of, **changes) for of in (limited, free)]
        found = writing.intend(intents)
        assert [pk is None for pk in found] == [True, False]


def test_bound_is_never_below_the_tokens_of_any_text() -> None:
    for text in ("", "plain words", "日本語のテキスト", "👩‍🔬🧪", "\x00\t\n"):
        # A token is at least one byte; 16 and 64 are the chat template's.
        assert most_input(ask(text)) >= len(text.encode()) + 16 + 64


@pytest.mark.parametrize(
    ("workers", "usd"),
    [
        (8, "0.02"),
        pytest.param(24, "0.05", marks=pytest.mark.slow),
        pytest.param(64, "0.05", marks=pytest.mark.slow),
    ],
)
def test_workers_never_overspend_and_use_97_hundredths(workers: int, usd: str) -> None:
    """Every worker asks for calls of unlike cost until nothing fits and nothing is under way."""
    if workers > 24 and connection.vendor == "postgresql":
        pytest.skip("other tests need connections too: SQLite tries so many")
    limit = Decimal(usd)
    spender = account(limit)
    overspent: list[Decimal] = []

    def work(number: int) -> None:
        rng = random.Random(number)
        try:
            for step in range(10_000):
                intent = priced(f"{number} {step}", spender)
                (pk,) = writing.intend([intent])
                if pk is None:
                    if not writing.is_awaiting(spender.pk, since=timezone.now() - HOUR):
                        return
                    time.sleep(0.05 + 0.1 * rng.random())  # as a gateway waits
                    continue
                now = Account.objects.get(pk=spender.pk)
                overspent.extend([now.spent_usd] if now.spent_usd > limit else [])
                used = Usage(rng.randrange(20, 100), 0, rng.randrange(1, LONGEST + 1))
                writing.settle([(pk, reply(used))])
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shows_its_calls(spender)
    assert overspent == []
    assert spender.reserved_units == 0
    assert Decimal("0.97") * limit <= spender.spent_usd <= limit


def run_gateway(spender: Account, *script: Step, questions: int, concurrency: int) -> Any:
    async def use(stub: Stub, gateways: Gateways) -> Any:
        requests = (ask(f"q{n}", max_tokens=LONGEST) for n in range(questions))
        asked = (gateways.complete(request, "") for request in requests)
        return await asyncio.gather(*asked, return_exceptions=True), len(stub.asked)

    paid = {"account": spender, "prices": PRICES}
    return through(use, *script, concurrency=concurrency, **paid)


def test_gateway_waits_for_what_calls_under_way_give_back() -> None:
    # Room for two bounds at a time; each call costs less than a third of its bound.
    spender = account(bound("q0") * 2 + 8 * COST)
    results, asked = run_gateway(spender, after(0.02, "yes"), questions=8, concurrency=8)
    assert [getattr(result, "text", result) for result in results] == ["yes"] * 8
    assert asked == 8
    assert shows_its_calls(spender)
    assert spender.spent_usd == 8 * COST


def test_gateway_sends_nothing_that_does_not_fit() -> None:
    spender = account(bound("q0") + 3 * COST)
    results, asked = run_gateway(spender, "yes", questions=40, concurrency=8)
    refused = [result for result in results if isinstance(result, OverBudget)]
    # Three cost 3 x COST and a fourth still fits, then 4 x COST + bound is too much.
    assert (asked, len(refused)) == (4, 36)
    assert {str(error.error_class) for error in refused} == {"budget"}
    assert Call.objects.count() == 4
    assert shows_its_calls(spender)


def test_unknown_usage_counts_in_full_until_it_is_known() -> None:
    spender = account(bound("q0") * 3)
    silent = status(200, body=completion("yes", usage=None))
    results, asked = run_gateway(spender, silent, questions=5, concurrency=1)
    assert asked == 3
    assert sum(isinstance(result, OverBudget) for result in results) == 2
    spender.refresh_from_db()
    assert spender.reserved_usd == bound("q0") * 3


def test_practice_calls_cost_nothing_and_fit_any_limit() -> None:
    spender = account("0")
    price = PRICES.find(replace(HERE, is_practice=True), "stub-1", on=date(2026, 6, 1))
    intent = Intent(ask(), "", account_id=spender.pk, price=price, bound=price.bound(ask()))
    (pk,) = writing.intend([intent])
    assert pk is not None
    writing.settle([(pk, reply(Usage(100, 0, 20)))])
    assert Call.objects.get().usd == 0
    assert shows_its_calls(spender)
