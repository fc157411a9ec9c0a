"""The tests and draws behind two systems compared: made once a score sheet, then read."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from corpus.models import RetrievalRun
from evaluation.metrics.run import Floats
from evaluation.models import KeptComparison, ScoreSheet
from evaluation.services.sheet_reading import SEED
from kit.stats.means import Mean, bootstrap_macro
from kit.stats.paired import PairedTest, paired_t, randomisation
from kit.stats.results import Interval


@dataclass(frozen=True)
class Tested:
    """The difference of two systems over domains with its interval, and the tests of it."""

    difference: Mean
    tests: tuple[PairedTest, ...]


def tested(
    sheet: ScoreSheet,
    first: RetrievalRun,
    second: RetrievalRun,
    *,
    metric: str,
    view: str,
    by_domain: Sequence[Floats],
    differences: Floats,
) -> Tested:
    """What is kept of these two on this sheet; drawn, and kept, at the first look.

    A sheet is never changed, so what was drawn from it holds as long as it does.
    """
    asked = {"sheet": sheet, "first": first, "second": second, "metric": metric, "view": view}
    kept = KeptComparison.objects.filter(**asked).values_list("figures", flat=True).first()
    if kept is not None:
        return _read(kept)
    found = Tested(
        bootstrap_macro(by_domain, seed=SEED, resamples=2000),
        (paired_t(differences), randomisation(differences, seed=SEED)),
    )
    # Two who look at once drew the same.
    row = KeptComparison(**asked, figures=asdict(found))
    KeptComparison.objects.bulk_create([row], ignore_conflicts=True)
    return found


def _read(figures: dict[str, Any]) -> Tested:
    mean = figures["difference"]
    interval = Interval(**mean["interval"]) if mean["interval"] else None
    return Tested(
        Mean(mean["n"], mean["value"], interval),
        tuple(PairedTest(**test) for test in figures["tests"]),
    )
