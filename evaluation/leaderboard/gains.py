"""What the cleanings of a benchmark gained, measured by the leaderboard before and after."""

from django.core.cache import cache

from corpus.marcus.figures import MeasuredGain
from corpus.models import Benchmark, CleaningRun
from evaluation.leaderboard.before_after import Side, matched, mean_gain, side_of
from evaluation.leaderboard.services import DEFAULT
from evaluation.scores.services import GoldView
from kit.errors import Refused

_DAY = 24 * 3600


def measured_gains(benchmark: Benchmark) -> list[MeasuredGain]:
    """Of each cleaning that is done, where the version before and the one after have scores of the
    same systems: over the passages that both hold, where that was scored, else over each one's own.

    The practice model's cleanings are left out: they say nothing of a model's.
    """
    runs = benchmark.cleaning_runs.filter(status="done", practice=False, version__state="ready")
    return [
        found
        for run in runs.select_related("source", "version", "account", "follows").order_by("pk")
        if (found := _gain(benchmark, run)) is not None
    ]


def _gain(benchmark: Benchmark, run: CleaningRun) -> MeasuredGain | None:
    assert run.version is not None
    sides = [
        side_of(benchmark, version, str(GoldView.REFINED)) for version in (run.source, run.version)
    ]
    same = matched(*sides)
    is_matched = bool(same) and all(side.sheet for side in same)
    sides = same if is_matched else sides
    if not all(side.sheet for side in sides):
        return None
    found = _mean_gain(sides)
    if found is None:
        return None
    value, low, high, systems, queries = found
    metric = f"{DEFAULT}, matched pool" if is_matched else DEFAULT
    name = (run.preset, run.pk, run.cost_usd)
    return MeasuredGain(*name, value, low, high, metric, systems, queries)


def _mean_gain(sides: list[Side]) -> tuple[float, float, float, int, int] | None:
    """Kept for a day: sheets that are whole do not change."""
    key = "cleaning-gain:" + ":".join(str(side.sheet and side.sheet.pk) for side in sides)
    known = cache.get(key, "")
    if known != "":
        found: tuple[float, float, float, int, int] | None = known
        return found
    try:
        gain, systems, queries = mean_gain(*sides, metric=DEFAULT)
    except Refused:
        return None
    if gain.value is None or gain.low is None or gain.high is None:
        return None
    found = gain.value, gain.low, gain.high, systems, queries
    cache.set(key, found, timeout=_DAY)
    return found
