"""Taking an exam or a practice: drawn once, answered one by one, kept whatever the result."""

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone

from annotate.exams.qualification import is_enough, rule_of
from annotate.keyed import draw
from annotate.models import AttemptState, ExamAnswer, ExamAttempt, ExamItem
from corpus.models import Domain, Membership, Role
from kit import audit
from kit.errors import Refused


def start_attempt(
    *, person: User, domain: Domain, practice: bool = False, size: int | None = None
) -> ExamAttempt:
    """Begin an attempt, or go on with the one that is open.

    An exam has as many items as the rule asks for, half of them with either answer as far as the
    bank allows; items that the person has not met in an exam come first. A practice has every
    practice item, or `size` of them. The order is the server's secret. Raises PermissionDenied
    for people who do not annotate the domain, and Refused where the bank is too small.
    """
    place = Membership.objects.filter(user=person, benchmark=domain.benchmark_id).first()
    if place is None or Role.ANNOTATOR not in place.roles or domain.pk not in place.domain_ids():
        raise PermissionDenied("Exams are for annotators of the domain.")
    rule = rule_of(domain.benchmark)
    bank = list(ExamItem.objects.usable(domain).filter(is_practice=practice))
    with transaction.atomic():
        going = {"is_practice": practice, "status": AttemptState.OPEN}
        if found := ExamAttempt.objects.of(person, domain).filter(**going).first():
            return found
        size = (size or len(bank)) if practice else rule.exam_size
        if not bank or len(bank) < size:
            kind = "practice item" if practice else "exam"
            raise Refused(f"There is no {kind} for {domain.name} yet. Ask an admin.")
        attempt, is_new = ExamAttempt.objects.get_or_create(
            **going, person=person, domain=domain, defaults={"pass_mark": rule.pass_mark}
        )
        if not is_new:  # begun in another tab just now
            return attempt
        attempt.items = _draw(attempt, bank, size)
        attempt.save(update_fields=["items"])
        _note(attempt, "start practice" if practice else "start exam", items=len(attempt.items))
    return attempt


def answer_item(*, attempt: ExamAttempt, place: int, person: User, label: int) -> ExamAttempt:
    """Answer the item at this place, for good; the last answer ends the attempt.

    Raises PermissionDenied for somebody else's attempt, and Refused where another item is next.
    """
    if attempt.person_id != person.pk:
        raise PermissionDenied("This is somebody else's attempt.")
    if label not in (0, 1):
        raise Refused("Choose relevant or not relevant.", field="label")
    with transaction.atomic():
        current = ExamAttempt.objects.select_for_update(of=("self",)).get(pk=attempt.pk)
        item = current.next_item()
        if current.status != AttemptState.OPEN or item is None or item.place != place:
            raise Refused("This item was answered already.")
        ExamAnswer.objects.create(attempt=current, item=item, label=label)
        _note(current, "answer exam item", item=item.pk, label=label)
        if place + 1 == current.size:
            _end(current)
    return current


def _end(attempt: ExamAttempt) -> None:
    given = attempt.answers.values_list("label", "item__label")
    attempt.right = sum(label == right for label, right in given)
    if attempt.is_practice:
        attempt.status = AttemptState.DONE
    else:
        passed = is_enough(attempt, attempt.pass_mark)
        attempt.status = AttemptState.PASSED if passed else AttemptState.FAILED
    attempt.ended_at = timezone.now()
    attempt.save(update_fields=["right", "status", "ended_at"])
    _note(attempt, "end exam", right=attempt.right, status=attempt.status)


def _draw(attempt: ExamAttempt, bank: list[ExamItem], size: int) -> list[int]:
    met = set(
        ExamAnswer.objects.filter(
            attempt__person=attempt.person_id, attempt__is_practice=False
        ).values_list("item", flat=True)
    )
    ranked = sorted(
        bank, key=lambda item: (item.pk in met, draw("item of exam", attempt.pk, item.pk))
    )
    sides = {label: [item for item in ranked if item.label == label] for label in (0, 1)}
    first, second = sorted(sides.values(), key=len)
    few = first[: size // 2]
    chosen = few + second[: size - len(few)]
    if len(chosen) < size:
        chosen += first[len(few) :][: size - len(chosen)]
    keys = [item.pk for item in chosen]
    return sorted(keys, key=lambda item: draw("order of exam", attempt.pk, item))


def _note(attempt: ExamAttempt, verb: str, **data: object) -> None:
    # A scope of its own: lists of a benchmark's events are read by people who take exams.
    scope = f"{attempt.domain.benchmark.slug}#exams"
    kept = {"domain": attempt.domain.name, **data}
    audit.record(actor=attempt.person, verb=verb, target=attempt, scope=scope, data=kept)
