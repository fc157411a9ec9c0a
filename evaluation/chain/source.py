"""What a chain begins with, line by line: texts, queries, gold, and runs that it did not make."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import QuerySet

from annotate.models import (
    Aspect,
    Assignment,
    GoldPassage,
    ReferenceAnswer,
    ReviewPoint,
    SupportLabel,
    WeightScore,
)
from corpus.models import Benchmark, Judgment, Passage, Query, RetrievalRun
from evaluation.chain.here import Here, Lines

_ASKED = ("query__domain__name", "query__qid")


def texts(here: Here) -> Lines:
    """The passages of the version that the chain works on."""
    if here.version is None:
        return ()
    rows = Passage.objects.in_version(here.version).order_by("domain__name", "pid", "pk")
    return rows.values_list("domain__name", "pid", "title", "text").iterator(chunk_size=5_000)


def source(here: Here) -> Iterator[list[object]]:
    """All that steps may read before any has made something; nothing of it names a person or a key
    of this installation."""
    benchmark = here.benchmark
    yield from (["passage", *row] for row in texts(here))
    told = ("text", "answers", "gold_answer", "reference_answer", "excluded_ids")
    queries = Query.objects.filter(domain__benchmark=benchmark)
    yield from _rows("query", queries, "domain__name", "qid", told=told)
    labels = Judgment.objects.in_benchmark(benchmark)
    for name, rows in (("gold", labels.original()), ("label", labels.standing())):
        pair = (*_ASKED, "passage__pid")
        yield from _rows(name, rows, *pair, told=("label", "source", "subtopics"))
    yield from annotated(benchmark)
    support = SupportLabel.objects.in_benchmark(benchmark).standing()
    of_aspect = ("aspect__query__domain__name", "aspect__query__qid", "aspect__k", "passage__pid")
    yield from _rows("support", support, *of_aspect, told=("label", "source"))
    answers = ReferenceAnswer.objects.chosen().filter(query__domain__benchmark=benchmark)
    yield from _rows("reference answer", answers, *_ASKED, "author", told=("text",))
    yield from _rows("wordings", benchmark.query_sources.all(), "name", "digest")
    runs = RetrievalRun.objects.filter(benchmark=benchmark)
    yield from _rows("run", runs, "name", "corpus_version__name", "digest")


def annotated(benchmark: Benchmark) -> Iterator[list[object]]:
    """What experts wrote and reviewers said: aspects, gold of aspects, how far each query is, blind
    scores, and the verdict on each point."""
    of = {"query__domain__benchmark": benchmark}
    aspects = Aspect.objects.filter(**of, removed_at=None)
    told = ("content", "weight", "scale", "weighed")
    yield from _rows("aspect", aspects, *_ASKED, "k", told=told)
    gold = GoldPassage.objects.standing().filter(**of)
    yield from _rows("gold of aspects", gold, *_ASKED, "aspect__k", "passage__pid")
    work = Assignment.objects.standing().filter(**of)
    yield from _rows("state", work, *_ASKED, "state")
    scores = WeightScore.objects.standing().filter(aspect__query__domain__benchmark=benchmark)
    named = [f"aspect__{name}" for name in (*_ASKED, "k")]
    yield from _rows("blind score", scores, *named, "weight", "author_weight", "scale")
    points = ReviewPoint.objects.filter(review__query__domain__benchmark=benchmark)
    named = [f"review__{name}" for name in (*_ASKED, "status")]
    about = ("kind", "key", "aspect__k", "passage__pid", "status")
    yield from _rows("verdict", points, *named, *about, told=("note",))


def _rows(
    kind: str, rows: QuerySet[Any], *named: str, told: Sequence[str] = ()
) -> Iterator[list[object]]:
    """Rows as lines, in the order of what names them, whatever their keys are."""
    for row in rows.order_by(*named, "pk").values_list(*named, *told).iterator():
        yield [kind, *row]
