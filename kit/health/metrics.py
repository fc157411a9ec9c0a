"""Figures of rows as Prometheus reads them, from a few statements over indexes."""

import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from django.conf import settings
from django.utils import timezone

from kit.health.checks import counts, due_since
from kit.runs.workers import Worker

# Labels with their values, and the figure.
Samples = Iterable[tuple[dict[str, str], float]]


@dataclass(frozen=True)
class Gauge:
    """A figure that goes up and down; `read` costs a statement over an index at most."""

    name: str
    help: str
    read: Callable[[], Samples]

    def lines(self) -> Iterator[str]:
        """In the text format 0.0.4."""
        yield f"# HELP {self.name} {self.help}"
        yield f"# TYPE {self.name} gauge"
        for labels, value in self.read():
            # Kinds and states are our own words: nothing in them has to be escaped.
            named = ",".join(f'{key}="{each}"' for key, each in labels.items())
            yield f"{self.name}{{{named}}} {value:.15g}" if named else f"{self.name} {value:.15g}"


def _workers() -> Samples:
    yield {}, Worker.objects.alive().count()


def _runs() -> Samples:
    for (kind, status), count in counts().items():
        yield {"kind": kind, "status": status}, count


def _due() -> Samples:
    for kind, since in due_since().items():
        yield {"kind": kind}, (timezone.now() - since).total_seconds()


def _disk() -> Samples:
    yield {}, shutil.disk_usage(settings.ASSAY_DATA).free


_gauges = [
    Gauge("assay_workers", "Worker processes heard from lately.", _workers),
    Gauge("assay_runs", "Runs that are not over, and failed ones.", _runs),
    Gauge("assay_due_seconds", "How long the oldest run waits that nobody works on.", _due),
    Gauge("assay_disk_free_bytes", "Free space of the data folder.", _disk),
]


def tell(name: str, about: str, read: Callable[[], Samples]) -> None:
    """Have a room's figure told with the others; the same name again replaces it."""
    _gauges[:] = [each for each in _gauges if each.name != name] + [Gauge(name, about, read)]


def text() -> str:
    """All figures."""
    return "".join(f"{line}\n" for gauge in _gauges for line in gauge.lines())
