"""What calls came to: the one sum of the ledger, shown by every screen, answer and command.

Sums are taken in an account's whole units, so that they are exact on every database and equal
what the account of a run shows (`ledger` moves both in one transaction).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from django.db.models import BigIntegerField, Count, F, Q, QuerySet, Sum
from django.db.models.functions import Cast, Round

from llm.accounts import OPEN
from llm.models import UNITS_PER_USD, Call, to_usd

_STATES: Final = tuple(Call.Status.values)
_TOKENS: Final = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")
_NO_COST: Final = Q(usd=None, status__in=OPEN)


@dataclass(frozen=True, kw_only=True)
class Spending:
    """What some calls came to; `calls` counts every attempt, `by_state` says what came of them.

    `usd` is what is known to be spent; `reserved_usd` what calls of unknown cost, `uncosted` of
    them, may come to at most. `unpriced` of these have no price or longest answer: nobody knows
    what they may come to. `untold` calls were answered without token counts, so that the sums of
    tokens are lower bounds. Reasoning tokens are a part of the output, cached ones of the input.
    """

    calls: int = 0
    by_state: Mapping[str, int]
    usd: Decimal = Decimal(0)
    reserved_usd: Decimal = Decimal(0)
    uncosted: int = 0
    unpriced: int = 0
    untold: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    # Of the answers; how long a call took that brought none is not known.
    seconds: float = 0.0

    def __add__(self, other: "Spending") -> "Spending":
        mine, theirs = vars(self), vars(other)
        sums = {name: mine[name] + theirs[name] for name in mine if name != "by_state"}
        states = {state: n + other.by_state[state] for state, n in self.by_state.items()}
        return Spending(**sums, by_state=states)

    @property
    def exact_usd(self) -> str:
        """What is spent, with every digit and no exponent."""
        return f"{self.usd:f}"

    @property
    def known_usd(self) -> Decimal | None:
        """What is spent, for people: None where calls may have cost something and none is known."""
        return None if self.unpriced and not self.usd else self.usd


def spending(calls: QuerySet[Call]) -> Spending:
    """What these calls came to."""
    return _read(calls.order_by().aggregate(**_sums()))


def spending_by(calls: QuerySet[Call], *names: str) -> list[tuple[tuple[Any, ...], Spending]]:
    """The same for each combination of these fields, in their order."""
    rows = calls.order_by().values(*names).annotate(**_sums()).order_by(*names)
    return [(tuple(row[name] for name in names), _read(row)) for row in rows]


def in_a_line(found: Spending) -> str:
    """The sums in words, for a terminal; amounts with every digit."""
    states = ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in found.by_state.items() if n)
    words = (
        f"{found.calls} calls ({states or 'none'}), tokens {found.input_tokens} in "
        f"({found.cached_tokens} cached), {found.output_tokens} out ({found.reasoning_tokens} "
        f"reasoning), ${found.exact_usd} spent"
    )
    if found.uncosted:
        words += f", at most ${found.reserved_usd:f} more for {found.uncosted} of unknown cost"
    if found.unpriced:
        words += f" and {found.unpriced} calls whose price nobody knows"
    return words


def _sums() -> dict[str, Any]:
    return {
        "n": Count("pk"),
        **{f"n_{state}": Count("pk", filter=Q(status=state)) for state in _STATES},
        "n_uncosted": Count("pk", filter=_NO_COST),
        "n_unpriced": Count("pk", filter=_NO_COST & Q(bound_usd=None)),
        "n_untold": Count("pk", filter=Q(status=Call.Status.ANSWERED, input_tokens=None)),
        "sum_usd": Sum(_units("usd")),
        "sum_reserved": Sum(_units("bound_usd"), filter=_NO_COST),
        **{f"sum_{name}": Sum(name) for name in _TOKENS},
        "sum_seconds": Sum("elapsed_s"),
    }


def _units(name: str) -> Any:
    """SQLite adds amounts up as floating point numbers; whole units it adds up exactly."""
    return Cast(Round(F(name) * UNITS_PER_USD), BigIntegerField())


def _read(row: Mapping[str, Any]) -> Spending:
    return Spending(
        calls=row["n"],
        by_state={state: row[f"n_{state}"] for state in _STATES},
        usd=to_usd(int(row["sum_usd"] or 0)),
        reserved_usd=to_usd(int(row["sum_reserved"] or 0)),
        uncosted=row["n_uncosted"],
        unpriced=row["n_unpriced"],
        untold=row["n_untold"],
        seconds=row["sum_seconds"] or 0.0,
        **{name: int(row[f"sum_{name}"] or 0) for name in _TOKENS},
    )
