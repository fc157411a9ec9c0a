"""Batches: taken as a whole, answered in any order, submitted once (docs/protocol.md 2.4).

The answers stay in the batch until it is submitted. Only then do they become votes, if every
attention check was answered rightly; else its slots are free again and nothing of it counts.
"""

from collections.abc import Sequence
from datetime import timedelta
from itertools import count
from random import Random

from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.db.models import F, OuterRef
from django.utils import timezone

from annotate.batches.checks import checks_in, choose_checks
from annotate.exams.qualification import watch_checks
from annotate.keyed import draw
from annotate.models import (
    Batch,
    BatchItem,
    BatchStatus,
    Guideline,
    VoteSlot,
    VotingPlan,
)
from annotate.plans.services import (
    NEEDS_CONSENT,
    begins_alone,
    condition_of,
    ends_there,
    needs_consent,
)
from annotate.voting.cases import settle
from annotate.voting.eligibility import kinds_for
from annotate.voting.services import Answer, check_answer, check_change, count_vote, fill, last_link
from annotate.voting.slots import free_cases, lease, take
from corpus.access import Access
from corpus.judgments.services import lock_queries
from kit import audit
from kit.errors import Conflict, Refused

NOTHING = "Nothing waits for your vote just now."
OVER = "This batch was submitted; its answers stay as they are."


def take_batch(*, access: Access, plan: VotingPlan) -> Batch:
    """The person's open batch, or a new one of free cases with checks among them.

    Raises Refused where nothing waits, before the person agreed to the terms, and where no check
    can be made.
    """
    if not access.is_annotator:
        raise PermissionDenied("Only annotators vote.")
    if not plan.has_batches:
        raise Refused("Here people vote case by case, without batches.")
    if needs_consent(plan, access):
        raise Refused(NEEDS_CONSENT, field="consent")
    earlier = open_batch(access)
    if earlier is not None:
        return earlier
    try:
        with transaction.atomic():
            return _make(access, plan)
    except IntegrityError:  # another tab took one just now
        again = open_batch(access)
        if again is None:
            raise Refused("Somebody took these cases at the same moment. Try again.") from None
        return again


def open_batch(access: Access) -> Batch | None:
    """The batch the person works on."""
    mine = Batch.objects.open().of(access.user.pk, access.benchmark)
    return mine.select_related("plan").first()


def answer_item(
    *, item: BatchItem, access: Access, answer: Answer, expected: int | None = None
) -> BatchItem:
    """Give or change the answer to one item of one's own open batch.

    Where the positions are shown after a first judgment, the first "relevant" or "not relevant" is
    that judgment: it stays, and the positions may be seen. The next answer is the final one.
    `expected` is the version of the answer that the person saw; another one is a Conflict that
    has the stored item. Raises Refused for a batch that is over and for what an answer lacks.
    """
    _need_own(item.batch, access)
    content = item.case or item.check_item
    passage = content.passage.text if content else ""
    with transaction.atomic():
        # The row lock of the batch: submitting and answering take turns.
        if not Batch.objects.open().filter(pk=item.batch_id).update(size=F("size")):
            raise Refused(OVER)
        stored = BatchItem.objects.select_related("batch").get(pk=item.pk)
        if expected is not None and expected != stored.version:
            raise Conflict(stored)
        plan = item.batch.plan
        is_first = begins_alone(plan, stored.arm) and not stored.is_committed
        if is_first and answer.label in (0, 1):
            stored.committed_at, stored.first_label = timezone.now(), answer.label
            stored.first_ms = answer.elapsed_ms
        if not is_first or ends_there(plan, stored.arm, answer.label):
            check_answer(answer, plan, passage)
            check_change(stored, answer)
            stored.label, stored.reason = answer.label, answer.reason.strip()
            stored.elapsed_ms, stored.answered_at = answer.elapsed_ms, timezone.now()
            stored.span_start, stored.span_end = answer.span or (None, None)
        stored.version += 1
        stored.save()
        _note(access, "answer item", stored, version=stored.version)
    return stored


