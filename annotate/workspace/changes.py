"""The history of a query's aspects, and merging what two people wrote in one aspect."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, Final

from django.contrib.auth.models import User
from django.utils import timezone

from annotate.models import Aspect, AspectChange, ChangeKind, GoldPassage, Guideline
from corpus.models import Query

# Edits of one aspect within this time are one change, which one undo takes back.
EDIT_WINDOW: Final = timedelta(minutes=10)
# What a person writes in an aspect; a snapshot has it with `pk`, `k` and, where an aspect was
# split or merged, the keys of its `passages`.
FIELDS: Final = ("content", "rationale", "weight", "weighed", "scale")
Snapshot = dict[str, Any]


def snapshots(aspects: Iterable[Aspect]) -> list[Snapshot]:
    """The aspects as they are now."""
    names = ("pk", "k", *FIELDS)
    return [{name: getattr(aspect, name) for name in names} for aspect in aspects]


def passages_of(aspect: Aspect) -> list[int]:
    """Keys of the passages that support the aspect."""
    rows = GoldPassage.objects.standing().filter(aspect=aspect).order_by("pk")
    return list(rows.values_list("passage_id", flat=True))


def note_change(
    query: Query, kind: str, before: list[Snapshot], after: list[Snapshot], actor: User
) -> AspectChange:
    """Add one change to the history, in the caller's transaction.

    Clarifying the same aspect once more within that time extends the change that began it.
    """
    if kind == ChangeKind.CLARIFY and (begun := _begun(query, before, actor)):
        begun.after = after
        begun.save(update_fields=["after", "updated_at"])
        return begun
    version = Guideline.objects.current_version(query.domain.benchmark_id)
    shots = {"before": before, "after": after}
    return AspectChange.objects.create(
        query=query, kind=kind, guideline=version, created_by=actor, **shots
    )


def _begun(query: Query, before: list[Snapshot], actor: User) -> AspectChange | None:
    last = AspectChange.objects.filter(query=query).first()
    if last is None or last.kind not in (ChangeKind.CLARIFY, ChangeKind.ADD):
        return None
    is_mine = last.created_by_id == actor.pk and last.undone_by_id is None
    is_now = timezone.now() - last.updated_at < EDIT_WINDOW
    return last if is_mine and is_now and last.after == before else None


def last_change(query: Query, person: User) -> AspectChange | None:
    """What the key Z undoes: this person's newest change that was not undone."""
    mine = AspectChange.objects.filter(query=query, created_by=person.pk, undone_by=None)
    return mine.exclude(kind=ChangeKind.UNDO).order_by("-created_at", "-pk").first()


def described(change: AspectChange) -> str:
    """The change in a sentence."""
    before, after = (
        ", ".join(f"a{each['k']}" for each in shots) for shots in (change.before, change.after)
    )
    return {
        "add": f"{after} was added.",
        "clarify": f"{after} was written.",
        "remove": f"{before} was removed.",
        "restore": f"{after} was brought back.",
        "split": f"{before} was split into {after}.",
        "merge": f"{before} were merged into {after}.",
        "reorder": f"The order was changed to {after}.",
        "scale": f"{after} moved to another scale.",
        "undo": "A change was undone.",
    }[change.kind]


Fields = Mapping[str, object]


def merge(*, base: Fields, mine: Fields, theirs: Fields) -> tuple[dict[str, object], list[str]]:
    """Merge my fields into theirs: what to write of mine, and which of that they changed too.

    Only a field that both sides changed from the base, to different values, needs a person to
    choose. A field without a known base counts as changed by both.
    """
    changed = {
        name: value
        for name, value in mine.items()
        if value != theirs[name] and not (name in base and base[name] == value)
    }
    clashing = [
        name for name in changed if name not in base or plain(base[name]) != plain(theirs[name])
    ]
    return changed, clashing


def plain(value: object) -> object:
    """A text as a form sends it back: line ends as one sign, no blanks around it."""
    if not isinstance(value, str):
        return value
    return value.replace("\r\n", "\n").replace("\r", "\n").strip()
