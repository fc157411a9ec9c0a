"""What each step of a chain did to the measures, and what it cost: a table and a picture."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

from evaluation.agents.models import AgentRun, JudgeRun
from evaluation.agents.protocol.judging import BEST
from evaluation.agents.reading import figures_of
from evaluation.chain.models import ChainStep, StepState
from evaluation.leaderboard.services import leaderboard_of
from evaluation.metrics.alignment import rag_align
from evaluation.models import RagRun
from evaluation.rag.alignment import outcome_pairs
from evaluation.rag.reading import board_of
from evaluation.scores.models import ScoreSheet
from evaluation.scores.services import GoldView, held_view
from kit.charts.drawing import Drawing
from kit.charts.plots import courses
from kit.lists.report_tables import Cell, ReportTable, text
from kit.templatetags.figures import usd

# The measures by the name of a figure: how people call them.
BOARDS: Final = {
    "nDCG@10": "nDCG@10",
    "alpha_nDCG@25": "α-nDCG@25",
    "hole@10": "hole@10",
}
# The same with machine gold of aspects, where there is some: before it was made, under the expert
# gold, which it is added to.
MACHINE: Final = {f"{name} (machine)": name for name in BOARDS}
# Of measures of aspects machine gold is a part in any case; they stand beside the boards.
ASPECTS: Final = ("aspect_hole@10", "new_aspect@10")
COMPLETENESS, ALIGNED = "completeness", "RAGAlign"
NAMES: Final = {
    **BOARDS,
    **{name: f"{BOARDS[of]}, machine gold" for name, of in MACHINE.items()},
    **{name: name for name in ASPECTS},
    COMPLETENESS: "completeness",
    ALIGNED: "RAGAlign",
}
JUDGED: Final = frozenset({COMPLETENESS, ALIGNED})
# What a step measures by another judge or grader, so that nothing before it is the same measure.
ANEW: Final = {"judge": COMPLETENESS, "grade": ALIGNED}
# Beside the figures: those of each run by its name, and the runs that the figures are means of.
BY_RUN, RUNS, HAS_MACHINE = "by_run", "runs", "has_machine_gold"
# Of a step in which people worked: what they cost by the voting plan, apart from what is spent.
PEOPLE, CURRENCY = "people_cost", "people_currency"
# How many calls the runs of a step made: what it took where nothing was paid for them.
CALLS: Final = "calls"
# By the name of a run (an agent, a system that answers) its measures.
ByRun = dict[str, dict[str, float]]


def measured(
    sheet: ScoreSheet | None, left: Mapping[str, Any], before: Collection[str] = ()
) -> dict[str, Any]:
    """The figures of a sheet: means over the chain's systems (of all, if it has none), whose names
    stand under `runs`; and under `by_run` the measures of each of these, and of those that were
    measured `before`, since a step is to be seen by what it does to the same runs.

    A figure that cannot be had yet is left out: no systems, no labels, no answers.
    """
    own = set(left.get("systems") or ())
    by_run = _of_sheet(sheet, own, before) if sheet is not None else {}
    kept = {name for name, key in by_run if not own or key in own}
    measures: ByRun = {name: values for (name, _), values in by_run.items()}
    found: dict[str, Any] = {
        name: _mean(values)
        for name in NAMES
        if (values := [measures[run][name] for run in sorted(kept) if name in measures[run]])
    }
    judged = JudgeRun.objects.filter(pk__in=left.get("judges") or ()).first()
    if judged is not None:
        for run in AgentRun.objects.filter(pk__in=left["agents"]):
            if (value := _completeness(run, judged)) is not None:
                measures.setdefault(run.name, {})[COMPLETENESS] = value
        values = [each[COMPLETENESS] for each in measures.values() if COMPLETENESS in each]
        if values:
            found[COMPLETENESS] = _mean(values)
    if left.get("grades"):
        aligned = _aligned(RagRun.objects.get(pk=left["answers"]))
        for name, (share, _) in aligned.items():
            measures.setdefault(name, {})[ALIGNED] = share
        # Of all queries of all systems together.
        queries = sum(count for _, count in aligned.values())
        if queries:
            found[ALIGNED] = sum(share * count for share, count in aligned.values()) / queries
    if measures:
        found |= {RUNS: sorted(kept), BY_RUN: measures}
    if sheet is not None and held_view(sheet, GoldView.MACHINE) == GoldView.MACHINE:
        found[HAS_MACHINE] = True
    return found


def _of_sheet(
    sheet: ScoreSheet, own: Collection[int], before: Collection[str]
) -> dict[tuple[str, int], dict[str, float]]:
    """By (name, key) of each run that counts what the sheet measured of it, means over domains."""
    found: dict[tuple[str, int], dict[str, float]] = {}

    def add(name: str, key: int, measure: str, value: float | None) -> None:
        if value is not None and (not own or key in own or name in before):
            found.setdefault((name, key), {})[measure] = value

    machine = held_view(sheet, GoldView.MACHINE)
    asked = [(name, name, str(GoldView.REFINED)) for name in BOARDS]
    for name, metric, view in [*asked, *((name, of, machine) for name, of in MACHINE.items())]:
        for line in leaderboard_of(sheet, metric=metric, view=view).lines:
            add(line.run.name, line.run.pk, name, line.mean)
    in_domains: dict[tuple[str, int, str], list[float]] = {}
    for of in sheet.holes.values():
        for each in of.get("aspects", {}).get("systems", ()):
            for name in ASPECTS:
                if each[name] is not None:
                    in_domains.setdefault((each["name"], each["run"], name), []).append(each[name])
    for (run, key, name), values in in_domains.items():
        add(run, key, name, _mean(values))
    return found


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def measured_before(step: ChainStep) -> set[str]:
    """Names of the runs that steps before it measured, since the corpus was cleaned last."""
    found: set[str] = set()
    for each in step.chain.steps.filter(number__lte=step.number):
        found = set() if each.do == "clean" else found
        found.update(each.figures.get(BY_RUN, ()))
    return found


def metric_asked(step: ChainStep) -> str:
    """What a sheet has to hold for RAGAlign, whether the passages behind answers hold gold: of the
    latest answers, else of the first to come, so that systems are not scored again for these."""
    answers = step.chain.steps.filter(do="answers")
    before = answers.filter(number__lte=step.number).last()
    of = before or answers.first()
    return f"hit@{of.settings.get('k', 10)}" if of else ""


def _completeness(run: AgentRun, judged: JudgeRun) -> float | None:
    found = figures_of(run, judged)
    scored = found.by_round[-1].completeness if found.by_round else found.completeness
    return scored.mean.value


def _aligned(run: RagRun) -> dict[str, tuple[float, int]]:
    """By name of each system the share of queries in which retrieval and generation come out alike,
    and of how many."""
    board = board_of(run)
    outcome = next(iter(board.outcomes), "")
    found = {}
    for row, source in enumerate(board.systems):
        if source.retrieval_run_id and outcome and board.is_binary(outcome):
            hit, right, known = outcome_pairs(board, outcome, row, GoldView.REFINED)
            hits, correct = (each[known].astype(int).tolist() for each in (hit, right))
            if (share := rag_align(hits, correct).share) is not None:
                found[source.name] = (share, len(hits))
    return found


@dataclass(frozen=True)
class Effect:
    """What a step did to these runs: their means after it, and how far it moved those that were
    measured before. Runs that the step `added` are told apart, with means and without a change."""

    step: ChainStep
    runs: tuple[str, ...]
    after: Mapping[str, float]
    changes: Mapping[str, float]
    added: bool = False


def effects(steps: Sequence[ChainStep]) -> list[Effect]:
    """Like with like: after each step the runs that were there before it, then those it added.

    A cleaned corpus has other passages: after it all runs are new. A judge's and a grader's measure
    begins anew with each of their steps: of other answers, or by another judge.
    """
    found: list[Effect] = []
    before: ByRun = {}
    for step in steps:
        now = _by_run(step)
        if step.state == StepState.DONE:
            before = {} if step.do == "clean" else before
            for values in before.values():
                values.pop(ANEW.get(step.do, ""), None)
        # What is judged has been there before; only what ranks is added.
        new = {
            name: of for name, of in now.items() if name not in before and not of.keys() <= JUDGED
        }
        if len(new) in (0, len(now)) or not before:
            found.append(_effect(step, now, before))
        else:
            same = {name: of for name, of in now.items() if name not in new}
            found.append(_effect(step, same, before))
            found.append(_effect(step, new, {}, added=True))
        for name, values in now.items():
            before.setdefault(name, {}).update(values)
    return found


def _by_run(step: ChainStep) -> ByRun:
    """What a step's figures are of; those that an earlier program kept are of runs without a
    name."""
    if BY_RUN in step.figures:
        return {name: dict(values) for name, values in step.figures[BY_RUN].items()}
    own = {name: step.figures[name] for name in NAMES if name in step.figures}
    return {"": own} if own else {}


def _effect(step: ChainStep, runs: ByRun, before: ByRun, *, added: bool = False) -> Effect:
    after, changes = {}, {}
    for name in NAMES:
        having = [run for run in runs if name in runs[run]]
        if having:
            after[name] = _mean([runs[run][name] for run in having])
        if both := [run for run in having if name in before.get(run, {})]:
            changes[name] = _mean([runs[run][name] - before[run][name] for run in both])
    return Effect(step, tuple(sorted(filter(None, runs))), after, changes, added)


def effect_table(steps: Sequence[ChainStep]) -> ReportTable:
    """Each step with the measures after it, how far it moved them, and what it cost."""
    found = effects(steps)
    columns = [column for name in _measures(steps) for column in _columns(name, found)]
    # One voting plan pays; where it changed between two steps each has the currency of its time.
    paid = "/".join(sorted({s.figures[CURRENCY] for s in steps if CURRENCY in s.figures}))
    rows = []
    for place, each in enumerate(found):
        step, seconds = each.step, None
        if step.started_at and step.ended_at:
            seconds = (step.ended_at - step.started_at).total_seconds()
        costs: tuple[Cell, ...] = (Cell(float(step.spent_usd), "usd"), Cell(seconds, "seconds"))
        if paid:
            costs = (costs[0], Cell(step.figures.get(PEOPLE)), costs[1])
        rows.append(
            (
                text(f"{step}, added" if each.added else str(step)),
                text(", ".join(each.runs)),
                *(Cell(values[place], "coefficient") for _, values in columns),
                *([text("")] * (len(costs) + 1) if each.added
                  else (*costs, text(step.output_sha256[:12]))),
            )
        )  # fmt: skip
    heads = (head for head, _ in columns)
    people = (f"people, {paid}",) if paid else ()
    header = ("after step", "measured on", *heads, "spent", *people, "took", "output")
    notes: tuple[str, ...] = (
        "Each row is of the runs that it names: means over them, and changes of those that were "
        "measured before, so that the same runs stand on both sides. Runs that a step adds are a "
        "row of their own. A measure begins where what it needs is there: systems, labels, judged "
        "answers, grades; with each judge of answers and each grader anew.",
        "With the holes that were filled (refined view); aspect_hole@10 and new_aspect@10 count "
        "machine gold, too. “Machine gold” is the expert view with machine gold of aspects, and "
        "before there was any the expert view alone.",
        "A cleaned corpus has other passages: after “clean” all runs are new.",
    )
    if paid:
        notes += ("Per dollar of models, and of people where they are paid in USD.",)
    return ReportTable("effects", "What each step did", header, tuple(rows), notes)


def _measures(steps: Sequence[ChainStep]) -> list[str]:
    """Those of machine gold where any was made."""
    has_machine = any(step.figures.get(HAS_MACHINE) for step in steps)
    return [name for name in NAMES if has_machine or name not in MACHINE]


def dollars(step: ChainStep) -> float:
    """What models cost, and people where the voting plan pays these in dollars."""
    has_dollars = step.figures.get(CURRENCY, "").upper() == "USD"
    return float(step.spent_usd) + (step.figures[PEOPLE] if has_dollars else 0.0)


def _columns(name: str, found: Sequence[Effect]) -> Iterator[tuple[str, list[float | None]]]:
    """A measure after each step, its change, and that per dollar; nothing that no step has."""
    values = [each.after.get(name) for each in found]
    changes = [each.changes.get(name) for each in found]
    per_dollar = [
        change / paid if change is not None and (paid := dollars(each.step)) > 0 else None
        for change, each in zip(changes, found, strict=True)
    ]
    words = NAMES[name]
    for head, column in (
        (words, values),
        (f"change of {words}", changes),
        (f"change of {words} per dollar", per_dollar),
    ):
        if any(each is not None for each in column):
            yield head, column


def effect_chart(steps: Sequence[ChainStep]) -> Drawing | None:
    """The measures from step to step of the runs that were there before each, completeness as a
    share of its best, and what it had cost by then as a share of the whole."""
    done = [each for each in effects(steps) if each.step.state == StepState.DONE and not each.added]
    lines = [(NAMES[name], [_share(name, each) for each in done]) for name in _measures(steps)]
    lines += _costs([each.step for each in done])
    return courses(
        "effects",
        "What each step did",
        [str(each.step.number) for each in done],
        lines,
        across="step",
    )


def _costs(steps: Sequence[ChainStep]) -> Iterator[tuple[str, list[float | None]]]:
    """What was paid by the end of each step, of the whole: in dollars, and to people in another
    currency. Where no dollar was, calls."""
    paid = [dollars(step) for step in steps]
    people = {step.figures.get(CURRENCY, "") for step in steps if step.figures.get(PEOPLE)}
    has_people = any(each.upper() == "USD" for each in people)
    words = "models and people" if has_people else "spent"
    if sum(paid):
        yield f"{words}, of {usd(sum(paid))}", _so_far(paid)
    else:
        calls = [float(step.figures.get(CALLS, 0)) for step in steps]
        if sum(calls):
            yield f"calls, of {sum(calls):,.0f}", _so_far(calls)
    for currency in sorted(each for each in people if each.upper() != "USD"):
        of = [step.figures[PEOPLE] if step.figures.get(CURRENCY) == currency else 0.0
              for step in steps]  # fmt: skip
        yield f"people, of {sum(of):,.2f} {currency}", _so_far(of)


def _so_far(costs: Sequence[float]) -> list[float | None]:
    total = sum(costs)
    return [each / total for each in accumulate(costs)]


def _share(name: str, each: Effect) -> float | None:
    value = each.after.get(name)
    return value / BEST if value is not None and name == COMPLETENESS else value
