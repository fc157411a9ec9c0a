"""Second reviews as a release tells them: who looked at which query, and what they found.

Only reviews that are accepted. No words that people typed: they may name somebody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from annotate.agreement.opinions import Scale
from annotate.agreement.slices import measured
from annotate.models import PointKind, Review, ReviewPoint, ReviewStatus, WeightScore
from annotate.review.agreement import weight_opinions
from corpus.models import Benchmark, Domain, Judgment
from evaluation.exporters.names import aspect_id

Pseudonym = Callable[[int], str]
_PEOPLE = ("author", "reviewer", "third")


def read_reviews(split: str, domain: Domain, name: Pseudonym) -> Iterator[dict[str, Any]]:
    """One row for each accepted review, in the order of queries.

    `weights` were scored blind, beside the author's at that moment, null where that was none that
    anybody chose; `points` say of the aspects as a whole, of each weight and of each passage what
    came of it ("fine", or raised and agreed on or settled), with what the reviewer changed.
    """
    rows = Review.objects.filter(query__domain=domain, status=ReviewStatus.ACCEPTED)
    found = list(rows.order_by("query_id", "pk").select_related("query"))
    points: dict[int, list[ReviewPoint]] = {}
    about = ReviewPoint.objects.filter(review__in=found).select_related("aspect", "passage")
    for point in about.defer("passage__text").order_by("pk"):
        points.setdefault(point.review_id, []).append(point)
    scores: dict[int | None, list[WeightScore]] = {}
    given = WeightScore.objects.standing().filter(review__in=found).select_related("aspect")
    for score in given.order_by("aspect__k", "pk"):
        scores.setdefault(score.review_id, []).append(score)
    for review in found:
        people = {part: getattr(review, f"{part}_id") for part in _PEOPLE}
        qid = review.query.qid
        yield {
            "query_id": qid,
            **{part: name(pk) for part, pk in people.items() if pk is not None},
            "weights": [
                {
                    "aspect": aspect_id(split, qid, each.aspect.k),
                    "author": each.author_weight if each.author_weighed else None,
                    "blind": each.weight,
                    "scale": each.scale,
                }
                for each in scores.get(review.pk, [])
            ],
            "points": [_point(split, qid, each) for each in points.get(review.pk, [])],
        }


def _point(split: str, qid: str, point: ReviewPoint) -> dict[str, Any]:
    row: dict[str, Any] = {"kind": point.kind}
    if point.key:
        row["check"] = point.key
    if point.aspect is not None:
        row["aspect"] = aspect_id(split, qid, point.aspect.k)
    if point.passage is not None:
        row |= {"passage_id": point.passage.pid, "removed": "judgment" in point.change}
    row["status"] = point.status
    return row | {part: point.change[part] for part in ("from", "to") if part in point.change}


def reviews_of(labels: Sequence[Judgment], name: Pseudonym) -> dict[tuple[int, int], Any]:
    """By query and passage what the last accepted review says of it: {"reviewer", "status"}."""
    points = ReviewPoint.objects.filter(
        kind=PointKind.PASSAGE,
        review__status=ReviewStatus.ACCEPTED,
        review__query__in={each.query_id for each in labels},
        passage__in={each.passage_id for each in labels},
    )
    columns = ("review__query_id", "passage_id", "review__reviewer_id", "status")
    return {
        (query, passage): {"reviewer": name(reviewer), "status": status}
        for query, passage, reviewer, status in points.order_by("pk").values_list(*columns)
    }


@dataclass(frozen=True)
class Reviewed:
    """Queries with an accepted review, the weights scored blind there, and how far they agree with
    the authors' (quadratic kappa; None where it is undefined)."""

    queries: int
    weights: int = 0
    value: float | None = None
    low: float | None = None
    high: float | None = None


def second_reviews(benchmark: Benchmark) -> Reviewed:
    """Of a whole benchmark."""
    accepted = Review.objects.in_benchmark(benchmark).filter(status=ReviewStatus.ACCEPTED)
    queries = accepted.order_by().values("query").distinct().count()
    found = weight_opinions(benchmark, review__status=ReviewStatus.ACCEPTED)
    if not found.opinions:
        return Reviewed(queries)
    scale = Scale("interval", tuple(range(1, found.top + 1)))
    kappa = measured(found.opinions, scale).coefficient("cohen_kappa_quadratic")
    ends = (kappa.interval.low, kappa.interval.high) if kappa.interval else (None, None)
    return Reviewed(queries, len(found.opinions) // 2, kappa.value, *ends)
