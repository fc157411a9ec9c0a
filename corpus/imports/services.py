"""Starting and stopping imports, from uploads and from the folder on this machine.

What may be read of that folder is decided by where a path really lies: a link that leads out of it
is as good as absent.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.utils import timezone

from corpus.benchmarks.services import change_person, create_benchmark
from corpus.importers.fields import DOMAIN_LIMIT
from corpus.importers.files import MAX_ENTRIES
from corpus.importers.formats import RUN_FORMATS, all_formats
from corpus.importers.reading import BadNames, names_of
from corpus.importers.run_names import EXAMPLE, BadPattern, is_pattern, pattern
from corpus.imports.context import NAMES
from corpus.imports.sweep import sweep_dead_loads
from corpus.imports.uploads import forget_upload, keep_upload, new_folder
from corpus.models import Benchmark, CorpusVersion, ImportRun, Membership, Role
from corpus.quotas.services import check_room
from kit import audit, storage
from kit.errors import Refused
from kit.runs.models import RunStatus, wake

# Names that are listed; what is deeper or beyond is reached by the API, by its path.
MAX_NAMES = 1000


def is_set() -> bool:
    """Whether this installation has an import folder."""
    return bool(settings.ASSAY_IMPORT_FOLDER)


def entries() -> list[dict[str, Any]]:
    """What lies directly in the import folder, by name; nothing hidden, no link that leads out."""
    root = _root()
    if root is None:
        return []
    with os.scandir(root) as found:
        visible = [Path(each.path) for each in found if not each.name.startswith(".")]
    inside = [each for each in sorted(visible) if _is_inside(each, root)]
    return [{"name": each.name, "is_folder": each.is_dir()} for each in inside[:MAX_NAMES]]


def find(name: str) -> Path:
    """The file or folder of this name, or of this path below the folder.

    Raises Refused unless it is there and it and everything in it lies in the import folder.
    """
    root = _root()
    if root is None:
        raise Refused("This installation has no import folder.", field="stored")
    path = root / name
    parts = Path(name).parts
    is_plain = bool(parts) and not any(each.startswith(".") or "\x00" in each for each in parts)
    if not is_plain or not _is_inside(path, root) or not path.exists():
        raise Refused(f"There is no {name[:80]!r} in the import folder.", field="stored")
    if not all(_is_inside(each, root) for each in _links(path)):
        message = f"{name[:80]!r} holds a link that leads out of the import folder."
        raise Refused(message, field="stored")
    return path


def _root() -> Path | None:
    folder = Path(settings.ASSAY_IMPORT_FOLDER) if is_set() else None
    return folder.resolve() if folder is not None and folder.is_dir() else None


def _is_inside(path: Path, root: Path) -> bool:
    try:
        return path.resolve().is_relative_to(root)
    except (OSError, RuntimeError, ValueError):  # a loop of links, a name that cannot be one
        return False


def _links(path: Path) -> Iterator[Path]:
    """Links in a folder, however deep; raises Refused for more than anybody should look through."""
    seen = 0
    for parent, folders, files in os.walk(path):
        seen += len(folders) + len(files)
        if seen > MAX_ENTRIES:
            raise Refused(f"The folder holds more than {MAX_ENTRIES:,} files.", field="stored")
        yield from (
            each for name in (*folders, *files) if (each := Path(parent, name)).is_symlink()
        )


def start_import(
    *,
    benchmark: Benchmark,
    actor: User,
    format: str,
    upload: UploadedFile | None = None,
    stored: str = "",
    qrels: UploadedFile | None = None,
    label: str = "",
    domain: str = "",
    version: CorpusVersion | None = None,
    names: Sequence[str] = (),
) -> ImportRun:
    """Queue the import of an uploaded file, or of what lies in the import folder as `stored`.

    `names` are fields that the files' records call otherwise, each as `ours=theirs`. Raises Refused
    if a name is none, or the file is too large or unknown, or leads out of the folder.
    """
    check_import(format=format, domain=domain, version=version)
    try:
        renamed = names_of(names)
    except BadNames as fault:
        raise Refused(str(fault), field="names") from None
    path = find(stored) if upload is None else None
    size = sum(each.size or 0 for each in (upload, qrels) if each) + _size(path)
    check_room(benchmark, size)  # before it is copied; and again with the row
    with _kept() as folder:
        if upload is not None:
            path = keep_upload(folder, upload, field="upload")
        assert path is not None
        gold = None
        if qrels is not None:
            aside = folder / "gold"
            aside.mkdir()
            gold = keep_upload(aside, qrels, field="qrels")
        for each in (path, gold):
            if each is not None and folder in each.parents:
                storage.put(each, each)
        return queue_import(
            benchmark=benchmark,
            actor=actor,
            format=format,
            path=path,
            qrels=gold,
            label=label or stored or (upload.name if upload and upload.name else path.name),
            domain=domain,
            version=version,
            size=size,
            names=renamed,
        )


def _size(path: Path | None) -> int:
    """Bytes of what lies in the import folder, with everything in it."""
    if path is None:
        return 0
    files = [path] if path.is_file() else path.rglob("*")
    return sum(each.stat().st_size for each in files if each.is_file())


def queue_import(
    *,
    benchmark: Benchmark,
    actor: User | None,
    format: str,
    path: Path,
    qrels: Path | None = None,
    label: str = "",
    domain: str = "",
    version: CorpusVersion | None = None,
    names: Mapping[str, str] | None = None,
    size: int = 0,
    claim: bool = False,
) -> ImportRun:
    """Record an import of files on this machine for a worker, or claimed for this process.

    `domain` is what a retrieval run is of where its files' names do not say, or a pattern of their
    paths (corpus/importers/run_names.py); `version` the corpus version whose ids it names, by
    default the current one; `names` are ours for fields that the files' records call otherwise.
    `size`: bytes that count against the benchmark's quota; Refused where there is no room for them.
    """
    check_import(format=format, domain=domain, version=version)
    if format in RUN_FORMATS:
        version = version or CorpusVersion.objects.current(benchmark)
    with transaction.atomic():
        check_room(benchmark, size, is_taking=True)
        run = ImportRun.objects.create(
            benchmark=benchmark,
            size=size,
            total=-(-size // 1024),  # as it counts them, so that it is weighed before it begins
            created_by=actor,
            corpus_version_id=version.key if version else None,
            format=format,
            path=str(path.absolute()),
            qrels_path=str(qrels.absolute()) if qrels else "",
            label=(label or path.name)[:255],
            domain=domain,
            version=version,
            summary={NAMES: dict(names)} if names else {},
        )
        _note(run, actor, "start import")
        if claim:
            # Before anybody else can see it: a worker must not take it as well.
            run.claim()
        else:
            wake(run)
    return run


def cancel_import(*, run: ImportRun, actor: User | None) -> None:
    """Stop an import; nothing of it is kept. Raises Refused if it is over already."""
    run.refresh_from_db()
    held = run.lease_until is not None and run.lease_until > timezone.now()
    with transaction.atomic():
        if not run.move(RunStatus.CANCELLED, ended_at=timezone.now(), lease_until=None):
            raise Refused("This import is over already.")
        _note(run, actor, "cancel import")
    forget_upload(run)
    if not held:
        # A worker that lives sees the cancel at its next write and sweeps by itself.
        sweep_dead_loads(run.benchmark)


def benchmark_for(*, slug: str, name: str = "", create_by: User | None = None) -> Benchmark:
    """The benchmark of this slug, made if it is missing; `create_by` is its admin afterwards."""
    benchmark = Benchmark.objects.filter(slug=slug).first()
    if benchmark is None:
        return create_benchmark(name=name or slug, slug=slug, actor=create_by)
    if create_by is not None:
        with transaction.atomic():
            member, _ = Membership.objects.get_or_create(benchmark=benchmark, user=create_by)
            if Role.ADMIN not in member.roles:
                roles, domains = [*member.roles, Role.ADMIN.value], list(member.domains.all())
                change_person(membership=member, roles=roles, domains=domains, actor=None)
    return benchmark


def drop_empty_benchmark(benchmark: Benchmark) -> None:
    """Remove a benchmark that a failed load made; does nothing if it holds anything."""
    with transaction.atomic():
        kinds = (
            benchmark.domains,
            benchmark.versions,
            benchmark.pools,
            benchmark.retrieval_runs,
        )
        if not any(rows.exists() for rows in kinds):
            Membership.objects.filter(benchmark=benchmark).delete()
            benchmark.delete()


@contextmanager
def _kept() -> Iterator[Path]:
    """A folder for uploaded files, gone again unless the import could be queued."""
    folder = new_folder()
    try:
        yield folder
    except BaseException:
        storage.drop(folder)
        raise
    if not any(folder.iterdir()):
        folder.rmdir()


def check_import(*, format: str, domain: str = "", version: CorpusVersion | None = None) -> None:
    """Raises Refused for a format that is none, or a domain or version where none is asked."""
    if format not in all_formats():
        known = ", ".join(sorted(all_formats()))
        raise Refused(f"There is no format {format[:40]!r}. Known: {known}.", field="format")
    if domain and format not in RUN_FORMATS:
        message = "Only runs are told their domain; other files name it themselves."
        raise Refused(message, field="domain")
    if version is not None and format not in RUN_FORMATS:
        message = "Only runs are of a corpus version that was made here; texts make their own."
        raise Refused(message, field="version")
    if is_pattern(domain) and "{domain}" not in domain:
        raise Refused(f"A pattern of paths names the domain, as in {EXAMPLE}.", field="domain")
    try:
        _ = is_pattern(domain) and pattern(domain)
    except BadPattern as fault:
        raise Refused(str(fault), field="domain") from None
    if len(domain) > DOMAIN_LIMIT:
        raise Refused(f"A domain's name has at most {DOMAIN_LIMIT} characters.", field="domain")


def _note(run: ImportRun, actor: User | None, verb: str) -> None:
    data = {"format": run.format, "label": run.label}
    audit.record(actor=actor, verb=verb, target=run, scope=run.benchmark.slug, data=data)
