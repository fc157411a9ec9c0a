"""Verbs on files of whole benchmarks: write one, and make a benchmark of one."""

import re
import secrets
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.models import User
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction

from corpus.benchmarks.archive import refuse_archived
from corpus.benchmarks.services import join
from corpus.imports.uploads import keep_upload, new_folder
from corpus.models import Benchmark, Passage, Role, VersionState
from corpus.quotas.services import check_room
from corpus.texts.indexing import request_index
from evaluation.background import failures_in_row
from evaluation.transfer import checking, reading, writing
from evaluation.transfer.graph import parts_of, schema
from evaluation.transfer.merging.run import Merge
from evaluation.transfer.models import Transfer, TransferKind
from kit import audit, storage
from kit.backup import archive
from kit.backup.services import snapshot
from kit.errors import Refused
from kit.models import Event, RunGroup
from kit.runs.heartbeat import Heartbeat
from kit.runs.models import RunStatus, TrackedRun, wake
from kit.runs.moves import cancel_run

Say = Callable[[str], object]
Step = Callable[[int, int], object]
_SLUG: Final = re.compile(r"[-a-zA-Z0-9_]{1,60}")


def write_file(
    *,
    benchmark: Benchmark,
    path: Path,
    say: Say = lambda _: None,
    step: Step = lambda *_: None,
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
        manifest = _manifest(benchmark, listed) | {"gone": gone}
        writer.close(manifest)
    except BaseException:
        writer.give_up()
        raise
    return manifest


def _manifest(benchmark: Benchmark, listed: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "format": archive.FORMAT,
        "kind": archive.BENCHMARK,
        "version": settings.SPECTACULAR_SETTINGS["VERSION"],
        "slug": benchmark.slug,
        "digest": writing.digest_of(listed),
        "tables": listed,
        "schema": schema(),
    }


def open_file(path: Path) -> archive.Reader:
    """A file of a benchmark that was read through; raises Refused, naming the place."""
    reader = archive.Reader(path, archive.BENCHMARK)
    try:
        checking.check_layout(reader, schema())
    except (KeyError, TypeError, AttributeError) as error:
        raise Refused(f"{path} is no file of a benchmark: its manifest lacks {error}.") from error
    return reader


def import_file(
    *,
    path: Path,
    slug: str = "",
    admin: User | None = None,
    say: Say = lambda _: None,
    step: Step = lambda *_: None,
    of: Transfer | None = None,
) -> Benchmark:
    """Make a benchmark of a file, whole or not at all; `admin` becomes its admin.

    `slug` is by default that of the file; the run `of` which it is part ends with it. Raises
    Refused, naming the place, where anything of it is not as it was written, and keeps nothing.
    """
    sweep()
    reader = open_file(path)
    slug = slug or str(reader.manifest.get("slug", ""))
    _check_slug(slug)
    say("The file is whole.")
    run = reading.Copy(reader, slug, say, step=step, of=of.pk if of else 0).load()
    digest, size = reader.manifest["digest"], path.stat().st_size
    try:
        with transaction.atomic():
            benchmark = run.benchmark
            Benchmark.objects.filter(pk=benchmark.pk).update(archived_at=None)
            benchmark.refresh_from_db()
            data = {"digest": digest, "version": reader.manifest["version"]}
            event: dict[str, Any] = {"target": benchmark, "scope": slug, "data": data}
            audit.record(actor=admin, verb="import benchmark", **event)
            if admin is not None:
                join(benchmark=benchmark, user=admin, roles=[Role.ADMIN], domains=[], actor=admin)
            for version in benchmark.versions.filter(state=VersionState.READY):
                request_index(version)
            run.finish(digest=digest, size=size)
            if of is not None:
                of.finish(digest=digest, report={"benchmark": slug})
    except BaseException:
        reading.forget(run)
        raise
    return benchmark


def merge_file(
    *,
    benchmark: Benchmark,
    path: Path,
    actor: User | None,
    is_trial: bool = False,
    step: Step = lambda *_: None,
    say: Say = lambda _: None,
) -> dict[str, Any]:
    """Add what was said of the benchmark at another installation; what came of it (Merge.report).

    With `is_trial` nothing is changed. One that was stopped is begun again: what is there is
    passed over. Raises Refused for a file that is not as it was written.
    """
    refuse_archived(benchmark)
    sweep()
    reader = open_file(path)
    say("The file is whole.")
    copy = reading.Copy(reader, f"merging-{secrets.token_hex(8)}").load()
    try:
        digest = reader.manifest["digest"]
        with Heartbeat(copy):
            merge = Merge(benchmark, copy.benchmark, digest=digest, actor=actor, is_trial=is_trial)
            report = merge.run(step)
    finally:
        reading.forget(copy)
    if not is_trial:
        with transaction.atomic():
            told = {name: report[name] for name in ("added", "left_out_count", "conflict_count")}
            data = {"digest": digest, **told}
            audit.record(
                actor=actor, verb="merge file", target=benchmark, scope=benchmark.slug, data=data
            )
    return report


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
        # Until its rows are counted: so it is weighed before it begins.
        passages = Passage.objects.filter(version__benchmark=benchmark).count()
        run = Transfer.objects.create(
            benchmark=benchmark, kind=TransferKind.EXPORT, created_by=actor, total=passages
        )
        audit.record(
            actor=actor, verb="export benchmark", target=run, scope=benchmark.slug, data={}
        )
        wake(run)
    return run


def start_merge(*, benchmark: Benchmark, upload: UploadedFile, actor: User | None) -> Transfer:
    """Keep an uploaded file and have a worker say what merging it would do. Raises Refused where
    it is too large, or the benchmark has no room for it."""
    return _take_in(benchmark, upload, actor, TransferKind.MERGE, "look at file to merge")


def start_import(
    *, benchmark: Benchmark, upload: UploadedFile, actor: User | None, slug: str = ""
) -> Transfer:
    """Keep an uploaded file and have a worker make a new benchmark of it, whose admin is `actor`.

    `slug` is by default that of the file. While it waits it counts for `benchmark`, on whose page
    it was sent and which is not changed. Raises Refused as `start_merge`, and for a slug that is
    none or taken; who may create benchmarks is asked by the caller.
    """
    if slug:
        _check_slug(slug)
    return _take_in(benchmark, upload, actor, TransferKind.CREATE, "import file", slug=slug)


def _take_in(
    benchmark: Benchmark,
    upload: UploadedFile,
    actor: User | None,
    kind: str,
    verb: str,
    **made: str,
) -> Transfer:
    size = upload.size or 0
    check_room(benchmark, size)
    folder = new_folder()
    try:
        # Before the transaction: nobody waits with a write until a large file is copied.
        kept = keep_upload(folder, upload, field="upload")
        with transaction.atomic():
            run = Transfer.objects.create(
                benchmark=benchmark,
                kind=kind,
                created_by=actor,
                size=size,
                made=made,
                total=-(-size // 1024),
            )
            storage.put(kept, place_of(run))
            audit.record(actor=actor, verb=verb, target=run, scope=benchmark.slug, data=made)
            wake(run)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return run


def apply_merge(*, run: Transfer, actor: User | None) -> None:
    """Merge the file that was looked at. Raises Refused where that is not over, or was done."""
    with transaction.atomic():
        held = Transfer.objects.select_for_update().get(pk=run.pk)
        is_looked_at = held.kind == TransferKind.MERGE and "apply" not in held.made
        if not is_looked_at or not held.move(
            RunStatus.QUEUED,
            sources=[RunStatus.DONE],
            made={"apply": actor.pk if actor else None},
            done=0,
        ):
            raise Refused("This file is being looked at, or was merged already.")
        audit.record(actor=actor, verb="merge", target=held, scope=held.benchmark.slug, data={})
        wake(held)
    run.refresh_from_db()


def cancel_transfer(*, run: Transfer, actor: User | None) -> None:
    """Stop for good; what a merge has added so far stays, and its file is gone."""
    cancel_run(run=run, actor=actor)
    storage.drop(place_of(run))


def carry_out(run: Transfer) -> None:
    """Do what a claimed run is for, and turn whatever goes wrong into its state."""
    if run.kind == TransferKind.IMPORT:  # of a process that died
        reading.forget(run)
        return
    path, total = place_of(run), 0
    with failures_in_row(run, broken="This ended because of a fault in the program."):
        with Heartbeat(run) as heartbeat:

            def step(done: int, of: int) -> None:
                nonlocal total
                total = of
                heartbeat.step(done, of)

            made = _KINDS[TransferKind(run.kind)](run, path, step)
        if not run.is_over:
            run.finish(**made, done=total, total=total)
    waits = run.kind == TransferKind.MERGE and run.status == RunStatus.DONE
    is_kept = run.kind == TransferKind.EXPORT or (waits and "apply" not in run.made)
    if run.is_over and not is_kept:  # nobody reads it again
        storage.drop(path)


def _write(run: Transfer, path: Path, step: Step) -> dict[str, Any]:
    path.unlink(missing_ok=True)  # of a claim that died
    manifest = write_file(benchmark=run.benchmark, path=path, step=step)
    size = path.stat().st_size
    storage.put(path, path)
    return {"digest": manifest["digest"], "size": size}


def _merge(run: Transfer, path: Path, step: Step) -> dict[str, Any]:
    actor = User.objects.filter(pk=run.made.get("apply") or 0).first()
    is_trial = "apply" not in run.made
    with storage.local(path) as here:
        report = merge_file(
            benchmark=run.benchmark, path=here, actor=actor, is_trial=is_trial, step=step
        )
    return {"report": report, "digest": report["digest"]}


def _create(run: Transfer, path: Path, step: Step) -> dict[str, Any]:
    for half in Transfer.objects.filter(kind=TransferKind.IMPORT, made__of=run.pk):
        reading.forget(half)  # of a claim that died
    with storage.local(path) as here:
        import_file(path=here, slug=run.made["slug"], admin=run.created_by, step=step, of=run)
    return {}


_KINDS: Final = {
    TransferKind.EXPORT: _write,
    TransferKind.MERGE: _merge,
    TransferKind.CREATE: _create,
}


def place_of(run: Transfer) -> Path:
    """Where the file of a run lies."""
    folder = settings.ASSAY_DATA / "transfers"
    folder.mkdir(mode=0o700, exist_ok=True)
    return Path(folder, f"{run.benchmark.slug}-{run.pk}.zip")


def forget_files(benchmark: Benchmark) -> None:
    """Delete the files of a benchmark that is being deleted, once it is."""
    for run in benchmark.transfers.all():
        transaction.on_commit(partial(storage.drop, place_of(run)))


def _check_slug(slug: str) -> None:
    if not _SLUG.fullmatch(slug):
        raise Refused(f"“{slug[:80]}” is no slug: letters, digits and hyphens.", field="slug")
    why = ""
    if Benchmark.objects.filter(slug=slug).exists():
        why = f"There is a benchmark {slug} already."
    elif Event.objects.of(slug).exists():
        why = f"The record holds events of a benchmark {slug} that was deleted."
    if why:
        raise Refused(f"{why} Name another one (--slug).", field="slug")


def _refuse_half_cleaned(benchmark: Benchmark) -> None:
    """A cleaning by rules keeps its figures with its parts until it is done."""
    for part in parts_of(benchmark):
        if issubclass(part.kind, TrackedRun):
            paused = part.rows.filter(status=RunStatus.PAUSED)
            groups = RunGroup.objects.filter(
                kind=part.kind.task_name, run_id__in=list(paused.values_list("pk", flat=True))
            )
            if groups.exclude(figures={}).exists():
                name = part.kind._meta.verbose_name
                raise Refused(f"A {name} is paused half way. Let it end, or cancel it.")
