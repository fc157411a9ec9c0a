"""What stands on a pair once a verdict on it is taken back: what that verdict pushed aside.

History is never edited: whatever stands again is a new row. A restored verdict remembers the row
it began as, so that taking it back goes one verdict further.
"""

from django.contrib.auth.models import User

from annotate.models import GoldPassage
from annotate.services.cases import close_by_verdict, reopen_case
from corpus.models import Judgment, Source, Status
from corpus.services.judgments import first_row, restore_judgment, withdraw_judgment
from corpus.services.label_rules import strongest


def take_back_verdict(*, verdict: Judgment, actor: User) -> None:
    """Withdraw an expert's label: what it displaced stands again, a case it closed reopens.

    For a caller that holds the query.
    """
    withdraw_judgment(judgment=verdict, actor=actor, held=True)
    earlier = raise_displaced(verdict=verdict, actor=actor)
    if earlier is not None:
        close_by_verdict(judgment=earlier, actor=actor)
    else:
        reopen_case(query=verdict.query, passage=verdict.passage, actor=actor)


def raise_displaced(*, verdict: Judgment, actor: User) -> Judgment | None:
    """Let the label and the assignment that a withdrawn verdict displaced stand again.

    Gives the earlier verdict if an expert's label stands now, else None. An assignment to an
    aspect that is gone meanwhile stands again too, and asks for a new one. For a caller that holds
    the query.
    """
    earlier = _earlier_verdict(verdict)
    label = earlier or strongest(_pushed_aside(verdict))
    raised = restore_judgment(judgment=label, actor=actor, held=True) if label else None
    own = raised if earlier else None
    _raise_assignment(verdict, own)
    return own


def _earlier_verdict(verdict: Judgment) -> Judgment | None:
    displaced = Judgment.objects.filter(superseded_by=first_row(verdict), source=Source.EXPERT)
    return displaced.order_by("pk").last()


def _pushed_aside(verdict: Judgment) -> list[Judgment]:
    """Labels of machines and voters that stood before any verdict, or came while one stood."""
    rows = Judgment.objects.filter(
        query=verdict.query_id,
        passage=verdict.passage_id,
        status=Status.SUPERSEDED,
        superseded_by__source=Source.EXPERT,
    )
    return list(rows.exclude(source__in=(Source.EXPERT, Source.ORIGINAL)))


def _raise_assignment(verdict: Judgment, label: Judgment | None) -> None:
    displaced = GoldPassage.objects.filter(ended_by=first_row(verdict))
    gold = displaced.order_by("pk").last()
    if gold is not None:
        GoldPassage.objects.create(
            aspect_id=gold.aspect_id,
            query_id=gold.query_id,
            passage_id=gold.passage_id,
            judgment=label if gold.judgment_id else None,
            created_by_id=gold.created_by_id,
        )
