"""Loading files into a benchmark: all or nothing by visibility (docs/formats.md).

Everything is written in short transactions where nobody sees it: texts while they are read, into
a corpus version that is not ready, the rest after them; people keep saving meanwhile. One last
transaction shows it all. Whatever stops a load before that leaves nothing: what it wrote is swept
by itself or by the next load.
"""

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from corpus.importers.archive import BadArchive
from corpus.importers.formats import RUN_FORMATS
from corpus.importers.licences import FIELDS
from corpus.importers.rows import (
    DocumentRow,
    LicenceRow,
    Location,
    Oddity,
    PairRow,
    PassageBatch,
    PassageRow,
    Problem,
    Row,
    RunRow,
    WordingRow,
)
from corpus.importers.runs import run_files
from corpus.imports.apart import rows_of, unpacked
from corpus.imports.context import Broken, ConcurrentLoad, Extra, LoadContext, Pace, open_context
from corpus.imports.gold import show_gold, stage_gold
from corpus.imports.named import LoadRows, resolve_passages
from corpus.imports.paging import note_pages
from corpus.imports.queries import show_queries, stage_queries
from corpus.imports.rankings import RunLoader, no_domain
from corpus.imports.sweep import drop_staged, drop_unready_domains, owned_by, sweep_dead_loads
from corpus.imports.texts import TextLoader, fill_passages
from corpus.imports.wordings import show_wordings
from corpus.lists import unused_name
from corpus.models import (
    Benchmark,
    CorpusVersion,
    Document,
    Domain,
    ImportRun,
    Licence,
    Passage,
    Pool,
    PoolEntry,
    VersionState,
)
from corpus.texts.indexing import request_index
from corpus.versions.services import drop_version
from kit import audit, storage
from kit.database.bulk import analyze, bulk_loading
from kit.runs.models import RunStatus

_COLUMNS = ("pool_id", "query_id", "passage_id", "systems")


def stage_pool(context: LoadContext, gathered: LoadRows, pace: Pace) -> Pool | None:
    """Write a pool of the load's pairs unseen, unless one of exactly these pairs is here."""
    rows = [row for row in gathered.pairs.values() if _is_known(context, row)]
    if not rows or context.tally.problems:
        return None
    pairs = sorted((row.domain, row.qid, row.pid) for row in rows)
    digest = hashlib.sha256(json.dumps(pairs).encode()).hexdigest()
    if _like_it(context, digest).exists():
        context.tally.add("pairs", present=len(rows))
        return None
    with pace.writing(context, 0):
        pool = Pool.everything.create(
            benchmark=context.benchmark,
            name="loading",
            provenance={"import": context.run.pk, "format": context.run.format, "digest": digest},
            is_ready=False,
        )
        context.stage("pools", pool.pk)
    values = (
        (pool.pk, context.queries[row.domain, row.qid], context.passages[row.domain, row.pid], "[]")
        for row in rows
    )
    pace.write(context, PoolEntry, _COLUMNS, values)
    context.tally.add("pairs", added=len(rows))
    return pool


def show_pool(context: LoadContext, pool: Pool | None) -> None:
    """Part of publishing; raises Overtaken if another load brought the same pairs."""
    if pool is None:
        return
    if _like_it(context, pool.provenance["digest"]).exists():
        raise ConcurrentLoad
    taken = Pool.objects.filter(benchmark=context.benchmark).values_list("name", flat=True)
    name = unused_name(f"{context.run.label[:100]} pairs", taken)
    Pool.everything.filter(pk=pool.pk).update(name=name, is_ready=True)


def _like_it(context: LoadContext, digest: str) -> QuerySet[Pool]:
    return Pool.objects.filter(benchmark=context.benchmark, provenance__digest=digest)


def _is_known(context: LoadContext, row: PairRow) -> bool:
    query, passage = (row.domain, row.qid), (row.domain, row.pid)
    if query not in context.queries:
        context.tally.fail(row.location, f"There is no query {row.qid} in {row.domain}.")
    elif passage not in context.passages:
        context.tally.fail(row.location, f"There is no passage {row.pid} in {row.domain}.")
    return query in context.queries and passage in context.passages


