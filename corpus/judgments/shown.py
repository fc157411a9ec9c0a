"""Which labels may be shown: none that would reveal to a voter how others judge a pair.

To whoever votes no label of a machine is shown before people decided the pair: any of them may be
put before people to be audited, and one that was readable, or vanished when the audit was drawn,
would tell.
"""

from collections.abc import Callable

from django.db.models import Exists, OuterRef, Q, QuerySet

from corpus.access import Access
from corpus.judgments.models import PEOPLE
from corpus.models import Benchmark, Judgment, Source

# Conditions under which a label of an outer queryset stays hidden; rooms further left add theirs.
_hidden: list[Callable[[], Exists]] = []


def hide_labels(condition: Callable[[], Exists]) -> None:
    """Keep labels since the import from being shown while the condition holds of them."""
    _hidden.append(condition)


# Whether machines said anything else that scores would tell; rooms further left add theirs.
_machines: list[Callable[[Benchmark], bool]] = []


def tell_machines(has_said: Callable[[Benchmark], bool]) -> None:
    """Let scores ask for what machines said beside labels."""
    _machines.append(has_said)


def shown_labels(labels: QuerySet[Judgment], access: Access | None = None) -> QuerySet[Judgment]:
    """Those that may be shown to everybody, or to this person.

    The imported gold always may: everybody works from it.
    """
    for condition in _hidden:
        labels = labels.filter(Q(source=Source.ORIGINAL) | ~condition())
    if access is not None and access.is_voter:
        labels = labels.filter(Q(source__in=(Source.ORIGINAL, *PEOPLE)) | _decided_by_people())
    return labels


def hides_machines(access: Access) -> bool:
    """Whether this person may not see labels that scores of the benchmark would tell."""
    if not access.is_voter:
        return False
    given = Judgment.objects.in_benchmark(access.benchmark).standing()
    if given.exclude(source__in=PEOPLE).order_by().exists():
        return True
    return any(has_said(access.benchmark) for has_said in _machines)


def _decided_by_people() -> Exists:
    pair = {"query": OuterRef("query_id"), "passage": OuterRef("passage_id")}
    return Exists(Judgment.objects.standing().filter(source__in=PEOPLE, **pair))
