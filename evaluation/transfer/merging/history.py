"""How aspects came to be, problems of old gold, decisions of third persons, and blind ratings."""

from typing import Any, Final

from annotate.models import (
    Adjudication,
    AnswerGrade,
    AnswerPair,
    AnswerRating,
    AnswerReview,
    Aspect,
    AspectChange,
    EscalationCase,
    GradedAnswer,
    ProblemTag,
    ReferenceAnswer,
    SentenceGrade,
    SentenceItem,
    SupportLabel,
)
from annotate.workspace.changes import FIELDS
from annotate.workspace.gold import standing_verdict
from corpus.judgments.services import first_row
from corpus.models import Judgment, Status
from evaluation.transfer.merging.rows import Rows, by, merge_corrected
from evaluation.transfer.models import ConflictKind

_FORGED: Final = "somebody of this installation did no such thing here"
_ANSWER: Final = ("created_at", "author", "text")
# What people rate, and by what values a row of it is the same one here.
_RATED: Final[tuple[tuple[Any, str, str, Any, tuple[str, ...]], ...]] = (
    (
        *(AnswerRating, "pair", "rater", AnswerPair),
        (
            "comparison__created_at",
            *(f"human__{name}" for name in _ANSWER),
            *(f"model__{name}" for name in _ANSWER),
        ),
    ),
    (AnswerReview, "answer", "reviewer", ReferenceAnswer, _ANSWER),
    (AnswerGrade, "answer", "grader", GradedAnswer, ("sample__created_at", "text", "truths")),
    (
        *(SentenceGrade, "item", "grader", SentenceItem),
        ("sample__created_at", "text", "context", "passage__pid"),
    ),
)


def merge_history(rows: Rows) -> None:
    """All of them; aspects, labels and cases have to be merged before."""
    _merge_changes(rows)
    _merge_tags(rows)
    _merge_decisions(rows)
    _merge_ratings(rows)


def _merge_changes(rows: Rows) -> None:
    """Earlier texts and weights of aspects; what stands is not touched (`aspects`)."""
    ours = AspectChange.objects.filter(query=rows.ours)
    known = {(each.kind, each.created_at): each for each in ours}
    theirs = list(AspectChange.objects.filter(query=rows.theirs).order_by("pk"))
    for row in theirs:
        if found := known.get((row.kind, row.created_at)):
            rows.match(row, found)
            if _words(found.after) != _words(row.after):
                rows.leave(row, "it was written on since, on one side")
        elif rows.told.is_forged(row.created_by_id):
            rows.leave(row, _FORGED)
        elif not all(rows.led(Aspect, each.get("pk")) for each in [*row.before, *row.after]):
            rows.leave(row, "an aspect of it is not here")
        else:
            shots = {name: _numbered(rows, getattr(row, name)) for name in ("before", "after")}
            made = rows.add(row, query=rows.ours, undone_by=None, **shots)
            rows.told.note(made, "merge aspect change", query=rows.ours.pk)
    for row in theirs:
        if rows.is_new(AspectChange, row.pk):
            made, undone = (rows.led(AspectChange, pk) for pk in (row.pk, row.undone_by_id))
            AspectChange.objects.filter(pk=made.pk).update(
                updated_at=row.updated_at, undone_by=undone
            )


def _words(shots: list[dict[str, Any]]) -> list[Any]:
    return [[each.get(name) for name in FIELDS] for each in shots]


