"""Retriever by agent: the tables of fixed rounds and of agents that decide themselves."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from django.urls import reverse

from corpus.models import Benchmark
from evaluation.agents.models import JudgeRun
from evaluation.agents.protocol.measures import GAMMA
from evaluation.agents.reading import (
    LEAST_QUERIES,
    AfterRound,
    Figures,
    Scored,
    figures_of,
    verdicts_by,
)
from evaluation.agents.trust import people
from evaluation.agents.trust.bridges import bridges_table
from evaluation.agents.trust.noise import MEASURES, mark_best, noise_tables
from evaluation.agents.trust.repeating import reliability_table, repeated
from evaluation.metrics.standings import ranks_of
from evaluation.published.services import plain
from evaluation.published.services import tables as printed_tables
from kit.charts.drawing import Drawing
from kit.charts.plots import Slope, crosses, slopes
from kit.lists.report_tables import Cell, ReportTable, measured, text
from kit.stats.means import Mean

_INTERVALS: Final = (
    f"Intervals: Student's t over queries, 95 %, from {LEAST_QUERIES} queries on; repetitions are "
    "averaged in each query first."
)
PRINTED: Final = {"fixed": "brightpro-fixed", "adaptive": "brightpro-adaptive"}


def board_of(
    benchmark: Benchmark, judge: JudgeRun | None, *, gamma: float = GAMMA
) -> list[Figures]:
    """Every run with an outcome, by name, under one judge."""
    runs = benchmark.agent_runs.select_related("retrieval_run", "account", "benchmark")
    found = [figures_of(run, judge, gamma=gamma) for run in runs.order_by("name")]
    return [each for each in found if each.answered or each.failed]


def tables(found: Sequence[Figures], judge: JudgeRun | None, *, gamma: float) -> list[ReportTable]:
    """The board's tables; those without a run stay away."""
    told = f"Judge: {judge.judge}." if judge else "Not judged yet."
    sheets = []
    if judge:
        compared = people.beside(judge)
        told += f" {people.in_short(compared)}"
        url = reverse("judge-samples", args=[judge.benchmark.slug])
        corrected = people.corrected_table([each.run for each in found], judge)
        sheets = [people.agreement_table(compared, url), corrected, bridges_table(judge)]
        items = repeated(row for rows in verdicts_by(judge).values() for row in rows)
        sheets = [each for each in [*sheets, reliability_table(items)] if each.rows]
    if judge and judge.practice:
        told += " The practice model judges by shared words; such scores say nothing of answers."
    fixed = [each for each in found if each.run.rounds is not None]
    adaptive = [each for each in found if each.run.rounds is None]
    shown = []
    if fixed:
        shown += [_fixed(fixed, told), *_printed("fixed", fixed)]
    if adaptive:
        shown += [_adaptive(adaptive, told, gamma), *_printed("adaptive", adaptive)]
    shown += [sheet for sheet in noise_tables(fixed, adaptive) if sheet.rows]
    return [*shown, *sheets] if shown else []


def charts(found: Sequence[Figures]) -> list[Drawing]:
    """What rounds bring each run, and completeness against cost, numbered as the rows of each
    table."""
    drawn = [_rounds(found, name) for name in ("α-nDCG", *MEASURES)]
    for name, part in (
        ("fixed", [each for each in found if each.run.rounds is not None]),
        ("adaptive", [each for each in found if each.run.rounds is None]),
    ):
        rows: list[Any] = [
            (str(number), each.run.name, each.usd, _last(each).mean)
            for number, each in enumerate(part, start=1)
        ]
        words = {"fixed": "fixed rounds", "adaptive": "agents that decide themselves"}[name]
        if any(each.usd.value for each in part):
            drawn.append(
                crosses(
                    f"cost-{name}",
                    f"Completeness against cost, {words}",
                    ("dollars an answered query", "{:.3g}".format),
                    ("completeness, 1 to 5", "{:.2f}".format),
                    rows,
                    limits=(1.0, 5.0),
                )
            )
    return [each for each in drawn if each]


def _rounds(found: Sequence[Figures], name: str) -> Drawing | None:
    """A measure after the first round and after the last, of runs with the most (Figure 4)."""
    most = max((len(each.by_round) for each in found), default=0)
    if most < 2:
        return None
    ends = [
        (each.run.name, _of(each.by_round[0], name).value, _of(each.by_round[-1], name).value)
        for each in found
        if len(each.by_round) == most
    ]
    known = [(run, one, last) for run, one, last in ends if one is not None and last is not None]
    ranks = [ranks_of(np.array([row[at] for row in known])).tolist() for at in (1, 2)]
    lines = [
        Slope(run, one, last, before, after)
        for (run, one, last), before, after in zip(known, *ranks, strict=True)
    ]
    title, heads = f"{name}, as rounds go on", ("round 1", f"round {most}")
    return slopes(f"rounds-{name.replace('α-nDCG', 'alpha')}", title, heads, lines)


