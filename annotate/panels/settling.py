"""What becomes of a panel's labels: a reference label where its experts agree, else a senior's.

A senior also labels a seeded part of the items again. A kept label stays as it is; an override is
a new label that supersedes it. Both are rows of the log, and a correction of either is another row.
"""

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from annotate.models import (
    CaseStatus,
    CheckKind,
    EscalationCase,
    GoldPassage,
    Guideline,
    ReferenceItem,
    ReferencePanel,
    SpotCheck,
    Vote,
)
from annotate.voting.cases import close_by_verdict, note
from annotate.voting.majority import CHECKED, PANEL, Decision, named
from corpus.access import Access
from corpus.judgments.services import lock_queries, record_judgment
from corpus.models import Judgment, Source
from kit.errors import Refused

OWN = "You labelled this item or brought its passage in, so another senior looks at it."
OPEN = "The experts are still labelling this item."
NOT_DRAWN = "This item was not drawn for the spot check."


class AlreadyChecked(Refused):
    """Somebody has checked the item; `check` says how."""

    def __init__(self, check: SpotCheck) -> None:
        super().__init__("A senior has looked at this item already.")
        self.check = check


def decide_reference(labels: Sequence[int | None], needed: int) -> Decision:
    """The state of an item: `open` until all labels are in, `closed` where they agree;
    `expert`, for a senior, where they differ or somebody could not judge. Pure."""
    if len(labels) < needed:
        return Decision("open")
    if None in labels or len(set(labels)) > 1:
        return Decision("expert")
    return Decision("closed", labels[0])


def settle_item(item: ReferenceItem) -> None:
    """Close an item whose experts agree, with an `expert` label, or leave it to a senior.

    For a caller that locked the query, in the transaction that changed a label.
    """
    case = item.case
    votes = list(Vote.objects.standing().filter(case=case).order_by("pk"))
    decision = decide_reference([each.label for each in votes], item.panel.labels_per_item)
    if decision.state == "open":
        return
    if decision.label is None:
        EscalationCase.objects.filter(pk=case.pk).update(
            status=CaseStatus.EXPERT, label=None, judgment=None, closed_at=timezone.now()
        )
    else:
        # One expert is named by the event; of two neither gave the label alone.
        actor = votes[0].voter if len(votes) == 1 else None
        rule = PANEL[item.panel.labels_per_item]
        _close(item, decision.label, rule, actor, votes=[each.pk for each in votes])
    note("close case", case, None, case, state=decision.state, label=decision.label)


def _close(item: ReferenceItem, label: int, rule: str, actor: User | None, **more: Any) -> Judgment:
    """Record the label and close the item's case with it, and a dispute about the same pair.

    Its provenance says what it is based on: the panel, the case, and who wrote the reasons shown.
    """
    case, panel = item.case, item.panel
    judgment = record_judgment(
        query=case.query,
        passage=case.passage,
        label=label,
        source=Source.EXPERT,
        provenance={
            **named(rule),
            "panel": panel.pk,
            "panel_name": panel.name,
            "case": case.pk,
            "origin": case.origin,
            "hints": item.hints,
            "guideline_version": Guideline.objects.current_version(panel.benchmark_id),
            **more,
        },
        actor=actor,
        held=True,
    )
    EscalationCase.objects.filter(pk=case.pk).update(
        status=CaseStatus.CLOSED, label=label, judgment=judgment, closed_at=timezone.now()
    )
    close_by_verdict(verdict=judgment, actor=None)
    return judgment


def may_check(access: Access, domain: int) -> bool:
    """Whether the person is a senior of the domain: an admin, or one of its reviewers."""
    return access.is_admin or (access.is_reviewer and domain in access.domain_ids)


