"""Voting plans: write one, agree to it, and what a voter sees under it (docs/protocol.md 2.4)."""

import re
from collections.abc import Mapping
from decimal import Decimal
from itertools import cycle
from random import Random
from string import ascii_uppercase
from typing import Any, Final

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import IntegrityError, transaction

from annotate.exams.qualification import rule_of, set_rule
from annotate.guidelines.rendering import check_markdown
from annotate.keyed import draw
from annotate.models import CONDITIONS, Condition, Consent, VotingPlan
from annotate.rights import require_admin
from corpus.access import Access
from corpus.models import Benchmark
from kit import audit
from kit.errors import Refused

_NAMED = re.compile(r"\b(agent)\s+([A-Z])\b", re.IGNORECASE)
NEEDS_CONSENT = "Read and accept the terms first."
FIELDS = (
    "batch_size",
    "reveal",
    "needs_span",
    "lease_minutes",
    "seconds_per_item",
    "hourly_pay",
    "currency",
    "audit",
    "audit_bar",
    "consent_text",
)
# The checks that gate people's labels, with what each asks where it is chosen first.
CHECKS: Final = {
    "exam": "People pass an exam before they vote; until its bank is filled nobody votes",
    "batches": "Votes come in batches with attention checks, accepted or rejected as a whole",
    "consent": "People agree to terms before they begin",
    "audit": "People judge a sample of each debate run’s agreed pairs blind",
}
_BATCH, _AUDIT = 20, 50
_CONSENT: Final = """What you decide here becomes a part of a published benchmark. It is published \
under a pseudonym, without your name and without times of day. It is kept after you stop, because \
results depend on it. Your answers are compared with known ones and with those of others. You may \
stop at any time."""


def save_plan(*, benchmark: Benchmark, actor: User, expected: int, **values: Any) -> VotingPlan:
    """Activate a new version over version `expected`; `values` are those of FIELDS that change.

    Open batches keep the version they were taken under. Raises Refused for a wrong value, naming
    its field, and where somebody wrote a version meanwhile; PermissionDenied but for admins.
    """
    require_admin(benchmark, actor, "The voting plan is written by admins.")
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
    check_markdown(new.consent_text, field="consent_text")
    try:
        new.clean_fields(exclude=["benchmark", "created_by"])
    except ValidationError as wrong:
        field, errors = next(iter(wrong.message_dict.items()))
        raise Refused(errors[0], field=field) from None
    try:
        with transaction.atomic():
            new.save()
            data = {name: str(getattr(new, name)) for name in FIELDS if name != "consent_text"}
            audit.record(actor, "write plan", new, benchmark.slug, data)
    except IntegrityError:
        raise Refused(stale, field="expected") from None
    return new


def checks_of(benchmark: Benchmark) -> dict[str, bool]:
    """Which of CHECKS gate people's labels now; empty where nobody has chosen yet."""
    plan, rule = VotingPlan.objects.current(benchmark), rule_of(benchmark)
    if not (plan.version or rule.version):
        return {}
    return {
        "exam": rule.required,
        "batches": plan.has_batches,
        "consent": bool(plan.consent_text.strip()),
        "audit": plan.audit > 0,
    }


def choose_checks(
    *, benchmark: Benchmark, actor: User, exam: bool, batches: bool, consent: bool, audit: bool
) -> VotingPlan:
    """Turn each of CHECKS on or off, in a new version of the plan and in the rule.

    What is on already keeps its numbers and words. An exam gates from now on, also while its bank
    is empty. Raises Refused as `save_plan` does: who is paid is asked for consent.
    """
    with transaction.atomic():
        plan, rule = VotingPlan.objects.current(benchmark), rule_of(benchmark)
        made = save_plan(
            benchmark=benchmark,
            actor=actor,
            expected=plan.version,
            batch_size=(plan.batch_size or _BATCH) if batches else 0,
            consent_text=(plan.consent_text.strip() or _CONSENT) if consent else "",
            audit=(plan.audit or _AUDIT) if audit else 0,
        )
        if rule.required != exam:
            version = rule.version
            set_rule(
                benchmark=benchmark, actor=actor, expected=version, required=exam, may_wait=True
            )
    return made


