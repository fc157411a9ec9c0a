"""What is missing before a query can be submitted (docs/protocol.md 3.1)."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from django.db.models import Exists, QuerySet
from django.urls import reverse

from annotate.models import Aspect, GoldPassage
from annotate.workspace.models import SAME_PAIR, Scale
from annotate.workspace.wording import MOST_SENTENCES, USUAL_COUNT, close_pairs, count_sentences
from corpus.models import Judgment, Query, Source


class Item(NamedTuple):
    """One thing to do; `url` leads to where it is done.

    `kind` is one of: no_aspects, empty, unweighed, scale, support, undecided, asking, unlisted,
    which prevent submitting (`blocking`), and count, long, close, which are hints.
    """

    kind: str
    text: str
    url: str
    blocking: bool = True


def missing(*, query: Query) -> list[Item]:
    """Everything that is missing, blocking items first."""
    page = reverse("query", args=[query.domain.benchmark.slug, query.pk])
    aspects = list(Aspect.objects.filter(query=query).present())
    return [
        *(
            Item(kind, text, f"{page}?passage={pk}#passage-{pk}")
            for kind, text, pk in _of_passages(query)
        ),
        *_of_aspects(query, aspects, page),
        *_hints(aspects, page),
    ]


def _of_passages(query: Query) -> Iterator[tuple[str, str, int]]:
    undecided = undecided_originals().filter(query=query).order_by("pk")
    for pk, pid in undecided.values_list("passage_id", "passage__pid"):
        yield "undecided", f"{pid} is undecided", pk
    asking = GoldPassage.objects.asking().filter(query=query).select_related("passage", "aspect")
    for gold in asking:
        text = f"{gold.passage.pid} asks for a new aspect: a{gold.aspect.k} is gone"
        yield "asking", text, gold.passage_id
    unlisted = GoldPassage.objects.unlisted().filter(query=query, aspect__removed_at=None)
    for gold in unlisted.select_related("passage"):
        text = f"{gold.passage.pid} is not in the current gold any more: decide anew"
        yield "unlisted", text, gold.passage_id


def undecided_originals() -> QuerySet[Judgment]:
    """Original positives without a verdict; one that asks for its aspect is not among them."""
    attached = GoldPassage.objects.standing().filter(**SAME_PAIR)
    discarded = Judgment.objects.standing().filter(source=Source.EXPERT, label=0, **SAME_PAIR)
    rows = Judgment.objects.original().filter(label__gt=0)
    return rows.exclude(Exists(attached)).exclude(Exists(discarded))


def _of_aspects(query: Query, aspects: Sequence[Aspect], page: str) -> Iterator[Item]:
    if not aspects:
        yield Item("no_aspects", "There are no aspects yet", page)
    standing = GoldPassage.objects.standing().filter(query=query)
    supported = set(standing.values_list("aspect_id", flat=True))
    for aspect in aspects:
        at = f"{page}#aspect-{aspect.pk}"
        if not aspect.content.strip():
            yield Item("empty", f"a{aspect.k} says nothing yet", at)
        if not aspect.weighed:
            yield Item("unweighed", f"a{aspect.k} has no weight yet", at)
        if aspect.pk not in supported:
            yield Item("support", f"a{aspect.k} has no passage", at)
    scales = sorted({aspect.scale for aspect in aspects})
    if len(scales) > 1:
        shown = " and ".join(str(Scale(scale).label) for scale in scales)
        at = reverse("query-scale", args=[query.domain.benchmark.slug, query.pk])
        yield Item("scale", f"Weights are on several scales, {shown}", at)


def _hints(aspects: Sequence[Aspect], page: str) -> Iterator[Item]:
    for each in aspects:
        if (sentences := count_sentences(each.content)) > MOST_SENTENCES:
            text = f"a{each.k} has {sentences} sentences; one or two are usual"
            yield Item("long", text, f"{page}#aspect-{each.pk}", False)
    for one, other in close_pairs([aspect.content for aspect in aspects]):
        text = f"a{aspects[other].k} says nearly what a{aspects[one].k} says"
        yield Item("close", text, f"{page}#aspect-{aspects[other].pk}", False)
    if aspects and len(aspects) not in USUAL_COUNT:
        first, last = USUAL_COUNT[0], USUAL_COUNT[-1]
        count = f"{len(aspects)} aspect{'s' if len(aspects) > 1 else ''}"
        yield Item("count", f"{count}; {first} to {last} are usual", page, False)
