"""What is missing before a query can be submitted (docs/protocol.md 3.1)."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Exists, OuterRef
from django.urls import reverse

from annotate.models import Aspect, GoldPassage
from annotate.workspace.models import SCALE_TOP
from annotate.workspace.wording import MOST_SENTENCES, USUAL_COUNT, close_pairs, count_sentences
from corpus.models import Judgment, Query, Source


@dataclass(frozen=True)
class Item:
    """One thing to do; `url` leads to where it is done.

    `kind` is one of: no_aspects, empty, unweighed, scale, support, undecided, asking, unlisted,
    which prevent submitting (`blocking`), and count, long, close, which are hints.
    """

    kind: str
    text: str
    url: str
    blocking: bool


def missing(*, query: Query) -> list[Item]:
    """Everything that is missing, blocking items first."""
    aspects = list(Aspect.objects.filter(query=query).present())
    found = [*_of_passages(query), *_of_aspects(query, aspects), *_hints(query, aspects)]
    return sorted(found, key=lambda item: not item.blocking)


def _of_passages(query: Query) -> Iterator[Item]:
    for pk, pid in _undecided(query):
        yield _passage("undecided", f"{pid} is undecided", query, pk)
    asking = GoldPassage.objects.asking().filter(query=query).select_related("passage", "aspect")
    for gold in asking:
        text = f"{gold.passage.pid} asks for a new aspect: a{gold.aspect.k} is gone"
        yield _passage("asking", text, query, gold.passage_id)
    unlisted = GoldPassage.objects.unlisted().filter(query=query, aspect__removed_at=None)
    for gold in unlisted.select_related("passage"):
        text = f"{gold.passage.pid} is not in the current gold any more: decide anew"
        yield _passage("unlisted", text, query, gold.passage_id)


def _undecided(query: Query) -> list[tuple[int, str]]:
    """Original positives without a verdict; one that asks for its aspect is told apart."""
    of_pair = {"query": OuterRef("query"), "passage": OuterRef("passage")}
    attached = GoldPassage.objects.standing().filter(**of_pair)
    discarded = Judgment.objects.standing().filter(source=Source.EXPERT, label=0, **of_pair)
    rows = Judgment.objects.original().filter(query=query, label__gt=0)
    rows = rows.exclude(Exists(attached)).exclude(Exists(discarded)).order_by("pk")
    return list(rows.values_list("passage_id", "passage__pid"))


def _of_aspects(query: Query, aspects: list[Aspect]) -> Iterator[Item]:
    if not aspects:
        yield _item("no_aspects", "There are no aspects yet", query)
    supported = set(
        GoldPassage.objects.standing().filter(query=query).values_list("aspect_id", flat=True)
    )
    scales = {aspect.scale for aspect in aspects}
    for aspect in aspects:
        if not aspect.content.strip():
            yield _aspect("empty", f"a{aspect.k} says nothing yet", query, aspect)
        if not aspect.weighed:
            yield _aspect("unweighed", f"a{aspect.k} has no weight yet", query, aspect)
        if aspect.pk not in supported:
            yield _aspect("support", f"a{aspect.k} has no passage", query, aspect)
    if len(scales) > 1:
        shown = " and ".join(f"1 to {SCALE_TOP[scale]}" for scale in sorted(scales))
        yield _item("scale", f"Weights stand on two scales, {shown}", query, name="query-scale")


def _hints(query: Query, aspects: list[Aspect]) -> Iterator[Item]:
    for aspect in aspects:
        if (sentences := count_sentences(aspect.content)) > MOST_SENTENCES:
            text = f"a{aspect.k} has {sentences} sentences; one or two are usual"
            yield _aspect("long", text, query, aspect, blocking=False)
    for one, other in close_pairs([aspect.content for aspect in aspects]):
        text = f"a{aspects[other].k} says nearly what a{aspects[one].k} says"
        yield _aspect("close", text, query, aspects[other], blocking=False)
    if aspects and len(aspects) not in USUAL_COUNT:
        first, last = USUAL_COUNT[0], USUAL_COUNT[-1]
        count = f"{len(aspects)} aspect{'s' if len(aspects) > 1 else ''}"
        yield _item("count", f"{count}; {first} to {last} are usual", query, blocking=False)


def _item(
    kind: str, text: str, query: Query, at: str = "", *, name: str = "query", blocking: bool = True
) -> Item:
    url = reverse(name, args=[query.domain.benchmark.slug, query.pk])
    return Item(kind, text, url + at, blocking)


def _passage(kind: str, text: str, query: Query, pk: int) -> Item:
    return _item(kind, text, query, f"?passage={pk}#passage-{pk}")


def _aspect(kind: str, text: str, query: Query, aspect: Aspect, *, blocking: bool = True) -> Item:
    return _item(kind, text, query, f"#aspect-{aspect.pk}", blocking=blocking)
