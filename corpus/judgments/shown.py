"""Which labels may be shown: none that would reveal to a voter how others judge a pair."""

from collections.abc import Callable

from django.db.models import Exists, Q, QuerySet

from corpus.models import Judgment, Source

# Conditions under which a label of an outer queryset stays hidden; rooms further left add theirs.
_hidden: list[Callable[[], Exists]] = []


def hide_labels(condition: Callable[[], Exists]) -> None:
    """Keep labels since the import from being shown while the condition holds of them."""
    _hidden.append(condition)


def shown_labels(labels: QuerySet[Judgment]) -> QuerySet[Judgment]:
    """Those that may be shown. The imported gold always may: everybody works from it."""
    for condition in _hidden:
        labels = labels.filter(Q(source=Source.ORIGINAL) | ~condition())
    return labels
