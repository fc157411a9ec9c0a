"""What a retrieval run puts before a reranker: its first passages for each query, with texts."""

from collections.abc import Collection, Iterator, Mapping

from corpus.computing.models import Method
from corpus.models import Domain, RankedList, RetrievalRun
from corpus.texts.models import PassageQuerySet
from evaluation.content.view import View
from evaluation.exporters.rankllm import DEPTH, Candidate, Request

_QUERIES_AT_ONCE = 20


def first_stage(view: View) -> RetrievalRun | None:
    """The newest BM25 run that was computed here over the view's corpus version."""
    runs = RetrievalRun.objects.filter(
        benchmark=view.benchmark,
        corpus_version=view.corpus.key if view.corpus else None,
        computation__method=Method.BM25,
    )
    return runs.order_by("-pk").first()


def read_requests(
    run: RetrievalRun,
    domain: Domain,
    passages: PassageQuerySet,
    excluded: Mapping[int, Collection[str]],
) -> Iterator[Request]:
    """A request for each query of the domain that the run ranks, in the order they were loaded.

    Its candidates are the first DEPTH ids that the query (by its key) does not exclude, as far as
    they have a text. Where the run has no scores, they are 1 over the rank.
    """
    rows = RankedList.objects.filter(run=run, query__domain=domain).order_by("query_id")
    columns = ("query_id", "query__qid", "query__text", "pids", "scores")
    known = passages.with_text().filter(domain=domain).order_by()
    for key, qid, text, pids, scores in rows.values_list(*columns).iterator(_QUERIES_AT_ONCE):
        given = scores or [1 / rank for rank in range(1, len(pids) + 1)]
        out = set(excluded.get(key, ()))
        ranked = [each for each in zip(pids, given, strict=True) if each[0] not in out][:DEPTH]
        found = known.filter(pid__in=[pid for pid, _ in ranked])
        about = found.values_list("pid", "title", "text")
        texts = {pid: (title, words or "") for pid, title, words in about}
        candidates = [Candidate(pid, float(of), *texts[pid]) for pid, of in ranked if pid in texts]
        yield Request(qid, text or "", candidates)
