"""Keeping what people type before they send it. Private scribbles: no label, no Event.

A draft goes when the form it belongs to was accepted (drafts/middleware.py), when its person
discards or empties it, and after 90 days without a keystroke.
"""

from datetime import timedelta

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F, Sum
from django.db.models.functions import Length
from django.utils import timezone

from annotate.models import Draft
from corpus.models import Benchmark
from kit.errors import Conflict, Refused

LONGEST = 2_000_000
MOST = 1_000
# Characters of all drafts of a person together; short ones are not counted, they are few.
MOST_TEXT = 20_000_000
_SHORT = 10_000
KEPT = timedelta(days=90)


def keep_draft(
    *, person: User, place: str, name: str, text: str, page: str = "", expected: int = 0
) -> Draft | None:
    """Keep the text of one field, written over version `expected` (0: there was none).

    An empty text takes the draft away: None. The same text changes nothing. Raises
    Conflict, carrying the draft, if another tab wrote meanwhile, and Refused for more than
    2,000,000 characters, 1,000 drafts, or 20,000,000 characters in all of them.
    """
    if len(text) > LONGEST:
        raise Refused(f"A draft holds at most {LONGEST:,} characters.", field="text")
    with transaction.atomic():
        mine = Draft.objects.select_for_update().of(person).at(place)
        present = mine.filter(name=name).first()
        if present is None:
            return _begin(person, place, name, text, page) if text.strip() else None
        if present.text == text:
            return present
        if present.version != expected:
            raise Conflict(present)
        if not text.strip():
            present.delete()
            return None
        _check_room(person, text, before=len(present.text))
        Draft.objects.filter(pk=present.pk).update(
            text=text, page=page, version=F("version") + 1, updated_at=timezone.now()
        )
        present.refresh_from_db()
        return present


def _begin(person: User, place: str, name: str, text: str, page: str) -> Draft:
    Draft.objects.filter(updated_at__lt=timezone.now() - KEPT).delete()
    if Draft.objects.of(person).count() >= MOST:
        raise Refused("You have 1,000 drafts. Discard some under Drafts.", field="name")
    _check_room(person, text)
    try:
        with transaction.atomic():
            where = {"user": person, "place": place, "name": name}
            now = timezone.now()
            return Draft.objects.create(**where, text=text, page=page, updated_at=now)
    except IntegrityError:  # two tabs began at the same moment
        raise Conflict(Draft.objects.get(user=person, place=place, name=name)) from None


def _check_room(person: User, text: str, before: int = 0) -> None:
    """Raises Refused where the person's drafts would hold too much together."""
    if len(text) <= max(_SHORT, before):
        return
    held = Draft.objects.of(person).aggregate(all=Sum(Length("text")))["all"] or 0
    if held + len(text) - before > MOST_TEXT:
        message = f"Your drafts hold at most {MOST_TEXT:,} characters in all. Discard some first."
        raise Refused(message, field="text")


def forget_drafts(benchmark: Benchmark, **_: object) -> None:
    """What anybody typed in a benchmark that is being deleted."""
    Draft.objects.filter(place__contains=f"/b/{benchmark.slug}/").delete()