_ELSEWHERE = "Neither this load nor the benchmark has a domain {!r}."
_CLASH = (
    "The licence of the {} of {} is here already with another {}. "
    "An admin can change it on the page Licences."
)


def show_licences(context: LoadContext, rows: Sequence[LicenceRow]) -> None:
    """Part of publishing. What a row leaves out clashes with nothing."""
    found = Licence.objects.filter(domain__benchmark=context.benchmark)
    here = {(each.domain_id, each.layer): each for each in found}
    for row in rows:
        for name in _domains(context, row):
            key = context.domains[name], row.layer
            if stored := here.get(key):
                _compare(context, row, stored, name)
                continue
            given = {each: getattr(row, each) or "" for each in FIELDS}
            here[key] = Licence.objects.create(
                domain_id=key[0], layer=row.layer, name=row.name, **given
            )
            context.tally.add("licences", added=1)


def _domains(context: LoadContext, row: LicenceRow) -> Iterator[str]:
    """Those that the row is about: the one it names, else all of the load."""
    if not row.domain:
        yield from sorted(context.touched)
    elif row.domain in context.touched or _is_ready(context, row.domain):
        yield row.domain
    else:
        context.tally.fail(row.location.at("domain"), _ELSEWHERE.format(row.domain))


def _is_ready(context: LoadContext, name: str) -> bool:
    return name in context.domains and context.benchmark.domains.ready().filter(name=name).exists()


def _compare(context: LoadContext, row: LicenceRow, stored: Licence, domain: str) -> None:
    pairs = {each: (getattr(row, each), getattr(stored, each)) for each in ("name", *FIELDS)}
    others = [name for name, (given, kept) in pairs.items() if given not in (None, kept)]
    if others:
        message = _CLASH.format(row.layer, domain, ", ".join(others))
        context.tally.fail(row.location, message)
    else:
        context.tally.add("licences", present=1)


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
        except ConcurrentLoad:
            continue
    return run.finish(
        status=RunStatus.FAILED,
        error="Other imports kept changing the corpus meanwhile. Nothing was loaded; try again.",
    )


def _attempt(run: ImportRun, extras: Sequence[Extra]) -> None:
    context = open_context(run)
    try:
        with bulk_loading():
            _publish(context, *_read_all(context), extras)
    except Broken:
        _forget(context)
        count = len(context.tally.problems)
        problems = "1 problem" if count == 1 else f"{count} problems"
        context.run.finish(
            status=RunStatus.FAILED,
            version=None,
            problems=context.tally.problem_rows(),
            summary=context.tally.summary(),
            error=f"{problems} found, so nothing was loaded. Fix the file and load it again.",
        )
    except BaseException:  # a killed command too
        _forget(context)
        raise


def _read_all(context: LoadContext) -> tuple[LoadRows, TextLoader, RunLoader]:
    """Read every row: texts and rankings are written on the way, the rest is kept."""
    gathered, texts, runs = LoadRows(context.tally), TextLoader(context), RunLoader(context)
    run = context.run
    due = 0.0

    def beat() -> None:
        nonlocal due
        if (now := time.monotonic()) >= due:
            context.hold()
            due = now + _BEAT_SECONDS

    try:
        with _readable(context, beat) as (path, qrels):
            runs.path = path
            asked = {"domain": run.domain} if run.format in RUN_FORMATS else {}
            if asked:
                _check_names(context, path)
            with closing(rows_of(context, path, qrels, asked, beat)) as rows:
                for row in rows:
                    if isinstance(row, RunRow):
                        runs.add(row)
                    else:
                        _take(row, context, gathered, texts)
                    beat()
    except OSError as error:
        name = Path(error.filename or run.path).name
        context.tally.fail(Location(name), "The file cannot be read.")
    texts.flush()
    runs.end()
    if context.tally.added >= _MANY:
        # Now, because publishing looks up what gold names while others wait to save.
        analyze(Passage, Document)
    context.hold()
    return gathered, texts, runs


def _check_names(context: LoadContext, path: Path) -> None:
    """Refuse run files of domains that are not here before any of them is read."""
    run = context.run
    for file in run_files(path, run.format, run.domain):
        if file.domain not in context.domains:
            context.tally.fail(Location(file.name), no_domain(context, file.domain))
    _stop_at_problems(context)


