"""What one load knows while it runs, and what its steps share: what it counted, found odd and
found wrong, whose rows are here, and how much one short transaction of it writes.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol, TypeVar

from django.conf import settings
from django.db import models, transaction
from django.db.models import QuerySet

from corpus.importers.fields import DOMAIN_LIMIT, text_fault
from corpus.importers.files import Meter
from corpus.importers.formats import format_named
from corpus.importers.rows import AspectRow, Key, Location, Problem
from corpus.models import Benchmark, CorpusVersion, Domain, ImportRun
from corpus.texts.models import GIVEN, LOADED, NUMBERED
from kit.database.bulk import commit_without_waiting, copy_rows, one_writer_at_a_time

KINDS = (
    "queries",
    "passages",
    "documents",
    "judgments",
    "aspects",
    "pairs",
    "rankings",
    "wordings",
    "licences",
)
# In a summary: how the files' fields are called here.
NAMES = "names"
MAX_PROBLEMS = 100
EXAMPLES = 5


class Broken(Exception):
    """The files have problems; nothing of them may be kept."""


class Tally:
    """Counts by kind, oddities with examples, and problems up to MAX_PROBLEMS.

    `names`, of fields that the files call otherwise, are told with them.
    """

    def __init__(self, names: Mapping[str, str] | None = None) -> None:
        self.names = names or {}
        self.counts: dict[str, dict[str, int]] = {
            kind: {"added": 0, "present": 0} for kind in KINDS
        }
        for kind in ("queries", "passages"):
            self.counts[kind]["filled"] = 0
        self.gold: list[dict[str, Any]] = []
        self.runs: list[dict[str, Any]] = []
        self.problems: list[Problem] = []
        # What was odd: how often, and its first examples.
        self._odd: dict[str, tuple[int, list[str]]] = {}

    def add(self, kind: str, **counts: int) -> None:
        """Count rows of a kind as added, present or filled."""
        for name, count in counts.items():
            self.counts[kind][name] += count

    @property
    def added(self) -> int:
        """New rows of every kind."""
        return sum(each["added"] for each in self.counts.values())

    def odd(self, what: str, example: str = "") -> None:
        """Count something unusual; the first few examples are kept."""
        count, examples = self._odd.get(what, (0, []))
        if example and len(examples) < EXAMPLES:
            examples.append(example)
        self._odd[what] = count + 1, examples

    def fail(self, location: Location, message: str) -> None:
        """Note a problem; raises Broken once there are MAX_PROBLEMS."""
        self.problems.append(Problem(location, message))
        if len(self.problems) >= MAX_PROBLEMS:
            raise Broken

    def summary(self) -> dict[str, Any]:
        """What ImportRun.summary keeps."""
        oddities = [
            {"what": what, "count": count, "examples": examples}
            for what, (count, examples) in self._odd.items()
        ]
        found = {**self.counts, "gold": self.gold, "runs": self.runs, "oddities": oddities}
        return found | ({NAMES: dict(self.names)} if self.names else {})

    def problem_rows(self) -> list[dict[str, Any]]:
        """What ImportRun.problems keeps."""
        return [
            {
                "file": location.file,
                "line": location.line,
                "field": location.field,
                "message": message,
            }
            for location, message in ((each.location, each.message) for each in self.problems)
        ]


# Rows in one short transaction, and ids in one lookup.
CHUNK = 2000
# Domains with one in their name are ours, for queries that wait to be shown.
_SLASH = "It holds a slash."
T = TypeVar("T")
M = TypeVar("M", bound=models.Model)


class ConcurrentLoad(Exception):
    """Another load was published meanwhile: this load extends the wrong one."""


@dataclass
class LoadContext:
    """Shared by the steps of one attempt, and by the extras of other rooms.

    `queries` and `passages` give the row ids of every query and passage that the load speaks of;
    they are complete when extras run.
    """

    run: ImportRun
    benchmark: Benchmark
    parent: CorpusVersion | None
    domains: dict[str, int]
    tally: Tally = field(default_factory=Tally)
    meter: Meter = field(default_factory=Meter)
    version: CorpusVersion | None = None
    queries: dict[Key, int] = field(default_factory=dict)
    passages: dict[Key, int] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)

    @property
    def layers(self) -> list[int]:
        """Versions whose texts this load must agree with, its own included."""
        own = [self.version.pk] if self.version else []
        return [*(self.parent.layers if self.parent else []), *own]

    @property
    def ranked_layers(self) -> list[int]:
        """Versions whose ids the load's rankings name."""
        ranked = self.run.corpus_version
        return ranked.layers if ranked is not None else self.layers

    def hold(self) -> None:
        """Renew the lease and store progress; raises LostLease if the run is no longer ours.

        Called inside every writing transaction: a worker that lost its run writes nothing.
        """
        # Kilobytes, rounded up; bytes would outgrow the 31 bits of the progress columns.
        done, total = (-(-count // 1024) for count in (self.meter.done, self.meter.total))
        self.run.beat(done=done, total=total)

    def domain(self, name: str) -> int:
        """Row id of a domain, made invisible if it is new."""
        if name not in self.domains:
            made, _ = Domain.objects.get_or_create(benchmark=self.benchmark, name=name)
            self.domains[name] = made.pk
        return self.domains[name]

    def touch(self, name: str, location: Location) -> None:
        """Note that the load brings this domain; its name comes from a file's name."""
        if name not in self.touched:
            self.touched.add(name)
            if fault := "" if name else "A name is needed here.":
                self.tally.fail(location, fault)
            elif fault := text_fault(name, DOMAIN_LIMIT) or _SLASH * ("/" in name):
                self.tally.fail(location, f"The domain's name cannot be taken. {fault}")

    def own_version(self) -> CorpusVersion:
        """The version that this load fills, made invisible when the first new text needs it.

        Its recipe says whose it is.
        """
        if self.version is None:
            parent, older = self.parent, self.parent.layers if self.parent else []
            version = CorpusVersion.objects.create(
                benchmark=self.benchmark,
                parent=self.parent,
                name=f"original {len(older) + 1}" if older else "original",
                recipe={
                    "kind": LOADED,
                    "import": self.run.pk,
                    "fence": self.run.fence,
                    "pages": NUMBERED if format_named(self.run.format).numbers_pages else GIVEN,
                    **({"apart": sorted(parent.apart)} if parent and parent.apart else {}),
                },
            )
            version.layers = [*older, version.pk]
            version.save(update_fields=["layers"])
            self.run.beat(version=version)
            self.version = version
        return self.version

    def stage(self, kind: str, pk: int) -> None:
        """Note a row that nobody may see yet as this load's own, in the transaction that makes it.

        Whoever finds the load dead drops by this note what it wrote (sweep.py).
        """
        run = self.run
        mine: dict[str, Any] = {"fence": run.fence}
        if run.staged.get("fence") == run.fence:
            mine = run.staged
        run.beat(staged={**mine, kind: [*mine.get(kind, []), pk]})


class Extra(Protocol):
    """A step of another room, run inside the publishing transaction with the rows of its kind."""

    def __call__(self, context: LoadContext, rows: Sequence[AspectRow]) -> None:
        """Write the rows, count them in `context.tally`, note clashes with `tally.fail`."""
        ...


def open_context(run: ImportRun) -> LoadContext:
    """The state of the benchmark that an attempt starts from."""
    benchmark = run.benchmark
    domains = dict(Domain.objects.filter(benchmark=benchmark).values_list("name", "pk"))
    parent = CorpusVersion.objects.loaded(benchmark)
    names = run.summary.get(NAMES, {})
    return LoadContext(
        run=run,
        benchmark=benchmark,
        parent=parent,
        domains=domains,
        tally=Tally(names=names),
        meter=Meter(settings.ASSAY_IMPORT_LIMIT, names),
    )


def chunks(values: Iterable[T]) -> Iterator[list[T]]:
    """Lists of at most CHUNK values."""
    coming = iter(values)
    while batch := list(islice(coming, CHUNK)):
        yield batch


def known(
    context: LoadContext, rows: QuerySet[M], name: str, keys: Iterable[Key]
) -> Iterator[tuple[str, QuerySet[M]]]:
    """Each domain with those of these rows that bear its ids, at most CHUNK at a time.

    Without an order: to save a sort, SQLite would walk whole domains by their row ids.
    """
    ids: dict[str, list[str]] = defaultdict(list)
    for domain, each in keys:
        if domain in context.domains:
            ids[domain].append(each)
    for domain, of_domain in ids.items():
        for part in chunks(of_domain):
            asked = {"domain_id": context.domains[domain], f"{name}__in": part}
            yield domain, rows.filter(**asked).order_by()


# The most that waits to be written, in rows and in characters: memory stays bounded.
MAX_ROWS = 10_000
MAX_CHARACTERS = 16_000_000
# Seconds that SQLite's one write lock is held, about: people save in between.
_SHORT, _LONG = 0.1, 0.25
# Between two of them, where nothing is read meanwhile: who waits looks every tenth of a second.
_REST = 0.11


class Pace:
    """Rows in one transaction: more where they are written fast, fewer where people would wait."""

    def __init__(self) -> None:
        self._people_wait = one_writer_at_a_time()
        self._written = 0.0
        self.rows = CHUNK if self._people_wait else MAX_ROWS

    def is_full(self, rows: int, characters: int) -> bool:
        """Whether as much waits as should be written at once."""
        return rows >= self.rows or characters >= MAX_CHARACTERS

    @contextmanager
    def writing(self, context: LoadContext, rows: int) -> Iterator[None]:
        """One transaction of so many rows, only while the run is ours; raises LostLease."""
        with transaction.atomic():
            started = time.monotonic()
            commit_without_waiting()
            context.hold()
            yield
        seconds = time.monotonic() - started
        self._written += seconds
        self._learn(rows, seconds)

    def write(
        self,
        context: LoadContext,
        model: type[models.Model],
        columns: Sequence[str],
        rows: Iterable[Sequence[Any]],
    ) -> None:
        """Insert rows that nobody sees yet, however many, in short transactions."""
        coming = iter(rows)
        while part := list(islice(coming, self.rows)):
            with self.writing(context, len(part)):
                copy_rows(model, columns, part)
            # Let people save, once as much was written as a short transaction takes.
            if self._people_wait and self._written > _SHORT:
                self._written = 0.0
                time.sleep(_REST)

    def _learn(self, rows: int, seconds: float) -> None:
        if not self._people_wait:
            return
        if seconds > _LONG:
            self.rows = max(CHUNK // 4, self.rows // 2)
        elif seconds < _SHORT and rows >= self.rows:
            self.rows = min(MAX_ROWS, self.rows * 2)
