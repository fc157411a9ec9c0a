"""The only writer of relevance labels.

Order of locks, for every verb that writes labels, cases or verdicts of a query: the query's row
first (`lock_queries`, several by ascending key), then whatever hangs on it. Nobody who holds such
a row waits for a query, so nobody waits in a circle.

Which of two labels is the standing one (docs/protocol.md 1.2): a label weighs by who gave it.
Everything real weighs more than everything of the practice model, whatever its source; among those
the source decides, as PRECEDENCE has it.

| a new label that weighs  | becomes                                  | the standing one |
|--------------------------|------------------------------------------|------------------|
| more                     | standing                                 | superseded by it |
| the same, of people      | standing: a person's newer label         | superseded by it |
| the same, of machines    | trial, until an admin adopts its run     | stays            |
| less                     | superseded from the start, by the other  | stays            |

The event of its recording says who gave a label: labels keep no person.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from django.contrib.auth.models import User
from django.db import connection, transaction

from corpus.judgments.models import PEOPLE, PRECEDENCE, LeftOut
from corpus.models import Judgment, Passage, Query, Source, Status
from kit import audit
from kit.models import Event


def weigh(judgment: Judgment) -> tuple[bool, int]:
    """How much a label weighs: the greater stands."""
    return not judgment.practice, PRECEDENCE[judgment.source]


def new_status(judgment: Judgment, standing: Judgment) -> Status:
    """What a new label becomes where another one stands (the table)."""
    new, old = weigh(judgment), weigh(standing)
    if new == old and judgment.source not in PEOPLE:
        return Status.TRIAL
    return Status.STANDING if new >= old else Status.SUPERSEDED


def strongest(labels: Iterable[Judgment]) -> Judgment | None:
    """The one that would stand if they had come one after the other; None without any."""

    def order(each: Judgment) -> tuple[tuple[bool, int], int]:
        return weigh(each), each.pk if each.source in PEOPLE else -each.pk

    return max(labels, key=order, default=None)


# The verb of the event that says who gave a label.
LABELLED = "label"


def lock_queries(pks: Iterable[int]) -> None:
    """Let the writers of these queries take turns until the transaction ends.

    Without it two of them would both find no label and no case yet, and each would make one.
    Databases with a single writer need no lock and are not asked.
    """
    if connection.features.has_select_for_update:
        no_key = connection.features.has_select_for_no_key_update
        rows = Query.objects.select_for_update(no_key=no_key).filter(pk__in=set(pks))
        list(rows.order_by("pk").values_list("pk"))


def record_judgment(
    *,
    query: Query,
    passage: Passage,
    label: int,
    source: str,
    provenance: dict[str, Any],
    actor: User | None = None,
    round: int | None = None,
    practice: bool = False,
    trial: bool = False,
    held: bool = False,
) -> Judgment:
    """Add a label and let the stronger one stand (the table).

    `held` says that the caller holds the query already (`lock_queries`). `original` labels come
    through importers only and are refused here with ValueError.
    """
    if source not in PRECEDENCE:
        raise ValueError(f"{source} labels are not recorded by verbs")
    judgment = Judgment(
        query=query,
        passage=passage,
        label=label,
        source=source,
        round=round,
        practice=practice,
        provenance=provenance,
        status=Status.TRIAL if trial else Status.STANDING,
    )
    with transaction.atomic():
        _store(judgment, held=held)
        _note(actor, LABELLED, judgment)
    return judgment


def record_judgments(*, labels: Sequence[Judgment], scope: str) -> None:
    """Add many labels of machines as `record_judgment` adds each, in few statements.

    They come unsaved, as standing or trial, and are saved in place. `scope` is the benchmark's
    slug. For a caller that holds the queries.
    """
    if wrong := {label.source for label in labels} - PRECEDENCE.keys():
        raise ValueError(f"{', '.join(wrong)} labels are not recorded by verbs")
    with transaction.atomic():
        taken = set(standing_labels(labels))
        plain: list[Judgment] = []
        contested: list[Judgment] = []
        for label in labels:
            is_plain = label.status == Status.TRIAL or label.pair not in taken
            (plain if is_plain else contested).append(label)
            if label.status != Status.TRIAL:
                taken.add(label.pair)  # two of one pair in a group come one after the other as well
        Judgment.objects.bulk_create(plain)
        for label in contested:
            _store(label, held=True)
        changes = [(label, what(label)) for label in labels]
        audit.record_each(actor=None, verb=LABELLED, changes=changes, scope=scope)


def withdraw_judgment(*, judgment: Judgment, actor: User, held: bool = False) -> None:
    """Take a standing label back; what stood before it does not rise again by itself."""
    with transaction.atomic():
        if not held:
            lock_queries([judgment.query_id])
        rows = Judgment.objects.filter(pk=judgment.pk, status=Status.STANDING)
        if rows.update(status=Status.SUPERSEDED):
            _note(actor, "withdraw label", judgment)


def restore_judgment(*, judgment: Judgment, actor: User, held: bool = False) -> Judgment:
    """Add a label again that was pushed aside; its `restored` names the row it began as."""
    return record_judgment(
        query=judgment.query,
        passage=judgment.passage,
        label=judgment.label,
        source=judgment.source,
        round=judgment.round,
        practice=judgment.practice,
        provenance={**judgment.provenance, "restored": first_row(judgment)},
        actor=actor,
        held=held,
    )


def adopt_judgments(
    *, judgments: Sequence[Judgment], actor: User | None, scope: str
) -> tuple[int, int]:
    """Let trial labels count, at most one of a pair: how many stand now, and how many are weaker.

    An adopted label replaces one that weighs no more; where a weightier one stands it is history
    from now on (the table). What is no trial label any more is passed over. `scope` is the
    benchmark's slug. For a caller that holds the queries.
    """
    with transaction.atomic():
        waiting = Judgment.objects.filter(pk__in=[j.pk for j in judgments], status=Status.TRIAL)
        pairs = {each.pair: each for each in waiting}
        standing = standing_labels(pairs.values())
        adopted: list[Judgment] = []
        weaker: list[Judgment] = []
        for pair, each in pairs.items():
            wins = pair not in standing or weigh(each) >= weigh(standing[pair])
            (adopted if wins else weaker).append(each)
        _swap([(each, standing.get(each.pair)) for each in adopted])
        for each in weaker:
            each.status = Status.SUPERSEDED
            each.superseded_by = standing[each.pair]
        Judgment.objects.bulk_update(weaker, ["status", "superseded_by"])
        changes = [(each, what(each)) for each in (*adopted, *weaker)]
        audit.record_each(actor=actor, verb="adopt label", changes=changes, scope=scope)
    return len(adopted), len(weaker)


def standing_labels(labels: Collection[Judgment]) -> dict[tuple[int, int], Judgment]:
    """By pair the label that stands now, of the pairs of these labels (and perhaps of others)."""
    rows = Judgment.objects.standing().filter(
        query__in={label.query_id for label in labels},
        passage__in={label.passage_id for label in labels},
    )
    return {each.pair: each for each in rows}


def left_out(labels: Collection[int], of: Any = Judgment) -> LeftOut:
    """These labels as left out, with what would stand if nobody had given them; of pairs, or of
    another kind with the same columns."""
    before: dict[int, list[Judgment]] = defaultdict(list)
    for each in of.objects.filter(superseded_by__in=labels):
        before[each.superseded_by_id or 0].append(each)
    instead = set[int]()
    standing = of.objects.filter(pk__in=labels, status=Status.STANDING)
    for pk in standing.values_list("pk", flat=True):
        waiting, others = [pk], list[Judgment]()
        while waiting:
            for each in before[waiting.pop()]:
                if each.pk in labels:
                    waiting.append(each.pk)
                else:
                    others.append(each)
        if (best := strongest(others)) is not None:
            instead.add(best.pk)
    return LeftOut(frozenset(labels), frozenset(instead))


def _swap(pairs: Sequence[tuple[Judgment, Judgment | None]]) -> None:
    """Make each first label standing in place of the second, where there is one."""
    gone = [old for _, old in pairs if old is not None]
    # The old rows step down first: the database allows one standing label at any moment.
    Judgment.objects.filter(pk__in=[old.pk for old in gone]).update(status=Status.SUPERSEDED)
    for new, old in pairs:
        new.status = Status.STANDING
        if old is not None:
            old.superseded_by = new
    Judgment.objects.bulk_update([new for new, _ in pairs], ["status"])
    Judgment.objects.bulk_update(gone, ["superseded_by"])


def first_row(judgment: Judgment) -> int:
    """Key of the row as which this label was first given, however often it was restored."""
    return int(judgment.provenance.get("restored", judgment.pk))


def _store(judgment: Judgment, *, held: bool) -> None:
    if judgment.status == Status.TRIAL:
        judgment.save()
        return
    if not held:
        lock_queries([judgment.query_id])
    standing = standing_labels([judgment]).get(judgment.pair)
    if standing is None:
        judgment.save()
        return
    judgment.status = new_status(judgment, standing)
    if judgment.status == Status.STANDING:
        _replace(standing, judgment)
        return
    if judgment.status == Status.SUPERSEDED:
        judgment.superseded_by = standing
    judgment.save()


def _replace(standing: Judgment, judgment: Judgment) -> None:
    # The old row steps down first: the database allows one standing label at any moment.
    Judgment.objects.filter(pk=standing.pk).update(status=Status.SUPERSEDED)
    judgment.save()
    Judgment.objects.filter(pk=standing.pk).update(superseded_by=judgment)


def _note(actor: User | None, verb: str, judgment: Judgment) -> None:
    audit.record(actor, verb, judgment, judgment.query.domain.benchmark.slug, what(judgment))


def what(judgment: Judgment) -> dict[str, Any]:
    """What its events say of a label."""
    return {"label": judgment.label, "source": judgment.source, "status": judgment.status}


def assessors(labels: Iterable[Judgment]) -> dict[int, dict[str, int | None]]:
    """By the labels' keys the keys of the `person` who gave each, and of who let it stand again by
    taking another one back (`restored_by`), in one query; None where a machine or an import did.

    A label that an undo restored is a row of its own, recorded by whoever undid; who judged
    is in the event of the row it began as.
    """
    firsts = {each.pk: first_row(each) for each in labels}
    rows = Event.objects.filter(
        target_type=Judgment._meta.label_lower,
        target_id__in={str(key) for pair in firsts.items() for key in pair},
        verb=LABELLED,
        actor__isnull=False,
    )
    actors = {int(key): actor for key, actor in rows.values_list("target_id", "actor")}
    return {
        pk: {
            "person": actors.get(first),
            "restored_by": actors.get(pk) if pk != first else None,
        }
        for pk, first in firsts.items()
    }


ADOPTED, TAKEN_BACK = "adopt label", "take back adopted label"


def unadopt_judgments(
    *, judgments: Sequence[Judgment], actor: User | None, scope: str
) -> tuple[dict[int, Judgment], int, int]:
    """Take those of the labels back that were adopted, at most one of a pair.

    Gives the new trial labels by the keys of the adopted ones, how many of these stood, and how
    many labels stand again.

    Nothing is deleted or written over. An adopted label that still stands is superseded; the label
    that would stand without it is added again (its `restored` names the row it began as), and so
    is the adopted one itself, as the trial label that it was.

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
