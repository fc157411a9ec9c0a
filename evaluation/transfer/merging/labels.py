"""Labels of pairs, and of the support of aspects: which stand, wait, or are history."""

from typing import Any, Final

from django.contrib.auth.models import User

from annotate.models import Aspect, SupportLabel
from annotate.support import services as support
from corpus.judgments.services import LABELLED, weigh, what
from corpus.models import Judgment, Passage, Source, Status
from evaluation.transfer.merging.rows import Rows, by
from evaluation.transfer.models import ConflictKind
from kit import audit
from kit.models import Event

_VERBS: Final = {Judgment: LABELLED, SupportLabel: support.LABELLED}


def merge_labels(rows: Rows) -> None:
    """Both kinds."""
    for kind in (Judgment, SupportLabel):
        _OfKind(rows, kind).merge()


class _OfKind:
    def __init__(self, rows: Rows, kind: type[Any]) -> None:
        self._rows, self._kind = rows, kind
        query = "query" if kind is Judgment else "aspect__query"
        given = kind.objects.exclude(source=Source.ORIGINAL).order_by("pk")
        self._ours = list(given.filter(**{query: rows.ours}))
        self._theirs = list(given.filter(**{query: rows.theirs}).select_related("passage"))
        self._standing = {_pair(each): each for each in self._ours if _stands(each)}
        self._givers = self._who_gave()

    def _who_gave(self) -> dict[str, User]:
        """The event of its recording says who gave a label."""
        events = Event.objects.filter(
            target_type=self._kind._meta.label_lower,
            target_id__in=[str(each.pk) for each in self._theirs],
            verb=_VERBS[self._kind],
            actor__isnull=False,
        )
        found = events.order_by("-pk").select_related("actor")
        return {each.target_id: each.actor for each in found if each.actor}

    def merge(self) -> None:
        known = by(self._ours, lambda each: (*_pair(each), *_said(each)))
        changed: list[tuple[Any, Any]] = []
        history: set[int] = set()
        places: dict[int, tuple[int, int]] = {}
        for row in self._theirs:
            passage = self._rows.passage(row.passage_id)
            if passage is None:
                self._rows.leave(row, "its passage is not here, or has another text")
                continue
            places[row.pk] = place = self._place(row, passage)
            if same := known[(*place, *_said(row))]:
                found = self._rows.match(row, same.pop(0))
                if row.status == Status.SUPERSEDED:
                    history.add(found.pk)
            elif (giver := self._givers.get(str(row.pk))) and self._rows.told.is_forged(giver.pk):
                self._rows.leave(row, "somebody of this installation gave no such label here")
            else:
                changed.append((row, self._add(row, place)))
        for row, made in changed:
            if _stands(row):
                self._stand(made, history)
            elif after := self._rows.led(self._kind, row.superseded_by_id):
                made.superseded_by = after
                made.save(update_fields=["superseded_by"])
            self._note(row, made)
        self._list_withdrawn(places)

    def _place(self, row: Any, passage: Passage) -> tuple[int, int]:
        """What a label is about, here."""
        if self._kind is Judgment:
            return self._rows.ours.pk, passage.pk
        return self._rows.led(Aspect, row.aspect_id).pk, passage.pk

    def _add(self, row: Any, place: tuple[int, int]) -> Any:
        # Whether it stands is said later: two of a pair must not, not even for a moment.
        names = ("query_id", "passage_id")
        if self._kind is not Judgment:
            names = ("aspect_id", "passage_id")
        return self._rows.add(
            row,
            **dict(zip(names, place, strict=True)),
            status=Status.TRIAL if row.status == Status.TRIAL else Status.SUPERSEDED,
            superseded_by=None,
            provenance={**row.provenance, "merged": self._rows.told.digest},
        )

    def _stand(self, made: Any, history: set[int]) -> None:
        """Let their standing label count, wait, or be history (docs/backups.md, Merging)."""
        ours = self._standing.get(_pair(made))
        follows = ours is not None and ours.pk in history
        is_same = ours is not None and weigh(made) == weigh(ours)
        if ours is None or weigh(made) > weigh(ours) or (is_same and follows):
            if ours is not None:
                self._kind.objects.filter(pk=ours.pk).update(status=Status.SUPERSEDED)
            made.status = Status.STANDING
            made.save(update_fields=["status"])
            self._standing[_pair(made)] = made
            if ours is not None:
                self._kind.objects.filter(pk=ours.pk).update(superseded_by=made)
                self._rows.told.note(ours, "label superseded by merge", by=made.pk)
        elif is_same and made.label != ours.label:
            made.status = Status.TRIAL
            made.save(update_fields=["status"])
            is_pair = self._kind is Judgment
            about = {"judgment": made} if is_pair else {"support": made, "aspect": made.aspect}
            self._differ(ours, [_in_words(ours), _in_words(made)], **about)
        else:
            made.superseded_by = ours
            made.save(update_fields=["superseded_by"])
            if follows:  # and weighs less: ours was taken back there
                self._differ(ours, [_in_words(ours), _in_words(made)])

    def _list_withdrawn(self, places: dict[int, tuple[int, int]]) -> None:
        """One side took a label back that the other still has, and has none in its place, or one
        that weighs less."""
        there = {places[row.pk] for row in self._theirs if _stands(row) and row.pk in places}
        here = {_pair(each) for each in self._ours if _stands(each)}
        for row in self._theirs:
            found = self._rows.led(self._kind, row.pk)
            if found is None or self._rows.is_new(self._kind, row.pk):
                continue
            is_here, is_there = _stands(found), _stands(row)
            if is_here != is_there and _pair(found) not in (there if is_here else here):
                self._differ(found, [_as_it_is(each) for each in (found, row)])
            elif is_there and not is_here:
                now = self._standing[_pair(found)]
                if weigh(now) < weigh(found):
                    self._differ(found, [_in_words(now), _in_words(row)])

    def _differ(self, label: Any, said: list[str], **about: Any) -> None:
        kind = ConflictKind.LABEL if self._kind is Judgment else ConflictKind.SUPPORT
        self._rows.told.differ(kind, self._rows.ours, *said, passage=label.passage, **about)

    def _note(self, row: Any, made: Any) -> None:
        giver = self._givers.get(str(row.pk))
        if self._kind is SupportLabel:
            support.note(made, giver, support.LABELLED, **{"from": self._rows.told.digest})
            return
        data = {**what(made), "from": self._rows.told.digest}
        scope = self._rows.told.here.slug
        audit.record(actor=giver, verb=LABELLED, target=made, scope=scope, data=data)


def _stands(label: Any) -> bool:
    return bool(label.status == Status.STANDING)


def _pair(label: Any) -> tuple[int, int]:
    """What a label is about."""
    first = label.query_id if isinstance(label, Judgment) else label.aspect_id
    return first, label.passage_id


def _said(label: Any) -> tuple[Any, ...]:
    return label.source, label.label, label.created_at


def _in_words(label: Any) -> str:
    practice = ", practice model" if label.practice else ""
    return f"{label.label} ({label.source}{practice})"


def _as_it_is(label: Any) -> str:
    if _stands(label):
        return _in_words(label)
    return f"{_in_words(label)}, waits" if label.status == Status.TRIAL else "taken back"
