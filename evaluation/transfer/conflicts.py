"""What people choose where two installations said otherwise."""

from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from annotate.models import Adjudication, SupportLabel
from annotate.support.services import adopt_support
from annotate.voting.cases import close_by_verdict
from corpus.judgments.services import adopt_judgments, lock_queries
from corpus.models import Judgment, Source, Status
from evaluation.transfer.models import Choice, MergeConflict
from kit import audit
from kit.errors import Refused


def choose(*, conflict: MergeConflict, choice: str, actor: User) -> None:
    """Keep what is here, or let the label of the file count. Raises Refused where it is settled.

    Aspects and their gold are written in the workspace, where they can be undone: what the file
    said of them stands in the conflict, and its aspects among the removed ones.
    """
    label = conflict.judgment or conflict.support
    with transaction.atomic():
        lock_queries([conflict.query_id])
        rows = MergeConflict.objects.filter(pk=conflict.pk, choice=Choice.OPEN)
        if choice not in (Choice.OURS, Choice.THEIRS):
            raise Refused("Choose ours or theirs.", field="choice")
        if choice == Choice.THEIRS and label is None:
            raise Refused("Change it in the query's workspace, then close this with “ours”.")
        if not rows.update(choice=choice, chosen_by=actor, chosen_at=timezone.now()):
            raise Refused("Somebody chose already. Reload the page.")
        told = {name: getattr(conflict, name) for name in ("kind", "ours", "theirs")}
        if choice == Choice.THEIRS and label is not None:
            told |= _adopt(label, scope=conflict.benchmark.slug, actor=actor)
        scope = f"{conflict.benchmark.slug}#merges"
        data = told | {"choice": choice}
        audit.record(
            actor=actor, verb="choose in conflict", target=conflict, scope=scope, data=data
        )


def _adopt(label: Judgment | SupportLabel, *, scope: str, actor: User) -> dict[str, Any]:
    """Let the label count; which decisions of third persons ended with that, and which stands."""
    if isinstance(label, Judgment):
        adopt_judgments(judgments=[label], actor=actor, scope=scope)
        own = Q(judgment=label)
        same = Q(query=label.query_id, passage=label.passage_id, support=None)
    else:
        adopt_support(label=label, actor=actor)
        own = Q(support=label)
        same = Q(support__aspect=label.aspect_id, support__passage=label.passage_id)
    label.refresh_from_db()
    if label.source != Source.EXPERT or label.status != Status.STANDING:
        return {}
    close_by_verdict(verdict=label, actor=actor)
    # The decision behind the label that counts now stands, and no other.
    rows = Adjudication.objects.filter(same)
    ended = list(rows.standing().exclude(own).values_list("pk", flat=True))
    rows.filter(pk__in=ended).update(undone_at=timezone.now(), undone_by=actor)
    if stands := rows.filter(own).first():
        rows.filter(pk=stands.pk).update(undone_at=None, undone_by=None)
    return {"decisions_ended": ended, "decision": stands and stands.pk}