def _take(row: Row, context: LoadContext, gathered: LoadRows, texts: TextLoader) -> None:
    if isinstance(row, Problem):
        context.tally.fail(row.location, row.message)
    elif isinstance(row, Oddity):
        context.tally.odd(row.what, row.example)
    elif isinstance(row, LicenceRow | WordingRow):
        gathered.add(row)
    else:
        context.touch(row.domain, row.location)
        if isinstance(row, PassageBatch):
            texts.add_batch(row)
        elif isinstance(row, PassageRow):
            texts.add_passage(row)
        elif isinstance(row, DocumentRow):
            texts.add_page(row)
        else:
            gathered.add(row)


def _publish(
    context: LoadContext,
    gathered: LoadRows,
    texts: TextLoader,
    runs: RunLoader,
    extras: Sequence[Extra],
) -> None:
    """Add everything but texts, make the load visible, record it and end the run.

    Raises Broken (problems in the tally), Overtaken, or LostLease; nothing is visible then, and
    what was staged is the caller's to sweep.
    """
    _stop_at_problems(context)
    gathered.join_subtopics()
    pace = Pace()
    queries = stage_queries(context, gathered, pace)
    resolve_passages(context, gathered, pace)
    gold = stage_gold(context, gathered, pace)
    pool = stage_pool(context, gathered, pace)
    note_pages(context, texts.fills)
    _stop_at_problems(context)
    with transaction.atomic():
        context.hold()
        _lock(context)
        fill_passages(texts.fills)
        show_queries(queries)
        show_gold(context, gold)
        show_pool(context, pool)
        show_licences(context, gathered.licences)
        runs.show()
        show_wordings(context, gathered)
        for extra in extras:
            extra(context, gathered.aspects)
        _stop_at_problems(context)
        _show(context)
        audit.record(
            context.run.created_by,
            "import",
            context.run,
            context.benchmark.slug,
            {
                "format": context.run.format,
                "label": context.run.label,
                **context.tally.counts,
            },
        )
        context.meter.done = context.meter.total
        context.hold()
        summary = context.tally.summary()
        context.run.finish(summary=summary, problems=[], version=context.version, staged={})


def _stop_at_problems(context: LoadContext) -> None:
    if context.tally.problems:
        raise Broken


def _lock(context: LoadContext) -> None:
    """One load publishes at a time, and only onto the version it was compared with."""
    Benchmark.objects.select_for_update().get(pk=context.benchmark.pk)
    if CorpusVersion.objects.loaded(context.benchmark) != context.parent:
        raise ConcurrentLoad


def _show(context: LoadContext) -> None:
    touched = [context.domain(name) for name in context.touched]
    Domain.objects.filter(pk__in=touched, is_ready=False).update(is_ready=True)
    if context.version is not None:
        version = CorpusVersion.objects.filter(pk=context.version.pk, state=VersionState.LOADING)
        version.update(state=VersionState.READY)
        request_index(context.version)


@contextmanager
def _readable(context: LoadContext, beat: Callable[[], None]) -> Iterator[tuple[Path, Path | None]]:
    """The path to read, unpacked if it is a zip, and that of its gold."""
    run = context.run
    gold = storage.local(Path(run.qrels_path)) if run.qrels_path else nullcontext()
    with gold as qrels, storage.local(Path(run.path)) as path:
        if path.suffix.lower() == ".zip" and path.is_file():
            with _unpacked(context, path, beat) as root:
                yield root, qrels
        else:
            yield path, qrels


@contextmanager
def _unpacked(context: LoadContext, path: Path, beat: Callable[[], None]) -> Iterator[Path]:
    target = Path(settings.UPLOADS) / f"import-{context.run.pk}"
    # A load that was killed may have left its files here.
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(mode=0o700, parents=True)
    try:
        yield unpacked(context, path, target, beat)
    except BadArchive as fault:
        context.tally.fail(Location(path.name), str(fault))
        raise Broken from fault
    finally:
        shutil.rmtree(target, ignore_errors=True)


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
