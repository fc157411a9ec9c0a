"""What a third person sees of one open item: every answer, and nobody's name."""

from typing import Any

from django.db.models import QuerySet

from annotate.adjudication.conflicts import final_scores
from annotate.adjudication.queue import OpenItem
from annotate.models import (
    Aspect,
    CaseStatus,
    EscalationCase,
    GoldPassage,
    OpenKind,
    Review,
    SupportLabel,
    Vote,
)
from annotate.voting.items import LABEL_WORDS
from corpus.judgments.services import assessors
from corpus.models import Judgment, Passage, Query, Source

Row = dict[str, Any]


def read_item(item: OpenItem) -> Row:
    """Everything about the `item`: its `query`, and `passage`, `case`, `aspect` or `review`.

    `said` are votes, verdicts or scores: `who` (a number, the same within the item), `what`,
    `first` (the first judgment, where it was another) and `reason`; an open case shows none.
    `history` are the labels that the pair had or has: `at`, `source`, `what`, `status`, `rule`
    and `reason`. `points` are those of a review in dispute.
    """
    query = Query.objects.select_related("domain__benchmark").get(pk=item.query_id)
    shown: Row = {"item": item, "query": query, "said": [], "history": []}
    if item.kind == OpenKind.WEIGHTS:
        aspect = Aspect.objects.get(pk=int(item.key))
        return shown | {"aspect": aspect, "said": _scores(aspect)}
    if item.kind == OpenKind.REVIEWS:
        review = Review.objects.get(pk=int(item.key))
        points = review.points.filter(status="objected").select_related("aspect", "passage")
        return shown | {"review": review, "points": list(points)}
    passages = Passage.objects.select_related("document")
    if item.kind == OpenKind.VERDICTS:
        passage = passages.get(pk=int(item.key.split("-")[1]))
        said = _verdicts(query, passage)
        labels = Judgment.objects.filter(query=query, passage=passage)
        return shown | {"passage": passage, "said": said, "history": _history(labels)}
    case = EscalationCase.objects.get(public_id=item.key)
    passage = passages.get(pk=case.passage_id)
    # Votes on an open case are shown to nobody: undone, a decision returns it to its voters.
    said = _votes(case) if case.status == CaseStatus.EXPERT else []
    rows: QuerySet[Any] = Judgment.objects.filter(query=query, passage=passage)
    if case.aspect_id:
        rows = SupportLabel.objects.filter(aspect=case.aspect_id, passage=passage)
    return shown | {"passage": passage, "case": case, "said": said, "history": _history(rows)}


def _said(who: str, what: str, reason: str = "", first: str = "") -> Row:
    return {"who": who, "what": what, "reason": reason, "first": first}


def _votes(case: EscalationCase) -> list[Row]:
    rows = Vote.objects.standing().filter(case=case).order_by("pk")
    return [
        _said(
            f"Voter {number}",
            LABEL_WORDS[vote.label],
            vote.reason,
            LABEL_WORDS[vote.first_label] if vote.first_label not in (None, vote.label) else "",
        )
        for number, vote in enumerate(rows, 1)
    ]


def _verdicts(query: Query, passage: Passage) -> list[Row]:
    pair = {"query": query, "passage": passage}
    labels = list(Judgment.objects.filter(source=Source.EXPERT, **pair).order_by("pk"))
    given_by = assessors(labels)
    names: dict[int | None, str] = {}
    gold = GoldPassage.objects.filter(**pair).select_related("aspect")
    aspects = {each.judgment_id: each.aspect for each in gold}
    said = []
    for each in labels:
        person = given_by[each.pk]["person"]
        who = names.setdefault(person, f"Expert {len(names) + 1}" if person else "Import")
        aspect = aspects.get(each.pk)
        what = f"supports a{aspect.k}: {aspect.content}" if aspect else _label(each)
        said.append(_said(who, what, _reason(each)))
    return said


def _scores(aspect: Aspect) -> list[Row]:
    rows = final_scores().filter(aspect=aspect).order_by("pk")
    return [
        _said(
            f"Scorer {number}",
            f"{score.weight} without seeing the author’s, which was {score.author_weight}",
        )
        for number, score in enumerate(rows, 1)
    ]


def _history(labels: QuerySet[Any]) -> list[Row]:
    return [
        {
            "at": each.created_at,
            "source": each.source,
            "what": _label(each),
            "status": each.status,
            "rule": str(each.provenance.get("rule", "")),
            "reason": _reason(each),
        }
        for each in labels.order_by("pk")
    ]


def _label(label: Judgment | SupportLabel) -> str:
    return LABEL_WORDS[int(label.label > 0)]


def _reason(label: Judgment | SupportLabel) -> str:
    kept = (str(label.provenance.get(name, "")) for name in ("reason", "note"))
    return ": ".join(filter(None, kept)).replace("_", " ")
