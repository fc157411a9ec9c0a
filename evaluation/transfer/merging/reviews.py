"""Second reviews that ended, with their points and turns; blind scores of them and of samples."""

from annotate.models import (
    Aspect,
    RescoreTask,
    Review,
    ReviewPoint,
    ReviewTurn,
    WeightScore,
)
from annotate.review.models import OVER
from evaluation.transfer.merging.rows import Rows, merge_corrected

_FORGED = "somebody of this installation said no such thing here"


def merge_reviews(rows: Rows) -> None:
    """Those that are not here; of one that is, nothing changes."""
    known = {each.created_at: each for each in Review.objects.filter(query=rows.ours)}
    for row in Review.objects.filter(query=rows.theirs).order_by("pk"):
        if found := known.get(row.created_at):
            rows.match(row, found)
            if found.status != row.status:
                rows.leave(row, f"it is {found.status} here, and {row.status} there")
        elif row.status not in OVER:
            rows.leave(row, "it goes on there")
        elif rows.told.is_forged(row.reviewer_id, row.third_id):
            rows.leave(row, _FORGED)
        else:
            author = rows.told.person(row.author_id)
            made = rows.add(row, query=rows.ours, author_id=author)
            rows.told.note(made, "merge review", query=rows.ours.pk)
    _merge_points(rows)
    _merge_scores(rows)


def _merge_points(rows: Rows) -> None:
    for point in ReviewPoint.objects.filter(review__query=rows.theirs).order_by("pk"):
        if rows.is_new(Review, point.review_id):
            passage = rows.passage(point.passage_id) if point.passage_id else None
            if point.passage_id and passage is None:
                rows.leave(point, "its passage is not here, or has another text")
                continue
            review, aspect = rows.led(Review, point.review_id), rows.led(Aspect, point.aspect_id)
            rows.add(point, review=review, aspect=aspect, passage=passage)
    for said in ReviewTurn.objects.filter(review__query=rows.theirs).order_by("pk"):
        if rows.is_new(Review, said.review_id):
            if rows.told.is_forged(said.actor_id):
                rows.leave(said, _FORGED)
                continue
            review, of = rows.led(Review, said.review_id), rows.led(ReviewPoint, said.point_id)
            rows.add(said, review=review, point=of)


def _merge_tasks(rows: Rows) -> dict[int, RescoreTask]:
    """By their keys there, tasks of samples that somebody scored; done here by who was first."""
    found: dict[int, RescoreTask] = {}
    here = RescoreTask.objects.filter(query=rows.ours).select_related("sample")
    known = {each.sample.created_at: each for each in here}
    theirs = RescoreTask.objects.filter(query=rows.theirs).exclude(done_at=None)
    for row in theirs.select_related("sample").order_by("pk"):
        task = known.get(row.sample.created_at)
        if task is not None and task.done_at and row.done_at and task.done_at <= row.done_at:
            rows.match(row, task)
        elif rows.told.is_forged(row.scorer_id):
            rows.leave(row, _FORGED)
            continue
        elif task is not None:
            done = {"done_at": row.done_at, "scorer": row.scorer_id}
            RescoreTask.objects.filter(pk=task.pk).update(**done)
            rows.told.note(task, "merge rescore task", query=rows.ours.pk)
        else:
            task = rows.add(row, sample=rows.shared(row.sample), query=rows.ours)
        found[row.pk] = task
    return found


def _merge_scores(rows: Rows) -> None:
    tasks = _merge_tasks(rows)
    known = WeightScore.objects.filter(aspect__query=rows.ours).values_list("created_at", flat=True)
    moments = set(known)
    places = {
        row.pk: rows.led(Aspect, row.aspect_id)
        for row in WeightScore.objects.filter(aspect__query=rows.theirs)
        if row.created_at in moments or rows.led(Review, row.review_id) or row.task_id in tasks
    }
    merge_corrected(
        rows,
        WeightScore,
        "aspect",
        "scorer",
        places=places,
        changed=lambda row: {
            "review": rows.led(Review, row.review_id),
            "task": tasks.get(row.task_id),
            "author_id": rows.told.person(row.author_id),
        },
    )
