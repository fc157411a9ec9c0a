"""All the files of one computation, read and held against each other."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evaluation.metrics.faults import MetricFault
from evaluation.metrics.gold import AspectsOf, Gold
from evaluation.metrics.profiles import Profile
from evaluation.metrics.reading.aspects import of_subtopics, read_aspects
from evaluation.metrics.reading.exclusions import read_excluded
from evaluation.metrics.reading.golds import GoldFile, read_gold
from evaluation.metrics.reading.runs import RunFile, read_run


@dataclass(frozen=True)
class Files:
    """Where everything lies; only run and qrels must be there."""

    run: Path
    qrels: Path
    aspects: Path | None = None
    excluded: Path | None = None
    base: Path | None = None


@dataclass(frozen=True)
class Inputs:
    """A run and its gold; `notes` counts what was odd in the files, by kind."""

    run: RunFile
    gold: Gold
    notes: Mapping[str, int]


def read_inputs(files: Files, profile: Profile) -> Inputs:
    """Read all files; raises MetricFault that names every fault of the first that has any."""
    gold = read_gold(files.qrels)
    excluded = dict(gold.excluded)
    if files.excluded is not None:
        excluded = read_excluded(files.excluded)
    run = read_run(files.run)
    aspects = _aspects(files, gold, profile)
    base = None if files.base is None else read_gold(files.base).labels
    try:
        joined = Gold.of(
            gold.labels, aspects=aspects, excluded=excluded, base=base, complete=profile.complete
        )
    except MetricFault as fault:
        # Each file is sound by itself: it is between them that something is wrong.
        given = [each.name for each in (files.qrels, files.aspects, files.excluded) if each]
        raise MetricFault([f"{', '.join(given)}: {each}" for each in fault.messages]) from None
    return Inputs(run=run, gold=joined, notes=Counter(run.notes) + Counter(gold.notes))


def _aspects(files: Files, gold: GoldFile, profile: Profile) -> AspectsOf | None:
    if files.aspects is not None:
        return read_aspects(files.aspects, gold.labels.keys(), complete=profile.complete)
    return of_subtopics(gold) if gold.subtopics else None
