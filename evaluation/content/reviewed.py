"""Second reviews as a release has them: who reviewed which query, and what they found.

Only reviews that are accepted. No words that people typed: they may name somebody.

What a LARA run's labels follow from: every pair of the run, and people's answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from django.db.models import Q

from annotate.agreement.ratings import Scale
from annotate.agreement.slices import measured
from annotate.models import CaseStatus, PointKind, Review, ReviewPoint, ReviewStatus, WeightScore
from annotate.review.agreement import weight_ratings
from corpus.models import Benchmark, Domain, Judgment
from debate.models import DebateRun, Turn
from debate.runs.configuration import SIMULATED
from debate.runs.kinds import config_of
from evaluation.content.unconfirmed import NOTHING, Unconfirmed
from evaluation.exporters.names import aspect_id, split_name
from evaluation.exporters.records import published_weight
from kit.stats.results import Estimate

Pseudonym = Callable[[int], str]
_PEOPLE = ("author", "reviewer", "third")


def read_reviews(
    split: str, domain: Domain, name: Pseudonym, left_out: Unconfirmed = NOTHING
) -> Iterator[dict[str, Any]]:
    """One row for each accepted review, in the order of queries.

    `weights` were scored blind, with the author's at that moment, null where that was none that
    anybody chose; `points` say of the aspects as a whole, of each weight and of each passage what
    came of it ("fine", or raised and agreed on or settled), with what the reviewer changed.
    """
    rows = Review.objects.filter(query__domain=domain, status=ReviewStatus.ACCEPTED)
    rows = rows.exclude(pk__in=left_out.reviews).exclude(query__in=left_out.aspects)
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
                    "author": published_weight(each.author_weight, each.scale)
                    if each.author_weighed
                    else None,
                    "blind": published_weight(each.weight, each.scale),
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


def reviews_of(
    labels: Sequence[Judgment], name: Pseudonym, left_out: Unconfirmed = NOTHING
) -> dict[tuple[int, int], Any]:
    """By query and passage what the last accepted review says of it: {"reviewer", "status"}."""
    points = ReviewPoint.objects.filter(
        kind=PointKind.PASSAGE,
        review__status=ReviewStatus.ACCEPTED,
        review__query__in={each.query_id for each in labels},
        passage__in={each.passage_id for each in labels},
    ).exclude(Q(review__in=left_out.reviews) | Q(review__query__in=left_out.aspects))
    columns = ("review__query_id", "passage_id", "review__reviewer_id", "status")
    return {
        (query, passage): {"reviewer": name(reviewer), "status": status}
        for query, passage, reviewer, status in points.order_by("pk").values_list(*columns)
    }


def second_reviews(
    benchmark: Benchmark, left_out: Unconfirmed = NOTHING
) -> tuple[int, int, Estimate | None]:
    """Queries with an accepted review, the weights scored blind there, and how far they agree with
    the authors' (quadratic kappa; None without weights)."""
    accepted = Review.objects.in_benchmark(benchmark).filter(status=ReviewStatus.ACCEPTED)
    accepted = accepted.exclude(pk__in=left_out.reviews).exclude(query__in=left_out.aspects)
    queries = accepted.order_by().values("query").distinct().count()
    own = accepted.order_by().values("pk")
    ratings, top, *_ = weight_ratings(benchmark, review__in=own)
    if not ratings:
        return queries, 0, None
    scale = Scale("interval", tuple(range(1, top + 1)))
    kappa = measured(ratings, scale).coefficient("cohen_kappa_quadratic")
    return queries, len(ratings) // 2, kappa


# The columns of a course's pairs. `ended` says of how many pairs the course was that labelled it.
COLUMNS = ("split", "query_id", "passage_id", "score", "pick", "given", "ended")


def read_course(run_pk: int) -> dict[str, Any]:
    """The settings and all measured pairs in the run's order; no names of people."""
    run = DebateRun.objects.get(pk=run_pk)
    lara = config_of(run).lara
    turns = Turn.objects.filter(debate__run=run, score__isnull=False).order_by("debate_id")
    rows = turns.values_list(
        "debate__query__domain__name",
        "debate__query__qid",
        "debate__passage__pid",
        "score",
        "debate__measures",
        "debate__case__status",
        "debate__case__label",
    )
    return {
        "run": run.pk,
        "variant": lara.variant,
        "smooth": lara.smooth,
        "budget": lara.budget,
        "groups": lara.groups,
        "seed": lara.seed,
        "simulated": lara.mode == SIMULATED,
        "columns": COLUMNS,
        "pairs": [_pair(*row) for row in rows.iterator()],
    }


def courses_in(row: Mapping[str, Any]) -> set[int]:
    """The runs that a row of evidence follows from, by way of what it was inherited from too."""
    found = {row["course"]} if "course" in row else set()
    for part in (row.get("carried") or {}).get("from", ()):
        found |= courses_in(part) | courses_in(part["given"] or {})
    return found


def _pair(
    domain: str,
    qid: str,
    pid: str,
    score: float | None,
    measures: dict[str, Any],
    status: str | None,
    decided: int | None,
) -> tuple[Any, ...]:
    given = decided if status == CaseStatus.CLOSED else measures.get("given")
    pick = measures.get("pick")
    return split_name(domain), qid, pid, score, pick, given if pick else None, measures.get("pairs")
