"""The ledger as a list: what it is searched and filtered by, as a file, and added up.

Screens, the API and `manage.py calls` read calls through here; whose calls they are is theirs to
say, by the queryset that they hand in.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any, Final, TypeAlias, cast

from django.db.models import F, Max, Min, QuerySet
from django.db.models.functions import TruncDate
from django.utils import timezone

from kit.sheets import Cell, Sheet, text
from kit.table_pages import Choices
from kit.tables import Column, Filter, Table
from llm.accounts import OPEN
from llm.models import Call, CallQuerySet
from llm.spending import Spending, spending_by

# Beside the states that a call may be in: those that may have cost something that nobody knows.
UNCOSTED: Final = "uncosted"
STATES: Final = [*Call.Status.choices, (UNCOSTED, "of unknown cost")]
# Of one call and in a file: texts stay where they are.
_TEXTS: Final = ("request", "text", "tool_calls", "logprobs")
_MONTHS: Final = 120


def _find(calls: QuerySet[Call], words: str) -> QuerySet[Call]:
    """A call by its number, or the calls about a subject: "debate:12" and what lies under it."""
    if words.isascii() and words.isdigit() and len(words) < 19:
        return calls.filter(pk=int(words))
    return cast(CallQuerySet, calls).about(words)


def _in_state(calls: QuerySet[Call], value: str) -> QuerySet[Call]:
    if value == UNCOSTED:
        return calls.filter(usd=None, status__in=OPEN)
    return calls.filter(status=value)


def _of_run(calls: QuerySet[Call], value: str) -> QuerySet[Call]:
    return calls.filter(account=int(value))


def _begun(calls: QuerySet[Call], value: str) -> QuerySet[Call]:
    """Begun on a day, "2026-11-22", or in a month, "2026-11"."""
    period = _period(value)
    return begun_between(calls, *period) if period else calls.none()


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
        Filter("run", "Run", apply=_of_run),
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
)
FILTERS: Final = [each.name for each in CALLS.filters]
HEADER: Final = (
    *("call", "begun", "settled", "run", "role", "endpoint", "model", "practice", "about"),
    *("attempt", "state", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens"),
    *("seconds", "usd", "at_most_usd", "price_input", "price_cached", "price_output"),
    *("price_from", "error", "key"),
)


def without_texts(calls: QuerySet[Call]) -> QuerySet[Call]:
    """As a list reads them: what was asked and answered is long, and no line shows it."""
    return calls.defer(*_TEXTS).select_related("account")


def choices_of(
    calls: QuerySet[Call], params: Mapping[str, str], runs: Sequence[tuple[str, str]] = ()
) -> dict[str, Choices]:
    """The drop-downs: what these calls hold, and a day that a link names."""
    seen = set(calls.order_by().values_list("role", "model", "endpoint").distinct())
    roles, models, endpoints = zip(*seen, strict=True) if seen else ((), (), ())
    begun = calls.aggregate(first=Min("created_at"), last=Max("created_at"))
    periods = _months(begun["first"], begun["last"])
    asked = params.get("begun", "")
    if asked not in periods and _period(asked):
        periods = [asked, *periods]
    return {
        "run": runs,
        "role": _alike(roles),
        "model": _alike(models),
        "endpoint": _alike(endpoints),
        "begun": [(each, each) for each in periods],
    }


def lines(calls: QuerySet[Call]) -> Iterator[tuple[Any, ...]]:
    """The rows of a file of calls, under HEADER; amounts with every digit."""
    for each in without_texts(calls).iterator(chunk_size=1_000):
        yield (
            *(each.pk, each.created_at.isoformat()),
            each.settled_at.isoformat() if each.settled_at else None,
            each.account.name if each.account else None,
            *(each.role, each.endpoint, each.model, "yes" if each.practice else "no"),
            *(each.subject, each.attempt, each.status),
            *(each.input_tokens, each.cached_tokens, each.output_tokens, each.reasoning_tokens),
            *(each.elapsed_s, each.usd, each.at_most_usd),
            *(each.price_input, each.price_cached, each.price_output, each.price_date),
            *(each.error, each.key),
        )


# What totals are taken by: the name of a table, its title, what stands in its heads and fields.
TOTALS: Final[dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]]] = {
    "days": ("By day and model", ("Day", "Model", "Endpoint"), ("day", "model", "endpoint")),
    "models": ("By model", ("Model", "Endpoint"), ("model", "endpoint")),
    "roles": ("By role", ("Role",), ("role",)),
    "runs": ("By run", ("Run",), ("run", "account")),
    "states": ("By state", ("State",), ("status",)),
}
_PARAMS: Final = {"day": "begun", "status": "state", "account": "run"}
_COUNTED: Final = (
    *("Calls", "Possibly paid", "Tokens in", "Of them cached", "Tokens out"),
    *("Of them reasoning", "Seconds of answers", "Cost", "Of unknown cost", "At most"),
)


Group: TypeAlias = tuple[dict[str, Any], Spending]


def totals(calls: QuerySet[Call], *names: str) -> dict[str, list[Group]]:
    """What the calls came to, by the fields of each of these TOTALS; read once for all of them."""
    fields = sorted({field for name in names for field in TOTALS[name][2]})
    found = [
        (dict(zip(fields, key, strict=True)), sums)
        for key, sums in spending_by(
            calls.annotate(day=TruncDate("created_at"), run=F("account__name")), *fields
        )
    ]
    return {name: _folded(found, TOTALS[name][2], latest_first=name == "days") for name in names}


def totals_sheets(
    calls: QuerySet[Call], *names: str, url: Callable[[dict[str, str]], str] | None = None
) -> list[Sheet]:
    """The same as tables; `url` makes the address of the calls that a number counts."""
    return [_sheet(name, groups, url) for name, groups in totals(calls, *names).items()]


def _folded(found: Sequence[Group], fields: Sequence[str], *, latest_first: bool) -> list[Group]:
    sums: dict[tuple[Any, ...], Spending] = {}
    for key, each in found:
        wanted = tuple(key[name] for name in fields)
        sums[wanted] = sums[wanted] + each if wanted in sums else each
    # Calls that no run pays for have none.
    order = sorted(sums, key=lambda key: [str(each or "") for each in key], reverse=latest_first)
    return [(dict(zip(fields, key, strict=True)), sums[key]) for key in order]


def _sheet(
    name: str, groups: Sequence[Group], url: Callable[[dict[str, str]], str] | None
) -> Sheet:
    title, heads, _ = TOTALS[name]
    rows = []
    for key, found in groups:
        narrowed = {_PARAMS.get(k, k): str(v) for k, v in key.items() if k != "run" and v}
        to = url(narrowed) if url else ""
        words = [text(str(each or "–")) for each in list(key.values())[: len(heads)]]
        unsure = url({**narrowed, "state": UNCOSTED}) if url else ""
        lost = url({**narrowed, "state": Call.Status.POSSIBLY_PAID}) if url else ""
        rows.append(
            (
                *words,
                Cell(found.calls, url=to),
                Cell(found.by_state[Call.Status.POSSIBLY_PAID], url=lost),
                *(Cell(found.input_tokens, url=to), Cell(found.cached_tokens, url=to)),
                *(Cell(found.output_tokens, url=to), Cell(found.reasoning_tokens, url=to)),
                Cell(round(found.seconds, 3), "seconds", url=to),
                Cell(found.known_usd, "usd", url=to),
                *(Cell(found.uncosted, url=unsure), Cell(found.reserved_usd, "usd", url=unsure)),
            )
        )
    return Sheet(name, title, (*heads, *_COUNTED), tuple(rows), empty="No call was made yet.")


def _alike(values: Collection[str]) -> Choices:
    return [(each, each) for each in sorted(set(values)) if each]


def _period(value: str) -> tuple[date, date] | None:
    """The first day that "2026-11" or "2026-11-22" names, and the one after its last."""
    try:
        day = date.fromisoformat(value if len(value) == 10 else f"{value}-01")
        if len(value) == 10:
            return day, day + timedelta(days=1)
        return day, (day + timedelta(days=31)).replace(day=1)
    except (ValueError, OverflowError):
        return None


def _months(first: Any, last: Any) -> list[str]:
    """The months from the first moment to the last, the latest first."""
    if first is None:
        return []
    day, begin = (timezone.localtime(each).date().replace(day=1) for each in (last, first))
    found: list[str] = []
    while day >= begin and len(found) < _MONTHS:
        found.append(f"{day:%Y-%m}")
        day = (day - timedelta(days=1)).replace(day=1)
    return found


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))
