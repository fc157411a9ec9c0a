"""The ledger as people read it: one call in full, the list that is searched and filtered, and sums.

Screens, the API and `manage.py calls` read calls through here; whose calls they are is theirs to
say, by the queryset that they hand in. There is one sum of what calls came to: it is taken in an
account's whole units, so that it is exact on every database and equals what the account of a run
shows (`writing` moves both in one transaction).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final, TypeAlias, cast

from django.db.models import BigIntegerField, Case, Count, F, Q, QuerySet, Sum, When
from django.db.models.functions import Cast, Round, TruncDate
from django.utils import timezone

from kit.lists.report_tables import Cell, ReportTable, text
from kit.lists.tables import Column, Filter, Table
from kit.numbers import is_number
from llm.models import UNITS_PER_USD, Call, CallQuerySet, to_usd
from llm.requests import Message

_STATES: Final = tuple(Call.Status.values)
_TOKENS: Final = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")
# Of unknown cost, as `Call.at_most_usd` has it.
_NO_COST: Final = Q(usd=None) & ~Q(status=Call.Status.FAILED)


def transcript(call: Call) -> list[Message]:
    """All messages of the call's request, with those that earlier requests of it hold.

    A conversation is about one subject, so one query brings all of it, or one for each subject
    under which a part of it was asked first.
    """
    messages: list[Message] = []
    known: dict[str, Any] = {}
    request: Mapping[str, Any] | None = call.request
    while request is not None:
        messages = [*request.get("messages", ()), *messages]
        earlier = request.get("earlier")
        if earlier and earlier not in known:
            found = Call.objects.filter(key=earlier)
            subjects = found.exclude(subject="").values("subject")
            rows = Call.objects.filter(Q(key=earlier) | Q(subject__in=subjects))
            known |= dict(rows.values_list("key", "request"))
        request = known.get(earlier or "")
    return messages


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


Group: TypeAlias = tuple[dict[str, Any], Spending]
"""Calls that share _GROUPED, and what they came to."""
_GROUPED: Final = ("account", "day", "endpoint", "model", "role", "run", "status")


def grouped(calls: QuerySet[Call]) -> list[Group]:
    """What the calls came to by account, day, endpoint, model, role, run and state."""
    named = calls.annotate(day=TruncDate("created_at"), run=F("account__name"))
    return [
        (dict(zip(_GROUPED, key, strict=True)), sums) for key, sums in spending_by(named, *_GROUPED)
    ]


def summed(groups: Iterable[Group]) -> Spending:
    """What all of these groups came to."""
    return sum((sums for _, sums in groups), Spending(by_state=dict.fromkeys(_STATES, 0)))


def in_a_line(found: Spending) -> str:
    """The sums in words, for a terminal; amounts with every digit that is not an idle zero."""
    spent, reserved = (f"${each.normalize():f}" for each in (found.usd, found.reserved_usd))
    states = ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in found.by_state.items() if n)
    words = (
        f"{found.calls} calls ({states or 'none'}), tokens {found.input_tokens} in "
        f"({found.cached_tokens} cached), {found.output_tokens} out ({found.reasoning_tokens} "
        f"reasoning), {spent} spent"
    )
    if found.uncosted:
        words += f", at most {reserved} more for {found.uncosted} of unknown cost"
    if found.unpriced:
        words += f" and {found.unpriced} calls whose price nobody knows"
    return words


def _sums() -> dict[str, Any]:
    """The fields of Spending as sums; the prefix keeps them apart from a call's own fields."""
    sums: dict[str, Any] = {
        "calls": Count("pk"),
        **{state: Count("pk", filter=Q(status=state)) for state in _STATES},
        "uncosted": Count("pk", filter=_NO_COST),
        "unpriced": Count("pk", filter=_NO_COST & Q(bound_usd=None)),
        "untold": Count("pk", filter=Q(status=Call.Status.ANSWERED, input_tokens=None)),
        "usd": Sum(_units("usd")),
        "reserved_usd": Sum(_units("bound_usd"), filter=_NO_COST),
        **{name: Sum(name) for name in _TOKENS},
        "seconds": Sum("elapsed_s", default=0.0),
    }
    return {f"sum_{name}": each for name, each in sums.items()}


