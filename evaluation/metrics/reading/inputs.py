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
from evaluation.metrics.reading.golds import read_gold
from evaluation.metrics.reading.rows import Names
from evaluation.metrics.reading.runs import RunFile, read_run


@dataclass(frozen=True)
class Inputs:
    """A run and its gold; `notes` counts what was odd in the files, by kind."""

    run: RunFile
    gold: Gold
    notes: Mapping[str, int]


def read_inputs(
    run: Path,
    qrels: Path,
    aspects: Path | None = None,
    excluded: Path | None = None,
    base: Path | None = None,
    *,
    profile: Profile,
    names: Names | None = None,
) -> Inputs:
    """Read all files; raises MetricFault that names every fault of the first that has any."""
    gold, notes = read_joined(qrels, aspects, excluded, base, profile=profile, names=names)
    found = read_run(run, names)
    return Inputs(run=found, gold=gold, notes=Counter(found.notes) + Counter(notes))


def read_joined(
    qrels: Path,
    aspects: Path | None = None,
    excluded: Path | None = None,
    base: Path | None = None,
    *,
    profile: Profile,
    names: Names | None = None,
) -> tuple[Gold, Mapping[str, int]]:
    """The gold of one domain with what else its files say, and what was odd in them, by kind.

    `names` are ours for fields that the files' records call otherwise. Raises MetricFault.
    """
    gold = read_gold(qrels, names)
    left_out = dict(gold.excluded) if excluded is None else read_excluded(excluded, names)
    named: AspectsOf | None = of_subtopics(gold) if gold.subtopics else None
    if aspects is not None:
        complete = profile.complete
        named = read_aspects(aspects, gold.labels.keys(), complete=complete, names=names)
    original = None if base is None else read_gold(base, names).labels
    try:
        joined = Gold.of(
            gold.labels,
            aspects=named,
            excluded=left_out,
            base=original,
            complete=profile.complete,
        )
    except MetricFault as fault:
        # Each file is sound by itself: it is between them that something is wrong.
        given = [each.name for each in (qrels, aspects, excluded) if each]
        raise MetricFault([f"{', '.join(given)}: {each}" for each in fault.messages]) from None
    return joined, gold.notes
