"""Several runs under several golds: means over domains, and how alike two golds order the runs.

A run's mean is unweighted over the domains in which any run has a value for the measure; a run
that has none in one of them has no mean, as on a leaderboard.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from evaluation.metrics.scoring import Scores
from evaluation.metrics.standings import kendall_tau

Means = dict[str, float | None]
# A row of a table: domain, mean (over domains) or tau; gold, run, domain; queries of the gold and
# those of them absent from the run; the value of each metric.
Row = tuple[str, str, str, str, int | None, int | None, list[float | None]]
HEADER = ("kind", "gold", "run", "domain", "queries", "absent")


@dataclass(frozen=True)
class Scored:
    """The scores of one run file under one gold; `name` is the tag in the file, if any."""

    gold: str
    run: str
    domain: str
    file: str
    name: str
    scores: Scores
    notes: Mapping[str, int]


@dataclass(frozen=True)
class Compared:
    """Everything scored: files in their order, under each gold in its order."""

    scored: Sequence[Scored]

    @property
    def golds(self) -> list[str]:
        """Their names."""
        return list(dict.fromkeys(each.gold for each in self.scored))

    @property
    def metrics(self) -> list[str]:
        """Their names; the same in all scores."""
        return list(self.scored[0].scores.metrics)

    def of(self, gold: str) -> dict[str, list[Scored]]:
        """The files of each run under a gold, in order."""
        found: dict[str, list[Scored]] = {}
        for each in self.scored:
            if each.gold == gold:
                found.setdefault(each.run, []).append(each)
        return found

    def means(self, gold: str) -> dict[str, Means]:
        """Of each run the mean of each metric over domains, of geometric ones a geometric mean."""
        runs = self.of(gold)
        found: dict[str, Means] = {run: {} for run in runs}
        for metric in self.metrics:
            is_geometric = any(each.scores[metric].geometric for each in self.scored)
            shown, kept = (np.exp, np.log) if is_geometric else (np.asarray, np.asarray)
            values = {
                run: {each.domain: each.scores[metric].mean for each in files}
                for run, files in runs.items()
            }
            domains = {
                domain
                for own in values.values()
                for domain, value in own.items()
                if value is not None
            }
            for run, own in values.items():
                here = [own.get(domain) for domain in sorted(domains)]
                known = [value for value in here if value is not None]
                whole = known and len(known) == len(here)
                found[run][metric] = float(shown(np.mean(kept(known)))) if whole else None
        return found

    def taus(self) -> list[dict[str, Any]]:
        """For each two golds Kendall's tau-b of the orders of runs by each metric.

        Only runs with a mean under both count; None where fewer than two do, or where a gold
        orders none of them apart.
        """
        means = {gold: self.means(gold) for gold in self.golds}
        return [
            {
                "golds": [one, other],
                "tau": {each: _tau(means[one], means[other], each) for each in self.metrics},
            }
            for one, other in combinations(self.golds, 2)
        ]

    def rows(self) -> Iterator[Row]:
        """What a table shows: each run's domains and their mean, then the taus."""
        for gold in self.golds:
            means = self.means(gold)
            for run, files in self.of(gold).items():
                for each in files:
                    counts, values = each.scores.counts, list(each.scores.means.values())
                    sizes = counts["queries"], counts["absent"]
                    yield "domain", gold, run, each.domain, *sizes, values
                yield "mean", gold, run, "", None, None, list(means[run].values())
        for pair in self.taus():
            yield "tau", " / ".join(pair["golds"]), "", "", None, None, list(pair["tau"].values())

    def as_json(self, *, per_query: bool) -> dict[str, Any]:
        """The same with counts and notes."""
        golds = []
        for gold in self.golds:
            means = self.means(gold)
            runs = [
                {
                    "run": run,
                    "means": means[run],
                    "domains": [_as_json(f, per_query) for f in files],
                }
                for run, files in self.of(gold).items()
            ]
            golds.append({"gold": gold, "runs": runs})
        profile = self.scored[0].scores.profile
        return {"profile": profile, "golds": golds, "kendall_tau": self.taus()}


