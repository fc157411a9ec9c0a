"""What the turns of a run amount to, per pair: agreements by round, seconds and cost.

Behind a turn stands every call of its place in the ledger: the answer that was read, one before it
that could not be read, answers that were cut off or came too late. Seconds and cost of a pair are
those of all these calls, whichever run paid for them: runs that share answers are compared as if
each had asked alone. What a run paid itself is the sum of its own calls
(`llm.ledger.reading.spending`).
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, NamedTuple, TypeVar

from django.db.models import Exists, OuterRef, Q, QuerySet

from debate.dream import ADJUDICATOR
from debate.measures import Spent
from debate.models import DebateRun, Turn
from llm.models import Call

Where = TypeVar("Where")
_CHUNK: Final = 2_000
# Places that are looked up at once.
_PLACES: Final = 400
_FIELDS: Final = ("status", "elapsed_s", "usd", "input_tokens", "output_tokens")
_SUBJECT: Final = re.compile(r"debate:([0-9]+):r([0-9]+):(.+)")


class CallCost(NamedTuple):
    """What one call took; what is null is not known."""

    status: str
    seconds: float | None
    usd: Decimal | None
    input_tokens: int | None
    output_tokens: int | None


@dataclass(slots=True)
class Trajectory:
    """One pair: its agents' labels in each round, and what the calls behind it took."""

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
        return [rounds[number] for number in sorted(rounds)], self.usd

    def add(self, number: int, agent: str, call: CallCost) -> None:
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


def trajectories(run: DebateRun, debates: set[int] | None = None) -> Iterator[Trajectory]:
    """Every pair with turns (of these, where they are given)."""
    turns = Turn.objects.filter(debate__run=run)
    if debates is not None and len(debates) <= 1_000:
        yield from trajectories_in(debates, turns)
        return
    unread: dict[int, list[tuple[int, str, CallCost]]] = defaultdict(list)
    for (debate, number, agent), call in _unread(run, turns):
        unread[debate].append((number, agent, call))
    for pair in _pairs(turns):
        if debates is None or pair.debate in debates:
            for each in unread.get(pair.debate, ()):
                pair.add(*each)
            yield pair


def trajectories_in(
    debates: Iterable[int], turns: QuerySet[Turn] | None = None
) -> list[Trajectory]:
    """Some pairs, of any runs."""
    turns = (Turn.objects.all() if turns is None else turns).filter(debate__in=list(debates))
    pairs = {pair.debate: pair for pair in _pairs(turns)}
    for (debate, number, agent), call in unread_calls(_places(turns)):
        pairs[debate].add(number, agent, call)
    return list(pairs.values())


def unread_calls(
    places: Iterable[tuple[int, int | None, str, Where]],
) -> Iterator[tuple[Where, CallCost]]:
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
) -> Iterator[tuple[Where, CallCost]]:
    calls = Call.objects.filter(subject__in={subject for _, subject in places})
    rows = calls.exclude(status=Call.Status.FAILED)
    for pk, account, subject, *rest in rows.values_list("pk", "account_id", "subject", *_FIELDS):
        if pk not in read:
            for where in places.get((account, subject), ()):
                yield where, CallCost(*rest)


def _places(
    turns: QuerySet[Turn],
) -> Iterator[tuple[int, int | None, str, tuple[int, int, str]]]:
    rows = turns.order_by().filter(call__isnull=False)
    names = ("call_id", "call__account_id", "call__subject", "debate_id", "round", "agent")
    for call, account, subject, *where in rows.values_list(*names).iterator(_CHUNK):
        debate, number, agent = where
        yield call, account, subject, (debate, number, agent)


def _unread(
    run: DebateRun, turns: QuerySet[Turn]
) -> Iterator[tuple[tuple[int, int, str], CallCost]]:
    """The same of a whole run: nearly all of its own calls were read, and need no look-up each."""
    read = Exists(turns.filter(call=OuterRef("pk")))
    is_known = Q(usd__isnull=False) | Q(elapsed_s__isnull=False)
    own = run.calls.filter(is_known, ~read, subject__startswith="debate:").order_by()
    for subject, *rest in own.values_list("subject", *_FIELDS).iterator(_CHUNK):
        if found := _SUBJECT.fullmatch(subject):
            yield (int(found[1]), int(found[2]), found[3]), CallCost(*rest)
    if run.account_id:
        turns = turns.filter(Q(call__account=None) | ~Q(call__account=run.account_id))
    yield from unread_calls(_places(turns))


def _pairs(turns: QuerySet[Turn]) -> Iterator[Trajectory]:
    """The pairs with the calls that were read, from one look at their turns in order."""
    rows = turns.order_by("debate_id", "round", "agent")
    names = ["debate_id", "round", "agent", "label", "call_id", *(f"call__{n}" for n in _FIELDS)]
    pair: Trajectory | None = None
    for debate, number, agent, label, call, *rest in rows.values_list(*names).iterator(_CHUNK):
        if pair is None or pair.debate != debate:
            if pair is not None:
                yield pair
            pair = Trajectory(debate)
        labels = pair.labels.setdefault(number, [])
        if agent != ADJUDICATOR:
            labels.append(label)
        if call is not None:
            pair.add(number, agent, CallCost(*rest))
    if pair is not None:
        yield pair
