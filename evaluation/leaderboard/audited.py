"""How often labels are wrong, by where they come from, as blind audits found (X08)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from annotate.models import CaseStatus, SupportLabel
from corpus.models import Benchmark, Domain, Judgment
from debate.models import AuditItem
from evaluation.metrics.gold import Gold
from evaluation.metrics.run import Floats, Whole
from evaluation.metrics.standings import truth_of
from evaluation.scores.services import GoldView

# A group with fewer audited labels is judged with a coarser one around it.
LEAST: Final = 10


class Group(NamedTuple):
    """What labels have in common: who gave them, which, in which round (0: none or all of them) and
    how sure (empty: not said, or all)."""

    source: str
    is_relevant: bool
    round: int = 0
    sureness: str = ""

    @property
    def wider(self) -> list["Group"]:
        """The same and the coarser ones around it, the finest first."""
        return [self, self._replace(sureness=""), Group(self.source, self.is_relevant)]

    @property
    def of_aspect(self) -> "Group":
        """The same of labels that say whether a passage supports an aspect: wrong as often as
        audits of such labels found, whatever those of pairs come to."""
        return self._replace(source=f"{self.source}, aspect")


@dataclass(frozen=True)
class Rate:
    """Of `n` audited labels of a group, how many people decided otherwise."""

    group: Group
    n: int
    wrong: int


def group_of(label: int, source: str, round: int | None, provenance: Mapping[str, Any]) -> Group:
    """A label's group; sureness from a probability (LARA), a judge's grades (0 to 3), or how many
    of several votes gave the label. What agents agree on is as sure as its round."""
    sureness = ""
    if (probability := provenance.get("probability")) is not None:
        sure = max(probability, 1 - probability)
        sureness = "sure" if sure >= 0.9 else "fairly sure" if sure >= 0.75 else "unsure"
    elif scores := provenance.get("scores"):
        sureness = f"grade {np.mean(scores):.0f}"
    elif (share := provenance.get("share")) is not None:
        sureness = f"{share:.0%} of votes"
    return Group(source, label > 0, round or 0, sureness)


_COLUMNS: Final = ("label", "source", "round", "provenance")


def rates_of(benchmark: Benchmark, view: str) -> list[Rate]:
    """Every group that audits decided labels of, the coarser ones too; those of runs whose labels
    count in the view: of aspects only where machine gold does."""
    items = AuditItem.objects.filter(
        sample__run__benchmark=benchmark, case__status=CaseStatus.CLOSED
    )
    items = items.exclude(sample__run__is_trial=True, sample__run__adopted_at=None).order_by("pk")
    found: dict[Group, list[bool]] = {}
    for kind in ("judgment", "support") if view == GoldView.MACHINE else ("judgment",):
        columns = [f"debate__{kind}__{name}" for name in _COLUMNS]
        rows = items.exclude(**{f"debate__{kind}": None}).values_list("case__label", *columns)
        for people, *label in rows:
            is_wrong = (people > 0) != (label[0] > 0)
            group = group_of(*label)
            for each in set((group if kind == "judgment" else group.of_aspect).wider):
                found.setdefault(each, []).append(is_wrong)
    return [Rate(group, len(each), sum(each)) for group, each in sorted(found.items())]


def as_rows(rates: Iterable[Rate]) -> list[dict[str, Any]]:
    """How a check keeps them."""
    return [{**each.group._asdict(), "n": each.n, "wrong": each.wrong} for each in rates]


def from_rows(rows: Iterable[Mapping[str, Any]]) -> dict[Group, Rate]:
    """The same, read back."""
    return {
        (group := Group(*(row[name] for name in Group._fields))): Rate(
            group, row["n"], row["wrong"]
        )
        for row in rows
    }


def rate_for(group: Group, rates: Mapping[Group, Rate]) -> Rate | None:
    """The finest rate that rests on enough labels, else the coarsest; None without an audit."""
    known = [rates[each] for each in group.wider if each in rates]
    return next((each for each in known if each.n >= LEAST), known[-1] if known else None)


def numbers_of(gold: Gold, domain: Domain, view: str, rates: Mapping[Group, Rate]) -> Whole:
    """Of each label of a gold the place of its rate in `rates`, -1 where no audit covers it.

    Covered are labels that a machine gave, people did not decide since, and that decide what the
    gold says: not where the original gold calls the pair relevant, and not what a derived version
    has by its cleanings. Machine gold of an aspect decides where no label calls the pair relevant.
    """
    labels = Judgment.objects.filter(query__domain=domain).standing().order_by("pk")
    rows = labels.values_list("query__qid", "passage__pid", *_COLUMNS)
    of_pair = {
        (qid, pid): rate
        for qid, pid, *label in rows.iterator(chunk_size=2000)
        if (rate := rate_for(group_of(*label), rates)) is not None
    }
    if view == GoldView.MACHINE:
        support = SupportLabel.objects.machine_gold().filter(aspect__query__domain=domain)
        support = support.filter(practice=False).order_by("pk")
        called = labels.filter(label__gt=0, passage__in=support.order_by().values("passage"))
        relevant = set(called.values_list("query__qid", "passage__pid"))
        for qid, pid, *label in support.values_list(
            "aspect__query__qid", "passage__pid", *_COLUMNS
        ):
            rate = rate_for(group_of(*label).of_aspect, rates)
            if rate is not None and (qid, pid) not in relevant:
                of_pair[qid, pid] = rate
    place = {group: number for number, group in enumerate(rates)}
    hole = gold.hole if gold.hole is not None else np.zeros(len(gold.label), np.bool_)
    number = np.full(len(gold.label), -1, np.int64)
    for row, (query, pid) in enumerate(zip(gold.query.tolist(), gold.pids, strict=True)):
        rate = of_pair.get((gold.qids[query], pid))
        is_own = bool(hole[row]) if gold.label[row] > 0 else True
        if rate is not None and is_own and rate.group.is_relevant == bool(gold.label[row] > 0):
            number[row] = place[rate.group]
    return number


def drawn_truth(
    labels: Sequence[Whole],
    numbers: Sequence[Whole],
    rates: Sequence[Rate],
    *,
    if_relevant: float,
    if_not: float,
) -> Callable[[np.random.Generator], list[Floats]]:
    """For each draw the chance that each label's passage is truly relevant; `numbers` are those of
    `numbers_of`, by task as `labels`.

    A rate is itself drawn from Beta(wrong + 1/2, n - wrong + 1/2) (Jeffreys), so that few audited
    labels leave much open; labels without an audit have the chances that are given.
    """
    plain = [truth_of(each, if_relevant=if_relevant, if_not=if_not) for each in labels]

    wrong = np.array([each.wrong for each in rates], dtype=float)
    n = np.array([each.n for each in rates], dtype=float)

    def truth(rng: np.random.Generator) -> list[Floats]:
        error = np.append(rng.beta(wrong + 0.5, n - wrong + 0.5), 0.0)
        return [
            np.where(number >= 0, np.where(label > 0, 1 - error[number], error[number]), base)
            for label, base, number in zip(labels, plain, numbers, strict=True)
        ]

    return truth
