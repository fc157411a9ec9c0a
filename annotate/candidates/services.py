"""Candidates for gold of aspects: an expert confirms one, refuses it, or takes that back.

Confirming is assigning (annotate/workspace/gold.py): it is gold of the query from then on. A
refusal says something of the aspect alone, and nothing of the pair.
"""

from django.contrib.auth.models import User

from annotate.models import Adjudication, Aspect, GoldPassage, Guideline
from annotate.rights import lock_for_writing, record
from annotate.support.models import SupportLabel
from annotate.support.services import experts_support, record_support
from annotate.voting.cases import close_by_verdict, take_support_back
from annotate.voting.majority import DISCARDED, named
from annotate.workspace.gold import SETTLED, assign_passage
from corpus.models import Passage, Source
from kit.errors import Refused


def confirm_candidate(*, aspect: Aspect, passage: Passage, actor: User) -> GoldPassage:
    """Make the passage gold of the aspect; raises as `assign_passage`."""
    return assign_passage(query=aspect.query, passage=passage, aspect=aspect, actor=actor)


def refuse_candidate(*, aspect: Aspect, passage: Passage, reason: str, actor: User) -> SupportLabel:
    """Say that the passage does not support the aspect; nobody votes on that any more.

    Raises Refused without a reason, for gold of the aspect, and for what a third person settled.
    """
    if not reason.strip():
        raise Refused("Say in a few words why it does not support the aspect.", field="reason")
    query = aspect.query
    with lock_for_writing(query, actor):
        gold = GoldPassage.objects.standing().filter(aspect=aspect, passage=passage)
        if gold.exists():
            raise Refused("This passage is gold of the aspect. Move or discard it in its query.")
        settled = Adjudication.objects.standing().filter(support__aspect=aspect, passage=passage)
        if settled.filter(label=1).exists():
            raise Refused(SETTLED)
        guideline = Guideline.objects.current_version(query.domain.benchmark_id)
        label = record_support(
            aspect=aspect,
            passage=passage,
            label=0,
            source=Source.EXPERT,
            provenance={
                **named(DISCARDED),
                "reason": reason.strip(),
                "guideline_version": guideline,
            },
            actor=actor,
        )
        close_by_verdict(verdict=label, actor=actor)
        record(query, actor, "refuse candidate", label, aspect=aspect.k, passage=passage.pk)
    return label


def take_refusal_back(*, aspect: Aspect, passage: Passage, actor: User) -> None:
    """What stood before the refusal stands again, and a case that it closed is open again."""
    with lock_for_writing(aspect.query, actor):
        label = experts_support(aspect, passage)
        if label is None or label.provenance.get("rule") != DISCARDED:
            raise Refused("There is no refusal to take back.")
        take_support_back(label=label, actor=actor)
