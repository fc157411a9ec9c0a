"""The methods behind one door: for each query of a domain the best passages of its corpus."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from django.conf import settings
from django.db import InterfaceError, OperationalError

from corpus.computing.config import INSTRUCTION, INSTRUCTIONS, TOKENS
from corpus.computing.corpus import Corpus, Documents, kept_index
from corpus.computing.models import Method
from corpus.computing.retrievers import BUILT_IN, in_one_line, known
from corpus.models import CorpusVersion, Domain, Query, RankedList
from corpus.pooling import Ranking, top
from corpus.retrieval import vectors
from corpus.retrieval.analysis import NoWords
from corpus.retrieval.protocol import Default, Misbehaved, Order, Retriever, Scored, checked
from corpus.retrieval.toplist import best_of, fuse, plain
from corpus.texts.tokens import CHARACTERS, cut
from corpus.versions.excluded import excluded_in
from kit.errors import Refused
from kit.runs.models import LostLease
from kit.runs.turns import Claimant, Turn
from llm.endpoints import Endpoint
from llm.gateway import Gateways
from llm.limits import SOMEBODY
from llm.models import Account
from llm.trying import demand_answers
from llm.wire import embedding_request, unpack

logger = logging.getLogger(__name__)
# Texts of one request, and requests that are under way before their vectors are written.
BATCH: Final = 64
_GROUP: Final = 16


@dataclass
class Asking:
    """Whom is asked, by `who`, who pays; `cut` counts texts that were longer in tokens of
    `tokenizer` than they may be.

    Between two groups it looks for calls that a dead worker left behind.
    """

    endpoint: Endpoint
    model: str
    subject: str
    account: Account | None = None
    dimensions: int | None = None
    tokenizer: str = CHARACTERS
    cut: int = 0
    who: Claimant = SOMEBODY
    _is_tried: bool = False

    def vectors(
        self, texts: Iterable[str], *, tokens: int, prefix: str = ""
    ) -> Iterator[npt.NDArray[np.float32]]:
        """The texts' vectors in their order, each of its first tokens, the prefix among them;
        raises LLMError and what Gateways raises."""
        rest = iter(texts)
        while group := list(islice(rest, BATCH * _GROUP)):
            batches = [
                [self._fitting(prefix + text, tokens) for text in group[start : start + BATCH]]
                for start in range(0, len(group), BATCH)
            ]
            yield from asyncio.run(self._ask(batches))

    def _fitting(self, text: str, most: int) -> str:
        kept = cut(text, most, self.tokenizer)
        self.cut += len(kept) < len(text)
        return kept

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
            turn=Turn(self.who),
        ) as gateways:
            if not self._is_tried:
                seats = [(self.endpoint.name, self.model)]
                await demand_answers(seats, find=gateways.endpoint, embeds=True)
                self._is_tried = True
            calls = [gateways.complete(each, self.subject) for each in requests]
            replies = await asyncio.gather(*calls)
        return [unpack(reply.text) for reply in replies]


class Dense:
    """Vectors of a model at an endpoint, compared one by one."""

    title: Final = str(Method.EMBEDDINGS.label)
    version: Final = "1"
    # Set where a run is asked for: they name an endpoint of this site.
    settings: Final[dict[str, Default]] = {}

    def __init__(
        self,
        folder: Path,
        *,
        asking: Asking,
        size: int,
        query: Mapping[str, Any],
        document: Mapping[str, Any],
    ) -> None:
        """`query` and `document` are the prefix of each text and its longest length in tokens."""
        self._folder, self._asking, self._size = folder, asking, size
        self._query, self._document = query, document

    def index(self, texts: Iterable[str]) -> None:
        """Write the vectors of all `size` texts; raises LLMError."""
        writer = vectors.VectorWriter(self._folder, self._size)
        for part in self._asking.vectors(texts, **self._document):
            writer.add(part)
        writer.close()

    def search(self, queries: Sequence[str], k: int, order: Order) -> Iterator[Scored]:
        """The k nearest texts of each query; raises LLMError."""
        found = np.concatenate(list(self._asking.vectors(queries, **self._query)))
        documents = vectors.load_vectors(self._folder)
        if documents.shape[1] != found.shape[1]:
            raise Refused("The model's vectors of queries and of passages differ in length.")
        yield from vectors.search(documents, found, k, order)


Step = Callable[[int], None]
# (query, passage ids, scores), the best first.
Ranked = tuple[int, list[str], list[float]]
# Progress is reported after so many passages; the lease has a heartbeat of its own.
_EVERY: Final = 1_000
# Places of lists that are held at once while queries are searched for together.
_HELD: Final = 8_000_000


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

    def texts(self) -> Iterator[str]:
        """The corpus's texts, counted as they are read."""
        for done, text in enumerate(self.corpus.texts(), start=1):
            yield text
            if done % _EVERY == 0:
                self.step(done)

    def without(self, query: Asked) -> list[int]:
        """Numbers of the passages that this query excludes."""
        numbers = self.corpus.number_of
        return [numbers[pid] for pid in query.excluded if pid in numbers]

    def ranked(self, query: Asked, found: Scored, without: Sequence[int]) -> Ranked:
        """A list as it is kept."""
        numbers, scores = found
        wanted = ~np.isin(numbers, without)
        numbers, scores = numbers[wanted][: self.reach], scores[wanted][: self.reach]
        names = self.corpus.pids
        if self.documents is not None:
            owner, names = self.documents.owner, self.documents.pids
            of = (numbers, scores)
            numbers, scores = best_of(of, self.depth, owner, self.documents.order)
        return query.pk, [names[number] for number in numbers.tolist()], plain(scores)


