"""A second person's word on a reference answer."""

from django.db import transaction

from annotate.models import AnswerReview, AnswerVerdict, ReferenceAnswer
from annotate.services.answer_choice import note_answer
from annotate.services.answer_rights import require_answer_reviewer
from corpus.access import Access
from corpus.services.judgments import hold_queries
from kit.errors import Refused


def review_answer(
    *, answer: ReferenceAnswer, access: Access, verdict: str, note: str = ""
) -> AnswerReview:
    """A second person's word on a standing version; it replaces one's own earlier word.

    Raises PermissionDenied for whoever wrote here or may have to rate, Refused without a note
    where changes are asked for.
    """
    actor, query, note = access.user, answer.query, note.strip()
    with transaction.atomic():
        hold_queries([query.pk])
        require_answer_reviewer(access, query)
        if verdict not in AnswerVerdict.values:
            raise Refused("Choose fine or needs changes.", field="verdict")
        if verdict == AnswerVerdict.CHANGES and not note:
            raise Refused("Say what should change.", field="note")
        if not ReferenceAnswer.objects.standing().filter(pk=answer.pk).exists():
            raise Refused("A newer version stands. Look at that one.")
        earlier = AnswerReview.objects.filter(answer=answer, reviewer=actor, stands=True).first()
        if earlier is not None:
            AnswerReview.objects.filter(pk=earlier.pk).update(stands=False)
        given = AnswerReview.objects.create(
            answer=answer, reviewer=actor, verdict=verdict, note=note
        )
        if earlier is not None:
            AnswerReview.objects.filter(pk=earlier.pk).update(superseded_by=given)
        note_answer(answer, actor, "review answer", verdict=verdict, note=note)
    return given
