"""Figures as people read them: numbers, shares, points, stretches of time, dollars, moments."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django import template
from django.utils import timezone
from django.utils.safestring import SafeString

from kit.stats.results import p_words

register = template.Library()

MISSING = "–"


@register.filter
def number(value: float | str | None) -> str:
    """2491 as 2,491; floats keep at most two decimals; nothing known is a dash."""
    # A template gives "" for what its context does not hold.
    if value is None or isinstance(value, str) or math.isnan(value):
        return MISSING
    if isinstance(value, float) and not value.is_integer():
        return f"{value:,.2f}"
    return f"{int(value):,}"


@register.filter
def percent(value: float | None, digits: int = 0) -> str:
    """A share in 0..1 as "40 %"; undefined shares are a dash, never 0."""
    if value is None or math.isnan(value):
        return MISSING
    return f"{100 * value:.{digits}f} %"


@register.filter
def points(value: float | None, digits: int = 1) -> str:
    """A measure in 0..1 as tables of results print it: .6612 as "66.1"; undefined is a dash."""
    if value is None or isinstance(value, str) or math.isnan(value):
        return MISSING
    return f"{100 * value:.{digits}f}"


@register.filter
def signed(value: float | None, digits: int = 1) -> str:
    """A difference with its sign: "+1.3", "−0.4"; undefined is a dash."""
    if value is None or isinstance(value, str) or math.isnan(value):
        return MISSING
    words = f"{abs(value):.{digits}f}"
    # What rounds to nothing has no direction.
    sign = "+" if value > 0 else "\u2212"
    return words if float(words) == 0 else sign + words


@register.filter
def signed_points(value: float | None, digits: int = 1) -> str:
    """A difference of measures in 0..1 in points, with its sign."""
    return signed(None if value is None or isinstance(value, str) else 100 * value, digits)


@register.filter
def share(part: float | None, whole: float | None) -> float | None:
    """part / whole, undefined where there is no whole: `{{ done|share:total|percent }}`."""
    return part / whole if whole and part is not None else None


@register.filter
def duration(seconds: float | None) -> str:
    """A stretch of time in words: "4.29 s", "9 minutes", "3 h 5 min", "2 days"."""
    if seconds is None or math.isnan(seconds):
        return MISSING
    if seconds < 90:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.2f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} minutes"
    if minutes < 48 * 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{round(minutes / 60 / 24)} days"


register.filter("p_words", p_words)


@register.filter
def p_figure(p: float | None) -> str:
    """A p value under a head that says p: "0.0312", "< 0.0001"; undefined is a dash."""
    return p_words(p).removeprefix("p ").removeprefix("= ")


@register.filter
def usd(amount: float | str | None) -> str:
    """Dollars: "3.84 $", small sums with the digits that say something; unknown is a dash."""
    if amount is None or amount == "":
        return MISSING
    value = float(amount)
    return f"{value:,.2f} $" if abs(value) >= 0.1 or value == 0 else f"{value:.3g} $"


@register.filter
def figure(cell: Any, part: str = "value") -> str:
    """A cell of kit.lists.report_tables as people read it; `part` is value, low or high."""
    value = getattr(cell, part)
    if cell.kind == "text":
        return str(value)
    show = SHOWN.get(cell.kind, number)
    return show(value)


@register.filter
def cells(row: Iterable[tuple[str, Any]]) -> SafeString:
    """The cells of a row of kit.lists.report_tables, each with its head. Here, and not in the
    template, whose engine takes a tenth of a second for two thousand of them."""
    return SafeString("".join(_cell(head, cell) for head, cell in row))


def _cell(head: str, cell: Any) -> str:
    told = html.escape(figure(cell))
    if cell.url and cell.value is not None:
        told = f'<a href="{html.escape(cell.url)}">{told}</a>'
    elif cell.best:
        told = f'<b class="best">{told}</b>'
    if cell.low is not None:
        ends = " to ".join(html.escape(figure(cell, part)) for part in ("low", "high"))
        told += f' <span class="interval">{ends}</span>'
    css = "" if cell.kind == "text" else ' class="n"'
    return f'<td{css} data-label="{html.escape(head)}">{told}</td>'


def _one_decimal(value: float | None) -> str:
    return percent(value, 1)


def _three_decimals(value: float | None) -> str:
    return MISSING if value is None else f"{value:.3f}"


SHOWN = {
    "percent": _one_decimal,
    "points": points,
    "gain": signed_points,
    "coefficient": _three_decimals,
    "p": p_figure,
    "seconds": duration,
    "usd": usd,
}


@register.filter
def when(value: datetime | None) -> str:
    """A moment in the site's time zone: "14:03" today, else "20 Nov 2026, 14:03"."""
    if value is None:
        return MISSING
    moment = timezone.localtime(value) if timezone.is_aware(value) else value
    if moment.date() == timezone.localtime().date():
        return f"{moment:%H:%M}"
    return f"{moment.day} {moment:%b %Y, %H:%M}"