Find = Callable[[Sequence[Asked]], Iterator[Ranked]]


def in_domain(config: dict[str, Any], domain: Domain) -> dict[str, Any]:
    """A configuration with the domain's own instruction, and its name, in the prefixes that ask for
    them. Raises Refused for a domain that came since and has none."""
    whole = config | {}
    if (own := config.get(INSTRUCTIONS)) is not None:
        if domain.name not in own:
            raise Refused(f"There is no instruction for {domain.name}. Compute a run anew.")
        prefix = config["query_prefix"].replace(INSTRUCTION, own[domain.name])
        whole["query_prefix"] = prefix
    for name in {"query_prefix", "document_prefix"} & config.keys():
        whole[name] = whole[name].replace("{domain}", domain.name)
    return whole


def rank(job: Job) -> tuple[Iterator[Ranked], bool]:
    """The lists of all queries, and whether the index was kept from before. Raises Refused."""
    find, was_there = opened(job)
    return find(job.queries), was_there


def opened(job: Job) -> tuple[Find, bool]:
    """What finds the lists of any queries in the job's index, which is made where it is missing;
    and whether it was kept from before. Raises Refused, also for whatever goes wrong in the code
    of a retriever that is not of here."""
    make, recipe, title = _retriever(job)
    with _faults(job, title):
        folder, was_there = kept_index(
            job.corpus, recipe, lambda place: make(place).index(job.texts())
        )
        retriever = make(folder)

    def lists(queries: Sequence[Asked]) -> Iterator[Ranked]:
        without = [job.without(query) for query in queries]
        # Those that a query excludes may stand before all others.
        k = min(job.reach + max(map(len, without), default=0), len(job.corpus.pids))
        size = min(vectors.QUERIES, max(1, _HELD // max(1, k)))
        for start in range(0, len(queries), size):
            group = queries[start : start + size]
            texts = [query.text for query in group]
            with _faults(job, title):
                found = checked(
                    retriever.search(texts, k, job.corpus.order), texts, k, job.corpus.order
                )
                left_out = without[start : start + size]
                for query, out, each in zip(group, left_out, found, strict=True):
                    yield job.ranked(query, each, out)

    return lists, was_there


def _retriever(job: Job) -> tuple[Callable[[Path], Retriever], dict[str, Any], str]:
    """How a job's retriever is made in a folder, what its index depends on, and what it is called.

    Raises Refused where it is no longer the one that was asked for.
    """
    config = job.config
    method: str = config["method"]
    if method == Method.EMBEDDINGS:
        assert job.asking is not None
        texts = {
            name: {
                "prefix": config[f"{name}_prefix"],
                "tokens": config.get(f"{name}_tokens", TOKENS),
            }
            for name in ("query", "document")
        }
        given: dict[str, Any] = {"asking": job.asking, "size": len(job.corpus.pids), **texts}
        names = ("method", "endpoint", "model", "dimensions", "document_prefix")
        recipe = {name: config[name] for name in names} | {"version": 1}
        length = [texts["document"]["tokens"], job.asking.tokenizer]
        if length != [TOKENS, CHARACTERS]:  # as every index of before was cut
            recipe["cut"] = length
        return lambda folder: Dense(folder, **given), recipe, Dense.title
    found = known(method)
    if found is None or found.kind is None:
        raise Refused(found.fault if found else f"The retriever {method} is not installed here.")
    if found.stamp != config.get("retriever", ""):
        raise Refused(
            f"The retriever {found.title} is {found.stamp} here, and {config['retriever']} was "
            "asked for. Install that one, or compute a run anew."
        )
    kind, own = found.kind, {name: config[name] for name in found.settings}
    recipe = {"method": method, "version": found.stamp or kind.version, **own}
    return lambda folder: kind(folder, **own), recipe, f"{found.title} ({found.stamp})"


# What comes through a retriever's code from here.
_OURS: Final = (Refused, LostLease, OperationalError, InterfaceError)


@contextmanager
def _faults(job: Job, title: str) -> Iterator[None]:
    """Whatever a retriever that is not of here raises or gives, as a refusal in one line."""
    try:
        yield
    except NoWords:
        raise Refused("No passage of this domain holds a word that could be found.") from None
    except _OURS:
        raise
    except Misbehaved as fault:
        raise Refused(f"The retriever {title} gave what cannot be ranked: {fault}.") from None
    except (Exception, SystemExit, asyncio.CancelledError) as error:
        if job.config["method"] in (*BUILT_IN, Method.EMBEDDINGS):
            raise
        logger.exception("retriever %s", title)
        raise Refused(f"The retriever {title} failed. {in_one_line(error)}") from None


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