def checkable(access: Access, panel: ReferencePanel) -> QuerySet[ReferenceItem]:
    """Items that this person may check as a senior: never what they labelled."""
    if not (access.is_admin or access.is_reviewer):
        return ReferenceItem.objects.none()
    items = panel.items.filter(
        Q(case__status=CaseStatus.CLOSED, in_spot_check=True)
        | Q(case__status=CaseStatus.EXPERT)
        | Q(Exists(SpotCheck.objects.filter(item=OuterRef("pk"))))
    )
    if not access.is_admin:
        items = items.filter(case__query__domain__in=access.domain_ids)
    return items.exclude(_is_own(access))


def _is_own(access: Access) -> Q:
    """Of an item: whether the person labelled it or brought its passage in."""
    voter = access.user.pk
    pair = {"query": OuterRef("case__query"), "passage": OuterRef("case__passage")}
    return Exists(Vote.objects.filter(case=OuterRef("case"), voter=voter)) | Exists(
        GoldPassage.objects.filter(created_by=voter, **pair)
    )


def waiting_checks(access: Access, panel: ReferencePanel) -> QuerySet[ReferenceItem]:
    """Those of them that nobody has looked at, undecided ones first."""
    checks = SpotCheck.objects.standing().filter(item=OuterRef("pk"))
    waiting = checkable(access, panel).exclude(Exists(checks))
    return waiting.order_by("-case__status", "case__query__domain__name", "pk")


def check_item(
    *,
    item: ReferenceItem,
    access: Access,
    label: int,
    reason: str = "",
    elapsed_ms: int | None = None,
    replaces: int | None = None,
) -> SpotCheck:
    """Keep the experts' label by giving it again, or override it, or decide what they left open.

    All but keeping need a reason. `replaces` names the check that this one corrects; without it
    a second check is AlreadyChecked. Raises Refused for an item that is still being labelled or
    was not drawn, and PermissionDenied for whoever is no senior of the domain or labelled it.
    """
    reason = reason.strip()
    if label not in (0, 1):
        raise Refused("Choose relevant or not relevant.", field="label")
    is_here = item.panel.benchmark_id == access.benchmark.pk
    if not is_here or not may_check(access, item.case.query.domain_id):
        raise PermissionDenied("Only admins and reviewers of this domain look at its labels.")
    if ReferenceItem.objects.filter(_is_own(access), pk=item.pk).exists():
        raise PermissionDenied(OWN)
    with transaction.atomic():
        lock_queries([item.case.query_id])
        case = EscalationCase.objects.select_related("query__domain__benchmark", "passage")
        item.case = case.get(pk=item.case_id)
        earlier = _earlier(item, replaces)
        before = earlier.before if earlier else item.case.label
        kind = CheckKind.KEEP if label == before else CheckKind.OVERRIDE
        if before is None:
            kind = CheckKind.DECIDE
        if not reason and (earlier is not None or kind != CheckKind.KEEP):
            raise Refused("Say in a few words why.", field="reason")
        corrected = SpotCheck.objects.filter(pk=earlier.pk if earlier else 0)
        corrected.update(is_standing=False)
        check = SpotCheck.objects.create(
            item=item,
            checker=access.user,
            kind=kind,
            before=before,
            label=label,
            reason=reason,
            elapsed_ms=elapsed_ms,
        )
        corrected.update(replaced_by=check)
        data: dict[str, Any] = {"kind": kind, "before": before}
        if label != item.case.label:
            check.judgment = _close(item, label, CHECKED, access.user, check=check.pk, **data)
            check.save(update_fields=["judgment"])
        note("spot check", check, access.user, item.case, case=item.case_id, label=label, **data)
    return check


def _earlier(item: ReferenceItem, replaces: int | None) -> SpotCheck | None:
    """The check that is corrected; Refused or AlreadyChecked where there can be none."""
    if item.case.status == CaseStatus.OPEN:
        raise Refused(OPEN)
    earlier = SpotCheck.objects.standing().filter(item=item).first()
    if earlier is not None and earlier.pk != replaces:
        raise AlreadyChecked(earlier)
    if replaces and earlier is None:
        raise Refused("That check was never given.")
    if earlier is None and not item.in_spot_check and item.case.status == CaseStatus.CLOSED:
        raise Refused(NOT_DRAWN)
    return earlier
