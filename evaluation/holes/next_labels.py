"""Which labels of support would help most per dollar (docs/protocol.md X07).

A passage more for aspect j gains p w_j (1 - alpha)^C_j: p is the chance that it supports the
aspect, w_j the aspect's share of its query, C_j the passages that support it already (alpha .5, as
in 6.1). Taken greedily: each that is chosen counts p towards C_j for the next. p comes from labels
that stand, by the best rank at which the passage was proposed.
"""

import heapq
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Length

from annotate.candidates.reading import inheriting_refusals, proposals
from annotate.models import Aspect, EscalationCase, GoldPassage, SupportLabel, VotingPlan
from annotate.workspace.inherited import listed_under
from corpus.judgments.models import PEOPLE
from corpus.lists import unused_name
from corpus.models import Benchmark, CorpusVersion, Judgment, Pool, PoolEntry
from debate.models import Debate, DebateStatus
from debate.runs.trajectories import trajectories_in
from evaluation.content.unconfirmed import unconfirmed
from kit import audit
from kit.errors import Refused
from kit.lists.report_tables import Cell, ReportTable, text

ALPHA: Final = 0.5
MOST: Final = 1_000
VOTES: Final = 3
# Best ranks up to these are told apart.
RANKS: Final = (1, 3, 10, 30)
_SAMPLE: Final = 200
KIND: Final = "next labels"
Key = tuple[int, int]


@dataclass(frozen=True)
class NextLabel:
    """A proposal with its chance, what it gains, and its cost in USD (None: not known)."""

    entry: PoolEntry
    aspect: Aspect
    chance: float
    gain: float
    usd: float | None


@dataclass(frozen=True)
class Costs:
    """What a label costs: a debate by a thousand characters of the passage, people's votes."""

    usd_per_thousand: float | None
    escalated: float
    votes_usd: float | None

    def of(self, length: int) -> float | None:
        """USD of a debate, with the votes on those that stay disputed, as far as the plan says
        what is paid; None where no debate has a price."""
        if self.usd_per_thousand is None:
            return None
        people = self.escalated * (self.votes_usd or 0.0)
        return self.usd_per_thousand * length / 1000 + people


def chances(benchmark: Benchmark) -> list[float]:
    """By RANKS (and beyond), the share of judged proposals that support their aspect.

    (yes + 1) / (judged + 2): a half where nobody judged any; the practice model judges nothing.
    """
    counts = [[0, 0] for _ in range(len(RANKS) + 1)]
    own = {"aspect__query": OuterRef("query"), "aspect__k": OuterRef("aspect")}
    judged = SupportLabel.objects.standing().filter(practice=False, **own)
    judged = judged.filter(passage=OuterRef("passage"))
    for label in (0, 1):
        rows = proposals(benchmark).filter(Exists(judged.filter(label=label)))
        for systems in rows.values_list("systems", flat=True).iterator(chunk_size=2_000):
            counts[_bucket(systems)][label] += 1
    return [(yes + 1) / (no + yes + 2) for no, yes in counts]


def costs(benchmark: Benchmark) -> Costs:
    """From the latest debates on aspects that are over, by models that are no practice: no trials,
    no rehearings, which are of disputes alone. People's from the voting plan, where it pays USD."""
    plan = VotingPlan.objects.current(benchmark)
    pay = None if _foreign(plan) else plan.pay(VOTES)
    ended = Debate.objects.filter(run__benchmark=benchmark, aspect__isnull=False)
    ended = ended.filter(run__practice=False, run__is_trial=False, run__reheard_of=None)
    ended = ended.filter(status__in=(DebateStatus.AGREED, DebateStatus.ESCALATED))
    rows = list(
        ended.order_by("-pk").values_list("pk", "status", Length("passage__text"))[:_SAMPLE]
    )
    length = {pk: size or 0 for pk, _, size in rows}
    known = [
        1000 * each.usd / length[each.debate]
        for each in trajectories_in(length)
        if each.usd is not None and length[each.debate]
    ]
    disputed = sum(status == DebateStatus.ESCALATED for _, status, _ in rows)
    return Costs(
        fmean(known) if known else None,
        disputed / len(rows) if rows else 0.0,
        None if pay is None else float(pay),
    )


