"""Building pools as long work: starting, carrying out, stopping (docs/protocol.md 2.1)."""

import logging
from collections.abc import Sequence
from contextlib import suppress

from django.contrib.auth.models import User
from django.db import InterfaceError, OperationalError, transaction
from django.utils import timezone

from corpus.models import Benchmark, Pool, PoolBuild, Query, RetrievalRun
from corpus.pools.services import check_choice, drop_unready, fill, free_name, publish
from kit import audit
from kit.errors import Refused
from kit.runs.models import LostLease, RunStatus, Stopping, wake

logger = logging.getLogger(__name__)


def start_build(
    *,
    benchmark: Benchmark,
    runs: Sequence[RetrievalRun],
    depth: int = 10,
    name: str = "",
    of_aspects: bool = False,
    actor: User | None,
    claim: bool = False,
) -> PoolBuild:
    """Have a pool built of every pair that a run ranks among its first `depth`, without the gold.

    Gold is what the current import calls relevant and what people do. Each pair keeps its places
    in `systems`; a passage with the very text of another one of its query is linked to it, and
    both stay. Queries without answers cannot be judged and are set aside; ids that the corpus
    does not hold are counted. The pool is of the corpus version that the runs rank. The counts
    stand in its provenance.

    `of_aspects`: instead, of every passage that a run ranks so high for a query, or that the words
    of an aspect find, with each aspect of which no run found gold (docs/protocol.md X06). Passages
    that are gold of an aspect of the query, or were judged for this one, are left out; answers
    are not needed. `claim` keeps the build for the calling process. Raises Refused for no
    runs, a wrong depth and a name that is taken.
    """
    check_choice(benchmark, runs, depth, name.strip())
    with transaction.atomic():
        build = PoolBuild.objects.create(
            benchmark=benchmark,
            runs=[run.pk for run in runs],
            depth=depth,
            of_aspects=of_aspects,
            name=name.strip()[:120],
            total=Query.objects.in_benchmark(benchmark).count(),
            created_by=actor,
        )
        _note(build, actor, "start pool build")
        if claim:
            build.claim()
        else:
            wake(build)
    return build


def build_pool(
    *,
    benchmark: Benchmark,
    runs: Sequence[RetrievalRun],
    depth: int = 10,
    name: str = "",
    of_aspects: bool = False,
    actor: User | None,
) -> Pool:
    """Build a pool in this process, as `start_build` says; the pool.

    Raises Refused also where the pool would be empty, or somebody stopped it.
    """
    build = start_build(
        benchmark=benchmark,
        runs=runs,
        depth=depth,
        name=name,
        of_aspects=of_aspects,
        actor=actor,
        claim=True,
    )
    run_build(build)
    build.refresh_from_db()
    if build.status != RunStatus.DONE or build.pool is None:
        raise Refused(build.error or f"The build is {build.get_status_display().lower()}.")
    return build.pool


def run_build(build: PoolBuild) -> None:
    """Build the pool of a claimed build and end it, whatever happens.

    A build that was stopped leaves nothing; one whose worker died is begun anew by the next, and
    one whose database went away goes on when its lease is over.
    """
    try:
        _build(build)
    except Stopping:
        logger.info("pool build %s waits for another worker", build.pk)
    except LostLease:
        logger.info("pool build %s was stopped or taken over", build.pk)
        drop_stopped(build)
    except Refused as refusal:
        _fail(build, refusal.message)
    except (OperationalError, InterfaceError) as error:
        logger.warning("pool build %s waits for the database: %s", build.pk, error)
    except Exception:  # the job's outermost frame: logged, and told in the row
        logger.exception("pool build %s, after %s queries", build.pk, build.done)
        _fail(
            build,
            f"The build stopped on an error of ours after {build.done} of {build.total} queries; "
            "see the log.",
        )


def cancel_build(*, run: PoolBuild, actor: User | None) -> None:
    """Stop a build; nothing of it is kept. Raises Refused if it is over already."""
    run.refresh_from_db()
    held = run.lease_until is not None and run.lease_until > timezone.now()
    with transaction.atomic():
        if not run.move(RunStatus.CANCELLED, ended_at=timezone.now(), lease_until=None):
            raise Refused("This build is over already.")
        _note(run, actor, "cancel pool build")
    if not held:
        # A worker that lives sees the cancel at its next write and cleans up by itself.
        drop_stopped(run)


def drop_stopped(build: PoolBuild) -> None:
    """Remove what a cancelled or failed build has left."""
    build.refresh_from_db()
    over = (RunStatus.CANCELLED, RunStatus.FAILED)
    if build.status in over and build.pool_id is not None:
        _drop(build)


def _build(build: PoolBuild) -> None:
    if build.pool_id is not None:
        _drop(build)  # of a worker that died
    for stopped in PoolBuild.objects.filter(benchmark=build.benchmark, pool__is_ready=False):
        drop_stopped(stopped)  # cancelled while its worker lived, which died before it looked
    # The chosen runs in their order. Raises Refused where one is gone.
    found = RetrievalRun.objects.filter(benchmark=build.benchmark).in_bulk(build.runs)
    gone = [pk for pk in build.runs if pk not in found]
    if gone:
        raise Refused(f"Retrieval run {gone[0]} is gone.", field="runs")
    runs = [found[pk] for pk in build.runs]
    with transaction.atomic():
        pool = Pool.everything.create(
            benchmark=build.benchmark,
            name=build.name or f"build {build.pk}",
            corpus_version_id=runs[0].corpus_version_id,
            of_aspects=build.of_aspects,
            is_ready=False,
        )
        build.beat(pool=pool, done=0)

    def beat(done: int, total: int) -> None:
        build.beat(done=done, total=total)

    counts = fill(pool, runs, build.depth, beat)
    with transaction.atomic():
        name = build.name or free_name(pool, len(runs), build.depth)
        publish(pool, counts, build.depth, name, build.created_by)
        build.finish()


def _drop(build: PoolBuild) -> None:
    for pool in Pool.everything.filter(pk__in=[build.pool_id], is_ready=False):
        drop_unready(pool)
    build.pool = None


def _fail(build: PoolBuild, words: str) -> None:
    with suppress(LostLease):
        build.finish(RunStatus.FAILED, error=words)
    drop_stopped(build)


def _note(build: PoolBuild, actor: User | None, verb: str) -> None:
    data = {"runs": build.runs, "depth": build.depth}
    if build.of_aspects:
        data["of_aspects"] = True
    audit.record(actor=actor, verb=verb, target=build, scope=build.benchmark.slug, data=data)
