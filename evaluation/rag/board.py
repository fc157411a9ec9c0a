"""Tables and pictures of one generator: what it answered, and what its graders say of that."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import combinations
from typing import Any, Final

import numpy as np
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe

from corpus.marcus.figures import PUBLISHED, relative_gain
from corpus.models import CleaningPreset, CleaningRun
from evaluation.metrics.alignment import system_pearson
from evaluation.metrics.run import Flags, Floats
from evaluation.metrics.standings import (
    Interval,
    Standing,
    paired_gains,
    standings,
)
from evaluation.rag.alignment import (
    GOLD,
    align_table,
    correlation_table,
    domains_table,
    shift_table,
    shifts,
    systems_table,
)
from evaluation.rag.models import KeptBoard, RagRun, SourceKind
from evaluation.rag.reading import (
    TOGETHER,
    VIEWS,
    Board,
    board_of,
    follows_from,
    means_of,
    outcome_words,
    said_once,
)
from evaluation.scores.reading import SEED
from evaluation.scores.services import GoldView
from kit.charts.drawing import Drawing
from kit.charts.plots import points, scatter, slopes
from kit.lists.report_tables import Cell, ReportTable, measured, text
from kit.stats.agreement import (
    cohen_kappa,
    conger_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    percent_agreement,
)
from kit.stats.paired import PairedTest, randomisations, weighted
from kit.stats.predicted import Stratum, corrected_mean, strata_by_grade
from kit.stats.ratings import from_columns
from kit.templatetags.figures import figure

# Raised whenever tables or pictures are made otherwise: what older programs kept is made anew.
_FORM: Final = 14


@dataclass(frozen=True)
class Picture:
    """A drawing as it is kept."""

    title: str
    note: str
    markup: str

    def __str__(self) -> SafeString:
        # Ours, and escaped when it was drawn.
        return mark_safe(self.markup)  # noqa: S308  # nosec B308, B703


@dataclass(frozen=True)
class Shown:
    """What there is to see of one generator by one outcome; `outcomes` are all it can be seen by,
    with what each is called."""

    outcome: str
    outcomes: Sequence[Sequence[str]]
    graders: Sequence[str]
    is_scored: bool
    tables: Sequence[ReportTable]
    charts: Sequence[Picture]


def shown(run: RagRun, outcome: str = "") -> Shown:
    """The tables and pictures of a run's generator, by default by what graders say, else accuracy.

    They are counted once and kept: what has ended does not change. Whoever looks after an answer,
    a grading or a score sheet is new counts again.
    """
    kept = _kept(run, outcome, follows_from(run), lambda: _drawn_up(run, outcome))
    if kept is None:
        return shown(run)
    return Shown(
        **kept
        | {
            "tables": [_table(each) for each in kept["tables"]],
            "charts": [Picture(**each) for each in kept["charts"]],
        }
    )


def _drawn_up(run: RagRun, asked: str) -> dict[str, Any] | None:
    """What `Shown` holds; None where there is no such outcome."""
    board = board_of(run)
    outcome = asked or next(iter(board.outcomes))
    if outcome not in board.outcomes:
        return None
    found = Shown(
        outcome,
        [[each, outcome_words(board, each)] for each in board.outcomes],
        list(board.graders.values()),
        board.is_scored,
        tables(board, outcome),
        [Picture(each.title, each.note, str(each)) for each in charts(board, outcome)],
    )
    return asdict(found)


def _kept(run: RagRun, name: str, follows: object, make: Callable[[], Any]) -> Any:
    """What was made of a generator before, as JSON, or what is made now, if it followed from
    something else; None is not kept."""
    digest = sha256(repr((_FORM, follows)).encode()).hexdigest()
    rows = KeptBoard.objects.filter(run=run, digest=digest, name=name)
    kept = rows.values_list("figures", flat=True).first()
    if kept is None and (kept := make()) is not None:
        KeptBoard.objects.update_or_create(
            run=run, name=name, defaults={"digest": digest, "figures": kept}
        )
    return kept


def _table(kept: dict[str, Any]) -> ReportTable:
    rows = tuple(tuple(Cell(**cell) for cell in row) for row in kept["rows"])
    heads, notes = tuple(kept["header"]), tuple(kept["notes"])
    return ReportTable(**kept | {"rows": rows, "header": heads, "notes": notes})


def tables(board: Board, outcome: str) -> list[ReportTable]:
    """Every table that has something to say."""
    found = [generation_table(board, outcome)]
    if any(each.kind == SourceKind.RUN for each in board.systems):
        if board.is_binary(outcome):
            found.append(align_table(board, outcome))
        found.append(correlation_table(board, outcome))
        if len(board.domains) > 1:
            found.append(domains_table(board, outcome))
        found.append(systems_table(board, outcome))
        found += [sheet for sheet in [shift_table(board, outcome)] if sheet.rows]
    if board.is_like_people(outcome):
        found += [sheet for sheet in [corrected_table(board, outcome)] if sheet.rows]
    if len(board.voices) > 1:
        kept = _kept(board.run, "graders", board.answered, lambda: asdict(graders_table(board)))
        found.append(_table(kept))
    return [*found, gain_table(board, outcome)]


def charts(board: Board, outcome: str) -> list[Drawing]:
    """Ranks of systems by retrieval and by generation, both scaled (DREAM, Figure 4)."""
    found = []
    for view in VIEWS:
        measure, _, lines = shifts(board, outcome, view)
        name = f"{measure} {GOLD[view]}"
        title = f"Rank shift: {name}, and {outcome_words(board, outcome)}, each from 0 to 100"
        found.append(slopes(f"shift-{view}", title, (name, "answers"), lines))
        if view == GoldView.REFINED:
            pairs = [(line.name, line.before, line.after) for line in lines]
            what = "Systems by retrieval and by generation, each from 0 to 100"
            found.append(scatter("systems", what, name, "answers", pairs, words=points))
    return [each for each in found if each]


def generation_table(board: Board, outcome: str) -> ReportTable:
    """A row a system, baselines first: the outcome, what it won over no retrieval and is short of
    gold evidence, other ways to grade."""
    values, words = board.outcomes[outcome], outcome_words(board, outcome)
    kind = "coefficient" if board.best(outcome) == 1 else "number"
    # A single grader is the majority.
    alone = {TOGETHER, *board.graders} if len(board.graders) == 1 else set()
    others = [n for n in board.outcomes if n != outcome and not {n, outcome} <= alone]
    whole = {name: means_of(board, board.outcomes[name]) for name in others}
    drawn = _drawn(board, outcome)
    left_out = board.asked & np.isnan(values)
    low, high = (
        means_of(board, np.where(left_out, end, values)) for end in (0.0, board.best(outcome))
    )
    rows = []
    for row, source in enumerate(board.systems):
        kinds = ["coefficient" if board.best(name) == 1 else "number" for name in others]
        rows.append(
            (
                text(source.name, _source_url(board, row)),
                *drawn[row],
                Cell(int(left_out[row].sum())),
                Cell(_number(low[row]), kind),
                Cell(_number(high[row]), kind),
                *(Cell(_number(whole[o][row]), k) for o, k in zip(others, kinds, strict=True)),
                Cell(source.sheet["uninformed"]),
                Cell(source.sheet["failed"]),
                Cell(source.sheet["missing"]),
            )
        )
    header = (
        *("system", words, "over no retrieval", "p", "against gold evidence"),
        *("p, against gold evidence", "left out", "left out as 0", "left out as best"),
        *(outcome_words(board, name) for name in others),
        *("nothing found", "failed", "passages without text"),
    )
    notes = (
        "Means over domains, unweighted; none where a system was not asked in one of them. What "
        "has no readable grade is left out and counted; beside stand the means with all of it as 0 "
        "and as best.",
        "Intervals: 2,000 draws of queries within each domain, paired for what a system has over "
        "no retrieval and against gold evidence (below 0: what it is short of it), 95 %. p: "
        "two-sided randomisation tests of these, each domain with the same weight.",
        *(["The practice model answers and grades by shared words: nothing of it is to be read."]
          if board.run.practice else []),
    )  # fmt: skip
    title = f"Answers of {board.run.model} by system"
    said = _summary(board, words, drawn)
    return ReportTable("generation", title, header, tuple(rows), notes, summary=said)


def _summary(board: Board, words: str, drawn: Sequence[tuple[Cell, ...]]) -> str:
    """Which system is highest, and how many gain over no retrieval beyond chance."""
    named = zip(board.systems, drawn, strict=True)
    ranked = [(each.name, mean, gain) for each, (mean, gain, *_) in named
              if each.kind == SourceKind.RUN]  # fmt: skip
    known = [row for row in ranked if row[1].value is not None]
    if not known:
        return ""
    name, mean, _ = max(known, key=lambda row: row[1].value)
    said = f"{name} has the highest {words} of {len(known)} systems: {figure(mean)}."
    if lows := [gain.low for _, _, gain in known if gain.low is not None]:
        above = sum(low > 0 for low in lows)
        said += f" The interval of the gain over no retrieval lies above 0 for {above}."
    return said


def _drawn(board: Board, outcome: str) -> list[tuple[Cell, ...]]:
    """Of each system its standing, the gain over no retrieval, its p, and the same against gold
    evidence, drawn thousands of times."""

    def make() -> list[list[list[float | None]]]:
        values = board.outcomes[outcome]
        # No domain has such values: every system without a mean.
        ranked = standings(*board.tasks(values), seed=SEED) or [Standing()] * len(values)
        sides = [uplifts(board, values, kind) for kind in (SourceKind.NONE, SourceKind.GOLD)]
        return [
            [
                [found.mean, found.low, found.high],
                *([gain.value, gain.low, gain.high, test.p if test else None]
                  for gain, test in gains),
            ]
            for found, *gains in zip(ranked, *sides, strict=True)
        ]  # fmt: skip

    kind = "coefficient" if board.best(outcome) == 1 else "number"
    return [
        (
            Cell(found[0], kind, *found[1:]),
            *(
                cell
                for *gain, p in gains
                for cell in (Cell(gain[0], kind, *gain[1:]), Cell(p, "p"))
            ),
        )
        for found, *gains in _kept(board.run, f"drawn-{outcome}", board.answered, make)
    ]


def uplifts(board: Board, values: Floats, kind: str) -> list[tuple[Interval, PairedTest | None]]:
    """Of each system what its answers have over those of a baseline, query by query."""
    bare = board.baseline(kind)
    nothing: list[tuple[Interval, PairedTest | None]] = [(Interval(), None)] * len(values)
    if bare is None:
        return nothing
    before = np.repeat(values[bare : bare + 1], len(values), axis=0)
    tasks = board.tasks(before, values)
    if not tasks[0]:
        return nothing
    gains = paired_gains(*tasks, seed=SEED)
    gaps = [there - here for here, there in zip(*tasks, strict=True)]
    rows = [[part[row][~np.isnan(part[row])] for part in gaps] for row in range(len(values))]
    tests = randomisations([weighted(row) for row in rows], seed=SEED)
    return [
        (Interval(), None) if row == bare else (gain, test)
        for row, (gain, test) in enumerate(zip(gains, tests, strict=True))
    ]


def corrected_table(board: Board, outcome: str) -> ReportTable:
    """Of each system the share that is right, or its mean points, and what people's sample makes of
    it.

    What says nothing is wrong by rule, so that people's sample is of the others.
    """
    rows = [
        found for row in range(len(board.systems)) if (found := _corrected(board, outcome, row))
    ]
    words = "people call right" if board.is_binary(outcome) else "people give"
    header = (
        *("system", "answers", outcome_words(board, outcome), "judged by people"),
        *(words, "correlation with people", "corrected"),
    )
    notes = (
        "Prediction-powered inference (PPI++), by what the machine says of an answer: people’s "
        "share over the sample, weighed as all answers are; points by strata of which people "
        "judged at least ten. Over answers, not over domains. Answers that say nothing are wrong "
        "by rule and in no sample.",
        "How far people agree with a grader: its card under Judges.",
    )
    return ReportTable("corrected", "Corrected by people", header, tuple(rows), notes)


def _corrected(board: Board, outcome: str, row: int) -> tuple[Cell, ...]:
    """The line of a system; none where people judged nothing of it."""
    values, people = board.outcomes[outcome][row], board.people[row]
    known = ~np.isnan(values)
    spoken, judged = known & ~(board.silent[row] & (values == 0)), known & ~np.isnan(people)
    if not judged.any():
        return ()
    # As shares of the most there is, for which intervals of few and of equal values hold.
    best = board.best(outcome)
    strata = _strata(values / best, people / best, spoken, judged, board.is_binary(outcome))
    found, share = corrected_mean(strata), best * spoken.sum() / known.sum()
    value, low, high = (
        None if end is None else end * share for end in (found.value, found.low, found.high)
    )
    kind = "coefficient" if best == 1 else "number"
    both = values[judged].tolist(), people[judged].tolist()
    return (
        text(board.systems[row].name, _source_url(board, row)),
        Cell(int(known.sum())),
        Cell(float(values[known].mean()), kind),
        Cell(len(both[1])),
        Cell(sum(both[1]) / len(both[1]), kind),
        Cell(system_pearson(*both), "coefficient"),
        Cell(value, kind, low, high),
    )


def _strata(
    said: Floats, heard: Floats, spoken: Flags, judged: Flags, is_binary: bool
) -> list[Stratum]:
    """Right and wrong are a stratum each, points by what people said enough of."""

    def pairs(group: Flags) -> list[tuple[float, float]]:
        return list(zip(said[group].tolist(), heard[group].tolist(), strict=True))

    if not is_binary:
        return strata_by_grade(said[spoken].tolist(), pairs(judged))
    groups = ((grade, said == grade) for grade in (0.0, 1.0))
    return [
        Stratum(int((group & spoken).sum()), grade, pairs(group & judged))
        for grade, group in groups
        if (group & spoken).any()
    ]


def graders_table(board: Board) -> ReportTable:
    """How far graders agree, over all texts that two of them graded."""
    is_short = board.best(TOGETHER) == 1
    given = [
        [None if v is None else float(min(max(round(v), 0), 100)) for v in said]
        for said in said_once(board)
    ]
    scale = [float(n) for n in range(2 if is_short else 101)]
    ratings = from_columns(given, categories=scale, scores=scale)
    found = [("", percent_agreement(ratings))]
    if is_short:
        found += [("", kappa(ratings)) for kappa in (cohen_kappa, fleiss_kappa, conger_kappa)]
    else:
        # Of points 90 and 95 are nearly the same, which the others count as 0 and 100.
        for pair in combinations(range(len(given)), 2):
            both = from_columns([given[at] for at in pair], categories=scale, scores=scale)
            who = (
                ", ".join(("", *(list(board.voices)[at] for at in pair))) if len(given) > 2 else ""
            )
            found.append((who, cohen_kappa(both, "quadratic")))
    found.append(("", krippendorff_alpha(ratings, "nominal" if is_short else "interval")))
    rows = tuple(
        (
            text(each.name.replace("_", " ") + who),
            measured(each, "coefficient"),
            Cell(each.n_items),
            Cell(each.n_raters),
            text("; ".join(filter(None, [each.reason, each.interval_reason]))),
        )
        for who, each in found
    )
    notes = (
        f"Graders: {'; '.join(board.voices)}. Whoever left an answer ungraded is left out of it; "
        "scores count in whole points. One model’s replies count once, however they are read; so "
        "does one text that several systems gave to a query.",
    )
    header = ("coefficient", "value", "answers", "graders", "why not")
    return ReportTable("graders", "Agreement of graders", header, rows, notes)


def gain_table(board: Board, outcome: str) -> ReportTable:
    """Of cleaned corpora, which part of the full cleaning's gain each has; the paper's first."""
    none, part, full = PUBLISHED
    heads = ("system", "corpus", "as loaded", "cleaned", "full", "relative gain")
    printed = [
        (text("printed"), text("S"), Cell(none), Cell(part), Cell(full), _gain(none, part, full))
    ]
    means = means_of(board, board.outcomes[outcome])
    presets = dict(
        CleaningRun.objects.filter(
            version__in={each.corpus_version_id for each in board.systems if each.corpus_version_id}
        ).values_list("version", "preset")
    )
    by_name: dict[str, dict[str, float]] = {}
    for row, source in enumerate(board.systems):
        if source.retrieval_run and not np.isnan(means[row]):
            preset = presets.get(source.corpus_version_id or 0, "")
            by_name.setdefault(source.retrieval_run.name, {})[preset] = float(means[row])
    ours = [
        (
            *(text(name), text(CleaningPreset(preset).label), Cell(found[""]), Cell(value)),
            *(Cell(found[CleaningPreset.MARCUS]), _gain(found[""], value, whole)),
        )
        for name, found in by_name.items()
        if "" in found and (whole := found.get(CleaningPreset.MARCUS)) is not None
        for preset, value in found.items()
        if preset not in ("", CleaningPreset.MARCUS)
    ]
    notes = (
        "(cleaned - as loaded) / (full - as loaded), of the outcome above, for systems that rank "
        "all three corpora.",
        "The paper prints 83 % for S. From the scores of its own table it is (60.17 - 58.43) / "
        "(60.39 - 58.43) = 1.74 / 1.96 = 89 %: the text and the table disagree.",
    )
    return ReportTable("gain", "Relative gain of cleanings", heads, (*printed, *ours), notes)


def _source_url(board: Board, row: int) -> str:
    source = board.systems[row]
    here = reverse("rag-run", args=[board.run.benchmark.slug, source.run_id])
    return f"{here}?source={source.pk}"


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _gain(none: float, part: float, full: float) -> Cell:
    return Cell(relative_gain(none, part, full), "percent")
