"""Where the second review meets the work on a query: when it may begin, and what goes back.

Read from what stands on the query: every original decided, every aspect with a passage.
"""

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, QuerySet

from annotate.models import Aspect, GoldPassage
from corpus.models import Judgment, Query, Source
from kit import audit


def ready_for_review(query: Query) -> bool:
    """Whether the work on the query is complete, so that somebody else can look at it."""
    return ready_queries(Query.objects.filter(pk=query.pk)).exists()


def ready_queries(queries: QuerySet[Query]) -> QuerySet[Query]:
    """Those whose aspects all have passages, and whose old gold is decided."""
    gold = GoldPassage.objects.standing()
    present = Aspect.objects.filter(query=OuterRef("pk"), removed_at=None)
    supported = Exists(gold.filter(aspect=OuterRef("pk")))
    pair = {"query": OuterRef("query"), "passage": OuterRef("passage")}
    discarded = Judgment.objects.standing().filter(source=Source.EXPERT, label=0)
    originals = Judgment.objects.original().filter(query=OuterRef("pk"), label__gt=0)
    undecided = originals.exclude(Exists(gold.filter(**pair))).exclude(
        Exists(discarded.filter(**pair))
    )
    stale = GoldPassage.objects.unlisted().filter(query=OuterRef("pk"))
    return (
        queries.filter(Exists(present))
        .exclude(Exists(present.exclude(supported)))
        .exclude(Exists(undecided))
        .exclude(Exists(stale))
    )


def hand_back(query: Query, by: User, *, accepted: bool = False) -> None:
    """The review gives the query back to its author, with changes asked for or accepted.

    Runs in the transaction of the review's own move.
    """
    verb = "accept query" if accepted else "hand back query"
    scope = f"{query.domain.benchmark.slug}#reviews"
    audit.record(actor=by, verb=verb, target=query, scope=scope)
