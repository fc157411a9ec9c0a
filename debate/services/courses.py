"""What the turns of a run come to, per pair: agreements by round, seconds and cost."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, Max, Min, Q, Sum

from debate.dream.lineup import ADJUDICATOR
from debate.measures.timing import Spent
from debate.models import DebateRun, Turn
from debate.services.spending import HAS_PRICES

_OF_AGENTS = ~Q(agent=ADJUDICATOR)


@dataclass
class Played:
    """One pair's rounds: the label agreed on (None without), and what each round took."""

    debate: int
    agreed: dict[int, int | None] = field(default_factory=dict)
    sums_s: list[float] = field(default_factory=list)
    longest_s: list[float] = field(default_factory=list)
    usd: float | None = None

    def spent(self) -> Spent:
        """The same as measures want it: the slowest agent of a round, and the others together."""
        rounds = [
            [longest, *([total - longest] if total > longest else [])]
            for total, longest in zip(self.sums_s, self.longest_s, strict=True)
        ]
        return Spent(rounds, self.usd)


def played(run: DebateRun, debates: set[int] | None = None) -> Iterator[Played]:
    """Every pair with turns (of these, where they are given), from one grouped query."""
    sums = {
        # An adjudicator's word is no agreement of the agents.
        "low": Min("label", filter=_OF_AGENTS),
        "high": Max("label", filter=_OF_AGENTS),
        "given": Count("label", filter=_OF_AGENTS),
        "turns": Count("pk", filter=_OF_AGENTS),
        "took": Sum("call__elapsed_s"),
        "longest": Max("call__elapsed_s"),
    }
    if HAS_PRICES:
        sums["usd"] = Sum("call__usd")
    rows = Turn.objects.filter(debate__run=run)
    if debates is not None and len(debates) <= 1_000:
        rows = rows.filter(debate__in=debates)
    grouped = rows.order_by("debate_id", "round").values("debate_id", "round").annotate(**sums)
    pair: Played | None = None
    for row in grouped.iterator(chunk_size=2_000):
        if debates is not None and row["debate_id"] not in debates:
            continue
        if pair is None or pair.debate != row["debate_id"]:
            if pair is not None:
                yield pair
            pair = Played(row["debate_id"])
        _add(pair, row)
    if pair is not None:
        yield pair


def _add(pair: Played, row: Mapping[str, Any]) -> None:
    is_agreed = row["low"] == row["high"] and row["given"] == row["turns"]
    pair.agreed[row["round"]] = row["low"] if is_agreed else None
    pair.sums_s.append(row["took"] or 0.0)
    pair.longest_s.append(row["longest"] or 0.0)
    if row.get("usd") is not None:
        pair.usd = (pair.usd or 0.0) + float(row["usd"])
