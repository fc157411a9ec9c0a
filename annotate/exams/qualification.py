"""Whether a person may vote in a domain: exam, approval elsewhere, rechecks (docs/protocol.md 2.4).

`qualified_for` is the one question that other rooms and verbs ask.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Model

from annotate import rights
from annotate.models import (
    ApprovalRecord,
    AttemptState,
    BatchItem,
    BatchStatus,
    ExamAttempt,
    ExamItem,
    QualificationRule,
    Recheck,
)
from corpus.models import Benchmark, Domain, Membership, Role
from kit import audit
from kit.errors import Refused
from kit.numbers import is_number

APPROVAL_COLUMNS = ("username", "rate", "approved")


@dataclass(frozen=True)
class QualificationStatus:
    """Whether the person is qualified, and in words what is missing."""

    qualified: bool
    missing: tuple[str, ...] = ()
    passed: ExamAttempt | None = None
    approval: ApprovalRecord | None = None
    recheck: Recheck | None = None

    def __bool__(self) -> bool:
        return self.qualified


def rule_of(benchmark: Benchmark) -> QualificationRule:
    """What the benchmark asks; until it is written an unsaved row, version 0, that asks nothing."""
    found = QualificationRule.objects.filter(benchmark=benchmark).first()
    return found or QualificationRule(benchmark=benchmark, version=0)


def qualified_for(person: User, domain: Domain) -> QualificationStatus:
    """Whether this person may vote in this domain; always, where the benchmark asks nothing."""
    rule = rule_of(domain.benchmark)
    return standing_of(person, domain, rule) if rule.required else QualificationStatus(True)


def standing_of(person: User, domain: Domain, rule: QualificationRule) -> QualificationStatus:
    """The person's qualification by this rule, whether it is required or not."""
    return standings([person.pk], [domain.pk], rule)[person.pk, domain.pk]


def standings(
    people: Collection[int], domains: Collection[int], rule: QualificationRule
) -> dict[tuple[int, int], QualificationStatus]:
    """The qualification of each of these people in each of these domains, in three queries.

    By the latest recheck, exam and approval of each.
    """
    pairs = {"person__in": people, "domain__in": domains}
    rechecks: dict[tuple[int, int], Recheck] = {}
    for recheck in Recheck.objects.filter(**pairs).order_by("-pk"):
        rechecks.setdefault((recheck.person_id, recheck.domain_id), recheck)
    exams: defaultdict[tuple[int, int], list[ExamAttempt]] = defaultdict(list)
    passed = ExamAttempt.objects.filter(status=AttemptState.PASSED, **pairs)  # no practice passes
    for exam in passed.order_by("-pk"):
        exams[exam.person_id, exam.domain_id].append(exam)
    approvals: dict[int, ApprovalRecord] = {}
    known = ApprovalRecord.objects.filter(person__in=people, benchmark=rule.benchmark)
    for record in known.order_by("-pk"):
        approvals.setdefault(record.person_id, record)
    return {
        (person, domain): _standing(
            rule, rechecks.get((person, domain)), exams[person, domain], approvals.get(person)
        )
        for person in people
        for domain in domains
    }


def _standing(
    rule: QualificationRule,
    recheck: Recheck | None,
    exams: Sequence[ExamAttempt],
    approval: ApprovalRecord | None,
) -> QualificationStatus:
    # The latest exam that counts: passed since the last recheck, at the mark of today.
    counting = (each for each in exams if recheck is None or each.started_at > recheck.created_at)
    passed = next((each for each in counting if is_enough(each, rule.pass_mark)), None)
    missing = []
    if passed is None and recheck is not None:
        missing.append(f"the exam once more: {recheck.reason}")
    elif passed is None:
        missing.append(f"the exam, with {rule.pass_mark} of 100 or more")
    is_approved = (
        approval is not None
        and approval.rate > rule.approval_above
        and approval.approved >= rule.approved_least
    )
    if rule.needs_approval and not is_approved:
        missing.append(
            f"more than {rule.approval_above} % of earlier work approved, and at least "
            f"{rule.approved_least:,} pieces"
        )
    return QualificationStatus(not missing, tuple(missing), passed, approval, recheck)


