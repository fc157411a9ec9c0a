"""Labels that experts gave for a reference panel, and what seniors said of them."""

from typing import Any

from django.utils import timezone

from annotate.models import (
    CaseKind,
    CaseStatus,
    EscalationCase,
    PanelStatus,
    ReferenceItem,
    ReferencePanel,
    SpotCheck,
    Vote,
)
from annotate.panels.settling import settle_item
from annotate.voting.cases import note
from corpus.lists import unused_name
from corpus.models import Judgment, Passage, Source
from evaluation.transfer.merging.rows import Rows
from evaluation.transfer.merging.votes import ELSEWHERE, add_case, add_votes


def merge_panels(rows: Rows) -> None:
    """Every labelled item: to that of the same pair here goes what was said of it there."""
    theirs = ReferenceItem.objects.filter(case__query=rows.theirs, case__votes_in__gt=0)
    for row in theirs.select_related("panel", "case").order_by("pk"):
        passage = rows.passage(row.case.passage_id)
        item = None if passage is None else _item(rows, row, passage)
        if passage is None:
            rows.leave(row, ELSEWHERE)
        elif item is None:
            rows.leave(row, "somebody of this installation gave no such label here")
        else:
            _merge_item(rows, row, item)


def _merge_item(rows: Rows, row: ReferenceItem, item: ReferenceItem) -> None:
    """An item that one side has settled is settled; else as the labels of both say."""
    is_settled = row.case.status == CaseStatus.CLOSED

    def close(_: EscalationCase) -> None:
        if not is_settled:
            settle_item(item)

    add_votes(rows, row.case, item.case, close=close)
    item.case.refresh_from_db()
    label = rows.led(Judgment, row.case.judgment_id)
    if is_settled and item.case.status != CaseStatus.CLOSED and label is not None:
        _settle(item, Judgment.objects.standing().filter(pk=label.pk).first())
    _merge_checks(rows, row, item)


def _settle(item: ReferenceItem, label: Judgment | None) -> None:
    """Let the item have this label, where it counts."""
    if label is not None:
        given = {"label": label.label, "judgment": label, "closed_at": timezone.now()}
        EscalationCase.objects.filter(pk=item.case_id).update(status=CaseStatus.CLOSED, **given)
        note("close case", item.case, None, item.case, state="closed", label=label.label)


def _item(rows: Rows, row: ReferenceItem, passage: Passage) -> ReferenceItem | None:
    """The item of the same pair here, else a copy; None where nobody of there labelled it."""
    items = ReferenceItem.objects.filter(case__kind=CaseKind.REFERENCE, case__passage=passage)
    items = items.select_related("panel__benchmark", "case__query__domain__benchmark")
    if found := items.filter(case__query=rows.ours).first():
        rows.match(row.case, found.case)
        rows.match(row, found)
        rows.lead(row.panel, found.panel)
        return found
    voters = Vote.objects.filter(case=row.case).values_list("voter", flat=True)
    if all(rows.told.is_forged(voter) for voter in voters):
        return None
    about: dict[str, Any] = {"query": rows.ours, "passage": passage}
    if row.case.status == CaseStatus.OPEN:  # nobody labels it here: a senior decides
        about["status"] = CaseStatus.EXPERT
    case = add_case(rows, row.case, about)
    rows.add(row, panel=_panel(rows, row.panel), case=case, pool=None)
    return items.get(case=case)


def _panel(rows: Rows, row: ReferencePanel) -> ReferencePanel:
    """The panel of that moment here, else a copy of it, in which nobody labels here."""
    taken = rows.told.here.reference_panels.values_list("name", flat=True)
    changes: dict[str, Any] = {"name": unused_name(row.name, taken)[:120], "pool": None}
    if row.status != PanelStatus.CLOSED:
        changes |= {"status": PanelStatus.CLOSED, "closed_at": row.opened_at or row.created_at}
    found: ReferencePanel = rows.shared(row, **changes)
    return found


def _merge_checks(rows: Rows, row: ReferenceItem, item: ReferenceItem) -> None:
    """What seniors said of an item: of two the one stands by which its label is as it is."""
    known = {each.created_at: each for each in item.checks.all()}
    for each in row.checks.order_by("-pk"):  # an older one names what replaced it
        if found := known.get(each.created_at):
            rows.match(each, found)
        elif rows.told.is_forged(each.checker_id):
            rows.leave(each, "somebody of this installation said no such thing here")
        else:
            made = rows.add(
                each,
                item=item,
                judgment=rows.led(Judgment, each.judgment_id),
                is_standing=False,
                replaced_by=rows.led(SpotCheck, each.replaced_by_id),
            )
            rows.told.note(made, "merge spot check", query=rows.ours.pk)
            if each.is_standing:
                _stand(rows, made, item)


def _stand(rows: Rows, made: SpotCheck, item: ReferenceItem) -> None:
    """Let a check of there count, or stand behind that of here; the item follows its label."""
    labels = Judgment.objects.standing().filter(source=Source.EXPERT, query=rows.ours)
    label = labels.filter(passage=item.case.passage_id).first()
    ours = item.checks.standing().first()
    if ours is not None and (
        label is None or label.label != made.label or ours.label == made.label
    ):
        SpotCheck.objects.filter(pk=made.pk).update(replaced_by=ours)
        return
    if ours is not None:
        SpotCheck.objects.filter(pk=ours.pk).update(is_standing=False, replaced_by=made)
    SpotCheck.objects.filter(pk=made.pk).update(is_standing=True)
    item.case.refresh_from_db()
    if label is not None and label.label == made.label != item.case.label:
        _settle(item, label)
