"""Where the second review meets the work on a query: when it may begin, and what goes back.

A query that somebody holds is ready once it is submitted. One that nobody holds is read from what
stands on it: every original decided, every aspect with a passage.
"""

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, QuerySet

from annotate.models import Aspect, Assignment, GoldPassage, WorkState
from annotate.services import checklist
from annotate.services.rights import assignment_of
from corpus.models import Judgment, Query, Source
from kit import audit
from kit.errors import Refused


def ready_for_review(query: Query) -> bool:
    """Whether the work on the query is complete, so that somebody else can look at it."""
    return ready_queries(Query.objects.filter(pk=query.pk)).exists()


def ready_queries(queries: QuerySet[Query]) -> QuerySet[Query]:
    """Those whose aspects all have passages, and whose old gold is decided; submitted, if held."""
    held = Assignment.objects.standing().filter(query=OuterRef("pk"))
    unsubmitted = held.exclude(state=WorkState.SUBMITTED)
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
        .exclude(Exists(unsubmitted))
    )


def take_up(query: Query, by: User) -> None:
    """The review of the query begins, or goes on after the author answered.

    Raises Refused while something is missing that stands in the way of submitting.
    """
    assignment = assignment_of(query)
    if assignment is not None and assignment.state == WorkState.CHANGES_REQUESTED:
        gaps = [item.text for item in checklist.missing(query=query) if item.blocking]
        if gaps:
            raise Refused(f"Still missing: {'; '.join(gaps)}.")
    _move(query, by, WorkState.IN_REVIEW, "take query up")


def hand_back(query: Query, by: User, *, accepted: bool = False) -> None:
    """The review gives the query back to its author, with changes asked for or accepted."""
    state = WorkState.ACCEPTED if accepted else WorkState.CHANGES_REQUESTED
    _move(query, by, state, "accept query" if accepted else "hand back query")


def let_go(query: Query, by: User) -> None:
    """A review is given up: what its author had handed in waits for another one."""
    _move(query, by, WorkState.SUBMITTED, "let go of query")


def _move(query: Query, by: User, state: WorkState, verb: str) -> None:
    """Move the assignment along, where somebody holds the query, in the review's transaction."""
    assignment = assignment_of(query)
    moved = assignment is not None and Assignment.objects.move(assignment.pk, state)
    data = {"state": state.value} if moved else {}
    scope = f"{query.domain.benchmark.slug}#reviews"
    audit.record(actor=by, verb=verb, target=query, scope=scope, data=data)
