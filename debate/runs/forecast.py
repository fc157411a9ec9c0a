"""What a run will take before it starts: calls, tokens, USD and seconds, each as a range.

From pairs that the same prompt and models have decided, or, where there are too few, from the
first requests of some pairs. A forecast is a dict, as the API answers it: each range has its "low",
"likely" and "high"; "usd" is None where no price is known, "seconds" where no call was timed yet.
"is_measured" says that the ranges are 95 % intervals; else they are the least and the most that a
pair can take. "people" is what it asks of people (workload.py).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from math import sqrt
from statistics import fmean, stdev
from typing import Any, Final

from django.conf import settings
from django.db.models import QuerySet

from annotate.models import Aspect
from debate import dream
from debate.models import Debate, DebateRun, DebateStatus, RunKind
from debate.runs.configuration import RunConfig
from debate.runs.kinds import Rule, config_of, rule_of, rule_with
from debate.runs.planning import CHECKS, Plan
from debate.runs.trajectories import Trajectory, trajectories_in
from debate.runs.workload import workload
from llm import endpoints
from llm.endpoints import SettingsError
from llm.models import Call
from llm.prices import Price, table
from llm.profiles import likely_input
from llm.requests import Usage

# Fewer measured pairs than this say less than the prompts themselves.
ENOUGH: Final = 20
# How many pairs are looked at, and how many calls of a model.
SAMPLE: Final = 200
# Of the ledger the latest calls alone are looked at: no index leads to those of one model.
_MOST_CALLS: Final = 20_000
# Runs whose configuration is compared, the latest first; those before them tell no more.
_MOST_RUNS: Final = 50
# The two-sided 95 % quantile of the normal distribution.
_Z: Final = 1.96
# Tokens of an answer: a reason of up to 100 words and some quotes; least, likely, most.
OUTPUT: Final = (60.0, 150.0, 300.0)
# Tokens of a judge's answer: an object with one key, a grade with its reasons, a word.
_JUDGED: Final[dict[str, tuple[float, float, float]]] = {
    RunKind.FILTER: (5.0, 10.0, 40.0),
    RunKind.LLMJUDGE: (5.0, 10.0, 40.0),
    RunKind.GRADED: (10.0, 100.0, 300.0),
    RunKind.LARA: (1.0, 5.0, 30.0),
}
# How far characters / 4 is off: measured on English prose it counts a fifth too many.
_COUNT_ERROR: Final = (0.75, 0.9, 1.1)
_UNDECIDED: Final = (
    DebateStatus.WAITING,
    DebateStatus.FAILED,
    DebateStatus.UNREADABLE,
    DebateStatus.REFUSED,
    DebateStatus.SKIPPED_NO_ANSWER,
)
# These tell nothing of how many come before people.
_NO_END: Final = (
    DebateStatus.WAITING,
    DebateStatus.FAILED,
    DebateStatus.MEASURED,
    DebateStatus.SKIPPED_NO_ANSWER,
)
_MOST_OUTCOMES: Final = 2_000
Forecast = dict[str, Any]
Cost = Callable[[float, float], float]


def forecast_run(run: DebateRun) -> Forecast:
    """What the waiting pairs of the run will take.

    Answers that are in the ledger already cost nothing and are not taken off.
    """
    waiting, config = run.debates.waiting(), config_of(run)
    same = _same_runs(config, run.prompt_sha256)
    found = _costs(
        config,
        rule_of(run),
        same=same,
        pairs=waiting.count(),
        sample=_spread(waiting),
        in_flight=run.calls_in_flight,
    )
    people = workload(run.benchmark, config, pairs=found["pairs"], outcomes=_outcomes(same))
    return found | {"people": people}


def forecast_plan(plan: Plan) -> Forecast:
    """The same of a run that is not started yet; nothing is stored."""
    found, config = costs_of_plan(plan), plan.config
    outcomes = _outcomes(_same_runs(config, _main_hash(plan)))
    people = workload(plan.benchmark, config, pairs=found["pairs"], outcomes=outcomes)
    return found | {"people": people}


def costs_of_plan(plan: Plan) -> Forecast:
    """The same without what it asks of people."""
    entries = plan.pool.entries.all()
    return _costs(
        plan.config,
        rule_with(plan.config, plan.prompts),
        same=_same_runs(plan.config, _main_hash(plan)),
        pairs=entries.count(),
        sample=_spread(entries),
        in_flight=settings.ASSAY_CALLS_IN_FLIGHT,
    )


def _main_hash(plan: Plan) -> str:
    main = next(iter(plan.prompts.values()), None)
    return main.sha256 if main else ""


def _same_runs(config: RunConfig, sha256: str) -> list[int]:
    """The latest runs of the same configuration, failed attempts apart."""
    alike = _alike(config)
    runs = DebateRun.objects.filter(kind=config.kind, prompt_sha256=sha256)
    for first in config.agents[:1]:
        runs = runs.filter(model=first.model, endpoint=first.endpoint)
    return [run.pk for run in runs.order_by("-pk")[:_MOST_RUNS] if _alike(config_of(run)) == alike]


def _outcomes(runs: Sequence[int]) -> list[str]:
    """How the latest pairs of these runs ended; a rehearing is of disputes alone."""
    ended = Debate.objects.filter(run__in=runs, run__reheard_of=None).exclude(status__in=_NO_END)
    return list(ended.order_by("-pk").values_list("status", flat=True)[:_MOST_OUTCOMES])


def _costs(
    config: RunConfig,
    rule: Rule,
    *,
    same: Sequence[int],
    pairs: int,
    sample: Sequence[dream.Pair],
    in_flight: int,
) -> Forecast:
    # What the latest decided pairs took.
    decided = Debate.objects.filter(run__in=same).exclude(status__in=_UNDECIDED)
    latest = list(decided.order_by("-pk").values_list("pk", flat=True)[:SAMPLE])
    # With what had to be asked again.
    measured = [pair for pair in trajectories_in(latest) if pair.calls]
    if len(measured) >= ENOUGH:
        found = from_measured(measured, pairs=pairs)
    else:
        found = from_requests(
            [_first_request(rule, pair) for pair in sample],
            pairs=pairs,
            rounds=_rounds(config),
            cost=cost_of(config),
            output=_JUDGED.get(config.kind, OUTPUT),
        )
    return found | {"seconds": _seconds(config, measured, found, max(1, in_flight))}


def from_measured(sample: Sequence[Trajectory], *, pairs: int) -> Forecast:
    """The totals of `pairs` pairs like those of the sample (at least two).

    Mean +- 1.96 standard errors, the sample taken as drawn from all pairs alike.
    """

    def total(values: Sequence[float]) -> dict[str, float]:
        likely = pairs * fmean(values)
        # Of the pairs and of the mean: few pairs vary more than many.
        error = _Z * stdev(values) * sqrt(pairs * pairs / len(values) + pairs)
        return _range(max(0.0, likely - error), likely, likely + error)

    usd = [pair.usd for pair in sample]
    return {
        "pairs": pairs,
        "calls": total([pair.calls for pair in sample]),
        "input_tokens": total([pair.input_tokens for pair in sample]),
        "output_tokens": total([pair.output_tokens for pair in sample]),
        "usd": None if None in usd else total([each or 0.0 for each in usd]),
        "sample": len(sample),
        "is_measured": True,
    }


def from_requests(
    sample: Sequence[tuple[int, int]],
    *,
    pairs: int,
    rounds: tuple[float, float],
    cost: Cost | None,
    output: tuple[float, float, float] = OUTPUT,
) -> Forecast:
    """The totals, from (calls, tokens as characters / 4) of the first requests of some pairs.

    Pairs end after the least of `rounds`, or play the most of them; likely is the middle.
    `output`: tokens of an answer, least, likely and most. `cost` gives USD for (input, output)
    tokens, None where no price is known.
    """
    played = (rounds[0], sum(rounds) / 2, rounds[1])
    each, read = (fmean(column) for column in zip(*sample or [(0, 0)], strict=True))
    calls = [pairs * each * share for share in played]
    given = [pairs * read * n * error for n, error in zip(played, _COUNT_ERROR, strict=True)]
    taken = [count * tokens for count, tokens in zip(calls, output, strict=True)]
    return {
        "pairs": pairs,
        "calls": _range(*calls),
        "input_tokens": _range(*given),
        "output_tokens": _range(*taken),
        "usd": _range(*map(cost, given, taken)) if cost else None,
        "sample": len(sample),
        "is_measured": False,
    }


def cost_of(config: RunConfig) -> Cost | None:
    """USD of (input, output) tokens, each model taken to have its share; None without a price."""
    prices = [_price(choice.endpoint, choice.model) for choice in config.everybody]
    known = [price for price in prices if price is not None]
    if len(known) < len(prices):
        return None

    def cost(input_tokens: float, output_tokens: float) -> float:
        usage = Usage(input=round(input_tokens), output=round(output_tokens))
        return fmean(float(price.cost(usage)) for price in known) if known else 0.0

    return cost


def _range(low: float, likely: float, high: float) -> dict[str, float]:
    return {"low": low, "likely": likely, "high": high}


def _price(endpoint: str, model: str) -> Price | None:
    try:
        return table().find(endpoints.get(endpoint), model, on=datetime.now(UTC).date())
    except SettingsError:
        return None


def _seconds(
    config: RunConfig, measured: Sequence[Trajectory], found: Forecast, in_flight: int
) -> dict[str, float] | None:
    """How long it takes one worker with so many calls in flight.

    No less than what the endpoints let through in a minute.
    """
    pace = _call_seconds(config, measured)
    if pace is None:
        return None
    limits = _limits(config)
    seconds = {}
    for bound, calls in found["calls"].items():
        tokens = found["input_tokens"][bound] + found["output_tokens"][bound]
        slowest = [calls * pace / in_flight]
        for share, most_calls, most_tokens in limits:
            slowest += [60 * share * calls / most_calls] if most_calls else []
            slowest += [60 * share * tokens / most_tokens] if most_tokens else []
        seconds[bound] = max(slowest)
    return seconds


def _call_seconds(config: RunConfig, measured: Sequence[Trajectory]) -> float | None:
    """How long a call takes: in the measured pairs, else in the latest calls of each model."""
    if not config.agents:
        return 0.0
    timed = [pair for pair in measured if pair.timed]
    if len(timed) >= ENOUGH:
        seconds = sum(sum(pair.seconds.values()) for pair in timed)
        return seconds / sum(pair.calls for pair in timed)
    means = [_latest_seconds(choice.endpoint, choice.model) for choice in config.everybody]
    known = [each for each in means if each is not None]
    return fmean(known) if len(known) == len(means) else None


def _latest_seconds(endpoint: str, model: str) -> float | None:
    newest = Call.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    calls = Call.objects.answered().filter(pk__gt=newest - _MOST_CALLS, elapsed_s__isnull=False)
    asked = calls.filter(endpoint=endpoint, model=model)
    found = list(asked.order_by("-pk").values_list("elapsed_s", flat=True)[:SAMPLE])
    return fmean(each or 0.0 for each in found) if found else None


def _limits(config: RunConfig) -> list[tuple[float, int, int]]:
    """Each endpoint's share of the calls; calls and tokens it takes in a minute (0: any)."""
    choices = [choice.endpoint for choice in config.agents]
    found = []
    for name in dict.fromkeys(choices):
        try:
            endpoint = endpoints.get(name)
        except SettingsError:
            continue
        share = choices.count(name) / len(choices)
        found.append((share, endpoint.requests_per_minute, endpoint.tokens_per_minute))
    return found


