"""What of ours is compared with a published table: scores, a cleaning, a release, debate runs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from corpus.cleaning.report import passages_by_domain
from corpus.marcus.figures import retention
from corpus.models import Benchmark, CleaningPreset, CleaningRun, CorpusVersion
from evaluation.experiments.models import Experiment
from evaluation.experiments.services import Measured, measure
from evaluation.metrics.profiles import STRICT
from evaluation.published.services import (
    ComparedRow,
    Ours,
    PublishedTable,
    compare_rows,
    compared,
    is_alike,
    plain,
)
from evaluation.releases.models import Release
from evaluation.scores import sheets
from kit.runs.models import RunStatus

# The row of a table over all its sets.
TOTAL = "total"
Names = Sequence[tuple[str, str]]
Counts = Mapping[str, int]
# What a release counts of a split, by the heads of the tables.
COUNTED: Mapping[str, Callable[[Counts], float | None]] = {
    "queries": lambda found: found["queries"],
    "aspects": lambda found: found["aspects"],
    "gold": lambda found: found["gold"],
    "passages": lambda found: found["documents"],
    "original gold a query": lambda found: _each(found["base"], found),
    "refined gold a query": lambda found: _each(found["base"] + found["holes"], found),
}
# What an experiment measures of a debate run; "all cases" count what settled a disputed pair.
_MEASURED: Mapping[str, Callable[[Measured, bool], float | None]] = {
    "irrelevant recall": lambda m, all_: _percent(_labels(m, all_).irrelevant.value),
    "relevant recall": lambda m, all_: _percent(_labels(m, all_).relevant.value),
    "balanced accuracy": lambda m, all_: _percent(_labels(m, all_).balanced.value),
    "escalated": lambda m, _: _percent(m.found.escalation.value),
    "USD": lambda m, _: m.timing.usd.value,
    "seconds in sequence": lambda m, _: m.timing.sequential_s.value,
    "seconds in parallel": lambda m, _: m.timing.parallel_s.value,
}


def compare_with_ours(
    table: PublishedTable,
    benchmark: Benchmark,
    names: Names = (),
    *,
    version: CorpusVersion | None = None,
    profile: str = STRICT.name,
    experiment: Experiment | None = None,
) -> list[ComparedRow]:
    """The table's rows with what this benchmark has of them.

    Scores are those of a corpus version, by default the current one, under a profile; debate runs
    those of an experiment. `names` adds pairs (printed, ours) to those that have one name.
    """
    if table.compared_with == "cleaning":
        return compare_cleaning(table, last_cleaning(benchmark))
    if table.compared_with == "release":
        return compare_release(table, last_release(benchmark))
    if table.is_of_debates:
        return compare_debates(table, measure(experiment) if experiment else (), names)
    return compared(table, sheets.latest(benchmark, version, profile=profile), names)


def compare_release(table: PublishedTable, release: Release | None) -> list[ComparedRow]:
    """Sets are the release's splits of the same name and size; the total is ours where all sets
    are."""
    counts = release.counts if release else {}
    splits = {
        plain(name): each
        for name, each in counts.get("splits", {}).items()
        if table.allows(name, each["queries"])
    }
    if splits and splits.keys() == {plain(name) for name, _ in table.rows} - {TOTAL}:
        splits[TOTAL] = counts
    name = f"release {release.version}" if release else None

    def ours(row: str) -> Ours:
        found = splits.get(row)
        if found is None:
            return None, ()
        return name, [COUNTED[c](found) if c in COUNTED else None for c in table.columns]

    return compare_rows(table, ours)


def compare_debates(
    table: PublishedTable, runs: Sequence[Measured], names: Names = ()
) -> list[ComparedRow]:
    """Printed ways to label are our debate runs of the same name, as an experiment measures."""
    known = {plain(each.run.name): each for each in runs}
    given = {plain(printed): plain(name) for printed, name in names}
    all_cases = table.compared_with.endswith("all cases")

    def ours(row: str) -> Ours:
        found = known.get(given.get(row, row))
        if found is None:
            return None, ()
        name = f"{found.run.name} (practice)" if found.run.practice else found.run.name
        columns = [_MEASURED.get(column) for column in table.columns]
        return name, [read(found, all_cases) if read else None for read in columns]

    return compare_rows(table, ours)


def compare_cleaning(table: PublishedTable, run: CleaningRun | None) -> list[ComparedRow]:
    """The table of chunks with passages before and after a cleaning and what was kept, in percent.

    Sets are our domains of the same name that had as many passages before, give or take a tenth;
    the total is ours where both have the same sets.
    """
    counts: dict[str, tuple[int, int]] = {}
    if run is not None and run.version is not None:
        old, new = passages_by_domain(run.source), passages_by_domain(run.version)
        printed = {plain(name): values[:1] for name, values in table.rows}
        counts = {
            plain(name): (old[name], new.get(name, 0))
            for name in old
            if is_alike(old[name], filter(None, printed.get(plain(name), ())))
        }
        if counts.keys() == {plain(name) for name, _ in table.rows} - {TOTAL}:
            counts[TOTAL] = sum(old.values()), sum(new.values())

    def ours(row: str) -> Ours:
        if run is None or row not in counts:
            return None, ()
        before, after = counts[row]
        kept = retention(after, before)
        return run.name, [before, after, None if kept is None else round(kept, 2)]

    return compare_rows(table, ours)


def last_cleaning(benchmark: Benchmark) -> CleaningRun | None:
    """The newest that all agents of MARCUS worked on, as in the paper."""
    done = CleaningRun.objects.filter(benchmark=benchmark, status=RunStatus.DONE)
    return done.filter(preset=CleaningPreset.MARCUS).select_related("source", "version").first()


def last_release(benchmark: Benchmark) -> Release | None:
    """The newest that was built."""
    return benchmark.releases.filter(status=RunStatus.DONE).order_by("-pk").first()


def _each(count: int, found: Counts) -> float | None:
    return count / found["queries"] if found["queries"] else None


def _labels(measured: Measured, all_cases: bool) -> Any:
    return measured.found.overall if all_cases else measured.found.labelled


def _percent(share: float | None) -> float | None:
    return None if share is None else 100.0 * share