def _units(name: str) -> Any:
    """SQLite adds amounts up as floating point numbers; whole units it adds up exactly."""
    return Cast(Round(F(name) * UNITS_PER_USD), BigIntegerField())


def _read(row: Mapping[str, Any]) -> Spending:
    sums = {name[4:]: value or 0 for name, value in row.items() if name.startswith("sum_")}
    usd, reserved_usd = to_usd(int(sums.pop("usd"))), to_usd(int(sums.pop("reserved_usd")))
    by_state = {state: sums.pop(state) for state in _STATES}
    return Spending(**sums, by_state=by_state, usd=usd, reserved_usd=reserved_usd)


# Beside the states that a call may be in: those that may have cost something that nobody knows.
UNCOSTED: Final = "uncosted"
STATES: Final = [*Call.Status.choices, (UNCOSTED, "of unknown cost")]
# Of one call and in a file: texts stay where they are.
_TEXTS: Final = ("request", "text", "tool_calls", "logprobs")


def _find(calls: QuerySet[Call], words: str) -> QuerySet[Call]:
    """A call by its number, or the calls about a subject: "debate:12" and what lies under it."""
    if is_number(words):
        return calls.filter(pk=int(words))
    return cast(CallQuerySet, calls).about(words)


def _in_state(calls: QuerySet[Call], value: str) -> QuerySet[Call]:
    return calls.filter(_NO_COST if value == UNCOSTED else Q(status=value))


def _begun(calls: QuerySet[Call], value: str) -> QuerySet[Call]:
    """Begun on a day, "2026-11-22", or in a month, "2026-11"."""
    days = period(value)
    return begun_between(calls, *days) if days else calls.none()


def begun_between(
    calls: QuerySet[Call], first: date | None, end: date | None = None
) -> QuerySet[Call]:
    """The calls begun from the first day on, before the day `end`, in the site's time zone."""
    if first:
        calls = calls.filter(created_at__gte=_midnight(first))
    return calls.filter(created_at__lt=_midnight(end)) if end else calls


CALLS: Final = Table(
    search=_find,
    filters=(
        Filter("run", "Run", apply=lambda calls, value: calls.filter(account=int(value))),
        Filter("role", "Role"),
        Filter("model", "Model"),
        Filter("endpoint", "Endpoint"),
        Filter("state", "State", choices=STATES, apply=_in_state),
        Filter("begun", "Begun in", apply=_begun),
    ),
    columns=(
        Column("call", "Call", order=("pk",)),
        Column("begun", "Begun"),
        Column("role", "Role"),
        Column("model", "Model"),
        Column("state", "State"),
        Column("input", "Tokens in", numeric=True),
        Column("output", "Tokens out", numeric=True),
        Column("seconds", "Seconds", numeric=True),
        Column("usd", "Cost", numeric=True),
    ),
    # By its key alone: that is the order in which calls were begun, and an index carries it.
    order=("-pk",),
    by_place=True,
)
FILTERS: Final = [each.name for each in CALLS.filters]
# What stands in a file of calls: the heads of its columns, and their fields.
_FILE: Final = {
    "call": "pk",
    "begun": "created_at",
    "settled": "settled_at",
    "run": "account__name",
    **{name: name for name in ("role", "endpoint", "model", "practice")},
    "about": "subject",
    "attempt": "attempt",
    "state": "status",
    **{name: name for name in _TOKENS},
    "seconds": "elapsed_s",
    "usd": "usd",
    "at_most_usd": "at_most",
    **{name: name for name in ("price_input", "price_cached", "price_output")},
    "price_from": "price_date",
    "error": "error",
    "key": "key",
}
HEADER: Final = tuple(_FILE)


