"""Pairs that people still judge: what else was said of them is shown once they are decided."""

from django.db.models import Exists, OuterRef

from annotate.models import CaseStatus, EscalationCase


def is_undecided() -> Exists:
    """Condition on an outer queryset of labels: their pair has a case that is not closed."""
    of_pair = EscalationCase.objects.filter(
        query=OuterRef("query_id"), passage=OuterRef("passage_id")
    )
    return Exists(of_pair.exclude(status=CaseStatus.CLOSED))