def needs_consent(plan: VotingPlan, access: Access) -> bool:
    """Whether the person must agree before they judge: to this text and pay, in any version."""
    if not plan.consent_text.strip():
        return False
    given = Consent.objects.of(access.user.pk, access.benchmark).select_related("plan")
    return all(each.plan.terms != plan.terms for each in given)


def give_consent(*, plan: VotingPlan, access: Access, version: int) -> Consent:
    """Record that the person agrees to the version they read; the text is the plan's.

    Raises Refused where another version is current by now, PermissionDenied but for annotators.
    """
    if not access.is_annotator:
        raise PermissionDenied("Only people who vote are asked to agree.")
    if plan.version != version or plan.pk is None:
        raise Refused("The terms were changed meanwhile. Read them again.")
    with transaction.atomic():
        consent, is_new = Consent.objects.get_or_create(person=access.user, plan=plan)
        if is_new:
            audit.record(
                access.user,
                "consent",
                consent,
                f"{access.benchmark.slug}#votes",
                {"version": plan.version},
            )
    return consent


def condition_of(plan: VotingPlan, snapshot: Mapping[str, Any], key: str, pk: int) -> str:
    """The condition of an item: when its positions are shown; "" where there are none.

    In a study each item draws its own. `key` and `pk` name the item, so that everybody who
    judges it is in the same condition.
    """
    if not snapshot.get("positions"):
        return ""
    if plan.reveal != Condition.STUDY:
        return str(plan.reveal)
    return str(CONDITIONS[draw(f"arm of {key}", pk) % len(CONDITIONS)])


def begins_alone(plan: VotingPlan, arm: str) -> bool:
    """Whether an item in this condition is judged from the passage first: the same where nothing
    comes after it, for what has no positions may be an audited pair."""
    return arm == Condition.AFTER or (plan.shows_later and arm != Condition.START)


def ends_there(plan: VotingPlan, arm: str, label: int | None) -> bool:
    """Whether that judgment is the answer: no positions follow, and no words need to be marked,
    which is asked for after it everywhere."""
    return label not in (0, 1) or (arm != Condition.AFTER and not (plan.needs_span and label))


def as_shown(snapshot: Mapping[str, Any], *, seed: int, shown: bool) -> dict[str, Any]:
    """The snapshot as this voter reads it: nothing of the debate, or its agents in random order.

    Agents are called A, B, ... in that order, in their own words too, so that neither order nor
    name shows who began for "relevant". What is stored stays as it was.
    """
    if not shown:
        return {**snapshot, "positions": [], "rounds": 0, "practice": False}
    positions = [each for each in snapshot.get("positions") or [] if isinstance(each, Mapping)]
    Random(seed).shuffle(positions)  # noqa: S311  (seeded with a keyed number)
    agents = [str(each.get("agent") or "").upper() for each in positions]
    names = {agent: name for agent, name in zip(agents, cycle(ascii_uppercase)) if agent}

    def rename(found: re.Match[str]) -> str:
        return f"{found[1]} {names.get(found[2].upper(), found[2])}"

    return {
        **snapshot,
        "positions": [
            {
                # Who began for which side is nobody's argument.
                **{key: value for key, value in each.items() if key != "stance"},
                "agent": name,
                "reason": _NAMED.sub(rename, str(each.get("reason") or "")),
            }
            for each, name in zip(positions, cycle(ascii_uppercase))
        ],
    }


def order_seed(voter_id: int, case_id: int) -> int:
    """The order of a case's positions for one person: always the same for them."""
    return draw("order of case", voter_id, case_id)


def order_seed_in_batch(voter_id: int, batch_id: int, place: int) -> int:
    """The order in an item of a batch: by its place alone, the same for a case and for a check."""
    return draw("order of item", voter_id, batch_id, place)


def first_response(snapshot: Mapping[str, Any], *, seed: int) -> str:
    """ "yes" or "no": the response of this voter's first position; "" without one."""
    positions = as_shown(snapshot, seed=seed, shown=True)["positions"]
    response = positions[0].get("response") if positions else ""
    return response if response in ("yes", "no") else ""
