"""What the turns of a run come to, per pair: agreements by round, seconds and cost.

Behind a turn stands every call of its place in the ledger: the answer that was read, one before it
that could not be read, answers that were cut off or came too late. Seconds and cost of a pair are
those of all these calls, whichever run paid for them: runs that share answers are compared as if
each had asked alone. What a run paid itself is the sum of its own calls
(`llm.ledger.reading.spending`).

What a run's labels are held against: an imported gold, or what people judged."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, NamedTuple, TypeVar

from django.db.models import Exists, OuterRef, Q, QuerySet

from annotate.models import CaseStatus, EscalationCase
from annotate.voting.cases import is_undecided
from corpus.judgments.models import GoldVersion
from corpus.models import Benchmark, Judgment, Pool, Source
from corpus.texts.finding import one_of
from corpus.versions.carried import carried_values
from debate.dream.lineup import ADJUDICATOR
from debate.measures.accuracy import Judged
from debate.measures.timing import Spent
from debate.models import DebateRun, DebateStatus, Turn
from llm.models import Call

Where = TypeVar("Where")
_CHUNK: Final = 2_000
# Places that are looked up at once.
_PLACES: Final = 400
_FIELDS: Final = ("status", "elapsed_s", "usd", "input_tokens", "output_tokens")
_SUBJECT: Final = re.compile(r"debate:([0-9]+):r([0-9]+):(.+)")


class Heard(NamedTuple):
    """What one call took; what is null is not known."""

    status: str
    seconds: float | None
    usd: Decimal | None
    input_tokens: int | None
    output_tokens: int | None


@dataclass(slots=True)
class Played:
    """One pair: what its agents said in each round, and what the calls behind it took."""

    debate: int
    labels: dict[int, list[int | None]] = field(default_factory=dict)
    seconds: dict[tuple[int, str], float] = field(default_factory=dict)
    calls: int = 0
    timed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    # By round and agent too: what is known of the cost, and answers that have no price.
    priced: dict[tuple[int, str], Decimal] = field(default_factory=dict)
    unpriced: dict[tuple[int, str], int] = field(default_factory=dict)

    @property
    def agreed(self) -> dict[int, int | None]:
        """By round, the label agreed on, or None; an adjudicator's word is no agreement."""
        return {
            number: labels[0] if len(set(labels)) == 1 else None
            for number, labels in self.labels.items()
        }

    @property
    def usd(self) -> float | None:
        """What all calls cost; None where an answer has no price, or nobody was asked."""
        if self.unpriced or not self.priced:
            return None
        return float(sum(self.priced.values(), Decimal(0)))

    def spent(self) -> Spent:
        """The same as measures want it: what each agent took in each round."""
        rounds: dict[int, list[float]] = {}
        for (number, _), seconds in self.seconds.items():
            rounds.setdefault(number, []).append(seconds)
        return Spent([rounds[number] for number in sorted(rounds)], self.usd)

    def add(self, number: int, agent: str, call: Heard) -> None:
        """A call in which an agent was asked in a round."""
        place = number, agent
        self.calls += 1
        self.timed += call.seconds is not None
        self.seconds[place] = self.seconds.get(place, 0.0) + (call.seconds or 0.0)
        self.input_tokens += call.input_tokens or 0
        self.output_tokens += call.output_tokens or 0
        if call.usd is not None:
            self.priced[place] = self.priced.get(place, Decimal(0)) + call.usd
        elif call.status == Call.Status.ANSWERED:
            # What was never answered may have cost nothing; the run's own sums tell of it.
            self.unpriced[place] = self.unpriced.get(place, 0) + 1


def played(run: DebateRun, debates: set[int] | None = None) -> Iterator[Played]:
    """Every pair with turns (of these, where they are given)."""
    turns = Turn.objects.filter(debate__run=run)
    if debates is not None and len(debates) <= 1_000:
        yield from played_in(debates, turns)
        return
    unread: dict[int, list[tuple[int, str, Heard]]] = defaultdict(list)
    for (debate, number, agent), call in _unread(run, turns):
        unread[debate].append((number, agent, call))
    for pair in _pairs(turns):
        if debates is None or pair.debate in debates:
            for each in unread.get(pair.debate, ()):
                pair.add(*each)
            yield pair


