"""Taking adopted labels back: they become history, and what they had displaced stands again.

Nothing is deleted or written over. An adopted label that still stands is superseded; the label
that would stand without it is added again (its `restored` names the row it began as), and so is
the adopted one itself, as the trial label that it was.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from django.contrib.auth.models import User
from django.db import transaction

from corpus.judgments.services import LABELLED, first_row, standing_labels, strongest, what
from corpus.models import Judgment, Source, Status
from kit import audit
from kit.models import Event

ADOPTED, TAKEN_BACK = "adopt label", "take back adopted label"


def unadopt_judgments(
    *, judgments: Sequence[Judgment], actor: User | None, scope: str
) -> tuple[dict[int, Judgment], int, int]:
    """Take those of the labels back that were adopted, at most one of a pair.

    Gives the new trial labels by the keys of the adopted ones, how many of these stood, and how
    many labels stand again.

    One that a weightier label overruled, at its adoption or since, leaves that label standing.
    What was taken back before is passed over. `scope` is the benchmark's slug. For a caller that
    holds the queries.
    """
    with transaction.atomic():
        known = {each.pk: each for each in judgments}
        adopted = [
            known[pk] for pk in sorted(_with_event(ADOPTED, known) - _with_event(TAKEN_BACK, known))
        ]
        if not adopted:
            return {}, 0, 0
        standing = standing_labels(adopted)
        theirs = {each.pk: _own(each, standing) for each in adopted}
        gone = [each for each in theirs.values() if each is not None]
        beneath = _beneath(gone)
        # They step down first: the database allows one standing label of a pair at any moment.
        Judgment.objects.filter(pk__in=[each.pk for each in gone]).update(status=Status.SUPERSEDED)
        raised = [_again(each, Status.STANDING) for each in beneath]
        trials = [_again(each, Status.TRIAL) for each in adopted]
        Judgment.objects.bulk_create([*raised, *trials])
        for each in gone:
            each.status = Status.SUPERSEDED
        rows = {each.pk: each for each in (*adopted, *gone)}
        changes = [(each, what(each)) for each in rows.values()]
        audit.record_each(actor=actor, verb=TAKEN_BACK, changes=changes, scope=scope)
        added = [(each, what(each)) for each in (*raised, *trials)]
        audit.record_each(actor=actor, verb=LABELLED, changes=added, scope=scope)
    again = dict(zip((each.pk for each in adopted), trials, strict=True))
    return again, len(gone), len(raised)


def _with_event(verb: str, keys: Iterable[int]) -> set[int]:
    """Which of these labels have an event of that verb."""
    events = Event.objects.filter(
        verb=verb, target_type=Judgment._meta.label_lower, target_id__in=[str(key) for key in keys]
    )
    return {int(key) for key in events.values_list("target_id", flat=True)}


def _own(label: Judgment, standing: dict[tuple[int, int], Judgment]) -> Judgment | None:
    """The row in which this label stands: itself, or the one it was restored as; None if none."""
    found = standing.get(label.pair)
    return found if found is not None and first_row(found) == first_row(label) else None


def _beneath(gone: Sequence[Judgment]) -> list[Judgment]:
    """Of each pair the label that stands once these are gone, where there is one.

    What one of them displaced; and where that was taken back itself, what that had displaced.
    """
    pairs = {each.pair: first_row(each) for each in gone}
    found: dict[tuple[int, int], list[Judgment]] = defaultdict(list)
    above = {each.pk for each in gone} | set(pairs.values())
    while above:
        rows = Judgment.objects.filter(superseded_by__in=above, status=Status.SUPERSEDED)
        rows = rows.exclude(source=Source.ORIGINAL)
        displaced = {each.pk: each for each in rows}
        taken = _with_event(TAKEN_BACK, displaced)
        for each in displaced.values():
            if each.pk not in taken and first_row(each) != pairs.get(each.pair):
                found[each.pair].append(each)
        above = taken - above
    best = (strongest(labels) for labels in found.values())
    return [each for each in best if each is not None]


def _again(label: Judgment, status: Status) -> Judgment:
    return Judgment(
        query_id=label.query_id,
        passage_id=label.passage_id,
        label=label.label,
        source=label.source,
        round=label.round,
        practice=label.practice,
        provenance={**label.provenance, "restored": first_row(label)},
        status=status,
    )
