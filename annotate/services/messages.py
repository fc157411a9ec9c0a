"""What admins tell voters about a batch, a decision, or their work: kept, with an event."""

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone

from annotate.models import Batch, BatchStatus, EscalationCase, VoterMessage
from annotate.services.feedback import decided_votes
from corpus.access import Access
from corpus.models import Membership, Role
from kit import audit
from kit.errors import Refused


def send_message(
    *,
    access: Access,
    person: User,
    text: str,
    batch: int | None = None,
    case: int | None = None,
) -> VoterMessage:
    """Tell an annotator something; `batch` and `case` are numbers of what it is about.

    Raises PermissionDenied for everybody but admins, and Refused without a text, for somebody who
    is no annotator here, for a batch of theirs that was not handed in, and for a case on which
    their vote does not count or which is not decided.
    """
    if not access.is_admin:
        raise PermissionDenied("Admins write to voters.")
    if not text.strip():
        raise Refused("Write the message first.", field="text")
    place = Membership.objects.filter(user=person, benchmark=access.benchmark).first()
    if place is None or Role.ANNOTATOR not in place.roles:
        raise Refused(f"{person} is no annotator here.")
    with transaction.atomic():
        message = VoterMessage.objects.create(
            benchmark=access.benchmark,
            person=person,
            author=access.user,
            batch=_batch(access, person, batch),
            case=_case(access, person, case),
            text=text.strip(),
        )
        _note(message, access.user, "write to voter", batch=batch, case=case)
    return message


def new_messages(access: Access) -> int:
    """How many messages the person has not read."""
    return VoterMessage.objects.to(access.user.pk, access.benchmark).filter(seen_at=None).count()


def mark_seen(*, access: Access) -> int:
    """The person has read what they were told; how many messages were new."""
    with transaction.atomic():
        new = VoterMessage.objects.to(access.user.pk, access.benchmark).filter(seen_at=None)
        rows = list(new.select_for_update())
        VoterMessage.objects.filter(pk__in=[each.pk for each in rows]).update(
            seen_at=timezone.now()
        )
        for each in rows:
            _note(each, access.user, "read message")
    return len(rows)


def _batch(access: Access, person: User, number: int | None) -> Batch | None:
    if number is None:
        return None
    mine = Batch.objects.of(person.pk, access.benchmark).exclude(status=BatchStatus.OPEN)
    found = mine.filter(pk=number).first()
    if found is None:
        raise Refused(f"{person} has handed in no batch {number}.", field="batch")
    return found


def _case(access: Access, person: User, number: int | None) -> EscalationCase | None:
    if number is None:
        return None
    vote = decided_votes(person.pk, access.benchmark).filter(case=number).first()
    if vote is None:
        raise Refused(
            f"No decided case {number} has a vote of {person}. Nothing is told of open ones.",
            field="case",
        )
    return vote.case


def _note(message: VoterMessage, actor: User, verb: str, **data: int | None) -> None:
    # In the scope of votes: a benchmark's events are read by other voters too.
    scope = f"{message.benchmark.slug}#votes"
    kept = {"person": message.person_id, **{name: key for name, key in data.items() if key}}
    audit.record(actor=actor, verb=verb, target=message, scope=scope, data=kept)
