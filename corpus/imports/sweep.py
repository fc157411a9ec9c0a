"""Removing what a load that failed or died has left; none of it was ever visible."""

from django.db import connection, models, transaction
from django.db.models import F
from django.utils import timezone

from corpus.models import (
    Benchmark,
    CorpusVersion,
    Domain,
    GoldVersion,
    ImportRun,
    Judgment,
    Pool,
    PoolEntry,
    Query,
    RankedList,
    RetrievalRun,
    VersionState,
)
from corpus.versions.services import drop_rows, drop_version
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

    Safe with a worker that only seems dead: its fence is raised first, and every transaction
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
