"""What every computation in the background does with what goes wrong."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import InterfaceError, OperationalError

from evaluation.exporters.names import NameClash
from evaluation.metrics.faults import MetricFault
from kit.errors import Refused
from kit.runs.models import LostLease, RunStatus, TrackedRun

logger = logging.getLogger(__name__)


@contextmanager
def failures_in_row(
    run: TrackedRun, *, broken: str, fail: Callable[[str], None] | None = None
) -> Iterator[None]:
    """Turn whatever is raised inside into the state of a claimed run, in plain words.

    `broken` is said of a fault in the program; `fail` ends the run otherwise than by its state
    alone. While the database is away the run waits for the next worker.
    """
    name = f"{run._meta.verbose_name} {run.pk}"
    try:
        try:
            yield
        except (Refused, MetricFault, NameClash) as fault:
            _fail(run, str(fault), fail)
        except (LostLease, OperationalError, InterfaceError):
            raise
        except Exception:  # the job's outermost frame: logged, and shown in the row
            logger.exception("%s", name)
            _fail(run, broken, fail)
    except LostLease:
        logger.info("%s was stopped or taken over", name)
    except (OperationalError, InterfaceError) as error:
        logger.warning("%s waits for the database: %s", name, error)


def _fail(run: TrackedRun, message: str, fail: Callable[[str], None] | None) -> None:
    if fail is not None:
        fail(message)
    else:
        run.finish(RunStatus.FAILED, error=message)