def submit_batch(*, batch: Batch, access: Access) -> Batch:
    """Submit one's own batch: accepted, its answers become votes; rejected, its slots are free.

    Raises Refused while answers are missing and for a batch that is over.
    """
    _need_own(batch, access)
    with transaction.atomic():
        queries = batch.items.exclude(case=None).values_list("case__query", flat=True)
        lock_queries(queries)
        _lock_open(batch)
        rows = batch.items.select_related(
            "case__query__domain__benchmark", "check_item__query__domain__benchmark"
        )
        items = list(rows.select_related("case__passage").order_by("place"))
        missing = [each.place for each in items if not each.is_answered]
        if missing:
            raise Refused(f"{len(missing)} of {len(items)} items are still to be judged.")
        checks = [each for each in items if each.check_item is not None]
        failed = sum(each.label != each.check_item.expected for each in checks)  # type: ignore[union-attr]
        lost = 0 if failed else _make_votes(batch, items, access)
        _end(batch, BatchStatus.REJECTED if failed else BatchStatus.ACCEPTED, failed, lost)
        verb = "reject batch" if failed else "accept batch"
        _note(access, verb, batch, items=len(items), failed=failed, lost=lost)
        for domain in {each.check_item.query.domain for each in checks}:  # type: ignore[union-attr]
            watch_checks(person=access.user, domain=domain)
    return batch


def return_batch(*, batch: Batch, access: Access) -> Batch:
    """Return one's own open batch: its slots are free again, its answers never count."""
    _need_own(batch, access)
    with transaction.atomic():
        _lock_open(batch)
        _end(batch, BatchStatus.RETURNED, 0, 0)
        _note(access, "return batch", batch, items=batch.size)
    return batch


def _need_own(batch: Batch, access: Access) -> None:
    if batch.voter_id != access.user.pk:
        raise PermissionDenied("This batch is somebody else's.")


def _lock_open(batch: Batch) -> None:
    if not Batch.objects.open().filter(pk=batch.pk).update(ended_at=timezone.now()):
        raise Refused(OVER)


def _make(access: Access, plan: VotingPlan) -> Batch:
    slots = free_cases(access, plan, max(1, plan.batch_size - checks_in(plan.batch_size)))
    if not slots:
        raise Refused(NOTHING)
    # As many checks as give the whole batch its share.
    checks = next(n for n in count(1) if n >= checks_in(len(slots) + n))
    size = len(slots) + checks
    batch = Batch.objects.create(
        plan=plan,
        voter=access.user,
        size=size,
        # The lease of the last item begins when those before it are done.
        expires_at=timezone.now() + lease(plan) + timedelta(seconds=plan.seconds_per_item * size),
    )
    for slot in slots:
        if take(slot, access.user.pk, plan, slot.case, batch=batch) is None:
            raise IntegrityError("a slot was taken meanwhile")
    seed = draw("checks of batch", batch.pk)
    cases = [slot.case for slot in slots]
    found = choose_checks(access=access, cases=cases, count=checks, seed=seed)
    items = [BatchItem(batch=batch, case=slot.case, arm=slot.arm) for slot in slots]
    items += [
        BatchItem(
            batch=batch, check_item=each, arm=condition_of(plan, each.snapshot, "check", each.pk)
        )
        for each in found
    ]
    Random(draw("places of batch", batch.pk)).shuffle(items)  # noqa: S311  (keyed)
    for place, item in enumerate(items, 1):
        item.place = place
    BatchItem.objects.bulk_create(items)
    _note(access, "take batch", batch, items=size)
    return batch


def _make_votes(batch: Batch, items: Sequence[BatchItem], access: Access) -> int:
    """Votes of what may still count; how many slots were lost or cases decided meanwhile."""
    lost = 0
    guideline = Guideline.objects.current_version(batch.plan.benchmark_id)
    own = VoteSlot.objects.held_by(batch.voter_id).filter(batch=batch)
    own = own.filter(case__kind__in=kinds_for(access))
    own = own.annotate(last_link=last_link(OuterRef("case")))
    slots = {slot.case_id: slot for slot in own}
    for item in items:
        if item.case is None:
            continue
        slot = slots.get(item.case.pk)
        if slot is None or not count_vote(item.case):
            lost += 1
        else:
            answer = Answer(item.label, item.reason, item.elapsed_ms, item.span)
            fill(slot, item, answer, guideline, batch, after=slot.last_link)
            settle(item.case)
    return lost


def _end(batch: Batch, status: str, failed: int, lost: int) -> None:
    """Free the slots without a vote, and store the result of the batch."""
    VoteSlot.objects.held_by(batch.voter_id).filter(batch=batch).give_back()
    batch.status, batch.ended_at = status, timezone.now()
    batch.failed_checks, batch.lost_items = failed, lost
    batch.save(update_fields=["status", "ended_at", "failed_checks", "lost_items"])


def _note(access: Access, verb: str, target: Batch | BatchItem, **data: int) -> None:
    scope = f"{access.benchmark.slug}#votes"
    audit.record(actor=access.user, verb=verb, target=target, scope=scope, data=dict(data))
