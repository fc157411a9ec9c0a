"""Tables and pictures of one generator: what it answered, and whether retrieval foretells that."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from django.urls import reverse

from corpus.marcus.figures import PUBLISHED, relative_gain
from corpus.models import CleaningPreset, CleaningRun
from evaluation.metrics.alignment import (
    min_max,
    partial_correlation,
    rag_align,
    system_pearson,
)
from evaluation.metrics.run import Flags, Floats
from evaluation.metrics.standings import (
    Interval,
    Standing,
    rank_shifts,
    ranks_of,
    standings,
    task_means,
)
from evaluation.rag.models import SourceKind
from evaluation.rag.protocol.answering import Harness
from evaluation.rag.reading import STRINGS, TOGETHER, VIEWS, Board
from evaluation.scores.reading import SEED
from evaluation.scores.services import GoldView
from kit.charts.drawing import Drawing
from kit.charts.plots import Slope, points, scatter, slopes
from kit.lists.report_tables import Cell, ReportTable, measured, text
from kit.stats.agreement import (
    cohen_kappa,
    conger_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    percent_agreement,
)
from kit.stats.paired import PairedTest, randomisations
from kit.stats.ratings import from_columns

CELLS: Final = {
    "hit_correct": "hit and correct",
    "hit_wrong": "hit and wrong",
    "miss_correct": "miss and correct",
    "miss_wrong": "miss and wrong",
}
GOLD: Final = {GoldView.BASE: "before holes", GoldView.REFINED: "after holes"}


def outcome_words(board: Board, outcome: str) -> str:
    """What an outcome is called."""
    together = "majority of graders" if board.best(outcome) == 1 else "mean of graders"
    return {**STRINGS, **board.graders, TOGETHER: together}[outcome]


def tables(board: Board, outcome: str) -> list[ReportTable]:
    """Every table that has something to say."""
    found = [generation_table(board, outcome)]
    if any(each.kind == SourceKind.RUN for each in board.systems):
        if board.is_binary(outcome):
            found.append(align_table(board, outcome))
        found += [correlation_table(board, outcome), systems_table(board, outcome)]
        found += [sheet for sheet in [shift_table(board, outcome)] if sheet.rows]
    if len(board.graders) > 1:
        found.append(graders_table(board))
    gains = gain_table(board, outcome)
    is_of_cleanings = board.run.harness == Harness.LONG or len(gains.rows) > 1
    return [*found, *([gains] if is_of_cleanings else [])]


def charts(board: Board, outcome: str) -> list[Drawing]:
    """Ranks of systems by retrieval and by generation, both scaled (DREAM, Figure 4)."""
    found = []
    for view in VIEWS:
        measure, _, lines = _shifts(board, outcome, view)
        name = f"{measure} {GOLD[view]}"
        title = f"Rank shift: {name}, and {outcome_words(board, outcome)}, each from 0 to 100"
        found.append(slopes(f"shift-{view}", title, (name, "answers"), lines))
        if view == GoldView.REFINED:
            pairs = [(line.name, line.before, line.after) for line in lines]
            what = "Systems by retrieval and by generation, each from 0 to 100"
            found.append(scatter("systems", what, name, "answers", pairs, words=points))
    return [each for each in found if each]


def shift_table(board: Board, outcome: str) -> ReportTable:
    """The numbers of the pictures: means, scaled means and ranks on both sides."""
    kind = "coefficient" if board.best(outcome) == 1 else "number"
    rows = []
    for view in VIEWS:
        measure, both, lines = _shifts(board, outcome, view)
        rows += [
            (
                *(text(line.name), text(f"{measure}, {GOLD[view]}")),
                *(Cell(one, "coefficient"), Cell(100 * line.before), Cell(line.rank_before)),
                *(Cell(other, kind), Cell(100 * line.after), Cell(line.rank_after)),
                Cell(line.rank_before - line.rank_after),
            )
            for (_, one, other), line in zip(both, lines, strict=True)
        ]
    header = (
        *("system", "retrieval by", "retrieval", "from 0 to 100", "rank"),
        *(outcome_words(board, outcome), "answers from 0 to 100", "rank of answers", "places won"),
    )
    notes = ("By hits; where all systems hit alike, by the first measure that tells them apart.",)
    return ReportTable("shift", "Rank shift", header, tuple(rows), notes)


def _shifts(
    board: Board, outcome: str, view: str
) -> tuple[str, Sequence[tuple[int, float, float]], list[Slope]]:
    """What retrieval is ranked by, (row, its mean, mean of answers) of each system, and both
    scaled and ranked; no system where no measure tells two apart."""
    for measure in board.measures:
        both = _both(board, outcome, view, measure)
        if len({row[1] for row in both}) > 1:
            break
    else:
        return board.measures[0], [], []
    scaled = [min_max([row[at] for row in both]) for at in (1, 2)]
    ranks = [ranks_of(np.array([row[at] for row in both])).tolist() for at in (1, 2)]
    sides = zip(*scaled, *ranks, strict=True)
    named = zip(both, sides, strict=True)
    return measure, both, [Slope(board.systems[row[0]].name, *side) for row, side in named]


def generation_table(board: Board, outcome: str) -> ReportTable:
    """A row a system, baselines first: the outcome, what it won over no retrieval, other ways to
    grade."""
    values, words = board.outcomes[outcome], outcome_words(board, outcome)
    kind = "coefficient" if board.best(outcome) == 1 else "number"
    # A single grader is the majority.
    alone = {TOGETHER, *board.graders} if len(board.graders) == 1 else set()
    others = [n for n in board.outcomes if n != outcome and not {n, outcome} <= alone]
    whole = {name: _means(board, board.outcomes[name]) for name in others}
    means = standings(*board.tasks(values), seed=SEED)
    low, high = (_means(board, _filled(values, end)) for end in (0.0, board.best(outcome)))
    gains = uplifts(board, values)
    rows = []
    for row, source in enumerate(board.systems):
        gain, test = gains[row]
        kinds = ["coefficient" if board.best(name) == 1 else "number" for name in others]
        rows.append(
            (
                text(source.name, _source_url(board, row)),
                _standing(means[row], kind),
                measured(gain, kind),
                Cell(test.p if test else None),
                Cell(int(np.isnan(values[row]).sum())),
                Cell(_number(low[row]), kind),
                Cell(_number(high[row]), kind),
                *(Cell(_number(whole[o][row]), k) for o, k in zip(others, kinds, strict=True)),
                Cell(source.sheet["uninformed"]),
                Cell(source.sheet["failed"]),
                Cell(source.sheet["missing"]),
            )
        )
    header = (
        *("system", words, "over no retrieval", "p", "left out", "left out as 0"),
        *("left out as best", *(outcome_words(board, name) for name in others)),
        *("nothing found", "failed", "passages without text"),
    )
    notes = (
        "Means over domains, unweighted. What has no readable grade is left out and counted; "
        "beside stand the means with all of it as 0 and as best.",
        "Intervals: 2,000 draws of queries within each domain, paired for the gain over no "
        "retrieval, 95 %. p: two-sided randomisation test of the queries' differences.",
        *(["The practice model answers and grades by shared words: nothing of it is to be read."]
          if board.run.practice else []),
    )  # fmt: skip
    title = f"Answers of {board.run.model} by system"
    return ReportTable("generation", title, header, tuple(rows), notes)


def uplifts(board: Board, values: Floats) -> list[tuple[Interval, PairedTest | None]]:
    """Of each system what its answers won over those without retrieval, query by query."""
    bare = board.baseline(SourceKind.NONE)
    nothing: list[tuple[Interval, PairedTest | None]] = [(Interval(), None)] * len(values)
    if bare is None:
        return nothing
    before = np.repeat(values[bare : bare + 1], len(values), axis=0)
    tasks = board.tasks(before, values)
    if not tasks[0]:
        return nothing
    *_, gains, _, _ = rank_shifts(*tasks, seed=SEED)
    gaps = values - before
    tests = randomisations([row[~np.isnan(row)] for row in gaps], seed=SEED)
    return [
        (Interval(), None) if row == bare else (gain, test)
        for row, (gain, test) in enumerate(zip(gains, tests, strict=True))
    ]


def align_table(board: Board, outcome: str) -> ReportTable:
    """RAGAlign with its four cells, before and after holes were filled; each cell opens its
    queries."""
    rows = []
    for row, view in _ranked(board):
        hits, correct, known = _outcome_pairs(board, outcome, row, view)
        found = rag_align(hits[known].tolist(), correct[known].tolist())
        parts = [
            rag_align(h[k].tolist(), c[k].tolist()).share
            for h, c, k in zip(*(np.split(each, board.starts[1:]) for each in
                                 (hits, correct, known)), strict=True)
        ]  # fmt: skip
        shares = [share for share in parts if share is not None]
        rows.append(
            (
                text(board.systems[row].name),
                text(GOLD[view]),
                *(Cell(count, url=cell_url(board, row, view, name, outcome))
                  for name, count in zip(CELLS, found, strict=True)),
                Cell(found.share, "coefficient"),
                *(Cell(share, "coefficient") for share in parts),
                Cell(sum(shares) / len(shares) if shares else None, "coefficient"),
                Cell(int((~known).sum())),
            )
        )  # fmt: skip
    header = (
        *("system", "gold", *CELLS.values(), f"RAGAlign@{board.run.k}", *board.domains),
        *("mean of domains", "left out"),
    )
    notes = (
        f"Share of queries in which retrieval ({board.measures[0]}) and generation "
        f"({outcome_words(board, outcome)}) come out alike. Queries without gold or grade are left "
        "out.",
    )
    return ReportTable("align", "Do answers follow retrieval?", header, tuple(rows), notes)


def correlation_table(board: Board, outcome: str) -> ReportTable:
    """Point-biserial correlations of retrieval and outcome by query, and what is left of them
    given which queries the generator answers from gold."""
    gold = board.baseline(SourceKind.GOLD)
    rows = []
    for row, view in _ranked(board):
        cells, size = [], 0
        for name in board.measures[1:]:
            pair = board.retrieved[view, name][row], board.outcomes[outcome][row]
            x, y = _together(*pair)
            size = len(x)
            cells.append(Cell(system_pearson(x.tolist(), y.tolist()), "coefficient"))
            left = None
            if gold is not None:
                three = _together(*pair, board.outcomes[outcome][gold])
                left = partial_correlation(*(each.tolist() for each in three))
            cells.append(Cell(left, "coefficient"))
        rows.append((text(board.systems[row].name), text(GOLD[view]), *cells, Cell(size)))
    heads = [head for name in board.measures[1:] for head in (name, f"{name}, given answerable")]
    notes = (
        "Pearson's correlation over queries; where the outcome is right or wrong, that is the "
        "point-biserial one. Undefined where one of both never varies.",
        "Given answerable: what the generator makes of the query from gold evidence is taken out "
        "(partial correlation).",
    )
    header = ("system", "gold", *heads, "queries")
    return ReportTable("correlation", "Correlation by query", header, tuple(rows), notes)


def systems_table(board: Board, outcome: str) -> ReportTable:
    """Over systems: do those that retrieve better have better answers?"""
    rows = []
    for view in VIEWS:
        for name in board.measures:
            both = _both(board, outcome, view, name)
            found = system_pearson([row[1] for row in both], [row[2] for row in both])
            ranks = [ranks_of(np.array([row[at] for row in both])) for at in (1, 2)]
            moved = int((ranks[0] != ranks[1]).sum()) if both else 0
            rows.append(
                (
                    text(name),
                    text(GOLD[view]),
                    Cell(found, "coefficient"),
                    Cell(len(both)),
                    Cell(moved),
                )
            )
    notes = (
        "Pearson's correlation of means over systems. The paper prints .985 for Hit@10 after "
        "holes were filled; 20 of 25 systems change rank. Of two systems it is always 1 or -1.",
    )
    header = ("retrieval", "gold", "Pearson", "systems", "rank changed")
    return ReportTable("systems", "Correlation over systems", header, tuple(rows), notes)


def graders_table(board: Board) -> ReportTable:
    """How far graders agree, over all answers that two of them graded."""
    is_short = board.best(TOGETHER) == 1
    columns = [np.clip(np.round(board.outcomes[key].ravel()), 0, 100) for key in board.graders]
    given = [[None if np.isnan(v) else v for v in column.tolist()] for column in columns]
    scale = [float(n) for n in range(2 if is_short else 101)]
    ratings = from_columns(given, categories=scale, scores=scale)
    found = [
        percent_agreement(ratings),
        cohen_kappa(ratings),
        fleiss_kappa(ratings),
        conger_kappa(ratings),
        krippendorff_alpha(ratings, "nominal" if is_short else "interval"),
    ]
    rows = tuple(
        (
            text(each.name.replace("_", " ")),
            measured(each, "coefficient"),
            Cell(each.n_items),
            Cell(each.n_raters),
            text("; ".join(filter(None, [each.reason, each.interval_reason]))),
        )
        for each in found
    )
    notes = (
        f"Graders: {'; '.join(board.graders.values())}. Whoever left an answer ungraded is left "
        "out of it; scores count in whole points.",
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
    means = _means(board, board.outcomes[outcome])
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


def queries_in(board: Board, outcome: str, row: int, view: str, cell: str) -> list[int]:
    """Columns of the queries in one of the four cells."""
    hits, correct, known = _outcome_pairs(board, outcome, row, view)
    is_hit, is_correct = cell.startswith("hit"), cell.endswith("correct")
    return np.flatnonzero(known & (hits == is_hit) & (correct == is_correct)).tolist()


def cell_url(board: Board, row: int, view: str, cell: str, outcome: str) -> str:
    """Where the queries of a cell are listed."""
    here = reverse("rag-cell", args=[board.run.benchmark.slug, board.systems[row].pk])
    return f"{here}?view={view}&cell={cell}&outcome={outcome}"


def _source_url(board: Board, row: int) -> str:
    source = board.systems[row]
    here = reverse("rag-run", args=[board.run.benchmark.slug, source.run_id])
    return f"{here}?source={source.pk}"


def _ranked(board: Board) -> Iterator[tuple[int, GoldView]]:
    """Rows that have a ranking, each before and after."""
    for row, source in enumerate(board.systems):
        if source.kind == SourceKind.RUN:
            yield from ((row, view) for view in VIEWS)


def _outcome_pairs(board: Board, outcome: str, row: int, view: str) -> tuple[Flags, Flags, Flags]:
    """By query whether retrieval hit, whether the answer is right, and whether both are known."""
    hits = board.retrieved[view, board.measures[0]][row]
    correct = board.outcomes[outcome][row]
    known = ~np.isnan(hits) & ~np.isnan(correct)
    return np.asarray(hits > 0), np.asarray(correct > 0), np.asarray(known)


def _both(
    board: Board, outcome: str, view: str, measure: str
) -> Sequence[tuple[int, float, float]]:
    """(row, mean of retrieval, mean of generation) of the systems that have both."""
    sides = [board.retrieved[view, measure], board.outcomes[outcome]]
    one, other = (_means(board, side).tolist() for side in sides)
    return [
        (row, one[row], other[row])
        for row, source in enumerate(board.systems)
        if source.kind == SourceKind.RUN and not np.isnan([one[row], other[row]]).any()
    ]


def _means(board: Board, values: Floats) -> Floats:
    """Of each system the unweighted mean over the domains in which any has a value."""
    (tasks,) = board.tasks(values)
    if not tasks:
        return np.full(len(board.systems), np.nan)
    return np.asarray(np.mean([task_means(task) for task in tasks], axis=0))


def _together(*columns: Floats) -> list[Floats]:
    known = ~np.isnan(np.stack(columns)).any(axis=0)
    return [column[known] for column in columns]


def _filled(values: Floats, end: float) -> Floats:
    return np.where(np.isnan(values), end, values)


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _gain(none: float, part: float, full: float) -> Cell:
    return Cell(relative_gain(none, part, full), "percent")


def _standing(found: Standing, kind: str) -> Cell:
    return Cell(found.mean, kind, found.low, found.high)
