"""A run's forecast, from what the database and the price table know."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from django.db.models import Count, Q, Sum

from debate import dream
from debate.forecast import ENOUGH, Forecast, Pair, from_measured, from_requests
from debate.kinds import rule_of
from debate.models import Debate, DebateRun, DebateStatus
from llm import endpoints
from llm.endpoints import UnknownEndpoint
from llm.estimates import likely_input
from llm.prices import Price, table
from llm.requests import Usage

SAMPLE: Final = 200
_DECIDED: Final = (DebateStatus.AGREED, DebateStatus.ESCALATED)


def forecast_run(run: DebateRun) -> Forecast:
    """What the waiting pairs of the run will take in calls, tokens and USD.

    Measured on pairs that were decided with the same prompt, rounds and model before, in this
    run or another; where those are too few, estimated from the first requests of some of the
    waiting pairs. Answers that are in the ledger already cost nothing and are not taken off.
    """
    pairs = run.debates.waiting().count()
    measured = _measured(run)
    if len(measured) >= ENOUGH:
        return from_measured(measured, pairs=pairs)
    price = _price(run)

    def cost(input_tokens: float, output_tokens: float) -> float:
        assert price is not None  # else it is not asked
        usage = Usage(input=round(input_tokens), output=round(output_tokens))
        return float(price.cost(usage))

    return from_requests(
        _first_requests(run), pairs=pairs, rounds=run.rounds, cost=cost if price else None
    )


def _measured(run: DebateRun) -> list[Pair]:
    """What the latest decided pairs of the same configuration took, failed attempts apart."""
    decided = Debate.objects.filter(
        status__in=_DECIDED,
        run__kind=run.kind,
        run__prompt_sha256=run.prompt_sha256,
        run__model=run.model,
        run__endpoint=run.endpoint,
        run__rounds=run.rounds,
    )
    latest = list(decided.order_by("-pk").values_list("pk", flat=True)[:SAMPLE])
    unpriced = Count("turns", filter=Q(turns__call__usd=None))
    rows = (
        Debate.objects.filter(pk__in=latest)
        .annotate(
            calls=Count("turns__call"),
            input=Sum("turns__call__input_tokens"),
            output=Sum("turns__call__output_tokens"),
            usd=Sum("turns__call__usd"),
            unpriced=unpriced,
        )
        .values_list("calls", "input", "output", "usd", "unpriced")
    )
    return [
        Pair(calls, given or 0, taken or 0, None if unknown else float(usd or 0))
        for calls, given, taken, usd, unknown in rows
        if calls
    ]


def _first_requests(run: DebateRun) -> list[Pair]:
    """Calls and tokens of the first step of some waiting pairs, spread over all of them."""
    rule, found = rule_of(run), []
    for debate in _spread(run):
        pair = dream.Pair(
            query=debate.query.text,
            answers=tuple(debate.query.answers),
            passage=debate.passage.text or "",
        )
        requests = next(rule.begin(pair, b"forecast"), [])
        tokens = sum(likely_input(request.as_llm_request()) for request in requests)
        found.append(Pair(calls=len(requests), input_tokens=tokens))
    return found


def _spread(run: DebateRun) -> Sequence[Debate]:
    waiting = run.debates.waiting().filter(passage__text__isnull=False)
    keys = list(waiting.order_by("pk").values_list("pk", flat=True))
    chosen = keys[:: max(1, len(keys) // SAMPLE)][:SAMPLE]
    return list(Debate.objects.filter(pk__in=chosen).select_related("query", "passage"))


def _price(run: DebateRun) -> Price | None:
    try:
        endpoint = endpoints.get(run.endpoint)
    except UnknownEndpoint:
        return None
    return table().find(endpoint, run.model, on=datetime.now(UTC).date())
