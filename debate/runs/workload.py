"""What a run will bring before people: cases, votes and hours, each as a range."""

from collections.abc import Sequence
from math import sqrt
from typing import Any, Final

from annotate.models import VotingPlan
from annotate.voting.majority import QUOTA
from annotate.worked import seconds_a_vote_here
from corpus.models import Benchmark
from debate.baselines.lara import budget_for
from debate.escalation import kinds_of
from debate.models import RunKind
from debate.runs.configuration import SIMULATED, RunConfig

# Fewer decided pairs than this say less than what was published.
ENOUGH: Final = 20
# Of all pairs, those that went to people in DREAM: the least and the most of its ablations of
# agents and temperature, and its main setting between them.
PUBLISHED: Final = (0.026, 0.035, 0.13)
# The two-sided 95 % quantile of the normal distribution.
_Z: Final = 1.96
Range = dict[str, float]


def workload(
    benchmark: Benchmark, config: RunConfig, *, pairs: int, outcomes: Sequence[str]
) -> dict[str, Any]:
    """Cases, votes and seconds of people that `pairs` pairs will ask for.

    `outcomes` are how pairs of the same configuration ended. "basis" says what the cases are told
    from: those ("measured", of `sample` pairs), what was "published", or the "settings", which say
    how many. Cases, votes and seconds are None where nothing does. A vote takes what votes of the
    benchmark took, or, while "votes_timed" is 0, what its voting plan supposes.
    """
    cases, basis = _cases(config, pairs, outcomes)
    audit = 0 if config.is_trial or config.kind != RunKind.DEBATE else min(config.audit, pairs)
    pace, timed = seconds_a_vote_here(VotingPlan.objects.current(benchmark))
    votes = cases and {end: QUOTA * (count + audit) for end, count in cases.items()}
    return {
        "cases": cases,
        "basis": basis,
        "sample": len(outcomes) if basis == "measured" else 0,
        "after_adoption": config.is_trial and config.kind != RunKind.LARA,
        "audit": audit,
        "votes_a_case": QUOTA,
        "votes": votes,
        "seconds_a_vote": pace,
        "votes_timed": timed,
        "seconds": votes and {end: pace * count for end, count in votes.items()},
    }


def _cases(config: RunConfig, pairs: int, outcomes: Sequence[str]) -> tuple[Range | None, str]:
    """How many pairs come before people, and what that is told from."""
    if config.kind == RunKind.HUMAN_ONLY:
        return _exactly(pairs), "settings"
    if config.kind == RunKind.LARA:
        is_asked = config.lara.mode != SIMULATED
        return _exactly(budget_for(config.lara.budget, pairs) if is_asked else 0), "settings"
    if len(outcomes) >= ENOUGH:
        sent = kinds_of(config.on_refusal)
        return expected(sum(each in sent for each in outcomes), len(outcomes), pairs), "measured"
    if config.kind == RunKind.VOTE:
        return None, ""
    if config.kind == RunKind.DEBATE and config.adjudicator is None:
        low, likely, high = (share * pairs for share in PUBLISHED)
        return {"low": low, "likely": likely, "high": high}, "published"
    return _exactly(0), "settings"  # but for what nobody can read


def expected(hits: int, of: int, pairs: int) -> Range:
    """How many of `pairs` pairs, where `hits` of a sample of `of` did: 95 %, of share and pairs.

    The interval is around (hits + 2) / (of + 4), as Agresti and Coull have it, so that a sample
    without any is not sure of none.
    """
    middle = (hits + 2) / (of + 4)
    error = _Z * sqrt(middle * (1 - middle) * (pairs * pairs / (of + 4) + pairs))
    return {
        "low": max(0.0, min(pairs * hits / of, pairs * middle - error)),
        "likely": pairs * hits / of,
        "high": min(float(pairs), max(pairs * hits / of, pairs * middle + error)),
    }


def _exactly(count: int) -> Range:
    return dict.fromkeys(("low", "likely", "high"), float(count))
