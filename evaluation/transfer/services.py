"""Verbs on files of whole benchmarks: write one, and make a benchmark of one."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from corpus.benchmarks.services import join
from corpus.models import Benchmark, Role, VersionState
from corpus.texts.indexing import request_index
from evaluation.transfer import reading, writing
from evaluation.transfer.graph import schema
from evaluation.transfer.models import Transfer, TransferKind
from kit import audit
from kit.backup import archive
from kit.backup.services import snapshot
from kit.errors import Refused
from kit.models import Event, RunGroup
from kit.runs.models import RunStatus, TrackedRun, wake

Say = Callable[[str], object]
_SLUG: Final = re.compile(r"[-a-zA-Z0-9_]{1,60}")


def write_file(
    *,
    benchmark: Benchmark,
    path: Path,
    say: Say = lambda _: None,
    step: Callable[[int, int], object] = lambda *_: None,
) -> dict[str, Any]:
    """Write the whole benchmark into a new file, as of one moment; its manifest.

    People are pseudonyms in it. Raises Refused where something stands there already, and while
    work of the benchmark waits or runs.
    """
    if path.exists():
        raise Refused(f"{path} is there already. Name a new file.")
    _refuse_half_cleaned(benchmark)
    writer = archive.Writer(path)
    try:
        with snapshot() as there:
            lines = writing.Lines(benchmark, there)
            total, done = sum(lines.counts.values()), 0

            def write(name: str, first: int, piece: list[bytes]) -> None:
                nonlocal done
                writer.add_rows(name, first, piece)
                done += len(piece)
                step(done, total)

            listed = writing.listed(lines, write)
        gone = [
            name for name, file in writing.files_of(benchmark) if not writer.add_file(name, file)
        ]
        if gone:
            say(f"{len(gone):,} files of releases or pages are not on disk, and not in it.")
        manifest = {
            "format": archive.FORMAT,
            "kind": archive.BENCHMARK,
            "version": settings.SPECTACULAR_SETTINGS["VERSION"],
            "slug": benchmark.slug,
            "digest": writing.digest_of(listed),
            "tables": listed,
            "schema": schema(),
            "gone": gone,
        }
        writer.close(manifest)
    except BaseException:
        writer.give_up()
        raise
    return manifest


def open_file(path: Path) -> archive.Reader:
    """A file of a benchmark that was read through; raises Refused, naming the place."""
    reader = archive.Reader(path, archive.BENCHMARK)
    try:
        reading.check_layout(reader, schema())
    except (KeyError, TypeError, AttributeError) as error:
        raise Refused(f"{path} is no file of a benchmark: its manifest lacks {error}.") from error
    return reader


def import_file(
    *, path: Path, slug: str = "", admin: User | None = None, say: Say = lambda _: None
) -> Benchmark:
    """Make a benchmark of a file, whole or not at all; `admin` becomes its admin.

    `slug` is by default that of the file. Raises Refused, naming the place, where anything of it
    is not as it was written, and keeps nothing.
    """
    sweep()
    reader = open_file(path)
    slug = slug or str(reader.manifest.get("slug", ""))
    _check_slug(slug)
    say("The file is whole.")
    run = reading.Copy(reader, slug, say).load()
    with transaction.atomic():
        benchmark = run.benchmark
        Benchmark.objects.filter(pk=benchmark.pk).update(archived_at=None)
        benchmark.refresh_from_db()
        data = {"digest": reader.manifest["digest"], "version": reader.manifest["version"]}
        audit.record(
            actor=admin, verb="import benchmark", target=benchmark, scope=slug, data=data
        )
        if admin is not None:
            join(benchmark=benchmark, user=admin, roles=[Role.ADMIN], domains=[], actor=admin)
        for version in benchmark.versions.filter(state=VersionState.READY):
            request_index(version)
        run.finish(digest=reader.manifest["digest"], size=path.stat().st_size)
    return benchmark


def sweep() -> None:
    """Take away what imports left that died."""
    for run in Transfer.objects.due().filter(kind=TransferKind.IMPORT):
        if run.claim():
            reading.forget(run)


def start_export(*, benchmark: Benchmark, actor: User | None) -> Transfer:
    """Have the file written by a worker. Raises Refused while another one is."""
    with transaction.atomic():
        Benchmark.objects.select_for_update(no_key=True).get(pk=benchmark.pk)
        going = benchmark.transfers.filter(
            kind=TransferKind.EXPORT, status__in=(RunStatus.QUEUED, RunStatus.RUNNING)
        )
        if going.exists():
            raise Refused("A file of this benchmark is being written already.")
        run = Transfer.objects.create(
            benchmark=benchmark, kind=TransferKind.EXPORT, created_by=actor
        )
        audit.record(
            actor=actor, verb="export benchmark", target=run, scope=benchmark.slug, data={}
        )
        wake(run)
    return run


def place_of(run: Transfer) -> Path:
    """Where the file of a run lies."""
    folder = settings.ASSAY_DATA / "exports"
    folder.mkdir(mode=0o700, exist_ok=True)
    return Path(folder, f"{run.benchmark.slug}-{run.pk}.zip")


def _check_slug(slug: str) -> None:
    if not _SLUG.fullmatch(slug):
        raise Refused(f"“{slug[:80]}” is no slug: letters, digits and hyphens.")
    if Benchmark.objects.filter(slug=slug).exists():
        raise Refused(f"There is a benchmark {slug} already. Name another one with --slug.")
    if Event.objects.filter(scope=slug).exists():
        raise Refused(
            f"The record holds events of a benchmark {slug} that was deleted. Name another one "
            "with --slug."
        )


def _refuse_half_cleaned(benchmark: Benchmark) -> None:
    """A cleaning by rules keeps its figures with its parts until it is done."""
    for part in writing.parts_of(benchmark):
        if issubclass(part.kind, TrackedRun):
            paused = part.rows.filter(status=RunStatus.PAUSED)
            groups = RunGroup.objects.filter(
                kind=part.kind.task_name, run_id__in=list(paused.values_list("pk", flat=True))
            )
            if groups.exclude(figures={}).exists():
                name = part.kind._meta.verbose_name
                raise Refused(f"A {name} is paused half way. Let it end, or cancel it.")
