"""Labelling the items of a reference panel, one by one, each expert blind to the others.

Slots, leases and votes are those of every case (voting). Who labels has passed the exam where one
is required, and the panel's practice (docs/protocol.md 2.6); nobody labels a pair twice, one that
they collected, or one that they met among the disputes.
"""

from collections import Counter

from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from annotate.exams.services import start_attempt
from annotate.models import (
    AttemptState,
    CaseKind,
    CaseStatus,
    Condition,
    EscalationCase,
    ExamAnswer,
    ExamAttempt,
    ReferenceItem,
    ReferencePanel,
    Vote,
    VoteSlot,
    VotingPlan,
)
from annotate.panels.settling import settle_item
from annotate.voting.cases import note
from annotate.voting.eligibility import knows_pair, voting_domains
from annotate.voting.services import cast_vote
from annotate.voting.slots import lease, take
from annotate.workspace.gold import withdraw_verdict
from corpus.access import Access
from corpus.judgments.services import lock_queries
from corpus.models import Domain, Judgment
from kit.errors import Refused

NOT_OPEN = "This panel is not open for labels."
_TRIES = 20


def practice_left(access: Access, panel: ReferencePanel) -> list[tuple[Domain, int]]:
    """The panel's domains of this person, each with the practice items they still owe.

    An item counts once, judged in an attempt that is over.
    """
    done = ExamAnswer.objects.filter(
        attempt__person=access.user,
        attempt__is_practice=True,
        attempt__status=AttemptState.DONE,
    )
    judged = Counter(domain for domain, _ in set(done.values_list("attempt__domain", "item")))
    used = panel.items.values("case__query__domain")
    domains = Domain.objects.filter(pk__in=used).filter(pk__in=access.domain_ids)
    return [(each, max(0, panel.practice_items - judged[each.pk])) for each in domains]


def start_practice(*, access: Access, panel: ReferencePanel, domain: Domain) -> ExamAttempt:
    """Begin, or go on with, the practice before the panel's first item of this domain."""
    if not panel.is_open:
        raise Refused(NOT_OPEN)
    return start_attempt(
        person=access.user, domain=domain, practice=True, size=panel.practice_items
    )


def labelling_domains(access: Access, panel: ReferencePanel) -> set[int]:
    """Keys of the domains in which the person may label: exam passed and practice done."""
    if not access.is_annotator or not panel.is_open:
        return set()
    may_vote = voting_domains(access)
    left = practice_left(access, panel)
    return {domain.pk for domain, owed in left if not owed and domain.pk in may_vote}


def panel_plan(panel: ReferencePanel) -> VotingPlan:
    """The rules of its places: reasons from the start, no batches, the benchmark's lease."""
    current = VotingPlan.objects.current(panel.benchmark)
    return VotingPlan(
        benchmark=panel.benchmark,
        version=0,
        reveal=Condition.START,
        lease_minutes=current.lease_minutes,
    )


def labelable(access: Access, panel: ReferencePanel) -> QuerySet[EscalationCase]:
    """The panel's open cases that this person may label, whether a place is free or not."""
    voter = access.user.pk
    cases = EscalationCase.objects.open().filter(
        reference_item__panel=panel, query__domain__in=labelling_domains(access, panel)
    )
    return cases.exclude(knows_pair(voter)).exclude(Exists(met_elsewhere(voter)))


def waiting_labels(access: Access, panel: ReferencePanel) -> QuerySet[EscalationCase]:
    """Those of them that have a place for this person."""
    slots = VoteSlot.objects.filter(case=OuterRef("pk"))
    mine = slots.filter(voter=access.user)
    free = Exists(slots.free(timezone.now())) & ~Exists(mine)
    return labelable(access, panel).filter(Exists(mine.filter(vote=None)) | free)


def met_elsewhere(voter: int) -> QuerySet[VoteSlot]:
    """Of a case: places of the voter in another case of its pair, in which they judged."""
    judged = VoteSlot.objects.filter(
        voter=voter, case__query=OuterRef("query_id"), case__passage=OuterRef("passage_id")
    ).exclude(case=OuterRef("pk"))
    return judged.exclude(vote=None, committed_at=None)


def next_item(
    *, access: Access, panel: ReferencePanel, after: ReferenceItem | None = None
) -> ReferenceItem | None:
    """An item with a vote slot leased to this person; None where none waits.

    `after` is the one they leave for later: its slot goes back.
    """
    if after is not None:
        VoteSlot.objects.held_by(access.user.pk).filter(case=after.case_id).give_back()
    plan = panel_plan(panel)
    for _ in range(_TRIES):
        found = _first_waiting(access, panel, after)
        if found is None:
            return None
        if lease_item(access=access, item=found, plan=plan) is not None:
            return found
    return None


