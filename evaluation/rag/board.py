"""Tables and pictures of one generator: what it answered, and what its graders say of that."""

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any, Final, TypeVar, cast

import numpy as np
from django.core.cache import cache
from django.urls import reverse
from numpy.typing import NDArray

from corpus.marcus.figures import PUBLISHED, relative_gain
from corpus.models import CleaningPreset, CleaningRun
from evaluation.metrics.run import Floats
from evaluation.metrics.standings import (
    Interval,
    Standing,
    rank_shifts,
    standings,
)
from evaluation.rag.alignment import (
    GOLD,
    align_table,
    correlation_table,
    shift_table,
    shifts,
    systems_table,
)
from evaluation.rag.models import SourceKind
from evaluation.rag.protocol.answering import Harness
from evaluation.rag.reading import TOGETHER, VIEWS, Board, means_of, outcome_words
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
from kit.stats.paired import PairedTest, randomisations
from kit.stats.ratings import from_columns

T = TypeVar("T")
_DAY: Final = 24 * 60 * 60


def tables(board: Board, outcome: str) -> list[ReportTable]:
    """Every table that has something to say."""
    found = [generation_table(board, outcome)]
    if any(each.kind == SourceKind.RUN for each in board.systems):
        if board.is_binary(outcome):
            found.append(align_table(board, outcome))
        found += [correlation_table(board, outcome), systems_table(board, outcome)]
        found += [sheet for sheet in [shift_table(board, outcome)] if sheet.rows]
    if len(board.graders) > 1:
        said = [board.outcomes[key] for key in board.graders]
        words = repr((board.graders, board.best(TOGETHER)))
        found.append(_kept("graders", lambda: graders_table(board), *said, words=words))
    gains = gain_table(board, outcome)
    is_of_cleanings = board.run.harness == Harness.LONG or len(gains.rows) > 1
    return [*found, *([gains] if is_of_cleanings else [])]


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
    """A row a system, baselines first: the outcome, what it won over no retrieval, other ways to
    grade."""
    values, words = board.outcomes[outcome], outcome_words(board, outcome)
    kind = "coefficient" if board.best(outcome) == 1 else "number"
    # A single grader is the majority.
    alone = {TOGETHER, *board.graders} if len(board.graders) == 1 else set()
    others = [n for n in board.outcomes if n != outcome and not {n, outcome} <= alone]
    whole = {name: means_of(board, board.outcomes[name]) for name in others}
    means, gains = _drawn(board, values)
    low, high = (means_of(board, _filled(values, end)) for end in (0.0, board.best(outcome)))
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


def _drawn(
    board: Board, values: Floats
) -> tuple[Sequence[Standing], Sequence[tuple[Interval, PairedTest | None]]]:
    """Standings and gains, which are drawn thousands of times."""
    bare = board.baseline(SourceKind.NONE)
    asked = np.array([-1 if bare is None else bare, SEED])
    return _kept(
        "drawn",
        lambda: (standings(*board.tasks(values), seed=SEED), uplifts(board, values)),
        *(values, board.starts, asked),
    )


def _kept(name: str, make: Callable[[], T], *follows_from: NDArray[Any], words: str = "") -> T:
    """What takes long for thousands of queries, kept for a day by all that it follows from."""
    digest = sha256(words.encode())
    for each in follows_from:
        digest.update(repr(each.shape).encode() + each.tobytes())
    return cast(T, cache.get_or_set(f"rag-{name}:{digest.hexdigest()}", make, _DAY))


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


def _filled(values: Floats, end: float) -> Floats:
    return np.where(np.isnan(values), end, values)


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _gain(none: float, part: float, full: float) -> Cell:
    return Cell(relative_gain(none, part, full), "percent")


def _standing(found: Standing, kind: str) -> Cell:
    return Cell(found.mean, kind, found.low, found.high)
