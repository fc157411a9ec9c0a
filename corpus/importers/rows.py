"""What every reader yields: rows in the product's own terms, problems and oddities.

A field that the file does not give is None: it says nothing, so it can clash with nothing.
`location` never takes part in comparing two rows.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Any, TypeAlias

# What a licence can be of (corpus/benchmarks/models.py names them on the screens).
LAYERS = ("queries", "answers", "passages", "aspects", "labels")
# (domain, id): ids are unique inside their domain only (docs/protocol.md 1.1).
Key: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Location:
    """File, line and field. `line` counts from 1; in a JSON list or parquet it is the record."""

    file: str
    line: int = 0
    field: str = ""

    def at(self, name: str) -> "Location":
        """The same record, at this field."""
        return replace(self, field=name)

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{where} {self.field}" if self.field else where


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a file cannot be loaded as it is; one is enough for nothing to be loaded."""

    location: Location
    message: str

    def __str__(self) -> str:
        return f"{self.location}: {self.message}"


@dataclass(frozen=True, slots=True)
class Oddity:
    """Something unusual that does no harm; counted by `what` and shown with a few examples."""

    what: str
    example: str = ""


@dataclass(frozen=True, slots=True)
class QueryRow:
    """An information need with what its file says about it.

    `text` is None where judgments name a query that no file gives; `extra` holds the fields that
    have no name here, as JSON values.
    """

    domain: str
    qid: str
    text: str | None
    location: Location = field(compare=False)
    answers: tuple[str, ...] | None = None
    community_answers: tuple[dict[str, Any], ...] | None = None
    gold_answer: str | None = None
    reasoning: str | None = None
    reference_answer: str | None = None
    gold_ids_long: tuple[str, ...] | None = None
    excluded_ids: tuple[str, ...] | None = None
    description: str | None = None
    narrative: str | None = None
    extra: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class PassageRow:
    """A retrieval unit; `page_id` names the page it may be a slice of.

    `fetched_on` is the day its source was fetched, as 2024-05-31.
    """

    domain: str
    pid: str
    text: str
    location: Location = field(compare=False)
    title: str | None = None
    source_url: str | None = None
    fetched_on: str | None = None
    page_id: str = field(default="", compare=False)
    extra: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class PassageBatch:
    """Passages of one domain and file as columns of one length: what large files are read as.

    `titles`, `source_urls`, `dates` (of fetching) and `extras` are empty where no passage gives
    any; `text_field` is what the file calls the text. Iterating gives PassageRows.
    """

    domain: str
    file: str = field(compare=False)
    lines: Sequence[int] = field(compare=False)
    pids: list[str]
    texts: list[str]
    titles: list[str | None] = field(default_factory=list)
    source_urls: list[str | None] = field(default_factory=list)
    dates: list[str | None] = field(default_factory=list)
    extras: list[dict[str, Any] | None] = field(default_factory=list)
    text_field: str = field(default="content", compare=False)

    @property
    def location(self) -> Location:
        """The first passage."""
        return Location(self.file, self.lines[0], self.text_field)

    @property
    def characters(self) -> int:
        """About how much memory its texts take."""
        titles = sum(len(each) for each in self.titles if each)
        extras = sum(len(str(each)) for each in self.extras if each)
        return sum(map(len, self.texts)) + titles + extras

    def __len__(self) -> int:
        return len(self.pids)

    def __iter__(self) -> Iterator[PassageRow]:
        return self.rows(range(len(self)))

    def rows(self, numbers: Iterable[int]) -> Iterator[PassageRow]:
        """The passages at these positions, one by one."""
        for n in numbers:
            yield PassageRow(
                domain=self.domain,
                pid=self.pids[n],
                text=self.texts[n],
                location=Location(self.file, self.lines[n], self.text_field),
                title=self.titles[n] if self.titles else None,
                source_url=self.source_urls[n] if self.source_urls else None,
                fetched_on=self.dates[n] if self.dates else None,
                extra=self.extras[n] if self.extras else None,
            )

    def without(self, pids: Collection[str]) -> "PassageBatch":
        """The others, in order."""
        keep = [pid not in pids for pid in self.pids]
        columns = ("lines", "pids", "texts", "titles", "source_urls", "dates", "extras")
        left: dict[str, Any] = {n: list(compress(getattr(self, n), keep)) for n in columns}
        return replace(self, **left)


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """A page as it was given."""

    domain: str
    doc_id: str
    text: str
    location: Location = field(compare=False)
    title: str | None = None
    source_url: str | None = None
    fetched_on: str | None = None


@dataclass(frozen=True, slots=True)
class JudgmentRow:
    """One label of the original gold; `gold` names the qrels file or split it is from, if any.

    Where subtopics were judged, `subtopics` holds their labels and `label` is the highest.
    """

    domain: str
    qid: str
    pid: str
    label: int
    location: Location = field(compare=False)
    gold: str = field(default="", compare=False)
    subtopics: dict[str, int] | None = None


@dataclass(frozen=True, slots=True)
class MachineRow:
    """A passage that machines or voters tied to an aspect elsewhere, and no expert assigned."""

    domain: str
    qid: str
    k: int
    pid: str
    source: str
    location: Location = field(compare=False)
    round: int | None = None
    models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AspectRow:
    """One weighted aspect of a query with its supporting passages, ordered by the integer k.

    `scale` is "" where the row does not say it. The weight of the scale `shares` is in hundredths.
    `subtopic_docs` are those that judgments list under the `subtopic` that it is, and that nobody
    assigned, `judged` every label that these give for it. A weight of 0 is of a subtopic that
    nobody weighed: it gets number and scale here.
    `machine` is machine gold of the aspect.
    """

    domain: str
    qid: str
    k: int
    content: str
    weight: int
    supporting_docs: tuple[str, ...]
    location: Location = field(compare=False)
    scale: str = ""
    subtopic: str = ""
    subtopic_docs: tuple[str, ...] = ()
    judged: dict[str, int] = field(default_factory=dict, compare=False)
    machine: tuple[MachineRow, ...] = ()


@dataclass(frozen=True, slots=True)
class PairRow:
    """A (query, passage) pair to be judged."""

    domain: str
    qid: str
    pid: str
    location: Location = field(compare=False)


@dataclass(frozen=True, slots=True)
class LicenceRow:
    """The licence of one of LAYERS, of a domain or ("") of every domain that is read with it.

    `text` is the whole licence, word for word.
    """

    domain: str
    layer: str
    name: str
    location: Location = field(compare=False)
    url: str | None = None
    attribution: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class RunRow:
    """What one system retrieved for one query, in the order of its file, each passage once.

    `scores` are those of `pids`, or None where the file gives a ranking only; `tag` is the
    name of the system as its file gives it, or "".
    """

    domain: str
    qid: str
    pids: tuple[str, ...]
    scores: tuple[float, ...] | None
    tag: str
    location: Location = field(compare=False)


@dataclass(frozen=True, slots=True)
class WordingRow:
    """A query in the words of a source; the source is "" where the file does not name it."""

    domain: str
    qid: str
    text: str
    source: str
    location: Location = field(compare=False)


RunFileRow: TypeAlias = RunRow | Problem | Oddity
Row: TypeAlias = (
    QueryRow
    | PassageRow
    | PassageBatch
    | DocumentRow
    | JudgmentRow
    | AspectRow
    | PairRow
    | WordingRow
    | LicenceRow
    | Problem
    | Oddity
)