def _rounds(config: RunConfig) -> tuple[float, float]:
    """Rounds that a pair takes at least and at most, an adjudicator's call as part of one."""
    if config.kind == RunKind.DEBATE:
        least, most = max(1, config.continue_to), max(config.rounds, config.continue_to)
        return least, most + (1 / len(config.agents) if config.adjudicator else 0)
    if config.kind == RunKind.LARA and config.lara.verbalised:
        return 1, 2  # a second call where the endpoint tells no probabilities
    return 1, 1


def _alike(config: RunConfig) -> RunConfig:
    """The configuration without what changes nothing about its calls."""
    plain = RunConfig()
    ignored = ("history_for_people", "replicate", "coerce", "threshold", "rule", "profile")
    names = (*ignored, "trial", "preset", *CHECKS)
    lara = replace(plain.lara, verbalised=config.lara.verbalised)
    return replace(config, lara=lara, **{name: getattr(plain, name) for name in names})


def _first_request(rule: Rule, pair: dream.Pair) -> tuple[int, int]:
    """Calls and tokens of the first step of a pair."""
    # A rule that asks nobody ends at once, with a verdict.
    requests: Sequence[Any] = next(rule(pair, b"forecast"), [])
    return len(requests), sum(likely_input(request.as_llm_request()) for request in requests)


def _spread(pairs: QuerySet[Any]) -> list[dream.Pair]:
    """As many of the pairs (debates, or entries of a pool) with a text as are looked at, at equal
    distances."""
    rows = pairs.filter(passage__text__isnull=False).order_by("pk")
    keys = list(rows.values_list("pk", flat=True))
    chosen = keys[:: max(1, len(keys) // SAMPLE)][:SAMPLE]
    found = list(pairs.filter(pk__in=chosen).select_related("query", "passage"))
    # A debate names the aspect's row, a pool its number.
    name, key = ("aspect_id", "pk") if pairs.model is Debate else ("aspect", "k")
    asked = {each.query_id for each in found if getattr(each, name) is not None}
    rows = Aspect.objects.filter(query__in=asked).values_list("query_id", key, "content")
    aspects = {(query, of): content for query, of, content in rows}
    return [
        dream.Pair(
            query=each.query.text,
            answers=tuple(each.query.answers),
            passage=each.passage.text or "",
            aspect=aspects.get((each.query_id, getattr(each, name)), ""),
        )
        for each in found
    ]
