"""What a reviewer finds about aspects, weights and passages, and undoing a change."""

from collections.abc import Mapping

from django.contrib.auth.models import User

from annotate.models import Aspect, GoldPassage, PointKind, PointStatus, Review, ReviewPoint
from annotate.models import ReviewStatus as State
from annotate.review.models import ASPECT_CHECKS, PASSAGE_CHECKS
from annotate.review.turns import REVIEWER, say, turn
from annotate.workspace.aspects import write_weight
from annotate.workspace.gold import discard_passage, undo_verdict
from annotate.workspace.models import SCALE_TOP
from corpus.models import Judgment, Passage, Status
from kit.errors import Refused


def check_aspects(
    *, review: Review, actor: User, key: str, fine: bool, note: str = ""
) -> ReviewPoint:
    """One of the four questions about the aspects; what is not fine needs a note."""
    if key not in ASPECT_CHECKS:
        raise Refused("There is no such question.", field="key")
    _need(fine, note)
    with turn(review, actor, State.CHECKING) as current:
        point = _point(current, kind=PointKind.ASPECTS, key=key)
        return _conclude(current, point, actor, fine=fine, note=note, change={}, about=key)


def check_weight(
    *, review: Review, actor: User, aspect: Aspect, weight: int, note: str = ""
) -> ReviewPoint:
    """Keep a weight, or change it with a reason; the author sees both and answers."""
    with turn(review, actor, State.CHECKING) as current:
        found = Aspect.objects.filter(query=current.query).present().filter(pk=aspect.pk).first()
        if found is None:
            raise Refused("This aspect was removed meanwhile.")
        if not 1 <= weight <= SCALE_TOP[found.scale]:
            raise Refused(f"Choose a weight from 1 to {SCALE_TOP[found.scale]}.", field="weight")
        point = _point(current, kind=PointKind.WEIGHT, aspect=found)
        before = int(point.change.get("from", found.weight))
        _need(weight == before, note)
        if weight != found.weight:
            write_weight(found, actor, weight)
        is_kept = weight == before
        change: dict[str, object] = {} if is_kept else {"from": before, "to": weight}
        about = f"a{found.k}"
        return _conclude(current, point, actor, fine=is_kept, note=note, change=change, about=about)


def check_passage(
    *,
    review: Review,
    actor: User,
    passage: Passage,
    checks: Mapping[str, bool],
    reason: str = "",
    note: str = "",
) -> ReviewPoint:
    """Keep a passage that is explicit, credible and directly relevant, or remove it with a reason.

    `checks` answers all three questions; a No to any of them removes the passage, for `reason`
    (one of gold.DiscardReason).
    """
    if set(checks) != set(PASSAGE_CHECKS):
        raise Refused("Answer all three questions about the passage.", field="checks")
    keep = all(checks.values())
    _need(keep, note)
    with turn(review, actor, State.CHECKING) as current:
        point = _point(current, kind=PointKind.PASSAGE, passage=passage)
        change = {} if keep else dict(point.change)
        if keep:
            undo_point(point, actor)
        if not change:
            gold = GoldPassage.objects.standing()
            if not gold.filter(query=current.query_id, passage=passage).exists():
                raise Refused("This passage belongs to no aspect any more.")
        if not keep and not change:
            verdict = discard_passage(
                query=current.query, passage=passage, reason=reason, note=note, actor=actor
            )
            change = {"judgment": verdict.pk, "reason": reason}
        failed = [name for name, answer in checks.items() if not answer]
        about = {"about": passage.pid, "failed": failed}
        return _conclude(current, point, actor, fine=keep, note=note, change=change, **about)


def missing_points(review: Review) -> list[str]:
    """What the reviewer has not looked at yet, in words."""
    seen = list(review.points.all())
    keys = {point.key for point in seen}
    weights = {point.aspect_id for point in seen}
    passages = {point.passage_id for point in seen}
    phrases = {"granularity": "have the right granularity"}
    missing = [
        f"whether the aspects {phrases.get(key, f'are {key}')}"
        for key in ASPECT_CHECKS
        if key not in keys
    ]
    aspects = Aspect.objects.filter(query=review.query_id).present()
    missing += [f"the weight of a{each.k}" for each in aspects if each.pk not in weights]
    gold = GoldPassage.objects.standing().filter(query=review.query_id).select_related("passage")
    return missing + [each.passage.pid for each in gold if each.passage_id not in passages]


def undo_point(point: ReviewPoint, actor: User) -> str:
    """Undo what a point changed; "yes", "" where it changed nothing, "no" where others went on.

    For a caller that locked the query; the point itself is the caller's to save.
    """
    change = point.change
    point.change = {}
    if point.aspect is not None and "to" in change:
        current = Aspect.objects.get(pk=point.aspect.pk)
        if current.weight != change["to"]:
            return "no"
        write_weight(current, actor, int(change["from"]))
        return "yes"
    if point.passage is not None and "judgment" in change:
        standing = Judgment.objects.filter(pk=change["judgment"], status=Status.STANDING)
        if not standing.exists():
            return "no"
        undo_verdict(query=point.review.query, passage=point.passage, actor=actor)
        return "yes"
    return ""


def _need(fine: bool, note: str) -> None:
    if not fine and not note.strip():
        raise Refused("Say why, so that the author can follow.", field="note")


def _point(review: Review, *, kind: str, **about: object) -> ReviewPoint:
    found = ReviewPoint.objects.filter(review=review, kind=kind, **about).first()
    if found is None:
        return ReviewPoint(review=review, kind=kind, status=PointStatus.FINE, **about)
    if found.status == PointStatus.SETTLED:
        raise Refused("A third person settled this point.")
    if found.status == PointStatus.OBJECTED:
        raise Refused("The author objects to this. Follow the objection, or ask a third person.")
    return found


def _conclude(
    review: Review,
    point: ReviewPoint,
    actor: User,
    *,
    fine: bool,
    note: str,
    change: dict[str, object],
    **data: object,
) -> ReviewPoint:
    point.status = PointStatus.FINE if fine else PointStatus.RAISED
    point.note, point.change = note.strip(), change
    point.save()
    verb = "keep" if fine else "change"
    say(review, actor, REVIEWER, verb, point=point, text=point.note, **change, **data)
    return point
