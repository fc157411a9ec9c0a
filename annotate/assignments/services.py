"""Verbs on assignments: assign, claim, reassign, submit (docs/protocol.md 3.1).

Whoever writes an assignment locks the query first, as everybody who writes in the query does.

Time on task is how long a person was really at work on a query. A page that is looked at and was
touched within the last minute reports the time since its last report. What is reported twice, late
or by several tabs counts once: a report only adds what none of the person's spans covers yet.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import date, datetime, timedelta
from itertools import cycle
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from annotate.assignments.models import WRITABLE, unassigned
from annotate.models import ActiveSpan, Assignment, WorkState
from annotate.rights import assignment_of, may_annotate, record, require_annotator
from annotate.workspace.checklist import missing
from corpus.judgments.services import lock_queries
from corpus.models import Benchmark, Membership, Query, Role
from corpus.texts.finding import one_of
from kit import audit
from kit.errors import Refused

MOST_AT_ONCE = 5_000
MOVED = "This was changed meanwhile. Reload the page."

# A report reaches no further back, and is no longer.
OLDEST = timedelta(minutes=30)
LONGEST = timedelta(seconds=90)
# Clocks of browsers run ahead a little; gaps as short as this are bridged.
TOLERANCE = timedelta(seconds=2)

Span = tuple[datetime, datetime]


def experts_of(benchmark: Benchmark) -> dict[int, set[int]]:
    """The benchmark's annotators with the ids of the domains that each may work in."""
    members = Membership.objects.filter(benchmark=benchmark).with_domains()
    return {each.user_id: each.domain_ids() for each in members if Role.ANNOTATOR in each.roles}


def assign_queries(
    *,
    benchmark: Benchmark,
    queries: Iterable[Query],
    people: Sequence[User],
    actor: User,
    due_on: date | None = None,
) -> list[Assignment]:
    """Give unassigned queries to people, round-robin; each only those of their domains.

    What is assigned already stays where it is. Raises Refused without people, for a due day that
    has passed, for more than 5,000 at once, and when a query's domain is nobody's of them.
    """
    if not people:
        raise Refused("Choose who gets them.", field="people")
    _check_due(due_on)
    asked = {each.pk: each for each in queries}
    if len(asked) > MOST_AT_ONCE:
        raise Refused(f"At most {MOST_AT_ONCE:,} queries at once.", field="most")
    with transaction.atomic():
        lock_queries(asked)
        free = set(unassigned(Query.objects.filter(one_of(asked))).values_list("pk", flat=True))
        given = [query for pk, query in asked.items() if pk in free]
        rows = [
            Assignment(query=query, holder=holder, assigned_by=actor, due_on=due_on)
            for query, holder in _round_robin(given, people, experts_of(benchmark))
        ]
        made = Assignment.objects.bulk_create(rows, batch_size=500)
        changes = [(each, {"query": each.query_id, "holder": each.holder_id}) for each in made]
        audit.record_each(actor=actor, verb="assign query", changes=changes, scope=benchmark.slug)
    return made


def claim_query(*, query: Query, actor: User) -> Assignment:
    """Take an unassigned query; one's own again changes nothing, another's is Refused."""
    require_annotator(query, actor)
    with transaction.atomic():
        lock_queries([query.pk])
        standing = assignment_of(query)
        if standing is not None and standing.holder_id == actor.pk:
            return standing
        if standing is not None:
            raise Refused(f"{standing.holder} works on this query already.")
        mine = Assignment.objects.create(query=query, holder=actor)
        _record(mine, actor, "claim query")
    return mine


def claim_next(*, benchmark: Benchmark, domain_ids: Collection[int], actor: User) -> Assignment:
    """Take the first unassigned query of these domains; Refused when none is left."""
    rows = Query.objects.in_benchmark(benchmark).in_domains(set(domain_ids))
    for _ in range(20):  # others claim at the same moment: then the one after
        query = unassigned(rows).first()
        if query is None:
            break
        try:
            return claim_query(query=query, actor=actor)
        except Refused:
            continue
    raise Refused("Every query of your domains is assigned to somebody.")


def unassign_query(*, query: Query, actor: User) -> None:
    """Give up one's own query; what was written stays, and somebody else can claim it.

    Refused once it is submitted, and while changes are asked for.
    """
    assignment = assignment_of(query)
    if assignment is None:
        raise Refused("Nobody works on this query.")
    if assignment.holder_id != actor.pk:
        raise Refused("Only its assignee can unassign a query.")
    with transaction.atomic():
        lock_queries([query.pk])
        _end(assignment, actor, "release query", (WorkState.NOT_STARTED, WorkState.IN_PROGRESS))


def take_away(*, assignment: Assignment, actor: User) -> None:
    """End somebody's assignment (an admin's verb); what was written stays. Refused once it is
    submitted: then its assignee or a reviewer has to give it back first."""
    with transaction.atomic():
        lock_queries([assignment.query_id])
        _end(assignment, actor, "take query away", WRITABLE)


