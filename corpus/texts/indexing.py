"""Filling the text index in the background, in transactions so short that people who save hardly
wait.
"""

import logging
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import F, QuerySet

from corpus.benchmarks.overview import count_passages
from corpus.models import Benchmark, CorpusVersion, Judgment, Passage, PassageIndexRun
from corpus.texts import index as textindex
from corpus.texts.finding import one_of
from kit.database.bulk import one_writer_at_a_time, vacuum
from kit.runs.models import LostLease, RunStatus, Stopping, stopping, wake

# Seconds that SQLite's one write lock is held at once, about.
_HOLD = 0.08
# And left alone afterwards. SQLite keeps no queue: who waits looks again, in the first two tenths
# of a second at least every 50 ms, so that a gap of this length is not missed.
_GAP = 0.06


class Pace:
    """Writes in transactions of `size`: more where that was quick, less where it took long.

    Between a fifth and twice of what it begins with: on a busy machine the smallest transactions
    are slow too, and only the more of them.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._least, self._most = max(1, size // 5), 2 * size
        self._people_wait = one_writer_at_a_time()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction; afterwards everybody else gets a turn."""
        with transaction.atomic():
            # From here on: waiting for the lock is no work.
            started = time.monotonic()
            yield
        seconds = time.monotonic() - started
        # Nobody had to wait for a transaction that found next to nothing to do.
        if self._people_wait and seconds > _HOLD / 4:
            self._learn(seconds)
            time.sleep(_GAP)

    def _learn(self, seconds: float) -> None:
        fitting = round(self.size * _HOLD / seconds)
        self.size = max(self._least, min(self._most, fitting))


logger = logging.getLogger(__name__)
# What a transaction writes to begin with: passages, and pages of the index that are put in order.
_CHUNK, _STEP = 500, 200


def request_index(version: CorpusVersion) -> PassageIndexRun:
    """Have the version's own passages indexed; in the caller's transaction, which counts nothing.

    Asked again, a run that failed is tried again.
    """
    run, created = PassageIndexRun.objects.get_or_create(version=version)
    if created or run.move(RunStatus.QUEUED, sources=[RunStatus.FAILED]):
        wake(run)
    return run


def index_filled(pks: Collection[int]) -> None:
    """Index passages whose text came later than they did; in the transaction that filled them.

    Those that their version's run has yet to reach are left to it.
    """
    versions: dict[int, list[int]] = {}
    filled = Passage.objects.filter(one_of(pks)).order_by()
    for pk, version in filled.values_list("pk", "version_id"):
        versions.setdefault(version, []).append(pk)
    runs = PassageIndexRun.objects.select_for_update().filter(version_id__in=versions)
    for run in runs.order_by("pk"):
        own = versions[run.version_id]
        count = textindex.add_these([pk for pk in own if pk <= run.last_id])
        # A run that has not begun counts them itself.
        more = len(own) if run.last_id else 0
        PassageIndexRun.objects.filter(pk=run.pk).update(
            total=F("total") + more, done=F("done") + count
        )


def forget_texts(benchmark: Benchmark) -> None:
    """Take a benchmark that is being deleted out of the text index; in the caller's transaction."""
    runs = PassageIndexRun.objects.filter(version__benchmark=benchmark)
    for version, last in runs.values_list("version", "last_id"):
        textindex.remove(version, last)


def take_turn(run: PassageIndexRun) -> None:
    """Index a claimed run for a worker; counted now, a long one goes back first, to be weighed by
    its size: it may hold the thread that is kept for small ones."""
    try:
        if not run.total:
            run.beat(total=count_passages(run.version))
            if not run.claimant.is_small:
                run.release()
                return
    except LostLease:
        logger.info("%s was stopped or taken over", run)
        return
    run_index(run)


def run_index(run: PassageIndexRun) -> None:
    """Index what is left of a claimed run and end it, whatever happens.

    A worker that lost the run or is being shut down leaves it as it is; so does one whose
    database went away: the run goes on where it was.
    """
    try:
        index(run)
        vacuum(Passage, Judgment)
    except LostLease:
        logger.info("%s was stopped or taken over", run)
    except (OperationalError, InterfaceError) as error:
        logger.warning("%s waits for the database until its lease is over: %s", run, error)
    except Exception:  # the job's outermost frame: logged, and told in the row
        logger.exception("%s failed", run)
        run.finish(RunStatus.FAILED, error="The text index stopped on an error of ours; see log.")


def index(run: PassageIndexRun) -> None:
    """Index what is left of a claimed run, then finish it.

    Raises LostLease if another worker took over, Stopping if this process is to end.
    """
    if run.last_id == 0:
        run.beat(total=count_passages(run.version))
    passages = Passage.objects.filter(version_id=run.version_id)
    adding, settling = Pace(_CHUNK), Pace(_STEP)
    while (upto := _end_of_chunk(passages, run.last_id, adding.size)) is not None:
        _look_up()
        with adding.writing():
            # The run's row first: `index_filled` then waits, and learns how far this came.
            after = run.last_id
            run.beat(last_id=upto)
            count = textindex.add(run.version_id, after, upto)
            run.beat(done=F("done") + count)
        _settle(run, settling, fully=False)
    _settle(run, settling, fully=True)
    # What was filled in while the passages were counted may be in `done` alone.
    run.finish(total=F("done"))


def index_again() -> None:
    """Fill an empty index as far as it had come by its runs; others look for nothing meanwhile."""
    with transaction.atomic(), textindex.filling():
        for version, last in PassageIndexRun.objects.values_list("version_id", "last_id"):
            textindex.add(version, 0, last)
    while textindex.settle(_STEP, fully=True):
        pass
    vacuum(Passage, Judgment)


def searchable(version: CorpusVersion | None) -> dict[str, int]:
    """How many of a version's texts can be found by their words so far, through its layers.

    `total` is 0 while a run that has not begun has yet to count them.
    """
    layers = version.layers if version else []
    runs = list(PassageIndexRun.objects.filter(version_id__in=layers))
    missing = set(layers) - {run.version_id for run in runs}
    # A layer that nobody asked to index yet; rare, so that counting it may take its time.
    texts = Passage.objects.filter(version_id__in=missing).with_text().count() if missing else 0
    return {
        "done": sum(run.done for run in runs),
        "total": sum(run.total for run in runs) + texts,
        "is_ready": not texts and all(run.status == RunStatus.DONE for run in runs),
    }


def is_ready(version: CorpusVersion | None) -> bool:
    """Whether every passage of the version, through its layers, can be found by its words."""
    return bool(searchable(version)["is_ready"])


def _end_of_chunk(passages: QuerySet[Passage], after: int, size: int) -> int | None:
    chunk = passages.filter(pk__gt=after).order_by("pk").values_list("pk", flat=True)[:size]
    return max(chunk, default=None)


def _settle(run: PassageIndexRun, pace: Pace, *, fully: bool) -> None:
    """In steps, because others wait to write during each."""
    is_more = True
    while is_more:
        _look_up()
        with pace.writing():
            run.beat()
            is_more = textindex.settle(pace.size, fully=fully)


def _look_up() -> None:
    if stopping.is_set():
        raise Stopping
