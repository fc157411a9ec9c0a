"""What a release leaves out: decisions made after signing in with a link that somebody else made.

Until their person calls them theirs (kit/account/decisions.py) they count in no release:

| decision | left out |
|---|---|
| label (also of a third person or a panel) | the label; what it took the place of stands again |
| label of support, or a vote behind it | the same, and of machine gold in scores too |
| vote, first judgment, answer or end of a batch | the vote, and labels that rest on it |
| gold passage | its support of an aspect |
| aspect, weight, change of a query's aspects | all aspects of the query: shares are relative |
| turn of a second review | the review |
| reference answer | the answer; the imported one is published |

An answer of a batch, and an aspect, are good again once somebody else saved the same row: who saves
it sees the whole of it.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from django.db.models import Q, QuerySet

from annotate.models import (
    Aspect,
    AspectChange,
    Batch,
    BatchItem,
    GoldPassage,
    ReferenceAnswer,
    Review,
    SupportLabel,
    Vote,
    VoteSlot,
)
from annotate.support.services import LABELLED as SUPPORT_LABELLED
from corpus.judgments.models import NOTHING_LEFT_OUT, PEOPLE, LeftOut
from corpus.judgments.services import LABELLED, left_out
from corpus.models import Benchmark, Judgment, Query
from kit.models import Event

_JUDGMENT, _VOTE, _SLOT = (each._meta.label_lower for each in (Judgment, Vote, VoteSlot))
_BATCH, _ITEM, _GOLD = (each._meta.label_lower for each in (Batch, BatchItem, GoldPassage))
_ASPECT, _CHANGE, _QUERY = (each._meta.label_lower for each in (Aspect, AspectChange, Query))
_REVIEW, _ANSWER = (each._meta.label_lower for each in (Review, ReferenceAnswer))
_SUPPORT = SupportLabel._meta.label_lower
_WRITES_ASPECT = ("add aspect", "save aspect", "remove aspect", "restore aspect")
_RESTRUCTURES = ("split aspect", "merge aspect", "move to scale")
# By kind of target the verbs that decide something; None is every verb.
_DECIDING: dict[str, tuple[str, ...] | None] = {
    _JUDGMENT: (LABELLED, "adopt label"),
    _VOTE: ("vote",),
    _SLOT: ("first judgment",),
    _BATCH: ("accept batch",),
    _ITEM: ("answer item",),
    _GOLD: ("assign passage",),
    _ASPECT: _WRITES_ASPECT,
    _CHANGE: ("undo change",),
    _QUERY: _RESTRUCTURES,
    _REVIEW: None,
    _ANSWER: ("write answer", "restore answer", "choose answer"),
    _SUPPORT: (SUPPORT_LABELLED,),
}
# Where the newest row of the record counts, whoever wrote before.
_SAVED_ANEW = frozenset({_ITEM, _ASPECT, _QUERY})


@dataclass(frozen=True)
class Unconfirmed:
    """Keys of rows that do not count, and of how many decisions they are."""

    labels: LeftOut = NOTHING_LEFT_OUT
    support: LeftOut = NOTHING_LEFT_OUT
    votes: frozenset[int] = frozenset()
    gold: frozenset[int] = frozenset()
    # Queries whose aspects do not count.
    aspects: frozenset[int] = frozenset()
    reviews: frozenset[int] = frozenset()
    answers: frozenset[int] = frozenset()
    decisions: int = 0


NOTHING = Unconfirmed()


@dataclass
class _Found:
    """The unconfirmed events of a benchmark, by kind of target."""

    targets: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    # Who gave the first judgment of each slot: it may have gone to others since.
    judged: set[tuple[int, int]] = field(default_factory=set)
    decisions: int = 0


def unconfirmed(benchmark: Benchmark) -> Unconfirmed:
    """What does not count in the benchmark now; one question where there is nothing."""
    found = _events(benchmark)
    if not found.decisions:
        return Unconfirmed()
    targets = found.targets
    votes = _votes(found)
    labels = left_out(_labels(targets[_JUDGMENT], votes))
    by_label = Q(judgment__in=labels.labels)
    aspects = set(targets[_QUERY])
    for rows in (
        Aspect.objects.filter(pk__in=targets[_ASPECT]),
        AspectChange.objects.filter(pk__in=targets[_CHANGE]),
    ):
        aspects.update(rows.order_by().values_list("query_id", flat=True))
    return Unconfirmed(
        labels=labels,
        support=left_out(_support(targets[_SUPPORT], votes), SupportLabel),
        votes=frozenset(votes),
        gold=_keys(GoldPassage.objects.filter(by_label | Q(pk__in=targets[_GOLD]))),
        aspects=frozenset(aspects),
        reviews=frozenset(targets[_REVIEW]),
        answers=frozenset(targets[_ANSWER]),
        decisions=found.decisions,
    )


def _events(benchmark: Benchmark) -> _Found:
    # A link that its person called theirs is behind no doubt.
    events = Event.objects.of(benchmark.slug).filter(link__isnull=False)
    events = events.exclude(link__is_theirs=True)
    kinds = (
        Q(target_type=kind) if verbs is None else Q(target_type=kind, verb__in=verbs)
        for kind, verbs in _DECIDING.items()
    )
    rows = events.filter(reduce(or_, kinds)).order_by("pk")
    found = _Found()
    last: dict[tuple[str, int], int] = {}
    for pk, kind, key, actor in rows.values_list("pk", "target_type", "target_id", "actor_id"):
        found.decisions += 1
        found.targets[kind].add(int(key))
        last[kind, int(key)] = pk
        if kind == _SLOT:
            found.judged.add((int(key), actor))
    for kind in _SAVED_ANEW:
        found.targets[kind] -= _saved_anew(kind, found.targets[kind], last)
    return found


def _saved_anew(kind: str, keys: Collection[int], last: dict[tuple[str, int], int]) -> set[int]:
    """Those of the targets that were written again since, without doubt."""
    verbs = _DECIDING[kind] or ()
    later = Event.objects.filter(
        target_type=kind, target_id__in=[str(key) for key in keys], verb__in=verbs
    ).filter(Q(link=None) | Q(link__is_theirs=True))
    rows = later.order_by().values_list("pk", "target_id")
    return {int(key) for pk, key in rows if pk > last[kind, int(key)]}


def _votes(found: _Found) -> set[int]:
    """Votes by themselves, and those that slots and batches became."""
    targets = found.targets
    votes = set(targets[_VOTE])
    slots = VoteSlot.objects.filter(pk__in=targets[_SLOT], vote__isnull=False)
    for slot, voter, vote in slots.values_list("pk", "vote__voter_id", "vote_id"):
        if (slot, voter) in found.judged and vote is not None:
            votes.add(vote)
    votes |= _keys(Vote.objects.filter(batch__in=targets[_BATCH]))
    items = BatchItem.objects.filter(pk__in=targets[_ITEM], case__isnull=False)
    pairs = set(items.values_list("batch_id", "case_id"))
    of_batches = Vote.objects.filter(batch__in={batch for batch, _ in pairs})
    for pk, batch, case in of_batches.values_list("pk", "batch_id", "case_id"):
        if (batch, case) in pairs:
            votes.add(pk)
    return votes


def _labels(given: Iterable[int], votes: Collection[int]) -> set[int]:
    """Labels that were given so, or restored from such, and those that rest on such votes."""
    labels = set(given)
    if labels:
        people = Judgment.objects.filter(source__in=PEOPLE, provenance__restored__isnull=False)
        rows = people.values_list("pk", "provenance__restored")
        labels |= {pk for pk, first in rows if first in labels}
    about_pairs = Vote.objects.filter(pk__in=votes, case__aspect=None)
    pairs = about_pairs.values_list("case__query_id", "case__passage_id")
    voted = set(pairs)
    rows = Judgment.objects.filter(
        query__in={query for query, _ in voted},
        passage__in={passage for _, passage in voted},
        source__in=PEOPLE,
    ).values_list("pk", "provenance")
    for pk, provenance in rows:
        named = provenance.get("votes")
        if isinstance(named, list) and not votes.isdisjoint(named):  # type: ignore[attr-defined]
            labels.add(pk)
    return labels


def _support(given: Iterable[int], votes: Collection[int]) -> set[int]:
    """The same of labels of support."""
    about = Vote.objects.filter(pk__in=votes, case__aspect__isnull=False)
    aspects = about.values_list("case__aspect", flat=True)
    rows = SupportLabel.objects.filter(source__in=PEOPLE).filter(
        Q(aspect__in=set(aspects)) | Q(provenance__restored__isnull=False)
    )
    labels = set(given)
    return labels | {
        pk
        for pk, provenance in rows.values_list("pk", "provenance")
        if provenance.get("restored") in labels or not votes.isdisjoint(provenance.get("votes", ()))  # type: ignore[attr-defined]
    }


def _keys(rows: QuerySet) -> frozenset[int]:  # type: ignore[type-arg]
    return frozenset(rows.order_by().values_list("pk", flat=True))