def is_enough(attempt: ExamAttempt, mark: int) -> bool:
    """Whether the attempt reaches a mark in percent: 90 passes a mark of 90, 89 fails."""
    return bool(attempt.items) and 100 * attempt.right >= mark * len(attempt.items)


def recheck_needed(
    accuracy: Sequence[bool], *, below: int = 80, window: int = 10
) -> tuple[int, int] | None:
    """Whether the last `window` checks went wrong too often, as (right, looked at); else None.

    `accuracy` holds one answer per attention check, the oldest first: whether it was right.
    `below` is in percent. Fewer checks than a window say nothing yet.
    """
    if len(accuracy) < window:
        return None
    last = list(accuracy[-window:])
    right = sum(last)
    return (right, window) if 100 * right < below * window else None


def ask_recheck(*, person: User, domain: Domain, reason: str, actor: User | None = None) -> Recheck:
    """Let earlier exams of the person in this domain count no more; kept with its reason.

    `actor` is None where accuracy on checks asked for it. Raises PermissionDenied for everybody
    but admins, and Refused without a reason.
    """
    if actor is not None:
        require_admin(domain.benchmark, actor)
    if not reason.strip():
        raise Refused("Say why the exam has to be taken again.", field="reason")
    with transaction.atomic():
        asked = Recheck.objects.create(
            person=person, domain=domain, reason=reason.strip()[:300], created_by=actor
        )
        data = {"person": person.pk, "domain": domain.name, "reason": asked.reason}
        note(domain.benchmark, actor, "ask recheck", asked, **data)
    return asked


def watch_checks(*, person: User, domain: Domain) -> Recheck | None:
    """Ask for a new exam if the person's attention checks since the last one call for it."""
    rule = rule_of(domain.benchmark)
    passed = standing_of(person, domain, rule).passed
    if passed is None or passed.ended_at is None:
        return None
    rows = BatchItem.objects.filter(
        batch__voter=person,
        batch__status__in=(BatchStatus.ACCEPTED, BatchStatus.REJECTED),
        batch__ended_at__gt=passed.ended_at,
        check_item__query__domain=domain,
    ).order_by("batch__ended_at", "batch", "place")
    given = rows.values_list("label", "check_item__expected")
    accuracy = [label == expected for label, expected in given]
    found = recheck_needed(accuracy, below=rule.recheck_below, window=rule.recheck_window)
    if found is None:
        return None
    reason = f"{found[0]} of the last {found[1]} attention checks were right"
    return ask_recheck(person=person, domain=domain, reason=reason)


def set_rule(
    *,
    benchmark: Benchmark,
    actor: User,
    expected: int,
    may_wait: bool = False,
    **fields: int | bool,
) -> None:
    """Change what the benchmark asks; `expected` is the version read (0: none was written yet).

    Raises Conflict where another admin saved first, and Refused for numbers out of range or an
    exam that the bank could not fill, unless people `may_wait` for it.
    """
    require_admin(benchmark, actor)
    for name in ("pass_mark", "approval_above", "recheck_below"):
        if not 0 <= fields.get(name, 0) <= 100:
            raise Refused("Give a percentage from 0 to 100.", field=name)
    for name in ("exam_size", "recheck_window"):
        if not 1 <= fields.get(name, 1) <= 200:
            raise Refused("Give a number from 1 to 200.", field=name)
    if fields.get("required") and not may_wait:
        _check_bank(benchmark, int(fields.get("exam_size", 10)))
    with transaction.atomic():
        rule, _ = QualificationRule.objects.get_or_create(benchmark=benchmark)
        rule.write(expected=max(expected, 1), actor=actor, **fields)
        note(benchmark, actor, "set qualification", rule, **fields)


