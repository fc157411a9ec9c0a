"""Loading files into a benchmark: all or nothing by visibility (docs/formats.md).

Everything is written in short transactions where nobody sees it: texts while they are read, into
a corpus version that is not ready, the rest after them; people keep saving meanwhile. One last
transaction shows it all. Whatever stops a load before that leaves nothing: what it wrote is swept
by itself or by the next load.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from corpus.importers.archive import BadArchive
from corpus.importers.formats import RUN_FORMATS, format_named
from corpus.importers.rows import (
    DocumentRow,
    Oddity,
    PassageBatch,
    PassageRow,
    Place,
    Problem,
    Row,
    RunRow,
)
from corpus.imports.context import Broken, Extra, LoadContext, Overtaken, open_context
from corpus.imports.named import Gathered
from corpus.imports.publish import publish
from corpus.imports.rankings import RunLoader
from corpus.imports.sweep import (
    drop_staged,
    drop_unready_domains,
    drop_version,
    owned_by,
    sweep_dead_loads,
)
from corpus.imports.texts import TextLoader
from corpus.imports.uploads import unpacked
from corpus.models import Document, ImportRun, Passage
from kit.bulk import analyze, bulk_loading
from kit.runs import RunStatus

__all__ = ["load", "sweep_dead_loads"]

# How often a load begins anew because another version was published under it.
_TRIES = 5
_BEAT_SECONDS = 0.5
# New rows after which the database should look at its tables anew.
_MANY = 10_000


def load(run: ImportRun, *, extras: Sequence[Extra] = ()) -> None:
    """Carry out a claimed import and end it as done or, with its problems, as failed.

    Raises LostLease if a person cancelled it or another worker took it over. Whatever is raised,
    nothing of the load is visible or kept.
    """
    sweep_dead_loads(run.benchmark, besides=run)
    for _ in range(_TRIES):
        try:
            return _attempt(run, extras)
        except Overtaken:
            continue
    return run.finish(
        status=RunStatus.FAILED,
        error="Other imports kept changing the corpus meanwhile. Nothing was loaded; try again.",
    )


def _attempt(run: ImportRun, extras: Sequence[Extra]) -> None:
    context = open_context(run)
    try:
        with bulk_loading():
            publish(context, *_read_all(context), extras)
    except Broken:
        _forget(context)
        _fail(context)
    except BaseException:  # a killed command too
        _forget(context)
        raise


def _read_all(context: LoadContext) -> tuple[Gathered, TextLoader, RunLoader]:
    """Read every row: texts and rankings are written on the way, the rest is kept."""
    gathered, texts, runs = Gathered(context.tally), TextLoader(context), RunLoader(context)
    run = context.run
    qrels = Path(run.qrels_path) if run.qrels_path else None
    due = 0.0
    try:
        with _readable(context) as path:
            runs.path = path
            for row in _rows(context, path, qrels):
                if isinstance(row, RunRow):
                    runs.add(row)
                else:
                    _take(row, context, gathered, texts)
                if (now := time.monotonic()) >= due:
                    context.hold()
                    due = now + _BEAT_SECONDS
    except OSError as error:
        name = Path(error.filename or run.path).name
        context.tally.fail(Place(name), "The file cannot be read.")
    texts.flush()
    runs.end()
    if context.tally.added >= _MANY:
        # Now, because publishing looks up what gold names while others wait to save.
        analyze(Passage, Document)
    context.hold()
    return gathered, texts, runs


def _rows(context: LoadContext, path: Path, qrels: Path | None) -> Iterator[Row | RunRow]:
    run = context.run
    read = format_named(run.format).read
    if run.format in RUN_FORMATS:
        return read(path, qrels=qrels, meter=context.meter, domain=run.domain)
    return read(path, qrels=qrels, meter=context.meter)


def _take(row: Row, context: LoadContext, gathered: Gathered, texts: TextLoader) -> None:
    if isinstance(row, Problem):
        context.tally.fail(row.place, row.message)
    elif isinstance(row, Oddity):
        context.tally.odd(row.what, row.example)
    else:
        context.touch(row.domain, row.place)
        if isinstance(row, PassageBatch):
            texts.add_batch(row)
        elif isinstance(row, PassageRow):
            texts.add_passage(row)
        elif isinstance(row, DocumentRow):
            texts.add_page(row)
        else:
            gathered.add(row)


@contextmanager
def _readable(context: LoadContext) -> Iterator[Path]:
    """The path to read, unpacked if it is a zip."""
    path = Path(context.run.path)
    if path.suffix.lower() != ".zip" or not path.is_file():
        yield path
        return
    with unpacked(path, owner=f"import-{context.run.pk}") as found:
        if isinstance(found, BadArchive):
            context.tally.fail(Place(path.name), str(found))
            raise Broken
        yield found


def _forget(context: LoadContext) -> None:
    """Remove what this attempt wrote; its version, if it was written, is still its own."""
    if context.run.staged.get("fence") == context.run.fence:
        drop_staged(context.run)
    version = context.version
    if version is not None:
        stored = type(version).objects.filter(pk=version.pk).first()
        if stored is not None and owned_by(stored, context.run):
            drop_version(stored)
    drop_unready_domains(context.benchmark, besides=context.run)


def _fail(context: LoadContext) -> None:
    count = len(context.tally.problems)
    problems = "1 problem" if count == 1 else f"{count} problems"
    context.run.finish(
        status=RunStatus.FAILED,
        version=None,
        problems=context.tally.problem_rows(),
        summary=context.tally.summary(),
        error=f"{problems} found, so nothing was loaded. Mend the file and load it again.",
    )