def _of(after: AfterRound, name: str) -> Mean:
    found = {
        "α-nDCG": after.alpha,
        "completeness": after.completeness.mean,
        "quality": after.quality.mean,
    }
    return found[name]


def _last(each: Figures) -> Scored:
    return each.by_round[-1].completeness if each.by_round else each.completeness


def _fixed(found: Sequence[Figures], told: str) -> ReportTable:
    most = max(len(each.by_round) for each in found)
    heads = [
        f"{name}, round {number}"
        for number in range(1, most + 1)
        for name in ("α-nDCG", "completeness", "quality")
    ]
    rows = []
    for each in found:
        cells: list[Cell] = []
        for after in each.by_round:
            cells += [
                measured(after.alpha, "coefficient"),
                _score(after.completeness),
                _score(after.quality),
            ]
        cells += [text("–")] * (3 * most - len(cells))
        rows.append((*_names(each), *cells, *_counts(each)))
    notes = (
        f"{told} α-nDCG@k after round r is that of the unique documents so far, at k times r.",
        _INTERVALS,
        *_bounds(
            [(f"{e.run.name}, round {a.round}", a.quality) for e in found for a in e.by_round]
        ),
    )
    header = ("run", "agent", "retriever", *heads, "failed", "USD a query")
    last = {f"{name}, round {most}": name for name in MEASURES}
    return mark_best(ReportTable("fixed", "Fixed rounds", header, tuple(rows), notes), found, last)


def _adaptive(found: Sequence[Figures], told: str, gamma: float) -> ReportTable:
    rows = tuple(
        (
            *_names(each),
            measured(each.rounds, "coefficient"),
            _score(each.completeness),
            _score(each.quality),
            measured(each.aer, "coefficient"),
            Cell(each.unsearched, "number"),
            *_counts(each),
        )
        for each in found
    )
    notes = (
        f"{told} AER = quality times e^(-{gamma:g} (rounds - 1)), by query; traces without a round "
        "are left out of it and counted.",
        _INTERVALS,
        *_bounds([(each.run.name, each.quality) for each in found]),
    )
    heads = ("rounds", "completeness", "quality", "AER", "never searched", "failed", "USD a query")
    header = ("run", "agent", "retriever", *heads)
    table = ReportTable("adaptive", "The agent decides when to stop", header, rows, notes)
    return mark_best(table, found, {name: name for name in MEASURES})


def _printed(kind: str, found: Sequence[Figures]) -> Iterator[ReportTable]:
    """The paper's table, with ours below the retriever of the same name; none beside other tasks
    than the paper's."""
    table = printed_tables()[PRINTED[kind]]
    if not table.is_about(found[0].run.benchmark.domains.values_list("name", flat=True)):
        return
    ours: dict[str, list[Figures]] = {}
    for each in found:
        ours.setdefault(plain(each.run.retriever), []).append(each)
    rows: list[tuple[Cell, ...]] = []
    for name, values in table.rows:
        rows.append((text(f"{name}, printed"), *(Cell(value, "coefficient") for value in values)))
        rows += [
            (
                text(f"ours: {each.run.name}"),
                *(Cell(of, "coefficient") for of in as_printed(kind, each, len(values))),
            )
            for each in ours.get(plain(name), ())
        ]
    notes = ("α-nDCG is printed times 100. The paper's judge gives two points from 1 to 5.",)
    title = f"As printed in {table.paper}, {table.where}"
    yield ReportTable(f"printed-{kind}", title, ("retriever", *table.columns), tuple(rows), notes)


def as_printed(kind: str, each: Figures, width: int) -> list[float | None]:
    """A run's figures in the order of the columns of the printed table."""
    if kind == "adaptive":
        means = (each.rounds, each.completeness.mean, each.quality.mean, each.aer)
        return [found.value for found in means]
    values: list[float | None] = []
    for after in each.by_round:
        alpha = after.alpha.value
        values.append(None if alpha is None else 100 * alpha)
        values += [found.mean.value for found in (after.completeness, after.quality)]
    return [*values, *[None] * width][:width]


def _names(each: Figures) -> tuple[Cell, ...]:
    url = reverse("agent-run", args=[each.run.benchmark.slug, each.run.pk])
    agent = f"{each.run.model} (practice)" if each.run.practice else each.run.model
    return text(each.run.name, url), text(agent), text(each.run.retriever)


def _counts(each: Figures) -> tuple[Cell, ...]:
    return Cell(each.failed, "number"), Cell(each.usd.value, "usd")


def _score(found: Scored) -> Cell:
    return measured(found.mean, "coefficient")


def _bounds(found: Sequence[tuple[str, Scored]]) -> tuple[str, ...]:
    told = [
        f"{name}: {each.failed} verdicts failed and are left out; with all of them worst the mean "
        f"quality is {each.worst:.2f}, with all best {each.best:.2f}."
        for name, each in found
        if each.failed and each.worst is not None and each.best is not None
    ]
    return tuple(told)