def played_in(debates: Iterable[int], turns: QuerySet[Turn] | None = None) -> list[Played]:
    """Some pairs, of any runs."""
    turns = (Turn.objects.all() if turns is None else turns).filter(debate__in=list(debates))
    pairs = {pair.debate: pair for pair in _pairs(turns)}
    for (debate, number, agent), call in unread_beside(_places(turns)):
        pairs[debate].add(number, agent, call)
    return list(pairs.values())


def unread_beside(
    places: Iterable[tuple[int, int | None, str, Where]],
) -> Iterator[tuple[Where, Heard]]:
    """The calls that were made where these were, without these: each with what stands last.

    A place is (call, account, subject, anything); without a subject it has no others.
    """
    here: dict[tuple[int | None, str], list[Where]] = defaultdict(list)
    read: set[int] = set()
    for call, account, subject, where in places:
        if subject:
            here[account, subject].append(where)
            read.add(call)
        if len(here) >= _PLACES:
            yield from _at(here, read)
            here.clear()
            read.clear()
    yield from _at(here, read)


def _at(
    places: dict[tuple[int | None, str], list[Where]], read: set[int]
) -> Iterator[tuple[Where, Heard]]:
    calls = Call.objects.filter(subject__in={subject for _, subject in places})
    rows = calls.exclude(status=Call.Status.FAILED)
    for pk, account, subject, *rest in rows.values_list("pk", "account_id", "subject", *_FIELDS):
        if pk not in read:
            for where in places.get((account, subject), ()):
                yield where, Heard(*rest)


def _places(
    turns: QuerySet[Turn],
) -> Iterator[tuple[int, int | None, str, tuple[int, int, str]]]:
    rows = turns.order_by().filter(call__isnull=False)
    names = ("call_id", "call__account_id", "call__subject", "debate_id", "round", "agent")
    for call, account, subject, *where in rows.values_list(*names).iterator(_CHUNK):
        debate, number, agent = where
        yield call, account, subject, (debate, number, agent)


def _unread(run: DebateRun, turns: QuerySet[Turn]) -> Iterator[tuple[tuple[int, int, str], Heard]]:
    """The same of a whole run: nearly all of its own calls were read, and need no look-up each."""
    read = Exists(turns.filter(call=OuterRef("pk")))
    told = Q(usd__isnull=False) | Q(elapsed_s__isnull=False)
    own = run.calls.filter(told, ~read, subject__startswith="debate:").order_by()
    for subject, *rest in own.values_list("subject", *_FIELDS).iterator(_CHUNK):
        if found := _SUBJECT.fullmatch(subject):
            yield (int(found[1]), int(found[2]), found[3]), Heard(*rest)
    if run.account_id:
        turns = turns.filter(Q(call__account=None) | ~Q(call__account=run.account_id))
    yield from unread_beside(_places(turns))


def _pairs(turns: QuerySet[Turn]) -> Iterator[Played]:
    """The pairs with the calls that were read, from one look at their turns in order."""
    rows = turns.order_by("debate_id", "round", "agent")
    names = ["debate_id", "round", "agent", "label", "call_id", *(f"call__{n}" for n in _FIELDS)]
    pair: Played | None = None
    for debate, number, agent, label, call, *rest in rows.values_list(*names).iterator(_CHUNK):
        if pair is None or pair.debate != debate:
            if pair is not None:
                yield pair
            pair = Played(debate)
        labels = pair.labels.setdefault(number, [])
        if agent != ADJUDICATOR:
            labels.append(label)
        if call is not None:
            pair.add(number, agent, Heard(*rest))
    if pair is not None:
        yield pair


PEOPLE, EXPERTS, GOLD = "people", "experts", "gold"
_GOLD = "gold-"


