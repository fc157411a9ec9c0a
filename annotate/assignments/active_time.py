"""Time on task: how long a person was really at work on a query.

A page that is looked at and was touched within the last minute reports the time since its last
report. What is reported twice, late or by several tabs counts once: a report only adds what none
of the person's spans covers yet.
"""

from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from annotate.models import ActiveSpan
from corpus.models import Query

# A report reaches no further back, and is no longer.
OLDEST = timedelta(minutes=30)
LONGEST = timedelta(seconds=90)
# Clocks of browsers run ahead a little; gaps as short as this are bridged.
TOLERANCE = timedelta(seconds=2)

Span = tuple[datetime, datetime]


def note_active(
    *, query: Query, actor: User, start: datetime, end: datetime, now: datetime | None = None
) -> float:
    """Count a span of work on the query; returns the seconds that were new.

    Reported again, it adds nothing. What lies in the future, is older than half an hour or longer
    than 90 seconds is cut off, without an error: nobody's page should stop over it.
    """
    moment = now or timezone.now()
    end = min(end, moment)
    start = max(start, end - LONGEST, moment - OLDEST)
    if end <= start:
        return 0.0
    with transaction.atomic():
        # One person's reports take turns, so that two tabs do not both count one second.
        User.objects.select_for_update(no_key=True).get(pk=actor.pk)
        spans = ActiveSpan.objects.filter(
            user=actor, start__lt=end + TOLERANCE, end__gt=start - TOLERANCE
        )
        near = list(spans.order_by("start"))
        pieces = uncovered(start, end, [(each.start, each.end) for each in near])
        for piece in pieces:
            _keep(query, actor, piece, near)
    return sum((to - at).total_seconds() for at, to in pieces)


def uncovered(start: datetime, end: datetime, covered: list[Span]) -> list[Span]:
    """What of [start, end) no span covers; `covered` in order and without overlaps."""
    pieces, at = [], start
    for low, high in covered:
        if low > at:
            pieces.append((at, min(low, end)))
        at = max(at, high)
        if at >= end:
            return [piece for piece in pieces if piece[0] < piece[1]]
    return [piece for piece in [*pieces, (at, end)] if piece[0] < piece[1]]


def _keep(query: Query, actor: User, piece: Span, near: list[ActiveSpan]) -> None:
    """Add a piece: by lengthening the query's own span before it, where there is one."""
    start, end = piece
    for span in near:
        joins = span.query_id == query.pk and span.end <= start <= span.end + TOLERANCE
        # Nothing of the gap may belong to another query.
        if joins and not any(span.end < each.end and each.start < start for each in near):
            ActiveSpan.objects.filter(pk=span.pk).update(end=end)
            span.end = end
            return
    near.append(ActiveSpan.objects.create(query=query, user=actor, start=start, end=end))
