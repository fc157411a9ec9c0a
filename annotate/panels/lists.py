"""The lists of a panel: its items, and the log of what seniors did."""

from collections.abc import Iterator
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from annotate.models import CaseStatus, CheckKind, ReferenceItem, ReferencePanel, SpotCheck
from kit.tables import Column, Filter, Table

STATES = (("waiting", "Waiting"), ("labelled", "Labelled"), ("undecided", "Undecided"))
_STATUS = {
    "waiting": CaseStatus.OPEN,
    "labelled": CaseStatus.CLOSED,
    "undecided": CaseStatus.EXPERT,
}
LABELS = (("1", "Relevant"), ("0", "Not relevant"))
LOOKS = (("drawn", "Drawn"), ("waiting", "Drawn, waiting"), ("override", "Overridden"))


def _by_look(rows: QuerySet[ReferenceItem], value: str) -> QuerySet[ReferenceItem]:
    looks = SpotCheck.objects.standing().filter(item=OuterRef("pk"))
    if value == "override":
        return rows.filter(Exists(looks.filter(kind=CheckKind.OVERRIDE)))
    # Of an item that is being labelled nobody learns whether a senior will check it.
    drawn = rows.filter(in_spot_check=True).exclude(case__status=CaseStatus.OPEN)
    return drawn if value == "drawn" else drawn.exclude(Exists(looks))


ITEMS = Table(
    search=("case__query__qid", "case__query__text", "case__passage__pid"),
    filters=(
        Filter("domain", "Domain", lookup="case__query__domain__name"),
        Filter(
            "state",
            "State",
            choices=STATES,
            apply=lambda rows, value: rows.filter(case__status=_STATUS[value]),
        ),
        Filter("label", "Label", choices=LABELS, lookup="case__label"),
        Filter("check", "Spot check", choices=LOOKS, apply=_by_look),
        Filter(
            "reasons",
            "Reasons",
            choices=(("none", "Without"), ("some", "With")),
            apply=lambda rows, value: (
                rows.filter(hints={}) if value == "none" else rows.exclude(hints={})
            ),
        ),
    ),
    columns=(
        Column("item", "Item", order=("pk",)),
        Column("domain", "Domain", order=("case__query__domain__name",)),
        Column("passage", "Passage", order=("case__passage__pid",)),
        Column("state", "State", order=("case__status",)),
        Column("label", "Label", order=("case__label",)),
        Column("check", "Spot check"),
    ),
)
CHECKS = Table(
    search=("item__case__query__qid", "item__case__query__text", "reason"),
    filters=(
        Filter("domain", "Domain", lookup="item__case__query__domain__name"),
        Filter("kind", "What was done", choices=CheckKind.choices),
        Filter(
            "now",
            "Standing",
            choices=(("yes", "Standing"), ("no", "Corrected since")),
            apply=lambda rows, value: rows.filter(is_standing=value == "yes"),
        ),
    ),
    columns=(
        Column("look", "Look", order=("pk",)),
        Column("query", "Query", order=("item__case__query__domain__name",)),
        Column("kind", "Done", order=("kind",)),
        Column("change", "Label"),
        Column("senior", "Senior", order=("checker__username",)),
        Column("at", "When", order=("created_at",)),
    ),
    order=("-pk",),
)


def items_listed(panel: ReferencePanel) -> QuerySet[ReferenceItem]:
    """The items with their pairs and the standing check of each."""
    looks = SpotCheck.objects.standing().filter(item=OuterRef("pk"))
    rows = panel.items.select_related("case__query__domain", "case__passage")
    rows = rows.defer("case__snapshot", "case__passage__text")
    return rows.annotate(look=looks.values("kind")[:1])


def checks_listed(panel: ReferencePanel) -> QuerySet[SpotCheck]:
    """Every spot check with its pair, corrected ones included, the last first."""
    related = ("item__case__query__domain", "item__case__passage", "checker")
    rows = SpotCheck.objects.filter(item__panel=panel).select_related(*related).order_by("-pk")
    return rows.defer("item__case__snapshot", "item__case__passage__text")


def log_rows(checks: QuerySet[SpotCheck]) -> Iterator[list[Any]]:
    """The log as rows of a file."""
    for each in checks.iterator(chunk_size=500):
        case = each.item.case
        yield [
            each.item_id,
            case.query.domain.name,
            case.query.qid,
            case.passage.pid,
            each.kind,
            each.before,
            each.label,
            each.reason,
            each.checker.username,
            each.created_at.isoformat(),
            "" if each.is_standing else "yes",
        ]
