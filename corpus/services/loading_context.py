"""What one load knows while it runs, and what its steps share."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from django.conf import settings

from corpus.importers.fields import DOMAIN_LIMIT, text_fault
from corpus.importers.files import Meter
from corpus.importers.rows import AspectRow, Key, Place
from corpus.models import Benchmark, CorpusVersion, Domain, ImportRun
from corpus.models.texts import LOADED
from corpus.services.loading_tally import Tally

# Rows in one short transaction, and ids in one lookup.
CHUNK = 2000
# Domains with one in their name are ours, for queries that wait to be shown.
_SLASH = "It holds a slash."
T = TypeVar("T")


class Overtaken(Exception):
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
        self.run.beat(done=_kilobytes(self.meter.done), total=_kilobytes(self.meter.total))

    def domain(self, name: str) -> int:
        """Row id of a domain, made invisible if it is new."""
        if name not in self.domains:
            made, _ = Domain.objects.get_or_create(benchmark=self.benchmark, name=name)
            self.domains[name] = made.pk
        return self.domains[name]

    def touch(self, name: str, place: Place) -> None:
        """Note that the load brings this domain; its name comes from a file's name."""
        if name not in self.touched:
            self.touched.add(name)
            if fault := "" if name else "A name is needed here.":
                self.tally.fail(place, fault)
            elif fault := text_fault(name, DOMAIN_LIMIT) or _SLASH * ("/" in name):
                self.tally.fail(place, f"The domain's name cannot be taken. {fault}")

    def own_version(self) -> CorpusVersion:
        """The version that this load fills, made when the first new text needs it."""
        if self.version is None:
            self.version = make_version(self.run, self.parent)
        return self.version

    def stage(self, kind: str, pk: int) -> None:
        """Note a row that nobody may see yet as this load's own, in the transaction that makes it.

        Whoever finds the load dead drops by this note what it wrote (loading_sweep).
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
    meter = Meter(limit=settings.ASSAY_IMPORT_LIMIT)
    return LoadContext(run=run, benchmark=benchmark, parent=parent, domains=domains, meter=meter)


def _kilobytes(count: int) -> int:
    """Rounded up; bytes would outgrow the 31 bits of the progress columns."""
    return -(-count // 1024)


def make_version(run: ImportRun, parent: CorpusVersion | None) -> CorpusVersion:
    """An invisible version that extends `parent`; its recipe says whose it is."""
    version = CorpusVersion.objects.create(
        benchmark=run.benchmark,
        parent=parent,
        name=f"original {len(parent.layers) + 1}" if parent else "original",
        recipe={"kind": LOADED, "import": run.pk, "fence": run.fence},
    )
    version.layers = [*(parent.layers if parent else []), version.pk]
    version.save(update_fields=["layers"])
    run.beat(version=version)
    return version


def unused_name(name: str, taken: Iterable[str]) -> str:
    """The name, with a number if it is taken."""
    used = set(taken)
    if name not in used:
        return name
    number = 2
    while f"{name} {number}" in used:
        number += 1
    return f"{name} {number}"


def chunks(values: Iterable[T]) -> Iterator[list[T]]:
    """Lists of at most CHUNK values."""
    batch: list[T] = []
    for value in values:
        batch.append(value)
        if len(batch) == CHUNK:
            yield batch
            batch = []
    if batch:
        yield batch


def by_domain(keys: Iterable[Key]) -> dict[str, list[str]]:
    """Ids of each domain."""
    groups: dict[str, list[str]] = defaultdict(list)
    for domain, name in keys:
        groups[domain].append(name)
    return groups
