"""The result of a panel's labels: a reference label, or a case for a senior."""

from collections.abc import Sequence
from typing import Any

from django.utils import timezone

from annotate.models import CaseStatus, EscalationCase, Guideline, ReferenceItem, Vote
from annotate.voting.cases import close_by_verdict, note
from annotate.voting.majority import PANEL, Decision, named
from corpus.judgments.services import record_judgment
from corpus.models import Judgment, Source


def decide_reference(labels: Sequence[int | None], wanted: int) -> Decision:
    """The state of an item: `open` until all wanted labels are in, `closed` where they agree;
    `expert`, for a senior, where they differ or somebody could not judge. Pure."""
    if len(labels) < wanted:
        return Decision("open")
    if None in labels or len(set(labels)) > 1:
        return Decision("expert")
    return Decision("closed", labels[0])


def settle_reference(case: EscalationCase) -> None:
    """Close an item whose experts agree, with an `expert` label, or leave it to a senior.

    For a caller that holds the query, in the transaction that changed a label.
    """
    item = ReferenceItem.objects.select_related("panel").get(case=case)
    votes = list(Vote.objects.standing().filter(case=case).order_by("pk"))
    decision = decide_reference([each.label for each in votes], item.panel.labels_per_item)
    if decision.state == "open":
        return
    judgment = None
    if decision.label is not None:
        provenance = reference_provenance(item, PANEL[item.panel.labels_per_item])
        # One expert is named by the event; of two neither gave the label alone.
        actor = votes[0].voter if len(votes) == 1 else None
        judgment = record_judgment(
            query=case.query,
            passage=case.passage,
            label=decision.label,
            source=Source.EXPERT,
            provenance=provenance | {"votes": [each.pk for each in votes]},
            actor=actor,
            held=True,
        )
    is_closed = decision.state == "closed"
    close_reference(case, judgment, CaseStatus.CLOSED if is_closed else CaseStatus.EXPERT)
    note("close case", case, None, case, state=decision.state, label=decision.label)


def close_reference(
    case: EscalationCase, judgment: Judgment | None, status: CaseStatus = CaseStatus.CLOSED
) -> None:
    """Close the item's case with this label, and with it a dispute about the same pair."""
    label = judgment.label if judgment else None
    EscalationCase.objects.filter(pk=case.pk).update(
        status=status, label=label, judgment=judgment, closed_at=timezone.now()
    )
    if judgment is not None:
        close_by_verdict(judgment=judgment, actor=None)


def reference_provenance(item: ReferenceItem, rule: str) -> dict[str, Any]:
    """What a reference label is based on: the panel, the case, and who wrote the reasons shown."""
    benchmark = item.panel.benchmark_id
    return {
        **named(rule),
        "panel": item.panel_id,
        "panel_name": item.panel.name,
        "case": item.case_id,
        "origin": item.case.origin,
        "hints": item.hints,
        "guideline_version": Guideline.objects.current_version(benchmark),
    }
