"""DChunk on a corpus: what is cut, and into which passages (docs/protocol.md 5.1).

A passage is cut by itself. A long page that was loaded is cut as a whole, gold and the rest apart,
and its passages are found again in the chunks; the passages of a short one stay as they are.
Whoever drives it gives the vectors: `Chunker.cut` asks for those of sentences and gets them sent.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from django.db.models import Exists, OuterRef, Q, QuerySet

from corpus.chunking.rules import clean
from corpus.chunking.semantic import Lsa, blocks_of, chunks_of, count_words, units_of
from corpus.cleaning.rules import READ, Row, Tally, cleaned, read_rows
from corpus.marcus.inheritance import holdings
from corpus.marcus.parts import Source, take_apart
from corpus.models import CleaningRun, CorpusVersion, Document, Passage
from corpus.versions.crosswalk import BESIDE
from corpus.versions.effective import aspects_of, gold_of
from llm.practice.completion import embed
from llm.wire import EmbeddingRequest, embedding_request

# Keys of pages stand behind those of passages: a group holds either.
PAGES: Final = 1 << 62
# What the tally says where the corpus is too small for an analysis of its own.
BY_WORDS: Final = "texts cut by hashed words: too little text for LSA"
# The longest sentence of which a vector is asked: about the 8,192 tokens that most models read.
_LONGEST: Final = 24_000
_LONGEST_PID: Final = 500
# Sentences of one request.
_SENTENCES: Final = 64
# Texts of the corpus that LSA is fitted on, read so many at a time, and blocks of all of them.
_TEXTS, _AT_ONCE, _BLOCKS = 4000, 100, 20_000
_PLACED: Final = (*READ, "start", "end")

Vectors: TypeAlias = npt.NDArray[np.float32]
T = TypeVar("T")
Cutting: TypeAlias = Generator[list[str], Vectors, T]


class LoadedPage(NamedTuple):
    """A page with its passages, each with its place in the page where that is known."""

    pk: int
    document: Document
    members: list[tuple[Row, int | None, int | None]]


Item: TypeAlias = Row | LoadedPage


def pages_of(version: CorpusVersion) -> QuerySet[Document]:
    """The pages that were loaded with a version."""
    return Document.objects.filter(version_id__in=version.layers)


def without_page(version: CorpusVersion) -> QuerySet[Passage]:
    """The passages of a version that are of no loaded page."""
    pages = pages_of(version)
    named = pages.filter(domain_id=OuterRef("domain_id"), doc_id=OuterRef("pid"))
    passages = Passage.objects.filter(version_id__in=version.layers).filter(~Exists(named))
    return passages.filter(Q(document=None) | ~Q(document__in=pages))


class Chunker:
    """What all texts of a run share: its settings, gold and aspects."""

    def __init__(self, run: CleaningRun) -> None:
        self.run, self.config = run, run.config
        self.gold, self.aspects = gold_of(run.source), aspects_of(run.source)
        self._gold_keys = set(self.gold)
        self._analysis: Lsa | None = None
        self._is_fitted = False

    def read(self, *, after: int, up_to: int, most: int) -> Sequence[Item]:
        """The next passages or pages with keys in (after, up_to]."""
        if up_to <= PAGES:
            return read_rows(without_page(self.run.source), after=after, up_to=up_to, most=most)
        keys = {"pk__gt": after - PAGES, "pk__lte": up_to - PAGES}
        documents = list(pages_of(self.run.source).filter(**keys).order_by("pk")[:most])
        return [LoadedPage(PAGES + each.pk, each, self._members(each)) for each in documents]

    def cut(self, item: Item, tally: Tally) -> Cutting[list[Row]]:
        """The new passages of an item; asks for the vectors of sentences, list by list."""
        if isinstance(item, Row):
            return (yield from self._of_passage(item, tally))
        document = item.document
        if count_words(document.text) > self.config["long_from"]:
            return (yield from self._of_page(item, tally))
        if not item.members:
            text = clean(document.text)
            tally.count("short pages" if text else "dropped")
            return [_of(document, document.doc_id, text)] if text else []
        rows: list[Row] = []
        for row, *_ in item.members:
            rows += yield from self._of_passage(row, tally)
        return rows

    def cut_by_itself(self, item: Item, tally: Tally) -> list[Row]:
        """The same with vectors by LSA, fitted on the version when first needed, or of hashed
        words where it has too little text for that."""
        return drive(self.cut(item, tally), lambda texts: self._vectors(texts, tally))

    def _members(self, document: Document) -> list[tuple[Row, int | None, int | None]]:
        own = Q(document=document) | Q(domain_id=document.domain_id, pid=document.doc_id)
        found = Passage.objects.filter(own, version_id__in=self.run.source.layers)
        rows = found.order_by("pk").values_list(*_PLACED)
        return [(Row(*each[:-2]), each[-2], each[-1]) for each in rows]

    def _of_passage(self, row: Row, tally: Tally) -> Cutting[list[Row]]:
        new = cleaned(row, self._gold_keys, tally)
        if new is None:
            return []
        texts = yield from self._pieces(new.text or "", tally)
        if texts is None:
            return [new]
        named = enumerate(texts, start=1)
        return [new._replace(pid=_numbered(new.pid, n), text=text) for n, text in named]

    def _of_page(self, page: LoadedPage, tally: Tally) -> Cutting[list[Row]]:
        tally.count("pages cut")
        members = {row.pk: row for row, *_ in page.members}
        sources = [Source(row.pk, row.pid, row.text or "", *at) for row, *at in page.members]
        own = {key: self.gold[key] for key in members if key in self.gold}
        found = take_apart(sources, own, self.aspects, page_text=page.document.text)
        # What is not found in its page stays a passage by itself.
        apart = {*found.unplaced, *found.repeated}
        rows: list[Row] = []
        for part in found.parts:
            if part.spans and {span.key for span in part.spans} <= apart:
                continue
            text = clean(part.text, is_gold=part.is_gold) or (part.text if part.is_gold else "")
            pieces = yield from self._pieces(text, tally)
            texts, holds, _, beside = holdings(
                part, [text] if pieces is None and text else pieces or []
            )
            for number, each in enumerate(texts):
                pid = _numbered(page.document.doc_id, len(rows) + 1)
                links = tuple((one.key, *one[2:]) for one in holds.get(number, ()))
                extra = {"page": page.document.doc_id, "gold": part.is_gold}
                extra |= {BESIDE: True} if number in beside else {}
                row = _of(page.document, pid, each)
                rows.append(row._replace(extra=extra, links=links))
        for key in sorted(apart & members.keys()):
            rows += yield from self._of_passage(members[key], tally)
        return rows

    def _pieces(self, text: str, tally: Tally) -> Cutting[list[str] | None]:
        """A long text in chunks; None for one that is not cut."""
        if count_words(text) <= self.config["long_from"]:
            return None
        most = int(self.config["most"])
        units = units_of(text, most=most)
        sentences = [text[start:end] for start, end in units]
        if shortened := sum(len(each) > _LONGEST for each in sentences):
            tally.count("sentences shortened for their vector", shortened)
        vectors = yield [each[:_LONGEST] for each in sentences]
        threshold, overlap = self.config["threshold"], self.config["overlap"]
        chunks = chunks_of(text, units, vectors, threshold=threshold, most=most, overlap=overlap)
        return [each.text for each in chunks]

    def _vectors(self, texts: list[str], tally: Tally) -> Vectors:
        if not self._is_fitted:
            self._analysis, self._is_fitted = Lsa.fit(_blocks(self.run.source)), True
        if self._analysis is not None:
            return self._analysis.embed(texts)
        tally.count(BY_WORDS)
        return np.asarray([embed(each) for each in texts], np.float32)


def requests_for(run: CleaningRun, texts: Sequence[str]) -> list[EmbeddingRequest]:
    """What its endpoint is asked for the vectors of these sentences."""
    return [
        embedding_request(endpoint=run.endpoint, model=run.model, texts=texts[at : at + _SENTENCES])
        for at in range(0, len(texts), _SENTENCES)
    ]


def drive(cutting: Cutting[T], vectors: Callable[[list[str]], Vectors]) -> T:
    """Give it its vectors, to its end."""
    try:
        asked = next(cutting)
        while True:
            asked = cutting.send(vectors(asked))
    except StopIteration as end:
        result: T = end.value
        return result


def _of(document: Document, pid: str, text: str) -> Row:
    """A new passage of a page, linked to no older one."""
    names = (document.domain_id, pid, document.title, document.source_url)
    return Row(0, *names, document.fetched_on, text, {"page": document.doc_id}, ())


def _numbered(name: str, number: int) -> str:
    ending = f"#c{number}"
    return name[: _LONGEST_PID - len(ending)] + ending


def _blocks(version: CorpusVersion) -> Iterator[str]:
    """Blocks of texts that are spread over the version."""
    passages = Passage.objects.filter(version_id__in=version.layers).with_text()
    for rows in (pages_of(version), passages):
        keys = list(rows.order_by("pk").values_list("pk", flat=True))
        keys = keys[:: max(1, -(-len(keys) // _TEXTS))]
        most = max(1, _BLOCKS // max(1, len(keys)))
        for at in range(0, len(keys), _AT_ONCE):
            part = rows.filter(pk__in=keys[at : at + _AT_ONCE]).order_by("pk")
            for text in part.values_list("text", flat=True):
                yield from blocks_of(clean(text or ""), most=most)
