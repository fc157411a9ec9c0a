"""The methods behind one door: for each query of a domain the best passages of its corpus."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from django.conf import settings

from corpus.computing.corpus import Corpus, Documents, kept_index
from corpus.computing.models import Method
from corpus.models import CorpusVersion, Domain, Query, RankedList
from corpus.pooling import Ranking, top
from corpus.retrieval import analysis, postings, vectors
from corpus.retrieval.analysis import Counts, NoWords, count
from corpus.retrieval.toplist import Scored, best_of, fuse, plain
from corpus.versions.crosswalk import excluded_in
from kit.errors import Refused
from llm.embeddings import embedding_request, unpack
from llm.endpoints import Endpoint
from llm.gateway import Gateways
from llm.models import Account
from llm.trying import demand_answers

# Texts of one request, and requests that are under way before their vectors are written.
BATCH: Final = 64
_GROUP: Final = 16
# About the 8,192 tokens that most models read; what is longer is cut and counted.
LONGEST: Final = 24_000


@dataclass
class Asking:
    """Whom is asked, who pays; `cut` counts texts that were too long.

    Between two groups it looks for calls that a dead worker left behind.
    """

    endpoint: Endpoint
    model: str
    subject: str
    account: Account | None = None
    dimensions: int | None = None
    cut: int = 0
    _is_tried: bool = False

    def vectors(
        self, texts: Iterable[str], *, prefix: str = ""
    ) -> Iterator[npt.NDArray[np.float32]]:
        """The texts' vectors in their order; raises LLMError and what Gateways raises."""
        rest = iter(texts)
        while group := list(islice(rest, BATCH * _GROUP)):
            batches = [
                [self._fitting(prefix + text) for text in group[start : start + BATCH]]
                for start in range(0, len(group), BATCH)
            ]
            yield from asyncio.run(self._ask(batches))

    def _fitting(self, text: str) -> str:
        self.cut += len(text) > LONGEST
        return text[:LONGEST]

    async def _ask(self, batches: list[list[str]]) -> list[npt.NDArray[np.float32]]:
        requests = [
            embedding_request(
                endpoint=self.endpoint.name,
                model=self.model,
                texts=batch,
                dimensions=self.dimensions,
            )
            for batch in batches
        ]
        async with Gateways(
            concurrency=settings.ASSAY_CALLS_IN_FLIGHT,
            known=[self.endpoint],
            account=self.account,
        ) as gateways:
            if not self._is_tried:
                seats = [(self.endpoint.name, self.model)]
                await demand_answers(seats, find=gateways.endpoint, embeds=True)
                self._is_tried = True
            calls = [gateways.complete(each, self.subject) for each in requests]
            replies = await asyncio.gather(*calls)
        return [unpack(reply.text) for reply in replies]


Step = Callable[[int], None]
# (query, passage ids, scores), the best first.
Ranked = tuple[int, list[str], list[float]]
_QUERIES = vectors.QUERIES


@dataclass(frozen=True)
class Asked:
    """A query as it is asked; `excluded` ids are dropped before the list is cut."""

    pk: int
    text: str
    excluded: Sequence[str] = ()


@dataclass(frozen=True)
class Job:
    """One domain's corpus and queries, and how they are brought together."""

    corpus: Corpus
    queries: Sequence[Asked]
    config: dict[str, Any]
    depth: int
    # Told how many passages are indexed; queries are counted by who takes the lists.
    step: Step
    asking: Asking | None = None
    # Where documents are ranked by their best chunk.
    documents: Documents | None = None

    @property
    def reach(self) -> int:
        """How many passages are looked for: so many that `depth` documents are among them."""
        if self.documents is None:
            return self.depth
        return min(len(self.corpus.pids), self.depth * self.documents.most)

    def without(self, query: Asked) -> list[int]:
        """Numbers of the passages that this query excludes."""
        numbers = self.corpus.number_of
        return [numbers[pid] for pid in query.excluded if pid in numbers]

    def ranked(self, query: Asked, found: Scored) -> Ranked:
        """A list as it is kept."""
        if self.documents is not None:
            found = best_of(found, self.depth, self.documents.owner, self.documents.order)
            names = self.documents.pids
            return query.pk, [names[number] for number in found[0].tolist()], plain(found[1])
        pids = [self.corpus.pids[number] for number in found[0].tolist()]
        return query.pk, pids, plain(found[1])


Find = Callable[[Sequence[Asked]], Iterator[Ranked]]


def rank(job: Job) -> tuple[Iterator[Ranked], bool]:
    """The lists of all queries, and whether the index was kept from before. Raises Refused."""
    find, was_there = opened(job)
    return find(job.queries), was_there


