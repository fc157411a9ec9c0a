"""Blind scores compared with authors' weights, and reviewers' verdicts with theirs. Reads only.

Whoever may still score a query blind must not see this: it shows weights.
"""

from collections import Counter
from typing import Any

from django.db.models import QuerySet

from annotate.agreement.ratings import Rating
from annotate.models import PointKind, ReviewPoint, ReviewStatus, Scale, WeightScore
from annotate.workspace.models import SCALE_TOP
from corpus.models import Benchmark

AUTHOR, SCORER, REVIEWER = "author", "blind scorer", "reviewer"


def weight_ratings(benchmark: Benchmark, **purpose: Any) -> tuple[list[Rating], int, int, int]:
    """Raw weights on the commoner scale, two ratings per score (the item), with the scale's top.

    Last the numbers of scores that are left out: on the rarer scale, and of aspects whose weight
    nobody had chosen yet. `purpose` narrows the scores (reviews or samples).
    """
    rows = WeightScore.objects.standing().filter(
        aspect__query__domain__benchmark=benchmark, **purpose
    )
    given = list(rows.select_related("aspect__query__domain").order_by("pk"))
    found = [each for each in given if each.author_weighed]
    scales = Counter(each.scale for each in found)
    scale = max(scales, key=lambda name: (scales[name], name)) if scales else Scale.LIKERT5
    kept = [each for each in found if each.scale == scale]
    ratings = [
        Rating(
            item=each.pk,
            rater=rater,
            label=label,
            person=each.scorer_id,
            domain=each.aspect.query.domain.name,
            month=f"{each.created_at:%Y-%m}",
            guideline=str(each.guideline),
        )
        for each in kept
        for rater, label in ((AUTHOR, each.author_weight), (SCORER, each.weight))
    ]
    return ratings, SCALE_TOP[scale], len(found) - len(kept), len(given) - len(found)


def answered_ratings(benchmark: Benchmark) -> list[Rating]:
    """Reviewers' verdicts on passages, compared with the authors' answers to them.

    Where the reviewer wanted a passage removed, the author agreed or objected; where it was kept,
    both say gold. Removals that nobody answered (an import has no author) are left out.
    """
    points = _passage_points(benchmark).prefetch_related("turns")
    found = []
    for point in points:
        answers = [turn.verb for turn in point.turns.all() if turn.verb in ("agree", "object")]
        if answers:
            pair = (0 if answers[-1] == "agree" else 1, 0)
        elif "judgment" in point.change:
            continue
        else:
            pair = (1, 1)
        found += _two_ratings(point, *pair)
    return found


def verdict_ratings(benchmark: Benchmark) -> list[Rating]:
    """Two ratings per passage of an accepted review; the item is the point of the review.

    The reviewer's is their own last word: a third person who decided otherwise did not change it.
    """
    points = _passage_points(benchmark).prefetch_related("turns")
    return [each for point in points for each in _two_ratings(point, 1, _of_reviewer(point))]


def _of_reviewer(point: ReviewPoint) -> int:
    verbs = [turn.verb for turn in point.turns.all() if turn.verb in ("keep", "change", "yield")]
    return 0 if verbs and verbs[-1] == "change" else 1


def _passage_points(benchmark: Benchmark) -> QuerySet[ReviewPoint]:
    rows = ReviewPoint.objects.filter(
        kind=PointKind.PASSAGE,
        review__query__domain__benchmark=benchmark,
        review__status=ReviewStatus.ACCEPTED,
    )
    return rows.select_related("review__query__domain").order_by("pk")


def _two_ratings(point: ReviewPoint, author: int, reviewer: int) -> list[Rating]:
    review = point.review
    return [
        Rating(
            item=point.pk,
            rater=rater,
            label=label,
            person=review.reviewer_id,
            domain=review.query.domain.name,
            month=f"{review.ended_at or review.created_at:%Y-%m}",
        )
        for rater, label in ((AUTHOR, author), (REVIEWER, reviewer))
    ]
