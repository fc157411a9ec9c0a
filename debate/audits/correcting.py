"""What blind audits say of a run's counts: the raw figure, and the corrected one beside it.

Prediction-powered inference (kit/stats/predicted.py): strata are what the models said of a pair
that the original gold holds or does not hold, people's labels are those of decided audits.
"""

from collections.abc import Callable, Sequence
from typing import Final

from django.db.models import Count, Exists, OuterRef, Q

from annotate.models import CaseStatus
from corpus.models import Judgment
from debate.audits.services import audited_name, audited_status, grade_of, is_untouched
from debate.models import AuditItem, Debate, DebateRun, RunKind
from debate.references import GOLD, Reference
from kit.lists.report_tables import Cell, ReportTable, percent, text
from kit.stats.predicted import Stratum, corrected_mean

_HEADER: Final = (
    *("Pairs that", "Of", "As the models say", "Share", "People judged"),
    *("Corrected share", "Corrected number"),
)


# A stratum, pairs that are alike before people look: their run, label, a graded judge's grade, and
# whether they are gold.
_Kind = tuple[int, int, int, bool]
# What a pair counts as, by its label and whether the original gold holds it.
_Value = Callable[[int, bool], bool]


def _is_relevant(label: int, is_gold: bool) -> bool:
    return label > 0


def _is_hole(label: int, is_gold: bool) -> bool:
    return label > 0 and not is_gold


def corrected_sheet(run: DebateRun) -> ReportTable:
    """The run's counts, corrected by its own audits; without a row where nobody decided one."""
    sizes, found = _read([run])
    of = audited_name(run)
    names: dict[str, _Value] = {"are relevant": _is_relevant, "are holes": _is_hole}
    if run.pool.of_aspects:
        names = {"support the aspect": _is_relevant}
    if run.kind == RunKind.FILTER:
        names = {"are relevant, though discarded": _is_relevant}
    rows = [_row(name, sizes, found, value) for name, value in names.items()]
    notes = (
        f"Of {of} pairs that could be drawn or were; those that people had judged before are left "
        "out. Strata: what the models said (of a graded judge the grade), and whether the original "
        "gold holds the pair.",
        _HOW,
    )
    return ReportTable(
        "corrected", f"Corrected by the audits of {of} pairs", _HEADER, _told(rows, found), notes
    )


def corrected_holes(runs: Sequence[DebateRun]) -> ReportTable:
    """The holes that these runs found, corrected by their audits; machine labels of support for
    aspects in a row of their own."""
    audited = [run for run in runs if run.audits.exists()]
    rows: list[tuple[Cell, ...]] = []
    for of_aspects, name, value in (
        (False, "are holes", _is_hole),
        (True, "support the aspect", _is_relevant),
    ):
        sizes, found = _read([run for run in audited if run.pool.of_aspects == of_aspects])
        rows += _told([_row(name, sizes, found, value)], found)
    notes = (
        f"Over pairs that the models of {len(audited):,} audited "
        f"{'run' if len(audited) == 1 else 'runs'} labelled and people had not judged; "
        "runs without an audit are left out. Of aspects a pair is a passage and one aspect.",
        _HOW,
    )
    return ReportTable("holes", "Holes, corrected by audits", _HEADER, tuple(rows), notes)


_HOW: Final = (
    "Prediction-powered inference: what people found in each stratum counts for the whole of it. "
    "Intervals: 95 %, with the finite population's correction."
)


_COLUMNS: Final = ("label", "grade", "gold")


def _read(runs: Sequence[DebateRun]) -> tuple[dict[_Kind, int], dict[_Kind, list[int]]]:
    """The size of each stratum, and what people said of those drawn from it."""
    sizes: dict[_Kind, int] = {}
    found: dict[_Kind, list[int]] = {}
    closed = AuditItem.objects.filter(sample__run__in=runs, case__status=CaseStatus.CLOSED)
    decided = dict(closed.values_list("debate", "case__label"))
    known = set(closed.values_list("sample__run", flat=True))
    used = [run for run in runs if run.pk in known]
    for place, run in enumerate(used, start=1):
        pairs = run.debates.filter(status=audited_status(run)).annotate(
            gold=_in_gold(run), grade=grade_of(run)
        )
        # A pair counts once: as the last of these runs labelled it.
        later = Debate.objects.filter(run__in=used[place:], label__isnull=False)
        named = ("query", "passage", *["aspect"] * run.pool.of_aspects)
        same = {name: OuterRef(name) for name in named}
        pairs = pairs.exclude(Exists(later.filter(**same))) if used[place:] else pairs
        drawn = Q(pk__in=AuditItem.objects.filter(sample__run=run).values("debate"))
        counted = pairs.filter(drawn | is_untouched()).order_by().values_list(*_COLUMNS)
        for label, grade, gold, count in counted.annotate(n=Count("pk")):
            sizes[run.pk, label or 0, int(grade), gold] = count
        for label, grade, gold, key in pairs.filter(pk__in=decided).values_list(*_COLUMNS, "pk"):
            found.setdefault((run.pk, label or 0, int(grade), gold), []).append(decided[key] or 0)
    return sizes, found


def _in_gold(run: DebateRun) -> Exists:
    """Whether the original gold holds a pair: in a derived corpus version as it is inherited there,
    and of an aspect that of its query."""
    if not run.pool.of_aspects:
        return Reference(run.benchmark, GOLD, "").holding(1, run.pool)
    pair = {"query": OuterRef("query_id"), "passage": OuterRef("passage_id")}
    return Exists(Judgment.objects.original().filter(label__gt=0, **pair))


def _row(
    name: str,
    sizes: dict[_Kind, int],
    found: dict[_Kind, list[int]],
    value: _Value,
) -> tuple[Cell, ...]:
    strata, raw, whole = [], 0, sum(sizes.values())
    for kind in sorted(sizes):
        _, label, _, is_gold = kind
        said = float(value(label, is_gold))
        raw += int(said) * sizes[kind]
        pairs = [(said, float(value(people, is_gold))) for people in found.get(kind, ())]
        strata.append(Stratum(sizes[kind], said, pairs))
    mean = corrected_mean(strata)
    number, low, high = (
        None if each is None else round(whole * each) for each in (mean.value, mean.low, mean.high)
    )
    return (
        text(name),
        Cell(whole),
        Cell(raw),
        Cell(raw / whole if whole else None, "percent"),
        Cell(mean.n),
        percent(mean),
        Cell(number, low=low, high=high),
    )


def _told(
    rows: list[tuple[Cell, ...]], found: dict[_Kind, list[int]]
) -> tuple[tuple[Cell, ...], ...]:
    return tuple(rows) if found else ()
