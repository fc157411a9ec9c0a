"""Short answers of queries, by which debates judge (docs/protocol.md 2): writing them.

An import may bring them. What is written here replaces that, with an event that keeps both, and a
later load of the same files leaves it alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from corpus.importers.answers import ANSWER_LIMIT
from corpus.importers.fields import text_fault
from corpus.models import Benchmark, Query
from kit import audit
from kit.errors import Refused
from kit.models import Event

VERB = "write short answers"
MAX_ANSWERS = 100


def cleaned_answers(answers: Iterable[str]) -> list[str]:
    """The answers without outer blanks, empty ones and repetitions. Raises Refused."""
    found = list(dict.fromkeys(text for each in answers if (text := each.strip())))
    if len(found) > MAX_ANSWERS:
        raise Refused(f"{len(found)} answers; {MAX_ANSWERS} at most.", field="answers")
    for each in found:
        if fault := text_fault(each, ANSWER_LIMIT):
            raise Refused(f"“{each[:40]}”: {fault}", field="answers")
    return found


def write_answers(
    *,
    query: Query,
    answers: Iterable[str],
    actor: User | None,
    expected: Sequence[str] | None = None,
) -> Query:
    """Set the short answers of a query; none takes them away.

    `expected` are those that the writer saw. Raises Refused for answers that cannot be stored, and
    where somebody changed them since. Debates that are over keep their labels.
    """
    wanted = cleaned_answers(answers)
    with transaction.atomic():
        present = Query.objects.select_for_update().get(pk=query.pk)
        if expected is not None and list(expected) != present.answers != wanted:
            there = "; ".join(map(str, present.answers)) or "none"
            message = f"Somebody changed them meanwhile. Now there are: {there}"
            raise Refused(message[:2000], field="answers")
        if present.answers != wanted:
            replace_answers(query.domain.benchmark, {present: wanted}, actor=actor)
    query.answers = wanted
    return query


def replace_answers(
    benchmark: Benchmark,
    wanted: Mapping[Query, list[str]],
    *,
    actor: User | None,
    **source: Any,
) -> None:
    """Store new answers of queries with their events, in the caller's transaction.

    `source` says in the events where the answers are from.
    """
    changes = []
    for query, answers in wanted.items():
        changes.append((query, {"before": query.answers, "answers": answers, **source}))
        query.answers = answers
    Query.objects.bulk_update(list(wanted), ["answers"], batch_size=500)
    audit.record_each(actor=actor, verb=VERB, changes=changes, scope=benchmark.slug)


def written_here(query: Query) -> bool:
    """Whether the query's short answers were written since its import."""
    label = Query._meta.label_lower
    return Event.objects.filter(target_type=label, target_id=str(query.pk), verb=VERB).exists()
