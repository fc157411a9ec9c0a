"""Spot checks: a senior labels a seeded part of a panel again, and whatever was left undecided.

A kept label stays as it is; an override is a new label that supersedes it. Both are rows of the
log, and a correction of either is another row.
"""

from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from annotate.models import (
    CaseStatus,
    CheckKind,
    EscalationCase,
    GoldPassage,
    ReferenceItem,
    ReferencePanel,
    SpotCheck,
    Vote,
)
from annotate.panels.settling import close_reference, reference_provenance
from annotate.voting.cases import note
from annotate.voting.majority import CHECKED
from corpus.access import Access
from corpus.judgments.services import hold_queries, record_judgment
from corpus.models import Source
from kit.errors import Refused

OWN = "You labelled this item or brought its passage in, so another senior looks at it."
OPEN = "The experts are still labelling this item."
NOT_DRAWN = "This item was not drawn for the spot check."


class AlreadyChecked(Refused):
    """Somebody has checked the item; `check` says how."""

    def __init__(self, check: SpotCheck) -> None:
        super().__init__("A senior has looked at this item already.")
        self.check = check


def may_check(access: Access, domain: int) -> bool:
    """Whether the person is a senior of the domain: an admin, or one of its reviewers."""
    return access.is_admin or (access.is_reviewer and domain in access.domain_ids)


def checkable(access: Access, panel: ReferencePanel) -> QuerySet[ReferenceItem]:
    """Items that this person may check as a senior: never what they labelled."""
    if not (access.is_admin or access.is_reviewer):
        return ReferenceItem.objects.none()
    voter = access.user.pk
    pair = {"query": OuterRef("case__query"), "passage": OuterRef("case__passage")}
    items = panel.items.filter(
        Q(case__status=CaseStatus.CLOSED, in_spot_check=True)
        | Q(case__status=CaseStatus.EXPERT)
        | Q(Exists(SpotCheck.objects.filter(item=OuterRef("pk"))))
    )
    if not access.is_admin:
        items = items.filter(case__query__domain__in=access.domain_ids)
    items = items.exclude(Exists(Vote.objects.filter(case=OuterRef("case"), voter=voter)))
    return items.exclude(Exists(GoldPassage.objects.filter(created_by=voter, **pair)))


def waiting_checks(access: Access, panel: ReferencePanel) -> QuerySet[ReferenceItem]:
    """Those of them that nobody has looked at, undecided ones first."""
    looked = SpotCheck.objects.standing().filter(item=OuterRef("pk"))
    waiting = checkable(access, panel).exclude(Exists(looked))
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
    if label not in (0, 1):
        raise Refused("Choose relevant or not relevant.", field="label")
    _need_senior(item, access)
    with transaction.atomic():
        hold_queries([item.case.query_id])
        case = EscalationCase.objects.select_related("query__domain__benchmark", "passage")
        item.case = case.get(pk=item.case_id)
        earlier = _earlier(item, replaces)
        before = earlier.before if earlier else item.case.label
        kind = CheckKind.KEEP if label == before else CheckKind.OVERRIDE
        if before is None:
            kind = CheckKind.DECIDE
        if not reason.strip() and (earlier is not None or kind != CheckKind.KEEP):
            raise Refused("Say in a few words why.", field="reason")
        corrected = SpotCheck.objects.filter(pk=earlier.pk if earlier else 0)
        corrected.update(is_standing=False)
        check = SpotCheck.objects.create(
            item=item,
            checker=access.user,
            kind=kind,
            before=before,
            label=label,
            reason=reason.strip(),
            elapsed_ms=elapsed_ms,
        )
        corrected.update(replaced_by=check)
        if label != item.case.label:
            _record(check, access.user)
        data: dict[str, Any] = {"kind": kind, "before": before, "label": label}
        note("spot check", check, access.user, item.case, case=item.case_id, **data)
    return check


def _earlier(item: ReferenceItem, replaces: int | None) -> SpotCheck | None:
    """The check that is corrected; Refused or AlreadyChecked where there can be none."""
    if item.case.status == CaseStatus.OPEN:
        raise Refused(OPEN)
    earlier = SpotCheck.objects.standing().filter(item=item).first()
    if earlier is not None and earlier.pk != replaces:
        raise AlreadyChecked(earlier)
    if replaces and earlier is None:
        raise Refused("That look was never given.")
    if earlier is None and not item.in_spot_check and item.case.status == CaseStatus.CLOSED:
        raise Refused(NOT_DRAWN)
    return earlier


def _record(check: SpotCheck, actor: User) -> None:
    """The senior's label as a new judgment, which is that of the item's case from now on."""
    item, case = check.item, check.item.case
    provenance = reference_provenance(item, CHECKED)
    check.judgment = record_judgment(
        query=case.query,
        passage=case.passage,
        label=check.label,
        source=Source.EXPERT,
        provenance=provenance | {"check": check.pk, "kind": check.kind, "before": check.before},
        actor=actor,
        held=True,
    )
    check.save(update_fields=["judgment"])
    close_reference(case, check.judgment)


def _need_senior(item: ReferenceItem, access: Access) -> None:
    is_here = item.panel.benchmark_id == access.benchmark.pk
    if not is_here or not may_check(access, item.case.query.domain_id):
        raise PermissionDenied("Only admins and reviewers of this domain look at its labels.")
    voter = access.user.pk
    pair = {"query": item.case.query_id, "passage": item.case.passage_id}
    if (
        Vote.objects.filter(case=item.case_id, voter=voter).exists()
        or GoldPassage.objects.filter(created_by=voter, **pair).exists()
    ):
        raise PermissionDenied(OWN)