def opened(job: Job) -> tuple[Find, bool]:
    """What finds the lists of any queries in the job's index, which is made where it is missing;
    and whether it was kept from before. Raises Refused."""
    method = job.config["method"]
    try:
        if method in (Method.BM25, Method.TFIDF):
            return _by_words(job)
        return _by_lsa(job) if method == Method.LSA else _by_model(job)
    except NoWords:
        raise Refused("No passage of this domain holds a word that could be found.") from None


def fused(domain: Domain, version: CorpusVersion, config: dict[str, Any]) -> Iterator[Ranked]:
    """The hybrid of runs (docs/protocol.md 5.3), for queries that any of them ranks."""
    runs = config["runs"]
    rows = RankedList.objects.filter(run__in=runs, query__domain=domain)
    queries = list(Query.objects.filter(pk__in=rows.values("query")).order_by("pk"))
    excluded = excluded_in(version, queries)
    for pk in [query.pk for query in queries]:
        lists = {each.run_id: each for each in rows.filter(query=pk)}
        rankings = [_scores(lists.get(run), excluded.get(pk, set())) for run in runs]
        best = fuse(rankings, config["weights"], config["depth"])
        yield pk, [pid for pid, _ in best], [score for _, score in best]


def _scores(found: RankedList | None, excluded: set[str]) -> dict[str, float]:
    if found is None:
        return {}
    if found.scores is None:
        raise Refused(f"The run {found.run.name} has no scores, so there is nothing to add up.")
    ranking = Ranking(found.pids, found.scores)
    listed = top(ranking, len(found.pids), excluded=excluded)
    return {pid: score for pid, score in listed if score is not None}


def _by_words(job: Job) -> tuple[Find, bool]:
    method = job.config["method"]
    recipe = {"method": method, "analysis": analysis.NAME, "version": 1}
    if method == Method.BM25:
        recipe |= {"k1": job.config["k1"], "b": job.config["b"]}

    def build(folder: Path) -> None:
        counts = _counted(job)
        if method == Method.BM25:
            postings.build_bm25(counts, folder, k1=job.config["k1"], b=job.config["b"])
        else:
            postings.build_tfidf(counts, folder)

    folder, was_there = kept_index(job.corpus, recipe, build)
    index = postings.Postings.load(folder)

    def lists(queries: Sequence[Asked]) -> Iterator[Ranked]:
        for query in queries:
            found = index.search(
                query.text, job.reach, job.corpus.order, without=job.without(query)
            )
            yield job.ranked(query, found)

    return lists, was_there


def _by_lsa(job: Job) -> tuple[Find, bool]:
    dimensions = job.config["dimensions"]
    recipe = {
        "method": Method.LSA,
        "analysis": analysis.NAME,
        "dimensions": dimensions,
        "version": 1,
    }
    folder, was_there = kept_index(
        job.corpus,
        recipe,
        lambda place: vectors.build_lsa(_counted(job), place, dimensions=dimensions),
    )

    def lists(queries: Sequence[Asked]) -> Iterator[Ranked]:
        for group in _groups(queries):
            found = vectors.lsa_queries(folder, [query.text for query in group])
            yield from _compared(job, folder, group, found)

    return lists, was_there


def _by_model(job: Job) -> tuple[Find, bool]:
    assert job.asking is not None
    asking, config = job.asking, job.config
    names = ("method", "endpoint", "model", "dimensions", "document_prefix")
    recipe = {name: config[name] for name in names} | {"version": 1}

    def build(folder: Path) -> None:
        writer = vectors.VectorWriter(folder, len(job.corpus.pids))
        done = 0
        for part in asking.vectors(job.corpus.texts(), prefix=config["document_prefix"]):
            writer.add(part)
            done += len(part)
            job.step(done)
        writer.close()

    folder, was_there = kept_index(job.corpus, recipe, build)

    def lists(queries: Sequence[Asked]) -> Iterator[Ranked]:
        texts = [query.text for query in queries]
        rest, parts = iter(queries), asking.vectors(texts, prefix=config["query_prefix"])
        while group := list(islice(parts, vectors.QUERIES // BATCH)):
            part = np.concatenate(group)
            yield from _compared(job, folder, list(islice(rest, len(part))), part)

    return lists, was_there


def _compared(
    job: Job, folder: Path, queries: Sequence[Asked], found: vectors.Vectors
) -> Iterator[Ranked]:
    without = [job.without(query) for query in queries]
    documents = vectors.load_vectors(folder)
    if documents.shape[1] != found.shape[1]:
        raise Refused("The model's vectors of queries and of passages differ in length.")
    lists = vectors.search(documents, found, job.reach, job.corpus.order, without=without)
    for query, each in zip(queries, lists, strict=True):
        yield job.ranked(query, each)


def _counted(job: Job) -> Counts:
    return count(job.corpus.texts(), step=job.step)


def _groups(queries: Sequence[Asked]) -> Iterator[Sequence[Asked]]:
    for start in range(0, len(queries), _QUERIES):
        yield queries[start : start + _QUERIES]