def _as_json(each: Scored, per_query: bool) -> dict[str, Any]:
    found = {"domain": each.domain, "file": each.file, "name": each.name, "notes": each.notes}
    return found | each.scores.as_json(per_query=per_query)


def _tau(one: Mapping[str, Means], other: Mapping[str, Means], metric: str) -> float | None:
    pairs = [
        (first, second)
        for run, means in one.items()
        if (first := means[metric]) is not None
        and (second := other.get(run, {}).get(metric)) is not None
    ]
    if len(pairs) < 2:
        return None
    first, second = np.array(pairs).T
    tau = float(kendall_tau(first[None], second[None])[0])
    return None if np.isnan(tau) else tau


def query_rows(compared: Compared) -> Iterator[tuple[str, ...]]:
    """Gold, run, domain, query, metric, its value with every digit, and why there is none."""
    for each in compared.scored:
        for metric, values in each.scores.metrics.items():
            for qid, value, why in values.rows():
                shown = "" if value is None else repr(value)
                yield each.gold, each.run, each.domain, qid, metric, shown, why


def as_text(compared: Compared) -> Iterator[str]:
    """Aligned columns for people: a block a gold."""
    metrics = compared.metrics
    yield f"profile {compared.scored[0].scores.profile}"
    for gold, rows in _by_gold(compared):
        yield ""
        yield gold
        width = max(len(label) for label, _ in rows)
        yield "  ".join(["  " + " " * width, *(f"{each:>8}" for each in metrics)])
        for label, values in rows:
            cells = (
                f"{_number(value):>{max(8, len(name))}}"
                for name, value in zip(metrics, values, strict=True)
            )
            yield "  ".join([f"  {label:{width}}", *cells])
    yield from (f"note: {each}" for each in said(compared))


def as_markdown(compared: Compared) -> Iterator[str]:
    """The same as tables of a Markdown page."""
    for gold, rows in _by_gold(compared):
        yield f"### {_escaped(gold)}"
        yield ""
        yield f"| | {' | '.join(map(_escaped, compared.metrics))} |"
        yield "| --- |" + " ---: |" * len(compared.metrics)
        for label, values in rows:
            yield f"| {_escaped(label)} | {' | '.join(map(_number, values))} |"
        yield ""
    for line in said(compared):
        yield f"- {_escaped(line)}"


def said(compared: Compared) -> Iterator[str]:
    """What a reader of the means should know: queries absent from runs, what was odd in files."""
    for each in compared.scored:
        absent, queries = each.scores.counts["absent"], each.scores.counts["queries"]
        if absent:
            yield f"{each.gold}, {each.file}: {absent:,} of {queries:,} queries absent from the run"
    seen: set[str] = set()
    for each in compared.scored:
        if each.file not in seen:
            seen.add(each.file)
            yield from (f"{each.file}: {what} ({count:,})" for what, count in each.notes.items())


def _by_gold(compared: Compared) -> Iterator[tuple[str, list[tuple[str, list[float | None]]]]]:
    """The tables: rows of a gold under their labels; one row a run where there is one domain."""
    rows = list(compared.rows())
    one = not any(row[3] for row in rows)
    for gold in compared.golds:
        yield (
            gold,
            [
                (run if kind == "mean" else f"{run}, {domain}", values)
                for kind, of, run, domain, _, _, values in rows
                if of == gold and kind in (("mean",) if one else ("mean", "domain"))
            ],
        )
    if taus := [(gold, values) for kind, gold, *_, values in rows if kind == "tau"]:
        yield "Kendall's tau-b of the order of runs", taus


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _escaped(text: str) -> str:
    """A name as Markdown shows it, whatever signs it holds."""
    return "".join(f"\\{sign}" if sign in "\\`*_[]<>|#" else sign for sign in text)