def next_labels(
    benchmark: Benchmark, count: int = 100, version: CorpusVersion | None = None
) -> list[NextLabel]:
    """The proposals that nobody judged and that gain most per dollar, the best first; of a corpus
    version, by default the current one.

    Where no cost is known, those that gain most. Raises Refused for a count outside 1 to 1,000.
    """
    if not 1 <= count <= MOST:
        raise Refused(f"Choose 1 to {MOST:,} labels.", field="count")
    entries = list(open_proposals(benchmark, version).annotate(length=Length("passage__text")))
    queries = {each.query_id for each in entries}
    found = Aspect.objects.present().filter(query__in=queries).select_related("query__domain")
    aspects: dict[Key, Aspect] = {(each.query_id, each.k): each for each in found}
    have = _have(benchmark)
    price, share, chance = costs(benchmark), _shares(aspects), chances(benchmark)
    waiting: dict[Key, list[tuple[float, int]]] = defaultdict(list)
    for place, entry in enumerate(entries):
        p = chance[_bucket(entry.systems)]
        usd = price.of(entry.length)  # type: ignore[attr-defined]
        waiting[entry.query_id, entry.aspect or 0].append((p / (usd or 1.0), place))
    for rows in waiting.values():
        rows.sort(key=lambda row: (row[0], -row[1]))  # the best of an aspect stands last
    count_of = {key: float(have.get(aspects[key].pk, 0)) for key in waiting}

    def ratio(key: Key) -> float:
        return waiting[key][-1][0] * share[key] * (1 - ALPHA) ** count_of[key]

    heap = [(-ratio(key), key) for key in sorted(waiting)]
    heapq.heapify(heap)
    chosen: list[NextLabel] = []
    while heap and len(chosen) < count:
        _, key = heapq.heappop(heap)
        _, place = waiting[key].pop()
        entry = entries[place]
        p = chance[_bucket(entry.systems)]
        gain = p * share[key] * (1 - ALPHA) ** count_of[key]
        usd = price.of(entry.length)  # type: ignore[attr-defined]
        chosen.append(NextLabel(entry, aspects[key], p, gain, usd))
        count_of[key] += p
        if waiting[key]:
            heapq.heappush(heap, (-ratio(key), key))
    return chosen


def pool_next(
    *,
    benchmark: Benchmark,
    count: int,
    name: str = "",
    version: CorpusVersion | None = None,
    actor: User | None,
) -> Pool:
    """Make a pool of these proposals, to be debated. Raises Refused where there is none."""
    chosen = next_labels(benchmark, count, version)
    if not chosen:
        raise Refused("Every proposal was judged. Build a pool for aspects without gold first.")
    name = checked_name(benchmark, name)
    taken = Pool.objects.filter(benchmark=benchmark).values_list("name", flat=True)
    # All aspects of a passage stand together: what debates ask of them begins alike.
    rows = sorted(chosen, key=lambda each: (each.entry.query_id, each.entry.passage_id))
    with transaction.atomic():
        pool = Pool.objects.create(
            benchmark=benchmark,
            name=name or unused_name(f"Next {len(chosen)} labels", taken)[:120],
            corpus_version_id=chosen[0].entry.pool.corpus_version_id,
            of_aspects=True,
            provenance={"kind": KIND, "pairs": len(chosen), "gain": sum(e.gain for e in chosen)},
        )
        PoolEntry.objects.bulk_create(
            PoolEntry(
                pool=pool,
                query_id=each.entry.query_id,
                passage_id=each.entry.passage_id,
                aspect=each.entry.aspect,
                systems=each.entry.systems,
            )
            for each in rows
        )
        data = {"pairs": len(chosen)}
        audit.record(actor=actor, verb="build pool", target=pool, scope=benchmark.slug, data=data)
    return pool


def checked_name(benchmark: Benchmark, name: str) -> str:
    """The name as a pool keeps it. Raises Refused for one that a pool has."""
    name = name.strip()[:120]
    if Pool.objects.filter(benchmark=benchmark, name=name).exists():
        raise Refused(f"There is a pool named {name!r} already.", field="name")
    return name