@dataclass(frozen=True)
class Reference:
    """A source of labels of a benchmark; labels above 0 count as relevant."""

    benchmark: Benchmark
    key: str
    name: str

    def judgments(self) -> QuerySet[Judgment]:
        """Its labels. Of pairs that people still judge, the imported gold alone."""
        rows = Judgment.objects.in_benchmark(self.benchmark).order_by()
        if self.key == GOLD:
            return rows.original()
        if self.key.startswith(_GOLD):
            return rows.filter(gold_version_id=int(self.key.removeprefix(_GOLD)))
        sources = (Source.EXPERT,) if self.key == EXPERTS else (Source.EXPERT, Source.HUMAN)
        return rows.standing().filter(source__in=sources).exclude(is_undecided())

    def truths(self, pool: Pool | None = None) -> dict[tuple[int, int], int]:
        """1 or 0 by (query, passage).

        For a pool of a derived corpus version, as they are carried there; a pair that people
        still judge there has none but the imported gold's.
        """
        rows = self.judgments().values_list("query_id", "passage_id", "label")
        found = {(query, passage): int(label > 0) for query, passage, label in rows}
        version = pool.corpus_version if pool else None
        if version is None:
            return found
        found = carried_values(version, found)
        if self.is_gold:
            return found
        cases = EscalationCase.objects.filter(query__domain__benchmark=self.benchmark)
        undecided = set(
            cases.exclude(status=CaseStatus.CLOSED).values_list("query_id", "passage_id")
        )
        return {pair: truth for pair, truth in found.items() if pair not in undecided}

    @property
    def is_gold(self) -> bool:
        """Whether it is an imported gold."""
        return self.key == GOLD or self.key.startswith(_GOLD)

    def holding(self, truth: int, pool: Pool | None = None) -> Exists:
        """Condition on an outer queryset of pairs: the reference calls them so."""
        if pool is not None and pool.corpus_version_id is not None:
            truths = self.truths(pool)
            called = {
                (query, passage) for (query, passage), each in truths.items() if each == truth
            }
            entries = pool.entries.values_list("pk", "query_id", "passage_id")
            kept = [pk for pk, *pair in entries.iterator(chunk_size=2000) if tuple(pair) in called]
            of_pair = pool.entries.filter(
                one_of(kept), query=OuterRef("query_id"), passage=OuterRef("passage_id")
            )
            return Exists(of_pair)
        rows = self.judgments().filter(query=OuterRef("query_id"), passage=OuterRef("passage_id"))
        return Exists(rows.filter(Q(label__gt=0) if truth else Q(label__lte=0)))


def references(benchmark: Benchmark) -> list[Reference]:
    """Every reference that the benchmark offers, people first."""
    golds = GoldVersion.objects.filter(domain__benchmark=benchmark).select_related("domain")
    return [
        Reference(benchmark, PEOPLE, "people: votes and experts"),
        Reference(benchmark, EXPERTS, "experts alone"),
        Reference(benchmark, GOLD, "the imported gold of every domain"),
        *(Reference(benchmark, f"{_GOLD}{gold.pk}", f"gold of {gold}") for gold in golds),
    ]


def reference_called(benchmark: Benchmark, key: str) -> Reference | None:
    """The reference of that key; None where the benchmark has none."""
    return next((each for each in references(benchmark) if each.key == key), None)


def judged(run: DebateRun, truths: dict[tuple[int, int], int]) -> Iterator[tuple[int, Judged]]:
    """(debate, pair beside its truth) of every pair of the run that has both."""
    columns = ("pk", "query_id", "passage_id", "status", "label", "case__label")
    rows = run.debates.exclude(status=DebateStatus.WAITING).order_by()
    for pk, query, passage, status, label, settled in rows.values_list(*columns).iterator():
        truth = truths.get((query, passage))
        if truth is not None:
            escalated = status == DebateStatus.ESCALATED
            yield pk, Judged(truth, label, escalated, settled if escalated else None)