def without_texts(calls: QuerySet[Call]) -> QuerySet[Call]:
    """As a list reads them: what was asked and answered is long, and no line shows it."""
    return calls.defer(*_TEXTS).select_related("account")


def lines(calls: QuerySet[Call]) -> Iterator[tuple[Any, ...]]:
    """The rows of a file of calls, under HEADER; amounts with every digit."""
    bounded = calls.annotate(at_most=Case(When(_NO_COST, then=F("bound_usd"))))
    for row in bounded.values_list(*_FILE.values()).iterator(chunk_size=1_000):
        yield tuple(map(_in_file, row))


def _in_file(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value.isoformat() if isinstance(value, datetime) else value


# What totals are taken by: the name of a table, its title, and the fields of _GROUPED.
TOTALS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "days": ("By day and model", ("day", "model", "endpoint")),
    "models": ("By model", ("model", "endpoint")),
    "roles": ("By role", ("role",)),
    "runs": ("By run", ("run", "account")),
    "states": ("By state", ("status",)),
}
_PARAMS: Final = {"day": "begun", "status": "state", "account": "run"}
_COUNTED: Final = (
    *("Calls", "Possibly paid", "Tokens in", "Of them cached", "Tokens out"),
    *("Of them reasoning", "Seconds of answers", "Cost", "Of unknown cost", "At most"),
)


def totals(groups: Sequence[Group], name: str) -> list[Group]:
    """The groups folded into those of one of TOTALS."""
    fields, sums = TOTALS[name][1], dict[tuple[Any, ...], Spending]()
    for key, each in groups:
        shared = tuple(key[field] for field in fields)
        sums[shared] = sums[shared] + each if shared in sums else each
    # Calls that no run pays for have none; the latest day comes first.
    order = sorted(sums, key=lambda key: [str(each or "") for each in key], reverse=name == "days")
    return [(dict(zip(fields, key, strict=True)), sums[key]) for key in order]


def totals_sheets(
    groups: Sequence[Group], *names: str, url: Callable[[dict[str, str]], str] | None = None
) -> list[ReportTable]:
    """The same as tables; `url` makes the address of the calls that a number counts."""
    return [_sheet(name, totals(groups, name), url) for name in names]


def _sheet(
    name: str, groups: Sequence[Group], url: Callable[[dict[str, str]], str] | None
) -> ReportTable:
    title, fields = TOTALS[name]
    shown = [field for field in fields if field != "account"]
    heads = ["State" if field == "status" else field.capitalize() for field in shown]
    rows = []
    for key, found in groups:
        narrowed = {_PARAMS.get(k, k): str(v) for k, v in key.items() if k != "run" and v}
        to, unsure, lost = (
            url({**narrowed, **more}) if url else ""
            for more in ({}, {"state": UNCOSTED}, {"state": Call.Status.POSSIBLY_PAID})
        )
        rows.append(
            (
                *(text(str(key[field] or "–")) for field in shown),
                Cell(found.calls, url=to),
                Cell(found.by_state[Call.Status.POSSIBLY_PAID], url=lost),
                *(Cell(getattr(found, field), url=to) for field in _TOKENS),
                Cell(round(found.seconds, 3), "seconds", url=to),
                Cell(found.known_usd, "usd", url=to),
                *(Cell(found.uncosted, url=unsure), Cell(found.reserved_usd, "usd", url=unsure)),
            )
        )
    return ReportTable(name, title, (*heads, *_COUNTED), tuple(rows), empty="No call was made yet.")


def period(value: str) -> tuple[date, date] | None:
    """The first day that "2026-11" or "2026-11-22" names, and the one after its last."""
    try:
        day = date.fromisoformat(value if len(value) == 10 else f"{value}-01")
        if len(value) == 10:
            return day, day + timedelta(days=1)
        return day, (day + timedelta(days=31)).replace(day=1)
    except (ValueError, OverflowError):
        return None


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))
