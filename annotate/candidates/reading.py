"""What is proposed as gold of aspects, and how each proposal stands, as this person may see it.

A proposal is an entry of a pool about aspects. To who votes no label of a machine is shown before
people decided the very question (docs/voting.md): they read what retrieval proposed, blind.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from django.db.models import Exists, OuterRef, Q, QuerySet

from annotate.candidates.inherited import refused_in
from annotate.models import Aspect, CaseStatus, EscalationCase, GoldPassage, SupportLabel
from corpus.access import Access
from corpus.judgments.models import PEOPLE
from corpus.judgments.shown import shown_labels
from corpus.models import Benchmark, CorpusVersion, Judgment, Pool, PoolEntry
from corpus.texts.models import CLEANED

OPEN, CANDIDATE, CONFLICT, GOLD, REFUSED = "open", "candidate", "conflict", "gold", "no"
OFF_QUERY: Final = "off_query"
STATES: Final = (
    (CANDIDATE, "machine gold, to confirm"),
    (CONFLICT, "supports several aspects"),
    (GOLD, "gold of the aspect"),
    (REFUSED, "does not support it"),
    (OFF_QUERY, "not relevant for the query, as people found"),
    (OPEN, "undecided"),
)
_SAME: Final = {"aspect__query": OuterRef("query"), "aspect__k": OuterRef("aspect")}
_HERE: Final = {"passage": OuterRef("passage")}


def proposals(benchmark: Benchmark) -> QuerySet[PoolEntry]:
    """Every (query, aspect, passage) once, the first time it was pooled; aspects that are there."""
    pools = Pool.objects.filter(benchmark=benchmark, of_aspects=True)
    rows = PoolEntry.objects.filter(pool__in=pools, aspect__isnull=False)
    same = {name: OuterRef(name) for name in ("query", "passage", "aspect")}
    earlier = PoolEntry.objects.filter(pool__in=pools, pk__lt=OuterRef("pk"), **same)
    present = Aspect.objects.filter(query=OuterRef("query"), k=OuterRef("aspect"), removed_at=None)
    return rows.filter(~Exists(earlier), Exists(present))


def shown_support(access: Access) -> QuerySet[SupportLabel]:
    """Standing labels of support that this person may see.

    To voters those that people gave; of a question that is open again, none.
    """
    rows = SupportLabel.objects.in_benchmark(access.benchmark).standing()
    if not access.is_voter:
        return rows
    cases = EscalationCase.objects.exclude(status=CaseStatus.CLOSED)
    undecided = cases.filter(aspect=OuterRef("aspect"), passage=OuterRef("passage"))
    return rows.filter(~Exists(undecided), source__in=PEOPLE)


def refused_pairs(access: Access) -> QuerySet[Judgment]:
    """Pairs that people found not relevant for the query at all, as far as this person sees: what
    supports an aspect there is no machine gold. Given right there; see `inheriting_refusals`."""
    rows = Judgment.objects.in_benchmark(access.benchmark).standing()
    return shown_labels(rows.filter(source__in=PEOPLE, label__lte=0), access)


def inheriting_refusals(
    rows: QuerySet[Any], query: str, shown_to: Access | None = None
) -> list[int]:
    """Keys of the rows (with a passage, and `query`, a column) whose pair inherits, in the cleaned
    version that its passage is of, that people found it not relevant."""
    of_cleaned = rows.filter(passage__version__recipe__kind=CLEANED).order_by("passage__version")
    told = of_cleaned.values_list("passage__version_id", "pk", query, "passage_id")
    found: list[int] = []
    for version, part in groupby(told, key=lambda row: row[0]):
        of = {pk: (asked, passage) for _, pk, asked, passage in part}
        of_version = CorpusVersion.objects.get(pk=version)
        out = refused_in(of_version, {asked for asked, _ in of.values()}, shown_to=shown_to)
        found += [pk for pk, pair in of.items() if pair in out]
    return found


def in_state(access: Access, rows: QuerySet[PoolEntry], state: str) -> QuerySet[PoolEntry]:
    """Proposals that stand so, as far as this person sees."""
    labels = shown_support(access)
    own = labels.filter(**_SAME, **_HERE)
    yes, no = Exists(own.filter(label=1)), Exists(own.filter(label=0))
    assigned = GoldPassage.objects.standing().filter(query=OuterRef("query"), **_HERE)
    is_gold = Exists(assigned.filter(aspect__k=OuterRef("aspect")))
    others = labels.filter(aspect__query=OuterRef("query"), label=1, **_HERE)
    others = others.exclude(aspect__k=OuterRef("aspect"))
    clashes = Q(Exists(assigned.exclude(aspect__k=OuterRef("aspect"))))
    for practice in (False, True):  # the practice model's conflict with one another alone
        alike = {"label": 1, "practice": practice}
        clashes |= Q(Exists(own.filter(**alike)), Exists(others.filter(**alike)))
    if state == GOLD:
        return rows.filter(is_gold)
    rows = rows.filter(~is_gold)
    if state == REFUSED:
        return rows.filter(no)
    if state == OPEN:
        return rows.filter(~yes, ~no)
    rows = rows.filter(yes)
    is_off = Q(Exists(refused_pairs(access).filter(query=OuterRef("query"), **_HERE)))
    is_off |= Q(pk__in=inheriting_refusals(rows, "query_id", access))
    if state == OFF_QUERY:
        return rows.filter(is_off)
    return rows.filter(~is_off, clashes if state == CONFLICT else ~clashes)


def candidates_of(access: Access, entries: Iterable[PoolEntry]) -> list[dict[str, Any]]:
    """These proposals as they stand.

    Each `entry` with its `aspect`, the `label` shown of it, and its `state` (of STATES). `rivals`
    are numbers of the query's other aspects that the passage supports, too, by gold or by label;
    `is_stale` says that the aspect was written anew since the label was given.
    """
    rows: Sequence[PoolEntry] = list(entries)
    queries, passages = {each.query_id for each in rows}, {each.passage_id for each in rows}
    of_queries = Aspect.objects.filter(query__in=queries).order_by("k")
    aspects: dict[int, dict[int, Aspect]] = defaultdict(dict)
    for aspect in of_queries.select_related("query__domain__benchmark"):
        aspects[aspect.query_id][aspect.k] = aspect
    labels: dict[int, dict[int, SupportLabel]] = defaultdict(dict)
    for label in shown_support(access).filter(aspect__query__in=queries, passage__in=passages):
        labels[label.passage_id][label.aspect_id] = label
    gold = GoldPassage.objects.standing().filter(query__in=queries, passage__in=passages)
    assigned = {(each.query_id, each.passage_id): each.aspect_id for each in gold}
    pairs = refused_pairs(access).filter(query__in=queries, passage__in=passages).order_by()
    refused = set(pairs.values_list("query_id", "passage_id"))
    shown = PoolEntry.objects.filter(pk__in=[each.pk for each in rows])
    inherited = set(inheriting_refusals(shown, "query_id", access))
    return [
        _candidate(
            entry,
            aspects[entry.query_id],
            labels[entry.passage_id],
            assigned.get((entry.query_id, entry.passage_id)),
            (entry.query_id, entry.passage_id) in refused or entry.pk in inherited,
        )
        for entry in rows
    ]


def _candidate(
    entry: PoolEntry,
    own: Mapping[int, Aspect],
    labels: Mapping[int, SupportLabel],
    assigned: int | None,
    is_off: bool,
) -> dict[str, Any]:
    """One proposal: its query's aspects by number, the passage's labels by aspect, the aspect that
    its gold is under, and whether people found it not relevant for the query."""
    aspect = own[entry.aspect or 0]
    label = labels.get(aspect.pk)
    supported = {
        assigned,
        # The practice model's conflict with one another alone.
        *(
            pk
            for pk, each in labels.items()
            if each.label and (label is None or each.practice == label.practice)
        ),
    }
    rivals = tuple(
        k
        for k, each in own.items()
        if each != aspect and each.removed_at is None and each.pk in supported
    )
    if assigned == aspect.pk:
        state = GOLD
    elif label is None:
        state = OPEN
    elif not label.label:
        state = REFUSED
    elif is_off:
        state = OFF_QUERY
    else:
        state = CONFLICT if rivals else CANDIDATE
    is_stale = label is not None and label.aspect_version != aspect.version
    found = {"entry": entry, "aspect": aspect, "label": label, "rivals": rivals}
    return found | {"state": state, "is_stale": is_stale}