def lease_item(
    *, access: Access, item: ReferenceItem, plan: VotingPlan | None = None
) -> VoteSlot | None:
    """The person's place of this item, taken now if one is free; None where there is none."""
    plan = plan or panel_plan(item.panel)
    mine = VoteSlot.objects.filter(case=item.case, voter=access.user).select_related("vote")
    slot = mine.first()
    if slot is None:
        if not labelable(access, item.panel).filter(pk=item.case_id).exists():
            return None
        try:
            with transaction.atomic():
                free = VoteSlot.objects.free(timezone.now()).filter(case=item.case)
                found = free.select_for_update(skip_locked=True).order_by("place").first()
                return take(found, access.user.pk, plan, item.case) if found else None
        except IntegrityError:  # another tab of the same person took it just now
            return mine.first()
    if slot.vote_id is None:
        VoteSlot.objects.held_by(access.user.pk).filter(pk=slot.pk).update(
            expires_at=timezone.now() + lease(plan)
        )
    return slot


def label_item(
    *,
    item: ReferenceItem,
    access: Access,
    label: int | None,
    reason: str = "",
    elapsed_ms: int | None = None,
    correct: bool = False,
) -> Vote:
    """Give one expert's label; None says that the pair cannot be judged, and needs a reason.

    The last label that the item wants settles it (settling.py). `correct` replaces the person's
    own label, with a reason, until the panel is closed or a senior looked; the earlier vote and
    the label it made stay as history. Raises Refused where the person may not label it or a
    correction changes nothing, AlreadyVoted where they have.
    """
    _check_labeller(access, item)
    if not correct and item.case.query.domain_id not in labelling_domains(access, item.panel):
        raise Refused("Do the practice items of this domain first.", field="practice")
    met = EscalationCase.objects.filter(Exists(met_elsewhere(access.user.pk)), pk=item.case_id)
    if not correct and met.exists():
        raise Refused("You judged this pair before, so another expert labels it.")
    if correct and not reason.strip():
        raise Refused("Say in a few words why you change it.", field="reason")
    with transaction.atomic():
        lock_queries([item.case.query_id])
        mine, earlier = _reopen(access, item, label) if correct else (None, None)
        vote = cast_vote(
            case=item.case,
            voter=access.user,
            label=label,
            reason=reason,
            elapsed_ms=elapsed_ms,
            access=access,
            plan=panel_plan(item.panel),
            replaces=mine.pk if mine else None,
        )
        settle_item(item)
        if earlier is not None and Judgment.objects.standing().filter(pk=earlier.pk).exists():
            withdraw_verdict(verdict=earlier, actor=access.user)  # and nothing replaced it
    return vote


def _reopen(access: Access, item: ReferenceItem, label: int | None) -> tuple[Vote, Judgment | None]:
    """Let the item wait for a corrected label: the person's own one, and what it had made, if so.

    Refused where there is nothing to correct.
    """
    mine = Vote.objects.standing().filter(case=item.case, voter=access.user).first()
    if mine is None:
        raise Refused("You have not labelled this item.")
    if mine.label == label:
        raise Refused("That is what you said before.", field="label")
    if item.checks.exists():
        raise Refused("A senior has looked at this item; its label is theirs to change now.")
    case = EscalationCase.objects.select_related("judgment").get(pk=item.case_id)
    if case.status != CaseStatus.OPEN:
        EscalationCase.objects.filter(pk=case.pk).update(
            status=CaseStatus.OPEN, label=None, judgment=None, closed_at=None
        )
        note("reopen case", case, access.user, case)
    return mine, case.judgment


def own_items(access: Access, panel: ReferencePanel) -> QuerySet[ReferenceItem]:
    """Items that the person has labelled, the last one first, each with its `own_label`."""
    votes = Vote.objects.standing().filter(voter=access.user, case=OuterRef("case"))
    items = panel.items.filter(Exists(votes)).select_related("case__passage")
    first = votes.values("pk")[:1]
    return items.annotate(own=first, own_label=votes.values("label")[:1]).order_by("-own")


def _first_waiting(
    access: Access, panel: ReferencePanel, after: ReferenceItem | None
) -> ReferenceItem | None:
    """The item to go to: leased already, else the first free one after the one left for later."""
    cases = waiting_labels(access, panel)
    if after is not None:
        cases = cases.exclude(pk=after.case_id)
    slots = VoteSlot.objects.filter(case__in=cases)
    slot = slots.held_by(access.user.pk).order_by("turn").first()
    if slot is None:
        free = slots.free(timezone.now()).order_by("turn")
        turn = after.case.slots.values_list("turn", flat=True).first() if after else None
        slot = (free.after(turn).first() if turn is not None else None) or free.first()
    if slot is None:
        return None
    related = ("panel__benchmark", "case__query__domain__benchmark", "case__passage__document")
    return ReferenceItem.objects.select_related(*related).get(case=slot.case_id)


def _check_labeller(access: Access, item: ReferenceItem) -> None:
    if item.case.kind != CaseKind.REFERENCE or item.panel.benchmark_id != access.benchmark.pk:
        raise PermissionDenied("This item belongs to no panel of this benchmark.")
    if not access.is_annotator or item.case.query.domain_id not in access.domain_ids:
        raise PermissionDenied("Only annotators of this domain may label this.")
    if not item.panel.is_open:
        raise Refused(NOT_OPEN)