def domains_without_exam(benchmark: Benchmark, size: int = 0) -> list[str]:
    """Names of domains whose bank cannot fill an exam (of so many items, else of the rule's)."""
    size = size or rule_of(benchmark).exam_size
    return [
        domain.name
        for domain in benchmark.domains.filter(is_ready=True)
        if ExamItem.objects.usable(domain).filter(is_practice=False).count() < size
    ]


def _check_bank(benchmark: Benchmark, size: int) -> None:
    if short := domains_without_exam(benchmark, size):
        raise Refused(
            f"The bank has fewer than {size} exam items for {', '.join(short)}. "
            "Add items first, or nobody could vote there.",
            field="required",
        )


def require_admin(benchmark: Benchmark, actor: User) -> None:
    """Raise PermissionDenied unless the person is an admin of the benchmark."""
    rights.require_admin(benchmark, actor, "Qualification is managed by admins.")


def note(
    benchmark: Benchmark, actor: User | None, verb: str, target: Model, **data: object
) -> None:
    """The event of what an admin did here."""
    audit.record(actor=actor, verb=verb, target=target, scope=benchmark.slug, data=data)


def people_rows(benchmark: Benchmark) -> list[dict[str, Any]]:
    """Every annotator in every domain of theirs: `person`, `domain` and `standing` there."""
    rule = rule_of(benchmark)
    domains = {each.pk: each for each in benchmark.domains.filter(is_ready=True)}
    places = Membership.objects.filter(benchmark=benchmark).select_related("user")
    own = places.prefetch_related("domains")
    annotators = [place for place in own if Role.ANNOTATOR in place.roles]
    found = standings([place.user_id for place in annotators], list(domains), rule)
    rows = []
    for place in annotators:
        # As Membership.domain_ids, of domains that were read along: none chosen means all.
        chosen = {each.pk for each in place.domains.all()} or domains.keys()
        rows += [
            {"person": place.user, "domain": domains[pk], "standing": found[place.user_id, pk]}
            for pk in sorted(chosen & domains.keys())
        ]
    return rows


def import_approvals(
    *, benchmark: Benchmark, actor: User, rows: Iterator[dict[str, str]]
) -> list[ApprovalRecord]:
    """Keep one record per row; all or none. The newest record of a person counts.

    `rate` is a percentage, `approved` a number of pieces. Raises Refused naming line and field.
    """
    require_admin(benchmark, actor)
    people = {user.username: user for user in User.objects.filter(memberships__benchmark=benchmark)}
    records, seen = [], set()
    for line, row in enumerate(rows, start=2):
        name = row.get("username", "").strip()
        if name not in people:
            raise Refused(
                f"Line {line}, username: {name!r} is no member of this benchmark.", field="file"
            )
        if name in seen:
            raise Refused(f"Line {line}, username: {name!r} stands there twice.", field="file")
        seen.add(name)
        records.append(
            ApprovalRecord(
                benchmark=benchmark,
                person=people[name],
                rate=_rate(row.get("rate", ""), line),
                approved=_number(row.get("approved", ""), line),
                imported_by=actor,
            )
        )
    if not records:
        raise Refused("The file has no line after its header.", field="file")
    with transaction.atomic():
        kept = ApprovalRecord.objects.bulk_create(records)
        people_kept = [each.person_id for each in kept]
        note(benchmark, actor, "import approvals", benchmark, people=people_kept)
    return kept


def _rate(text: str, line: int) -> Decimal:
    try:
        rate = Decimal(text.strip().removesuffix("%").strip()[:20])
    except InvalidOperation:
        rate = Decimal("NaN")
    if not rate.is_finite() or not 0 <= rate <= 100:
        raise Refused(f"Line {line}, rate: write a percentage from 0 to 100.", field="file")
    # Cut, never rounded up: 90.004 stays above 90 only if it is written with two decimals.
    return rate.quantize(Decimal("0.01"), rounding="ROUND_DOWN")


def _number(text: str, line: int) -> int:
    text = text.strip().replace(",", "")
    if not is_number(text) or len(text) > 9:
        raise Refused(f"Line {line}, approved: write a whole number.", field="file")
    return int(text)
