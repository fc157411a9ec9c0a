"""The only writer of labels of support.

Which of two stands follows corpus/judgments/services.py, but that there are no trials: of two
labels of machines that weigh the same the first stays. For callers that hold the query
(`lock_queries`).
"""

from typing import Any, Final

from django.contrib.auth.models import User
from django.db import transaction

from annotate.models import Aspect, SupportLabel
from corpus.judgments.models import PEOPLE
from corpus.judgments.services import first_row, new_status, strongest, weigh
from corpus.models import Benchmark, Passage, Source, Status
from kit import audit
from kit.errors import Refused

# What its event is called.
LABELLED: Final = "label support"


def record_support(
    *,
    aspect: Aspect,
    passage: Passage,
    label: int,
    source: str,
    provenance: dict[str, Any],
    actor: User | None = None,
    round: int | None = None,
    practice: bool = False,
    aspect_version: int | None = None,
) -> SupportLabel:
    """Add a label and let the stronger one stand; it is about the aspect's text of now, unless
    `aspect_version` names another one."""
    made = SupportLabel(
        aspect=aspect,
        passage=passage,
        label=label,
        source=source,
        round=round,
        practice=practice,
        provenance=provenance,
        aspect_version=aspect.version if aspect_version is None else aspect_version,
    )
    with transaction.atomic():
        of_pair = SupportLabel.objects.standing().filter(aspect=aspect, passage=passage)
        standing = of_pair.first()
        # They weigh as judgments do: by the same columns.
        is_stronger = (
            standing is not None and new_status(made, standing) == Status.STANDING  # type: ignore[arg-type]
        )
        if standing is not None and is_stronger:
            # The old row steps down first: the database allows one standing label at any moment.
            of_pair.update(status=Status.SUPERSEDED)
            made.save()
            SupportLabel.objects.filter(pk=standing.pk).update(superseded_by=made)
        else:
            made.status = Status.STANDING if standing is None else Status.SUPERSEDED
            made.superseded_by = standing
            made.save()
        note(made, actor, LABELLED)
    return made


def withdraw_support(*, label: SupportLabel, actor: User | None) -> None:
    """Take an expert's standing label back; what would stand without it is added again.

    That is the expert's that it displaced, else the strongest that machines or voters gave.
    """
    rows = SupportLabel.objects.standing().filter(pk=label.pk)
    if not rows.update(status=Status.SUPERSEDED):
        return
    note(label, actor, "withdraw support")
    before = SupportLabel.objects.filter(aspect=label.aspect_id, passage=label.passage_id)
    # What a restored label displaced is found at the row as which it was first given.
    first = first_row(label)  # type: ignore[arg-type]
    own = before.filter(superseded_by=first, source=Source.EXPERT).order_by("pk").last()
    others = before.filter(superseded_by__source=Source.EXPERT).exclude(source=Source.EXPERT)
    earlier: SupportLabel | None = own or strongest(others)  # type: ignore[arg-type, assignment]
    if earlier is not None:
        record_support(
            aspect=label.aspect,
            passage=label.passage,
            label=earlier.label,
            source=earlier.source,
            provenance={
                **earlier.provenance,
                "restored": earlier.provenance.get("restored", earlier.pk),
            },
            actor=actor,
            round=earlier.round,
            practice=earlier.practice,
            aspect_version=earlier.aspect_version,
        )


def adopt_support(*, label: SupportLabel, actor: User | None) -> bool:
    """Let a label that waits since a merge count, unless a weightier one stands; whether it does.

    Raises Refused for one that does not wait.
    """
    with transaction.atomic():
        if not SupportLabel.objects.filter(pk=label.pk, status=Status.TRIAL).exists():
            raise Refused("This label waits no more.")
        of_pair = SupportLabel.objects.standing().filter(
            aspect=label.aspect_id, passage=label.passage_id
        )
        old = of_pair.first()
        # They weigh as judgments do: by the same columns.
        wins = old is None or weigh(label) >= weigh(old)  # type: ignore[arg-type]
        label.status = Status.STANDING if wins else Status.SUPERSEDED
        if old is not None and wins:
            # The old row steps down first: the database allows one standing label at any moment.
            of_pair.update(status=Status.SUPERSEDED)
        label.superseded_by = None if wins else old
        label.save(update_fields=["status", "superseded_by"])
        if old is not None and wins:
            SupportLabel.objects.filter(pk=old.pk).update(superseded_by=label)
        note(label, actor, "adopt label")
    return wins


def machines_said(benchmark: Benchmark) -> bool:
    """Whether a label of a machine stands."""
    rows = SupportLabel.objects.in_benchmark(benchmark).standing().order_by()
    return rows.exclude(source__in=PEOPLE).exists()


def experts_support(aspect: Aspect, passage: Passage) -> SupportLabel | None:
    """The expert's label that stands, if any."""
    rows = SupportLabel.objects.standing().filter(aspect=aspect, passage=passage)
    return rows.filter(source=Source.EXPERT).first()


def note(label: SupportLabel, actor: User | None, verb: str, **more: Any) -> None:
    """The event of what was done with a label."""
    scope = label.aspect.query.domain.benchmark.slug
    data = {
        "aspect": label.aspect_id,
        "passage": label.passage_id,
        "label": label.label,
        "source": label.source,
        "status": label.status,
        **more,
    }
    audit.record(actor=actor, verb=verb, target=label, scope=scope, data=data)
