"""Archiving a benchmark, which keeps all and lets nobody write, and deleting an archived one.

Events are kept, under the slug of the benchmark, and so are calls to models with what they cost.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, models, transaction
from django.dispatch import Signal
from django.utils import timezone

from corpus.benchmarks.models import Benchmark
from kit import audit
from kit.backup.services import back_up
from kit.errors import Refused
from kit.health.logs import request_now, run_now
from kit.models import Quota, RunGroup
from kit.runs.models import RunStatus, TrackedRun

ARCHIVE, UNARCHIVE, DELETE = "archive benchmark", "unarchive benchmark", "delete benchmark"
# Sent with `benchmark` in the transaction that deletes it, while its rows are there: rooms take
# away what no foreign key leads to, files once it is committed.
deleting = Signal()
# Of an archived benchmark. Whoever is erased leaves those too.
_ALLOWED: Final = frozenset({ARCHIVE, UNARCHIVE, DELETE, "remove person"})
_LOOKS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


def refuse_archived(benchmark: Benchmark) -> None:
    """Raise Refused where the benchmark is archived."""
    if benchmark.archived_at is not None:
        raise Refused(
            f"“{benchmark.name}” is archived: it can be read, not changed. "
            "Its admins unarchive it under Manage, Archive."
        )


def refuse_event(scope: str, verb: str) -> None:
    """Refuse what writes into an archived benchmark from the terminal, or by looking at a page.

    Other requests were refused where they entered (corpus.access), and no run is at work there.
    """
    request = request_now.get()
    if not scope or verb in _ALLOWED or run_now.get():
        return
    if request is None or request.method in _LOOKS:
        for benchmark in Benchmark.objects.filter(slug=scope).exclude(archived_at=None):
            refuse_archived(benchmark)


def archive(*, benchmark: Benchmark, actor: User | None) -> None:
    """Let the benchmark be read only, out of lists and queues, until `unarchive`.

    Raises Refused while work of it waits or runs.
    """
    with transaction.atomic():
        held = _hold(benchmark)
        if held.archived_at is not None:
            raise Refused("This benchmark is archived already.")
        _refuse_work(held)
        _set(held, timezone.now(), actor, ARCHIVE)
    benchmark.archived_at = held.archived_at


def unarchive(*, benchmark: Benchmark, actor: User | None) -> None:
    """Let people and machines work in it again."""
    with transaction.atomic():
        held = _hold(benchmark)
        if held.archived_at is None:
            raise Refused("This benchmark is not archived.")
        _set(held, None, actor, UNARCHIVE)
    benchmark.archived_at = None


def delete(
    *,
    benchmark: Benchmark,
    typed: str,
    actor: User | None,
    say: Callable[[str], object] = lambda _: None,
) -> Path:
    """Make a backup of the installation, then delete the benchmark for good; where the backup is.

    `typed` is its slug. Raises Refused for another word, for who is no superuser (`actor` None is
    the terminal), and unless the benchmark is archived and no work of it waits or runs. A backup
    that was made stays also where the benchmark then cannot be deleted.
    """
    if actor is not None and not actor.is_superuser:
        raise Refused("Only a superuser deletes a benchmark.")
    _refuse_delete(benchmark, typed)
    folder = settings.ASSAY_DATA / "backups"
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / f"before-deleting-{benchmark.slug}-{timezone.now():%Y%m%d-%H%M%S-%f}.zip"
    back_up(path, say=say)
    with transaction.atomic():
        held = _hold(benchmark)
        _refuse_delete(held, typed)
        deleting.send(sender=None, benchmark=held)
        data = {"name": held.name, "backup": path.name}
        audit.record(actor=actor, verb=DELETE, target=held, scope=held.slug, data=data)
        delete_rows(held)
        if connection.vendor == "sqlite":  # PostgreSQL looks by itself as it commits
            connection.check_constraints()
    return path


def rows_of(benchmark: Benchmark) -> Iterator[models.QuerySet[Any]]:
    """Every row that belongs to the benchmark, a kind at a time, what others stand on last.

    A kind belongs to it where foreign keys that are never null lead there.
    """
    paths: dict[type[models.Model], str] = {Benchmark: ""}
    nearest = dict(paths)
    while nearest:
        found: dict[type[models.Model], str] = {}
        for kind in apps.get_models(include_auto_created=True):
            for field in kind._meta.concrete_fields if kind not in paths else ():
                if field.related_model in nearest and not field.null:
                    rest = nearest[field.related_model]
                    found[kind] = f"{field.name}__{rest}" if rest else field.name
                    break
        paths |= found
        nearest = found
    for kind, path in reversed(paths.items()):
        yield kind._base_manager.filter(**{path or "pk": benchmark.pk})


def _hold(benchmark: Benchmark) -> Benchmark:
    found = Benchmark.objects.select_for_update().filter(pk=benchmark.pk).first()
    if found is None:
        raise Refused("This benchmark was deleted already.")
    return found


def _set(held: Benchmark, moment: Any, actor: User | None, verb: str) -> None:
    held.archived_at = moment
    held.save(update_fields=["archived_at"])
    audit.record(actor=actor, verb=verb, target=held, scope=held.slug)


def _refuse_delete(benchmark: Benchmark, typed: str) -> None:
    if typed != benchmark.slug:
        raise Refused(f"Type {benchmark.slug} to delete this benchmark.", field="typed")
    if benchmark.archived_at is None:
        raise Refused("Archive the benchmark first: only an archived one is deleted.")
    _refuse_work(benchmark)


def _refuse_work(benchmark: Benchmark) -> None:
    busy: dict[str, int] = {}
    for rows in rows_of(benchmark):
        if issubclass(rows.model, TrackedRun):
            count = rows.filter(status__in=(RunStatus.QUEUED, RunStatus.RUNNING)).count()
            busy |= {str(rows.model._meta.verbose_name): count} if count else {}
    if busy:
        listed = ", ".join(f"{count} × {name}" for name, count in sorted(busy.items()))
        raise Refused(f"Work waits or runs here ({listed}). Pause or cancel it, or let it end.")


def delete_rows(benchmark: Benchmark) -> None:
    """Every row of it, in the caller's transaction.

    A row of another benchmark that leads here stops it: databases look at foreign keys as it is
    committed.
    """
    Quota.objects.filter(scope=benchmark.slug).delete()
    for rows in rows_of(benchmark):
        if issubclass(rows.model, TrackedRun):
            keys = list(rows.values_list("pk", flat=True))
            groups = RunGroup.objects.filter(kind=rows.model.task_name, run_id__in=keys)
            groups.delete()
        rows._raw_delete(connection.alias)  # type: ignore[attr-defined]
