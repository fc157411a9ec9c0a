"""What a run will take, from what the database and the price table know: before it starts too.

What calls of a configuration's models cost, how long they take, how many are let through."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from statistics import fmean
from typing import Any, Final

from django.conf import settings
from django.db.models import QuerySet

from corpus.models import Passage, Pool, Query
from debate import dream
from debate.models import Debate, DebateRun, DebateStatus, RunKind
from debate.results.courses import played_in
from debate.runs.configuration import RunConfig
from debate.runs.estimates import (
    ENOUGH,
    OUTPUT,
    Forecast,
    Limit,
    Pair,
    from_measured,
    from_requests,
    with_time,
)
from debate.runs.kinds import Rule, config_of, rule_of, rule_with
from debate.runs.planning import CHECKS, Plan
from llm import endpoints
from llm.endpoints import EndpointError, UnknownEndpoint
from llm.models import Call
from llm.prices import Price, PriceError, table
from llm.profiles import likely_input
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


SAMPLE: Final = 200
_UNDECIDED: Final = (
    DebateStatus.WAITING,
    DebateStatus.FAILED,
    DebateStatus.UNREADABLE,
    DebateStatus.REFUSED,
    DebateStatus.SKIPPED_NO_ANSWER,
)
# Runs whose configuration is compared, the latest first; those before them tell no more.
_MOST_RUNS: Final = 50
# Tokens of a judge's answer: an object with one key, a grade with its reasons, a word.
_JUDGED: Final[dict[str, tuple[float, float, float]]] = {
    RunKind.FILTER: (5.0, 10.0, 40.0),
    RunKind.LLMJUDGE: (5.0, 10.0, 40.0),
    RunKind.GRADED: (10.0, 100.0, 300.0),
    RunKind.LARA: (1.0, 5.0, 30.0),
}


@dataclass(frozen=True)
class _Subject:
    """What is told: so many pairs, by a rule, of which some are looked at."""

    config: RunConfig
    prompt_sha256: str
    rule: Rule
    pairs: int
    in_flight: int
    sample: Sequence[tuple[Query, Passage]]


def forecast_run(run: DebateRun) -> Forecast:
    """What the waiting pairs of the run will take in calls, tokens, USD and seconds.

    Measured on pairs that were decided in the same way before, in this run or another; where
    those are too few, estimated from the first requests of some of the waiting pairs. Answers
    that are in the ledger already cost nothing and are not taken off.
    """
    waiting = run.debates.waiting()
    return _forecast(
        _Subject(
            config=config_of(run),
            prompt_sha256=run.prompt_sha256,
            rule=rule_of(run),
            pairs=waiting.count(),
            in_flight=run.calls_in_flight,
            sample=_spread(waiting),
        )
    )


def forecast_plan(plan: Plan) -> Forecast:
    """The same of a run that is not started yet; nothing is stored."""
    main = next(iter(plan.prompts.values()), None)
    return _forecast(
        _Subject(
            config=plan.config,
            prompt_sha256=main.sha256 if main else "",
            rule=rule_with(plan.config, plan.prompts),
            pairs=plan.pool.entries.count(),
            in_flight=settings.ASSAY_CALLS_IN_FLIGHT,
            sample=_spread_pool(plan.pool),
        )
    )


def _forecast(subject: _Subject) -> Forecast:
    measured = _measured(subject)
    if len(measured) >= ENOUGH:
        found = from_measured(measured, pairs=subject.pairs)
    else:
        least, most = _played(subject.config)
        found = from_requests(
            _first_requests(subject),
            pairs=subject.pairs,
            rounds=most,
            least=least,
            cost=price_of(subject.config),
            output=_JUDGED.get(subject.config.kind, OUTPUT),
        )
    return with_time(
        found,
        call_seconds=call_seconds(subject.config, measured),
        in_flight=max(1, subject.in_flight),
        limits=limits_of(subject.config),
    )


def _played(config: RunConfig) -> tuple[float, float]:
    """Rounds that a pair takes at least and at most, an adjudicator's call as part of one."""
    if config.kind == RunKind.DEBATE:
        least, most = max(1, config.continue_to), max(config.rounds, config.continue_to)
        return least, most + (1 / len(config.agents) if config.adjudicator else 0)
    if config.kind == RunKind.LARA and config.lara.verbalised:
        return 1, 2  # a second call where the endpoint tells no probabilities
    return 1, 1


def _measured(subject: _Subject) -> list[Pair]:
    """What the latest decided pairs of the same configuration took, failed attempts apart."""
    alike = _alike(subject.config)
    config = subject.config
    first = config.agents[0] if config.agents else None
    runs = DebateRun.objects.filter(kind=config.kind, prompt_sha256=subject.prompt_sha256)
    if first:
        runs = runs.filter(model=first.model, endpoint=first.endpoint)
    same = [run.pk for run in runs.order_by("-pk")[:_MOST_RUNS] if _alike(config_of(run)) == alike]
    decided = Debate.objects.filter(run__in=same).exclude(status__in=_UNDECIDED)
    latest = list(decided.order_by("-pk").values_list("pk", flat=True)[:SAMPLE])
    # With what had to be asked again.
    return [
        Pair(
            each.calls,
            each.input_tokens,
            each.output_tokens,
            each.usd,
            sum(each.seconds.values()) if each.timed else None,
        )
        for each in played_in(latest)
        if each.calls
    ]


def _alike(config: RunConfig) -> RunConfig:
    """The configuration without what changes nothing about its calls."""
    plain = RunConfig()
    return replace(
        config,
        history_for_people=plain.history_for_people,
        replicate=0,
        coerce=plain.coerce,
        threshold=plain.threshold,
        rule=plain.rule,
        profile=plain.profile,
        lara=replace(plain.lara, verbalised=config.lara.verbalised),
        trial=plain.trial,
        preset="",
        **{name: getattr(plain, name) for name in CHECKS},
    )


def _first_requests(subject: _Subject) -> list[Pair]:
    """Calls and tokens of the first step of the sample."""
    found = []
    for query, passage in subject.sample:
        pair = dream.Pair(
            query=query.text, answers=tuple(query.answers), passage=passage.text or ""
        )
        # A rule that asks nobody ends at once, with a verdict.
        requests: Sequence[Any] = next(subject.rule.begin(pair, b"forecast"), [])
        tokens = sum(likely_input(request.as_llm_request()) for request in requests)
        found.append(Pair(calls=len(requests), input_tokens=tokens))
    return found


def _spread(waiting: QuerySet[Debate]) -> list[tuple[Query, Passage]]:
    rows = waiting.filter(passage__text__isnull=False).order_by("pk")
    chosen = _some(list(rows.values_list("pk", flat=True)))
    found = Debate.objects.filter(pk__in=chosen).select_related("query", "passage")
    return [(each.query, each.passage) for each in found]


def _spread_pool(pool: Pool) -> list[tuple[Query, Passage]]:
    rows = pool.entries.filter(passage__text__isnull=False).order_by("pk")
    chosen = _some(list(rows.values_list("pk", flat=True)))
    found = pool.entries.filter(pk__in=chosen).select_related("query", "passage")
    return [(each.query, each.passage) for each in found]


def _some(keys: Sequence[int]) -> Sequence[int]:
    """As many as are looked at, at equal distances."""
    return keys[:: max(1, len(keys) // SAMPLE)][:SAMPLE]
