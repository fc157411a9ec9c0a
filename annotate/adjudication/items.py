"""What a third person sees of one open item: everything that was said, and nobody's name."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from annotate.adjudication.conflicts import lasting_scores
from annotate.adjudication.queue import OpenItem
from annotate.models import (
    Aspect,
    CaseStatus,
    EscalationCase,
    GoldPassage,
    OpenKind,
    Review,
    ReviewPoint,
    Vote,
)
from corpus.models import Judgment, Passage, Query, Source
from corpus.services.judges import givers

WORDS = {1: "relevant", 0: "not relevant", None: "cannot be judged"}


@dataclass(frozen=True)
class Said:
    """What one person said; `who` is a number, the same within the item."""

    who: str
    what: str
    reason: str = ""
    first: str = ""


@dataclass(frozen=True)
class Step:
    """One label that the pair had or has."""

    at: datetime
    source: str
    what: str
    status: str
    rule: str
    reason: str


@dataclass(frozen=True)
class ShownItem:
    """One open item. `said` are votes, verdicts or scores; an open case shows none."""

    item: OpenItem
    query: Query
    passage: Passage | None = None
    case: EscalationCase | None = None
    aspect: Aspect | None = None
    review: Review | None = None
    said: Sequence[Said] = ()
    history: Sequence[Step] = ()
    points: Sequence[ReviewPoint] = field(default=())


def read_item(item: OpenItem) -> ShownItem:
    """Everything about the item."""
    query = Query.objects.select_related("domain__benchmark").get(pk=item.query_id)
    if item.kind == OpenKind.WEIGHTS:
        aspect = Aspect.objects.get(pk=int(item.key))
        return ShownItem(item, query, aspect=aspect, said=_scores(aspect))
    if item.kind == OpenKind.REVIEWS:
        review = Review.objects.get(pk=int(item.key))
        points = review.points.filter(status="objected").select_related("aspect", "passage")
        return ShownItem(item, query, review=review, points=list(points))
    passages = Passage.objects.select_related("document")
    if item.kind == OpenKind.VERDICTS:
        passage = passages.get(pk=int(item.key.split("-")[1]))
        return ShownItem(
            item, query, passage, said=_verdicts(query, passage), history=_steps(query, passage)
        )
    case = EscalationCase.objects.get(pk=int(item.key))
    passage = passages.get(pk=case.passage_id)
    # How an open case stands is shown to nobody: taken back, a decision returns it to its voters.
    votes = _votes(case) if case.status == CaseStatus.EXPERT else ()
    return ShownItem(item, query, passage, case=case, said=votes, history=_steps(query, passage))


def _votes(case: EscalationCase) -> list[Said]:
    rows = Vote.objects.standing().filter(case=case).order_by("pk")
    return [
        Said(
            f"Voter {number}",
            WORDS[vote.label],
            vote.reason,
            WORDS[vote.first_label] if vote.first_label not in (None, vote.label) else "",
        )
        for number, vote in enumerate(rows, 1)
    ]


def _verdicts(query: Query, passage: Passage) -> list[Said]:
    labels = list(
        Judgment.objects.filter(query=query, passage=passage, source=Source.EXPERT).order_by("pk")
    )
    judges = givers(labels)
    names: dict[int | None, str] = {}
    aspects = {
        gold.judgment_id: gold.aspect
        for gold in GoldPassage.objects.filter(query=query, passage=passage).select_related(
            "aspect"
        )
    }
    said = []
    for each in labels:
        judge = judges[each.pk].judge
        who = names.setdefault(judge, f"Expert {len(names) + 1}" if judge else "Import")
        aspect = aspects.get(each.pk)
        what = f"supports a{aspect.k}: {aspect.content}" if aspect else WORDS[int(each.label > 0)]
        said.append(Said(who, what, _reason(each)))
    return said


def _scores(aspect: Aspect) -> list[Said]:
    rows = lasting_scores().filter(aspect=aspect).order_by("pk")
    return [
        Said(
            f"Scorer {number}",
            f"{score.weight} without seeing the author’s, which was {score.author_weight}",
        )
        for number, score in enumerate(rows, 1)
    ]


def _steps(query: Query, passage: Passage) -> list[Step]:
    rows = Judgment.objects.filter(query=query, passage=passage).order_by("pk")
    return [
        Step(
            each.created_at,
            each.source,
            WORDS[int(each.label > 0)],
            each.status,
            str(each.provenance.get("rule", "")),
            _reason(each),
        )
        for each in rows
    ]


def _reason(label: Judgment) -> str:
    kept = (str(label.provenance.get(name, "")) for name in ("reason", "note"))
    return ": ".join(filter(None, kept)).replace("_", " ")
