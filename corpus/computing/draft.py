"""The lists of a computation while they are written, and the run that they become."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from corpus.computing.config import BY_DOCUMENT, QUERIES, key_of_run
from corpus.computing.corpus import documents_of, read_corpus
from corpus.computing.methods import Asked, Asking, Job, Ranked, fused, in_domain, rank
from corpus.computing.models import Method
from corpus.computing.retrievers import label_of
from corpus.models import (
    CorpusVersion,
    Domain,
    QuerySource,
    RankedList,
    RetrievalRun,
    RunComputation,
)
from corpus.texts.tokens import CHARACTERS
from corpus.versions.excluded import excluded_in
from corpus.versions.services import stored
from kit import audit
from kit.database.bulk import copy_rows
from kit.errors import Refused
from kit.runs.heartbeat import Heartbeat
from llm import endpoints

_COLUMNS = ("run_id", "query_id", "pids", "scores")
_LISTS = 50


@dataclass
class Draft:
    """The lists of a computation while they are written."""

    computation: RunComputation
    heartbeat: Heartbeat
    lists: dict[tuple[str, str], str] = field(default_factory=dict)
    depth: int = 0
    report: dict[str, Any] = field(default_factory=lambda: {"domains": {}})
    done: int = 0
    total: int = 0

    def fill(self) -> None:
        """Rank every ready domain."""
        computation = self.computation
        self._begin()
        domains = list(computation.benchmark.domains.ready().order_by("name"))
        self.total = sum(domain.queries.count() for domain in domains)
        asking = _asking(computation)
        for domain in domains:
            self._tell()
            if computation.method == Method.HYBRID:
                config = computation.config
                lists = fused(domain, self.version, config)
                self.report["domains"][domain.name] = {"scheme": "min-max"}
            else:
                lists = self._ranked(domain, asking)
            self._write(domain, lists)
        if asking is not None:
            self.report["cut_texts"] = asking.cut
        if not self.lists:
            raise Refused("No query was ranked: none has a text, or no list came back.")

    def show(self) -> None:
        """The run as it will be seen, and the end of the computation, in one transaction."""
        computation, run = self.computation, self.computation.run
        assert run is not None
        with transaction.atomic():
            named = RetrievalRun.objects.filter(
                benchmark=run.benchmark, corpus_version=run.corpus_version_id, name=run.name
            )
            if named.exists():
                raise Refused(f"A run named {run.name} came in meanwhile. Choose another name.")
            RetrievalRun.everything.filter(pk=run.pk).update(
                is_ready=True,
                digest=hashlib.sha256(json.dumps(sorted(self.lists.items())).encode()).hexdigest(),
                query_count=len(self.lists),
                depth=self.depth,
                provenance={
                    "computation": computation.pk,
                    "label": f"computed here: {label_of(computation.method)}",
                    "method": computation.method,
                    "config": computation.config,
                    "recipe": recipe_of(computation),
                    "practice": computation.practice,
                    **({QUERIES: self.source.name} if self.source else {}),
                    **self.report,
                },
            )
            computation.finish(report=self.report, done=self.total, total=self.total)
            note(computation, "compute retrieval run", None, run=run.pk)

    @cached_property
    def version(self) -> CorpusVersion:
        """What is ranked. Raises Refused where it is gone."""
        found = stored(self.computation.benchmark, self.computation.corpus_version_id)
        if found is None:
            raise Refused("The corpus version that was to be ranked is gone.")
        return found

    @cached_property
    def source(self) -> QuerySource | None:
        """Whose wordings are searched for; None for the queries as they are."""
        key = self.computation.config.get(QUERIES)
        return QuerySource.objects.filter(pk=key).first() if key else None

    def _wordings(self, domain: Domain) -> dict[int, str]:
        """By query; one without keeps its own words."""
        if self.source is None:
            return {}
        rows = self.source.wordings.filter(query__domain=domain)
        return dict(rows.order_by().values_list("query", "text"))

    def _begin(self) -> None:
        computation = self.computation
        forget(computation.run_id)
        with transaction.atomic():
            run = RetrievalRun.everything.create(
                benchmark=computation.benchmark,
                name=computation.name,
                corpus_version_id=key_of_run(computation.config, computation.corpus_version),
                is_ready=False,
            )
            computation.hold(run=run)

    def _ranked(self, domain: Domain, asking: Asking | None) -> Iterator[Ranked]:
        columns = ("text", "excluded_ids", "domain")
        queries = list(domain.queries.order_by("pk").only(*columns))
        excluded = excluded_in(self.version, queries)
        worded = self._wordings(domain)
        texts = [(q.pk, worded.get(q.pk, q.text)) for q in queries]
        asked = [
            Asked(pk, text, sorted(excluded.get(pk, ()))) for pk, text in texts if text.strip()
        ]
        counts: dict[str, Any] = {
            "queries": len(queries),
            "queries_without_text": len(queries) - len(asked),
        }
        if self.source:
            counts["queries_in_other_words"] = len(worded)
        self.report["domains"][domain.name] = counts
        if not asked:
            return iter(())
        before = self.done

        def step(done: int) -> None:
            self.heartbeat.step(before + done, self.total)

        corpus = read_corpus(self.version, domain, step=lambda _: self._tell())
        counts |= {"passages": len(corpus.pids), "corpus": corpus.digest}
        if not corpus.pids:
            raise Refused(f"The domain {domain.name} has queries but no passage with a text.")
        self.total += len(corpus.pids)
        config = self.computation.config
        documents = None
        if config.get(BY_DOCUMENT):
            documents = documents_of(self.version, domain, corpus)
            counts |= {"documents": len(documents.pids), "ranked": self.version.name}
        whole = in_domain(config, domain)
        job = Job(corpus, asked, whole, config["depth"], step, asking, documents)
        lists, was_there = rank(job)
        counts["index_was_kept"] = was_there
        self.done += len(corpus.pids)
        return lists

    def _write(self, domain: Domain, lists: Iterator[Ranked]) -> None:
        qids = dict(domain.queries.values_list("pk", "qid"))
        waiting: list[Ranked] = []
        for each in lists:
            waiting.append(each)
            _, pids, scores = each
            ranking = json.dumps([pids, scores]).encode()
            self.lists[domain.name, qids[each[0]]] = hashlib.sha256(ranking).hexdigest()
            self.depth = max(self.depth, len(pids))
            if len(waiting) >= _LISTS:
                self._flush(waiting)
        self._flush(waiting)
        self.done += len(qids) - sum(key[0] == domain.name for key in self.lists)

    def _flush(self, waiting: list[Ranked]) -> None:
        assert self.computation.run is not None
        run = self.computation.run.pk
        rows = [(run, pk, json.dumps(pids), json.dumps(scores)) for pk, pids, scores in waiting]
        with transaction.atomic():
            copy_rows(RankedList, _COLUMNS, rows)
        self.done += len(waiting)
        waiting.clear()
        self._tell()

    def _tell(self) -> None:
        self.heartbeat.step(self.done, self.total)


def recipe_of(computation: RunComputation) -> str:
    """A hash over the method, the version of its retriever, and all settings."""
    whole = {**computation.config, "method": computation.method}
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


def _asking(computation: RunComputation) -> Asking | None:
    if computation.method != Method.EMBEDDINGS:
        return None
    config = computation.config
    return Asking(
        endpoint=endpoints.get(config["endpoint"]),
        model=config["model"],
        subject=f"run-computation:{computation.pk}",
        account=computation.account,
        dimensions=config["dimensions"],
        tokenizer=config.get("tokenizer", CHARACTERS),
        who=computation.claimant,
    )


def forget(run: int | None) -> None:
    """Lists that were begun and not finished; nobody has ever seen them."""
    RetrievalRun.everything.filter(pk=run or 0, is_ready=False).delete()


def note(computation: RunComputation, verb: str, actor: User | None, **data: Any) -> None:
    """Leave an event; in the transaction of the change."""
    audit.record(
        actor,
        verb,
        computation,
        computation.benchmark.slug,
        {"name": computation.name, "method": computation.method, **data},
    )
