"""What people send is read in a process of its own, with bounds on its time and memory."""

from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NoReturn

from django.conf import settings

from corpus.importers.apart import KINDS
from corpus.importers.archive import BadArchive, unpack
from corpus.importers.formats import format_named
from corpus.importers.rows import Location
from corpus.imports.context import Broken, LoadContext
from kit import bounded

_MEMORY: Final = 4 * 1024**3
# Seconds of processor time for each megabyte as it lies on the disk, which may unpack to many.
_SECONDS: Final = 10


def unpacked(context: LoadContext, archive: Path, target: Path, beat: Callable[[], None]) -> Path:
    """`unpack` of an import's archive; raises BadArchive, and Broken out of its bounds."""
    most = settings.ASSAY_IMPORT_LIMIT
    if not context.run.size:
        return unpack(archive, target, most_bytes=most)
    try:
        found = bounded.call(
            "corpus.importers.apart:unpack_here",
            b"",
            bounds=_bounds(context),
            watch=beat,
            archive=str(archive),
            target=str(target),
            most_bytes=most,
        )
    except bounded.OutOfBounds as error:
        _refuse(context, archive, error)
    if "fault" in found:
        raise BadArchive(found["fault"])
    return Path(found["path"])


def rows_of(
    context: LoadContext,
    path: Path,
    qrels: Path | None,
    asked: dict[str, str],
    beat: Callable[[], None],
) -> Generator[Any, None, None]:
    """What the reader of the import's format yields of this path; `asked` is what else it takes.

    Read here where the file was named on this machine's command line (nothing of it counts as
    sent), at the speed of `load_benchmark`. Raises Broken out of its bounds.
    """
    run, meter = context.run, context.meter
    if not run.size:
        yield from format_named(run.format).read(path, qrels=qrels, meter=meter, **asked)
        return
    groups = bounded.stream(
        "corpus.importers.apart:read_here",
        kinds=KINDS,
        bounds=_bounds(context),
        watch=beat,
        format=run.format,
        path=str(path),
        qrels=str(qrels or ""),
        limit=meter.limit,
        names=meter.names,
        asked=asked,
    )
    try:
        with closing(groups):
            for meter.done, meter.total, rows in groups:
                yield from rows
    except bounded.OutOfBounds as error:
        _refuse(context, path, error)


def _bounds(context: LoadContext) -> bounded.Bounds:
    seconds = settings.ASSAY_READ_SECONDS + _SECONDS * context.run.size // 2**20
    return bounded.Bounds(seconds=seconds, memory=_MEMORY, output=settings.ASSAY_IMPORT_LIMIT)


def _refuse(context: LoadContext, path: Path, error: bounded.OutOfBounds) -> NoReturn:
    message = f"Reading this takes more {error} than one import may. Load it by command instead."
    context.tally.fail(Location(path.name), message)
    raise Broken from error