def as_table(chosen: Sequence[NextLabel]) -> ReportTable:
    """The labels as a table, the best first."""
    gain, usd = sum(each.gain for each in chosen), [each.usd for each in chosen if each.usd]
    known = len(usd) == len(chosen)
    of = [each.aspect.query.domain.benchmark for each in chosen[:1]]
    foreign = [code for each in of if (code := _foreign(VotingPlan.objects.current(each)))]
    price = f" for {sum(usd):,.2f} USD" if known else ""
    return ReportTable(
        name="next-labels",
        title=f"The next {len(chosen):,} labels",
        header=("Aspect", "What it says", "Passage", "Chance", "Gain", "Cost", "Gain per dollar"),
        rows=tuple(
            (
                text(each.aspect.aspect_id),
                text(each.aspect.content),
                text(each.entry.passage.pid),
                Cell(each.chance, "coefficient"),
                Cell(each.gain, "coefficient"),
                Cell(each.usd, "usd"),
                Cell(each.gain / each.usd if each.usd else None, "coefficient"),
            )
            for each in chosen
        ),
        notes=(
            "Gain: chance that the passage supports the aspect, times the aspect’s share of its "
            "query, halved for each passage that supports it already.",
            "In the order of gain per dollar."
            if known
            else "In the order of gain: no debate on aspects has a known price above 0 yet.",
            *(f"Votes are paid in {code}: prices, in USD, are without them." for code in foreign),
        ),
        empty="Every proposal was judged. Build a pool for aspects without gold.",
        summary=f"Together a gain of {gain:.3f}{price}." if chosen else "",
    )


def open_proposals(
    benchmark: Benchmark, version: CorpusVersion | None = None
) -> QuerySet[PoolEntry]:
    """Proposals of a corpus version, by default the current one, without a label (of the practice
    model does not count), gold or case, and not found not relevant by people: no machine gold
    could come of them. A pool is of one version."""
    version = version or CorpusVersion.objects.current(benchmark)
    own = {"aspect__query": OuterRef("query"), "aspect__k": OuterRef("aspect")}
    here = {"passage": OuterRef("passage")}
    judged = SupportLabel.objects.standing().filter(practice=False, **own, **here)
    gold = GoldPassage.objects.standing().filter(query=OuterRef("query"), **here)
    cases = EscalationCase.objects.filter(**own, **here)
    off = Judgment.objects.standing().filter(query=OuterRef("query"), **here)
    off = off.filter(source__in=PEOPLE, label__lte=0)
    none = (~Exists(each) for each in (judged, gold, cases, off))
    rows = proposals(benchmark).filter(*none)
    rows = rows.filter(pool__corpus_version=version.key if version else None)
    rows = rows.exclude(pk__in=inheriting_refusals(rows, "query_id"))
    rows = rows.filter(passage__text__isnull=False).select_related("passage", "pool")
    return rows.defer("passage__text").order_by("pk")


def _have(benchmark: Benchmark) -> Mapping[int, int]:
    """Passages that support each aspect, of experts and machine gold."""
    here = Q(query__domain__benchmark=benchmark)
    found = listed_under(here)
    machine = SupportLabel.objects.in_benchmark(benchmark)
    doubtful = unconfirmed(benchmark)
    machine = machine.machine_gold(doubtful.support, doubtful.labels).filter(practice=False)
    machine = machine.exclude(pk__in=inheriting_refusals(machine, "aspect__query_id"))
    for rows in (GoldPassage.objects.standing().filter(here), machine):
        for aspect, passage in rows.values_list("aspect", "passage"):
            found[aspect].add(passage)
    return {aspect: len(passages) for aspect, passages in found.items()}


def _foreign(plan: VotingPlan) -> str:
    """What votes are paid in where that is not USD."""
    return "" if plan.hourly_pay is None or plan.currency.upper() == "USD" else plan.currency


def _shares(aspects: Mapping[Key, Aspect]) -> dict[Key, float]:
    sums: dict[int, int] = defaultdict(int)
    for (query, _), each in aspects.items():
        sums[query] += each.weight
    return {key: each.weight / sums[key[0]] for key, each in aspects.items()}


def _bucket(systems: Sequence[Mapping[str, object]]) -> int:
    ranks = [rank for each in systems if isinstance(rank := each.get("rank"), int)]
    return bisect_left(RANKS, min(ranks)) if ranks else len(RANKS)