def change_assignment(
    *, assignment: Assignment, holder: User, due_on: date | None, actor: User
) -> Assignment:
    """Set the day and give the query to another expert of its domain, where they change.

    What was written stays; changes that a reviewer asked for are asked of the new assignee.
    Raises Refused as `take_away`, for a day that has passed and for somebody who does not annotate
    the domain; then nothing changes.
    """
    with transaction.atomic():
        lock_queries([assignment.query_id])
        related = Assignment.objects.select_related("query__domain__benchmark", "holder")
        current = related.get(pk=assignment.pk)
        if current.ended_at is not None:
            raise Refused(MOVED)
        query = current.query
        if due_on != current.due_on:
            _check_due(due_on)
            current.due_on = due_on
            current.save(update_fields=["due_on"])
            _record(current, actor, "set due date", due_on=due_on.isoformat() if due_on else None)
        if holder.pk == current.holder_id:
            return current
        if not may_annotate(query, holder):
            raise Refused(f"{holder} is no annotator of {query.domain}.", field="holder")
        asked = current.state == WorkState.CHANGES_REQUESTED
        _end(current, actor, "take query away", WRITABLE)
        passed = Assignment.objects.create(
            query=query,
            holder=holder,
            assigned_by=actor,
            due_on=due_on,
            state=WorkState.CHANGES_REQUESTED if asked else WorkState.NOT_STARTED,
            first_submitted_at=current.first_submitted_at,
        )
        _record(passed, actor, "assign query", before=current.holder_id)
    return passed


def submit_query(*, query: Query, actor: User) -> Assignment:
    """Submit a finished query; from then on it can be read only.

    An unassigned query is claimed on the way. Raises Refused, naming the first gap, while
    the checklist has a blocking item, and for a query that is not the person's to submit.
    """
    require_annotator(query, actor)
    with transaction.atomic():
        lock_queries([query.pk])
        mine = claim_query(query=query, actor=actor)
        if gaps := [item.text for item in missing(query=query) if item.blocking]:
            more = f" ({len(gaps) - 1} more)" if len(gaps) > 1 else ""
            raise Refused(f"Not submitted: {gaps[0]}{more}")
        now = timezone.now()
        if mine.state == WorkState.NOT_STARTED:  # it came finished, from an import
            Assignment.objects.move(mine.pk, WorkState.IN_PROGRESS, started_at=now)
        first = mine.first_submitted_at or now
        if not Assignment.objects.move(
            mine.pk, WorkState.SUBMITTED, submitted_at=now, first_submitted_at=first
        ):
            raise Refused(f"This query is {mine.state_words} already.")
        _record(mine, actor, "submit query")
        mine.refresh_from_db()
    return mine


def take_back(*, query: Query, actor: User) -> Assignment:
    """Take a submitted query back to go on writing; Refused once its second review has begun."""
    require_annotator(query, actor)
    with transaction.atomic():
        lock_queries([query.pk])
        mine = assignment_of(query)
        if mine is None or mine.holder_id != actor.pk:
            raise Refused("Only who submitted a query can take it back.")
        is_submitted = mine.state == WorkState.SUBMITTED
        if not is_submitted or not Assignment.objects.move(mine.pk, WorkState.IN_PROGRESS):
            raise Refused(f"This query is {mine.state_words}; it cannot be taken back.")
        _record(mine, actor, "take query back")
        mine.refresh_from_db()
    return mine


def _round_robin(
    queries: Iterable[Query], people: Sequence[User], domains: dict[int, set[int]]
) -> Iterable[tuple[Query, User]]:
    """Queries with who gets each; a turn that does not fit the domain is kept for the next."""
    turns: dict[int, Any] = {}
    for query in queries:
        if query.domain_id not in turns:
            able = [each for each in people if query.domain_id in domains.get(each.pk, ())]
            if not able:
                message = f"None of them is an annotator of {query.domain}."
                raise Refused(message, field="people")
            turns[query.domain_id] = cycle(able)
        yield query, next(turns[query.domain_id])


def _end(assignment: Assignment, actor: User, verb: str, states: Sequence[str]) -> None:
    rows = Assignment.objects.standing().filter(pk=assignment.pk, state__in=states)
    if not rows.update(ended_at=timezone.now()):
        now = Assignment.objects.get(pk=assignment.pk)
        if now.ended_at is not None:
            raise Refused(MOVED)
        raise Refused(f"This query is {now.state_words}; it stays with {now.holder}.")
    _record(assignment, actor, verb)


def _check_due(due_on: date | None) -> None:
    if due_on is not None and due_on < timezone.localdate():
        raise Refused("This day has passed.", field="due_on")


def _record(assignment: Assignment, actor: User, verb: str, **data: Any) -> None:
    people = {"query": assignment.query_id, "holder": assignment.holder_id}
    record(assignment.query, actor, verb, assignment, **people, **data)


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
