"""The index of a computed run, kept open and asked in any words: retrieval as a service.

What a search costs beside the index itself is a few microseconds; a corpus is read once in a
process, and any number of callers share it.
"""

import threading
from collections import OrderedDict
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Final

from corpus.computing.config import BY_DOCUMENT
from corpus.computing.corpus import Corpus, documents_of, read_corpus
from corpus.computing.methods import Asked, Asking, Find, Job, Step, in_domain, opened
from corpus.computing.models import Method
from corpus.models import CorpusVersion, Domain, Passage, RetrievalRun, RunComputation
from corpus.retrieval.toplist import fuse
from corpus.texts.tokens import CHARACTERS
from corpus.versions.services import stored
from kit.errors import Refused
from llm import endpoints
from llm.models import Account

# Corpora that a process keeps at hand, by the hash of all they hold.
_KEPT: Final = 8
_corpora: OrderedDict[str, Corpus] = OrderedDict()
_guard = threading.Lock()


@dataclass(frozen=True)
class Payer:
    """Whose account pays for the vectors of queries, and what such calls are called."""

    account: Account | None = None
    subject: str = "search"


class Searcher:
    """One domain's index of a retrieval run that was computed here; finds the `k` best."""

    def __init__(self, run: RetrievalRun, domain: Domain, k: int, *, payer: Payer, step: Step):
        """Opens the index, and makes it where it is missing. Raises Refused where the run was not
        computed here, or its corpus changed since."""
        computation = RunComputation.objects.filter(run=run).select_related("benchmark").first()
        if computation is None:
            raise Refused(f"{run.name} was not computed here: it has lists, and no index to ask.")
        self.run, self.domain, self.k = run, domain, k
        self._config = computation.config
        self._parts: list[Searcher] = []
        self._find: Find | None = None
        # The stemmer of words is not made for several threads; a model is asked by all at once.
        asks = computation.method == Method.EMBEDDINGS
        self._turn: AbstractContextManager[Any] = nullcontext() if asks else threading.Lock()
        if computation.method == Method.HYBRID:
            runs = RetrievalRun.objects.in_bulk(self._config["runs"])
            self._parts = [
                Searcher(runs[pk], domain, self._config["depth"], payer=payer, step=step)
                for pk in self._config["runs"]
            ]
        else:
            self._find = _opened(computation, run, domain, k, payer, step)

    def search(self, text: str, *, excluded: Collection[str] = ()) -> list[tuple[str, float]]:
        """The best passages' ids with their scores, without excluded ones; [] for no words.

        Raises LLMError where a model has to be asked and does not answer.
        """
        if not text.strip():
            return []
        if self._find is None:
            lists = [dict(each.search(text, excluded=excluded)) for each in self._parts]
            return fuse(lists, self._config["weights"], self.k)
        with self._turn:
            ((_, pids, scores),) = self._find([Asked(0, text, sorted(excluded))])
        return list(zip(pids, scores, strict=True))

    def texts(self, pids: Sequence[str]) -> dict[str, str]:
        """Title and text of these passages, as they are searched; unknown ids are left out."""
        return texts_of(self.run, self.domain.pk, pids)


def texts_of(run: RetrievalRun, domain: int, pids: Collection[str]) -> dict[str, str]:
    """Title and text of passages that a run ranks, by id; unknown ids are left out."""
    version = stored(run.benchmark, run.corpus_version_id)
    growing = CorpusVersion.objects.growing(run.benchmark)
    layers = [*(version.layers if version else ()), *([growing.pk] if growing else ())]
    rows = Passage.objects.with_text().filter(domain=domain, version_id__in=layers)
    found = rows.filter(pid__in=pids).order_by().values_list("pid", "title", "text")
    return {pid: f"{title}\n{text}" if title else text or "" for pid, title, text in found}


def _opened(
    computation: RunComputation,
    run: RetrievalRun,
    domain: Domain,
    k: int,
    payer: Payer,
    step: Step,
) -> Find:
    version = stored(computation.benchmark, computation.corpus_version_id)
    if version is None:
        raise Refused(f"The corpus version that {run.name} ranked is gone.")
    counts = run.provenance.get("domains", {}).get(domain.name, {})
    corpus = _corpus(version, domain, counts.get("corpus", ""), run.name, step)
    config = computation.config
    documents = documents_of(version, domain, corpus) if config.get(BY_DOCUMENT) else None
    asking = _asking(config, payer) if computation.method == Method.EMBEDDINGS else None
    whole = in_domain(config, domain)
    find, _ = opened(Job(corpus, (), whole, k, step, asking, documents))
    return find


def _corpus(version: CorpusVersion, domain: Domain, digest: str, name: str, step: Step) -> Corpus:
    """The passages as they were when the run was computed, read once in this process."""
    with _guard:
        if digest in _corpora:
            _corpora.move_to_end(digest)
            return _corpora[digest]
        found = read_corpus(version, domain, step=step)
        if found.digest != digest:
            raise Refused(
                f"The passages of {domain.name} are not those that {name} ranked. Compute it again."
            )
        _corpora[digest] = found
        while len(_corpora) > _KEPT:
            _corpora.popitem(last=False)
        return found


def _asking(config: dict[str, Any], payer: Payer) -> Asking:
    return Asking(
        endpoint=endpoints.get(config["endpoint"]),
        model=config["model"],
        subject=payer.subject,
        account=payer.account,
        dimensions=config["dimensions"],
        tokenizer=config.get("tokenizer", CHARACTERS),
    )
