"""Bridges between judges: what another judge says of answers that one has judged.

Without one, figures of two judges cannot be set side by side: each has a scale of its own.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.contrib.auth.models import User
from django.db import transaction

from annotate.review.rescoring import MAX_SEED, MAX_SIZE
from corpus.models import Query
from evaluation.agents.judging import start_judging
from evaluation.agents.models import AnswerVerdict, JudgeRun, VerdictState
from evaluation.agents.reading import all_judges, is_same, verdicts_by
from kit.errors import Refused
from kit.lists.report_tables import Cell, ReportTable, measured, text
from kit.stats.means import Mean, mean
from kit.stats.sampling import draw
from llm.endpoints import Endpoint

SIZE, SEED = 50, 1
NO_BRIDGE: Final = "no bridge: not to be set side by side"
Verdicts = Mapping[tuple[int, int], Sequence[AnswerVerdict]]


def start_bridge(
    *,
    judge: JudgeRun,
    endpoint: Endpoint,
    actor: User | None,
    size: int = SIZE,
    seed: int = SEED,
    **options: Any,
) -> JudgeRun:
    """Let another judge judge again what this one has judged: answers drawn by domain.

    The same seed draws the same. `options` are those of `start_judging`. Raises Refused.
    """
    if not 1 <= size <= MAX_SIZE:
        raise Refused(f"Draw 1 to {MAX_SIZE:,} answers.", field="size")
    if not 0 <= seed <= MAX_SEED:
        raise Refused(f"The seed is a number from 0 to {MAX_SEED:,}.", field="seed")
    if judge.is_trial:
        raise Refused("This judge run is a trial: a bridge begins at answers of agents.")
    drawn = _drawn(judge, size, seed)
    if not drawn:
        raise Refused("This judge has no verdict yet.")
    with transaction.atomic():
        run = start_judging(
            benchmark=judge.benchmark,
            agent_run=None,
            bridge_from=judge,
            drawn=drawn,
            endpoint=endpoint,
            actor=actor,
            **options,
        )
        run.config["seed"] = seed
        run.save(update_fields=["config"])
    return run


def _drawn(judge: JudgeRun, size: int, seed: int) -> list[dict[str, Any]]:
    judged = {key: rows for key, rows in verdicts_by(judge).items() if _mean(rows, "quality")}
    queries = {rows[0].query_id for rows in judged.values()}
    names = dict(Query.objects.filter(pk__in=queries).values_list("pk", "domain__name"))
    strata: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for key in sorted(judged):
        strata[names[judged[key][0].query_id]].append(key)
    return [
        {"item_id": item, "query_id": judged[item, number][0].query_id, "round": number}
        for item, number in draw(strata, size, seed)
    ]


@dataclass(frozen=True)
class Shift:
    """What another judge gives more, by query: the answers of a query are averaged first.

    `failed` counts answers that one of both has no verdict on.
    """

    answers: int
    failed: int
    completeness: Mean
    quality: Mean

    @property
    def queries(self) -> int:
        """Queries of which both judged an answer."""
        return self.quality.n


def shift(old: Verdicts, new: Verdicts) -> Shift:
    """The paired differences, new minus old, of answers that both were asked about."""
    shared = sorted(old.keys() & new.keys())
    by_query: dict[str, dict[int, list[float]]] = {"completeness": {}, "quality": {}}
    answers = 0
    for key in shared:
        found = {name: (_mean(old[key], name), _mean(new[key], name)) for name in by_query}
        if any(None in pair for pair in found.values()):
            continue
        answers += 1
        for name, (before, after) in found.items():
            differences = by_query[name].setdefault(new[key][0].query_id, [])
            differences.append((after or 0) - (before or 0))
    means = {
        name: mean([sum(each) / len(each) for each in values.values()])
        for name, values in by_query.items()
    }
    return Shift(answers, len(shared) - answers, **means)


def shift_of(run: JudgeRun) -> Shift:
    """What a bridge came to so far, on its own answers."""
    assert run.bridge_from is not None
    new: defaultdict[tuple[int, int], list[AnswerVerdict]] = defaultdict(list)
    for row in run.verdicts.exclude(state=VerdictState.WAITING):
        assert row.item_id is not None
        new[row.item_id, row.round].append(row)
    return shift(verdicts_by(run.bridge_from), new)


def bridge_table(run: JudgeRun) -> ReportTable:
    """The table of one bridge."""
    assert run.bridge_from is not None
    row = _row(f"{run.judge}, minus {run.bridge_from.judge}", shift_of(run))
    return _table("bridge", "What this judge gives more", (row,))


def bridges_table(judge: JudgeRun) -> ReportTable:
    """This judge beside every other one of the benchmark, on answers that both judged."""
    mine = verdicts_by(judge)
    rows = [
        _row(f"minus {other.judge}", shift(verdicts_by(other), mine))
        for other in all_judges(judge.benchmark)
        if not is_same(other, judge)
    ]
    return _table("bridges", "This judge beside others", tuple(rows))


def _table(name: str, title: str, rows: tuple[tuple[Cell, ...], ...]) -> ReportTable:
    header = ("judge", "answers", "queries", "failed", "completeness", "quality", "bridge")
    notes = (
        "Paired differences on answers that both judged, averaged in each query first; intervals: "
        "Student's t over queries, 95 %. Without a bridge, figures of two judges cannot be set "
        "side by side; with one, they are apart by as much as it says.",
    )
    return ReportTable(name, title, header, rows, notes)


def _row(name: str, found: Shift) -> tuple[Cell, ...]:
    return (
        text(name),
        Cell(found.answers, "number"),
        Cell(found.queries, "number"),
        Cell(found.failed, "number"),
        measured(found.completeness, "coefficient"),
        measured(found.quality, "coefficient"),
        text("bridged" if found.answers else NO_BRIDGE),
    )


def _mean(rows: Sequence[AnswerVerdict], name: str) -> float | None:
    values = [value for row in rows if (value := getattr(row, name)) is not None]
    return sum(values) / len(values) if values else None
