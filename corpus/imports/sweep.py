"""Removing what a load that failed or died has left; none of it was ever visible."""

from collections.abc import Callable
from typing import Any

from django.db import connection, models, transaction
from django.db.models import F
from django.utils import timezone

from corpus.imports.context import CHUNK
from corpus.models import (
    Benchmark,
    CorpusVersion,
    Crosswalk,
    Document,
    Domain,
    GoldVersion,
    ImportRun,
    Judgment,
    Passage,
    Pool,
    PoolEntry,
    Query,
    RankedList,
    RetrievalRun,
    VersionState,
)
from kit.runs.models import RunStatus

# What a load stages, and the rows that belong to it: in an order in which nothing refers to what
# is dropped before.
_STAGED: tuple[tuple[str, type[models.Model], type[models.Model], str], ...] = (
    ("gold", GoldVersion, Judgment, "gold_version"),
    ("pools", Pool, PoolEntry, "pool"),
    ("runs", RetrievalRun, RankedList, "run"),
    ("domains", Domain, Query, "domain"),
)


def sweep_dead_loads(benchmark: Benchmark, *, besides: ImportRun | None = None) -> int:
    """Remove the rows of loads that nobody works on; return how many versions went.

    Safe beside a worker that only seems dead: its fence is raised first, and every transaction
    of a load begins by checking the fence.
    """
    loading = CorpusVersion.objects.filter(benchmark=benchmark, state=VersionState.LOADING)
    dead = [each for each in loading if "import" in each.recipe and _is_dead(each)]
    for run in ImportRun.objects.filter(benchmark=benchmark).exclude(staged={}):
        if _is_over(run, run.staged.get("fence")):
            drop_staged(run)
    for version in dead:
        drop_version(version)
    drop_unready_domains(benchmark, besides=besides)
    return len(dead)


def drop_version(
    version: CorpusVersion, *, before_each: Callable[[], object] = lambda: None
) -> None:
    """Remove a version that was never published, its rows in short transactions.

    `before_each` is called before each of them; what it raises ends the work.
    """
    for rows in (Crosswalk, Passage, Document):
        drop_rows(rows, before_each=before_each, version=version)
    CorpusVersion.objects.filter(pk=version.pk, state=VersionState.LOADING).delete()


def drop_staged(run: ImportRun) -> None:
    """Remove what a load wrote besides texts and never published, in short transactions."""
    for kind, owner, rows, name in _STAGED:
        everything = getattr(owner, "everything", owner._default_manager)
        for pk in run.staged.get(kind, []):
            unseen = everything.filter(pk=pk, is_ready=False)
            if unseen.exists():
                drop_rows(rows, **{name: pk})
                unseen._raw_delete(connection.alias)
    # Unless another claim of the run has begun to stage meanwhile.
    noted = ImportRun.objects.filter(pk=run.pk, staged__fence=run.staged.get("fence"))
    noted.update(staged={})
    run.staged = {}


def drop_unready_domains(benchmark: Benchmark, *, besides: ImportRun | None = None) -> None:
    """Remove empty domains that no load ever finished, unless another load may be using them."""
    running = ImportRun.objects.filter(benchmark=benchmark, status=RunStatus.RUNNING)
    with transaction.atomic():
        if (running.exclude(pk=besides.pk) if besides else running).exists():
            return
        for domain in Domain.objects.filter(benchmark=benchmark, is_ready=False):
            kinds = (domain.queries, domain.passages, domain.documents, domain.gold_versions)
            if not any(rows.exists() for rows in kinds):
                Domain.objects.filter(pk=domain.pk)._raw_delete(connection.alias)


def owned_by(version: CorpusVersion, run: ImportRun) -> bool:
    """Whether this claim of this run made the version (row ids can be used again)."""
    return version.recipe.get("import") == run.pk and version.recipe.get("fence") == run.fence


def _is_dead(version: CorpusVersion) -> bool:
    run = ImportRun.objects.filter(pk=version.recipe["import"]).first()
    return run is None or _is_over(run, version.recipe.get("fence"))


def _is_over(run: ImportRun, fence: object) -> bool:
    """Whether nobody works on what this claim of the run began."""
    if run.status != RunStatus.RUNNING or run.fence != fence:
        return True
    expired = ImportRun.objects.filter(
        pk=run.pk, fence=run.fence, status=RunStatus.RUNNING, lease_until__lt=timezone.now()
    )
    # Back to the queue, for whoever looks next; its worker, if alive after all, has lost it.
    return bool(expired.update(status=RunStatus.QUEUED, fence=F("fence") + 1, lease_until=None))


def drop_rows(
    model: type[models.Model], *, before_each: Callable[[], object] = lambda: None, **owner: Any
) -> None:
    """Remove rows that were never published, in short transactions."""
    everything = getattr(model, "everything", model._default_manager)
    rows = everything.filter(**owner)
    while True:
        before_each()
        with transaction.atomic():
            keys = list(rows.order_by("pk").values_list("pk", flat=True)[:CHUNK])
            if not keys:
                return
            # Nothing refers to rows that were never published, so nothing needs collecting.
            everything.filter(pk__in=keys)._raw_delete(connection.alias)
