"""What training data is made of: candidates and labels of queries; and what labels say now."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from django.db.models import Q

from corpus.models import (
    Benchmark,
    CorpusVersion,
    Judgment,
    Passage,
    Query,
    RetrievalRun,
)
from corpus.reranking.services import AS_IT_IS, candidates_of
from corpus.versions.effective import EffectiveLabel, effective_labels
from evaluation.training.models import TrainingDocument, TrainingRun

_AT_ONCE: Final = 500


@dataclass
class Material:
    """Passages of one query: those to be graded, and the labelled ones with their label's row."""

    candidates: list[int] = field(default_factory=list)
    labelled: list[tuple[int, bool, int | None]] = field(default_factory=list)


def candidates(benchmark: Benchmark, domain: str = "") -> list[Query]:
    """Queries that data can be made for: those with a text."""
    found = Query.objects.in_benchmark(benchmark).exclude(text="").order_by("pk")
    return list(found.filter(domain__name=domain) if domain else found)


def materials_of(run: TrainingRun, queries: Sequence[Query]) -> dict[int, Material]:
    """What is known of each query: at most `labels` relevant and as many irrelevant passages, and
    those of the first `depth` of the source that have no label; all of them where none is taken.

    Labels of the practice model are left out: it would train on itself.
    """
    found: dict[int, Material] = defaultdict(Material)
    version, most = run.corpus_version, run.config["labels"]
    taken: dict[int, set[int]] = defaultdict(set)
    if version is not None and most:
        known = effective_labels(version, about=Q(query__in=[each.pk for each in queries]))
        real = [each for each in known.labels if not (each.given and each.given.practice)]
        rows = _judgments(real)
        for each in real:
            material = found[each.query]
            same = [use for _, use, _ in material.labelled if use is each.is_gold]
            is_contested = each.is_gold and each.label <= 0
            if len(same) < most and not is_contested:
                judged = (rows.get((each.query, key)) for key in each.given_for)
                row = each.given.judgment if each.given else None
                row = row or next(filter(None, judged), None)
                material.labelled.append((each.passage, each.is_gold, row))
            taken[each.query].add(each.passage)
    if run.source is not None:
        depth = run.config["depth"]
        for query, keys in _ranked(run.source, version, queries, depth).items():
            found[query].candidates = [key for key in keys if key not in taken[query]]
    return found


def _ranked(
    source: RetrievalRun, version: CorpusVersion | None, queries: Sequence[Query], depth: int
) -> dict[int, list[int]]:
    """Keys of the first passages of each query, without those it excludes."""
    domains = {query.pk: query.domain_id for query in queries}
    found = candidates_of(source, queries, depth=depth, scheme=AS_IT_IS)
    known = Passage.objects.in_version(version).with_text().filter(domain__in=set(domains.values()))
    rows = known.filter(pid__in={pid for each in found.values() for pid in each.pids})
    keys = {(domain, pid): pk for pk, domain, pid in rows.values_list("pk", "domain", "pid")}
    return {
        query: [keys[at] for pid in each.pids if (at := (domains[query], pid)) in keys]
        for query, each in found.items()
    }


def _judgments(labels: Iterable[EffectiveLabel]) -> dict[tuple[int, int], int]:
    """The row that gave each label: that given since the import, else the imported one."""
    asked = [(each.query, key) for each in labels for key in each.given_for]
    rows = Judgment.objects.filter(
        query__in={query for query, _ in asked}, passage__in={key for _, key in asked}
    )
    columns = ("query_id", "passage_id", "pk")
    return {
        (query, passage): pk
        for part in (rows.original(), rows.standing())
        for query, passage, pk in part.order_by("pk").values_list(*columns)
    }


def texts_of(keys: Collection[int]) -> dict[int, str]:
    """Title and text of passages, by key."""
    found = Passage.objects.with_text().filter(pk__in=keys).order_by()
    return {
        pk: f"{title}\n{text}" if title else text or ""
        for pk, title, text in found.values_list("pk", "title", "text")
    }


def labels_now(
    run: TrainingRun, documents: Sequence[TrainingDocument]
) -> Mapping[int, EffectiveLabel]:
    """The label that each passage has for its query now, by the document's key; of written texts
    and of pairs that nobody judged there is none. Documents come with their items."""
    version = run.corpus_version
    asked = [each for each in documents if each.passage_id]
    if version is None or not asked:
        return {}
    about = Q(query__in={each.item.query_id for each in asked})
    known = effective_labels(version, about=about).pairs
    pairs = {each.pk: (each.item.query_id, each.passage_id or 0) for each in asked}
    return {pk: known[pair] for pk, pair in pairs.items() if pair in known}
