"""Figures of rows as Prometheus reads them, from a few statements over indexes."""

import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from django.conf import settings
from django.utils import timezone

from kit.health.checks import Counts, counts, due_since
from kit.runs.workers import Worker

# Labels with their values, and the figure.
Samples = Iterable[tuple[dict[str, str], float]]


@dataclass(frozen=True)
class Gauge:
    """A figure that goes up and down; `read` costs a statement over an index at most.

    With `is_of_runs` it is given how many runs there are, which is asked once for all.
    """

    name: str
    help: str
    read: Callable[..., Samples]
    is_of_runs: bool = False

    def lines(self, runs: Counts) -> Iterator[str]:
        """In the text format 0.0.4."""
        yield f"# HELP {self.name} {self.help}"
        yield f"# TYPE {self.name} gauge"
        for labels, value in self.read(runs) if self.is_of_runs else self.read():
            # Kinds and states are our own words: nothing in them has to be escaped.
            named = ",".join(f'{key}="{each}"' for key, each in labels.items())
            yield f"{self.name}{{{named}}} {value:.15g}" if named else f"{self.name} {value:.15g}"


def _workers() -> Samples:
    yield {}, Worker.objects.alive().count()


def _runs(runs: Counts) -> Samples:
    for (kind, status), count in runs.items():
        yield {"kind": kind, "status": status}, count


def _due(runs: Counts) -> Samples:
    for kind, since in due_since(runs).items():
        yield {"kind": kind}, (timezone.now() - since).total_seconds()


def _disk() -> Samples:
    yield {}, shutil.disk_usage(settings.ASSAY_DATA).free


_gauges = [
    Gauge("assay_workers", "Worker processes heard from lately.", _workers),
    Gauge("assay_runs", "Runs that are not over, and failed ones.", _runs, True),
    Gauge("assay_due_seconds", "How long the oldest run waits that nobody works on.", _due, True),
    Gauge("assay_disk_free_bytes", "Free space of the data folder.", _disk),
]


def tell(name: str, about: str, read: Callable[[], Samples]) -> None:
    """Have a room's figure told with the others; the same name again replaces it."""
    _gauges[:] = [each for each in _gauges if each.name != name] + [Gauge(name, about, read)]


def text() -> str:
    """All figures."""
    runs = counts()
    return "".join(f"{line}\n" for gauge in _gauges for line in gauge.lines(runs))
