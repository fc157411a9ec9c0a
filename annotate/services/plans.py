"""Writing a benchmark's voting plan, and agreeing to it."""

from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import IntegrityError, transaction

from annotate.models import Consent, VotingPlan
from corpus.access import Access
from corpus.models import Benchmark, Membership, Role
from kit import audit
from kit.errors import Refused

FIELDS = (
    "batch_size",
    "reveal",
    "needs_span",
    "lease_minutes",
    "seconds_per_item",
    "hourly_pay",
    "currency",
    "consent_text",
)


def save_plan(*, benchmark: Benchmark, actor: User, expected: int, **values: Any) -> VotingPlan:
    """Put a new version in force over version `expected`; `values` are those of FIELDS that change.

    Open batches keep the version they were taken under. Raises Refused for a wrong value, naming
    its field, and where somebody wrote a version meanwhile; PermissionDenied but for admins.
    """
    place = Membership.objects.filter(user=actor, benchmark=benchmark).first()
    if place is None or Role.ADMIN not in place.roles:
        raise PermissionDenied("The voting plan is written by admins.")
    current = VotingPlan.objects.current(benchmark)
    stale = f"Version {current.version} was written meanwhile. Look at it, then save."
    if current.version != expected:
        raise Refused(stale, field="expected")
    kept = {name: getattr(current, name) for name in FIELDS}
    new = VotingPlan(benchmark=benchmark, version=expected + 1, created_by=actor, **kept | values)
    if new.hourly_pay is not None and not isinstance(new.hourly_pay, Decimal):
        new.hourly_pay = Decimal(str(new.hourly_pay))
    if new.hourly_pay is not None and not new.consent_text.strip():
        raise Refused("Say what people who are paid agree to.", field="consent_text")
    try:
        new.clean_fields(exclude=["benchmark", "created_by"])
    except ValidationError as wrong:
        field, said = next(iter(wrong.message_dict.items()))
        raise Refused(said[0], field=field) from None
    try:
        with transaction.atomic():
            new.save()
            data = {name: str(getattr(new, name)) for name in FIELDS if name != "consent_text"}
            audit.record(
                actor=actor, verb="write plan", target=new, scope=benchmark.slug, data=data
            )
    except IntegrityError:
        raise Refused(stale, field="expected") from None
    return new


def needs_consent(plan: VotingPlan, access: Access) -> bool:
    """Whether the person must agree before they judge: to this text and pay, in any version."""
    if not plan.consent_text.strip():
        return False
    given = Consent.objects.of(access.user.pk, access.benchmark).select_related("plan")
    return all(each.plan.terms != plan.terms for each in given)


def give_consent(*, plan: VotingPlan, access: Access, version: int) -> Consent:
    """Record that the person agrees to the version they read; the text is the plan's.

    Raises Refused where another version is in force by now, PermissionDenied but for annotators.
    """
    if not access.is_annotator:
        raise PermissionDenied("Only people who vote are asked to agree.")
    if plan.version != version or plan.pk is None:
        raise Refused("The terms were changed meanwhile. Read them again.")
    with transaction.atomic():
        consent, is_new = Consent.objects.get_or_create(person=access.user, plan=plan)
        if is_new:
            scope = f"{access.benchmark.slug}#votes"
            data = {"version": plan.version}
            audit.record(actor=access.user, verb="consent", target=consent, scope=scope, data=data)
    return consent