def _numbered(rows: Rows, shots: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """With the numbers that their aspects have here; `Rows.link` changes the keys."""
    return [each | {"k": rows.led(Aspect, each["pk"]).k} for each in shots]


def _merge_tags(rows: Rows) -> None:
    """A problem that both saw is one; one that either took off again is a conflict."""
    ours = ProblemTag.objects.filter(query=rows.ours)
    theirs = ProblemTag.objects.filter(query=rows.theirs).order_by("pk")
    known = {(each.passage_id, each.problem, each.created_at): each for each in ours}
    standing = {(each.passage_id, each.problem) for each in ours if each.ended_at is None}
    places = {each.pk: each.passage_id and rows.passage(each.passage_id) for each in theirs}
    abouts = {each.pk: (getattr(places[each.pk], "pk", None), each.problem) for each in theirs}
    stands_there = {
        abouts[each.pk]
        for each in theirs
        if each.ended_at is None and (not each.passage_id or places[each.pk])
    }
    for row in theirs:
        passage, about = places[row.pk], abouts[row.pk]
        if row.passage_id and passage is None:
            rows.leave(row, "its passage is not here, or has another text")
        elif found := known.get((*about, row.created_at)):
            rows.match(row, found)
            is_here, is_there = found.ended_at is None, row.ended_at is None
            replaced = about in (stands_there if is_here else standing)
            # One that an earlier merge added as history stays what it is.
            if is_here != is_there and not replaced and found.ended_at != found.created_at:
                said = [row.get_problem_display() if each else "taken off"
                        for each in (is_here, is_there)]  # fmt: skip
                rows.told.differ(ConflictKind.PROBLEM, rows.ours, *said, passage=passage)
        elif rows.told.is_forged(row.created_by_id):
            rows.leave(row, _FORGED)
        else:
            ended = row.ended_at or (row.created_at if about in standing else None)
            made = rows.add(row, query=rows.ours, passage=passage, ended_at=ended)
            standing |= {about} if ended is None else set()
            rows.told.note(made, "merge problem tag", query=rows.ours.pk)


def _merge_decisions(rows: Rows) -> None:
    """Decisions whose label or weight applies here stand; what differs is a conflict already."""
    ours = list(Adjudication.objects.filter(query=rows.ours))
    known = {each.created_at: each for each in ours}
    decided = {_decided(each) for each in ours if each.undone_at is None}
    for row in Adjudication.objects.filter(query=rows.theirs).order_by("pk"):
        led = {
            "passage": rows.passage(row.passage_id) if row.passage_id else None,
            "case": rows.led(EscalationCase, row.case_id),
            "aspect": rows.led(Aspect, row.aspect_id),
            "judgment": rows.led(Judgment, row.judgment_id),
            "support": rows.led(SupportLabel, row.support_id),
        }
        needed = led.keys() - (() if row.support_id else {"case"})
        if found := known.get(row.created_at):
            rows.match(row, found)
            if (found.undone_at is None) == (row.undone_at is None):
                continue
            if found.undone_at or rows.told.is_forged(row.undone_by_id) or _counts(found):
                rows.leave(row, "it stands on one side alone")
                continue
            undone = {"undone_at": row.undone_at, "undone_by": row.undone_by_id}
            Adjudication.objects.filter(pk=found.pk).update(**undone)
            decided.discard(_decided(found))
            rows.told.note(found, "undo decision by merge", query=rows.ours.pk)
        elif rows.told.is_forged(row.adjudicator_id, row.undone_by_id):
            rows.leave(row, _FORGED)
        elif any(getattr(row, f"{name}_id") and led[name] is None for name in needed):
            rows.leave(row, "what it decided is not here")
        else:
            made = Adjudication(query=rows.ours, **led)
            applies = row.undone_at is None and _applies(row, **led)
            stands = applies and _decided(made) not in decided
            ended = None if stands else row.undone_at or row.created_at
            made = rows.add(row, query=rows.ours, **led, undone_at=ended)
            decided |= {_decided(made)} if stands else set()
            rows.told.note(made, "merge decision", query=rows.ours.pk)


def _applies(row: Adjudication, *, judgment: Any, support: Any, aspect: Any, **_: Any) -> bool:
    """Whether what a decision of there came to is so here: its label, or its aspect's weight."""
    if label := judgment or support:
        return bool(label.status != Status.TRIAL)
    return row.aspect is not None and bool(aspect.weight == row.aspect.weight)


def _counts(decision: Adjudication) -> bool:
    """Whether its label or weight is the one that counts here now, as the database says."""
    if decision.aspect_id and decision.weight:
        return Aspect.objects.filter(pk=decision.aspect_id, weight=decision.weight).exists()
    if decision.support_id:
        return SupportLabel.objects.standing().filter(pk=decision.support_id).exists()
    assert decision.passage is not None  # a constraint says so
    verdict = standing_verdict(decision.query, decision.passage)
    return verdict is not None and first_row(verdict) == decision.judgment_id


def _decided(decision: Adjudication) -> tuple[int | None, ...]:
    """What it settles; of the weights of an aspect several may stand."""
    if decision.aspect_id:
        return (decision.pk,)
    return decision.passage_id, decision.support_id and decision.case_id


def _merge_ratings(rows: Rows) -> None:
    """Of what both were drawn to rate: a sample of one side alone stays with it."""
    ids = {
        each.aspect_id: rows.led(Aspect, each.pk).aspect_id
        for each in Aspect.objects.filter(query=rows.theirs).select_related("query__domain")
    }

    def renamed(row: AnswerGrade) -> dict[str, Any]:
        told = {"scores": row.scores, "weights": row.weights}
        return {name: {ids.get(key, key): each for key, each in of.items()}
                for name, of in told.items()}  # fmt: skip

    for kind, about, giver, parent, values in _RATED:
        ours, theirs = (
            {pk: repr(value) for pk, *value in each.order_by("pk").values_list("pk", *values)}
            for each in (parent.objects.filter(query=of) for of in (rows.ours, rows.theirs))
        )
        here = by(ours, ours.__getitem__)
        same = {pk: here[key].pop(0) for pk, key in theirs.items() if here[key]}
        found = parent.objects.in_bulk(same.values())
        given = kind.objects.filter(**{f"{about}__in": same}).values_list("pk", about)
        places = {pk: found[same[of]] for pk, of in given}
        changed = renamed if kind is AnswerGrade else lambda _: {}
        merge_corrected(rows, kind, about, giver, places=places, changed=changed)
