"""What is missing before a query can be submitted."""

from dataclasses import dataclass

from django.db.models import Exists, OuterRef

from annotate.models import Aspect, GoldPassage
from corpus.models import Judgment, Query, Source


@dataclass(frozen=True)
class Item:
    """One thing to do; a `blocking` one must be done before the query is submitted."""

    kind: str
    text: str
    url: str = ""
    blocking: bool = True


def missing(*, query: Query) -> list[Item]:
    """What stands between the query and its submission, in the order to do it."""
    aspects = list(Aspect.objects.filter(query=query).present())
    found = [] if aspects else [Item("aspects", "There are no aspects yet.")]
    supported = set(
        GoldPassage.objects.standing().filter(query=query).values_list("aspect_id", flat=True)
    )
    for aspect in aspects:
        if not aspect.content.strip():
            found.append(Item("aspect", f"a{aspect.k} says nothing yet."))
        if aspect.pk not in supported:
            found.append(Item("support", f"a{aspect.k} has no passage."))
    if undecided := _undecided(query):
        found.append(Item("originals", f"{undecided} of the original gold passages undecided."))
    return found


def _undecided(query: Query) -> int:
    pair = {"query": OuterRef("query"), "passage": OuterRef("passage")}
    discarded = Judgment.objects.standing().filter(source=Source.EXPERT, label=0, **pair)
    attached = GoldPassage.objects.standing().filter(**pair)
    originals = Judgment.objects.original().filter(query=query, label__gt=0)
    return originals.exclude(Exists(discarded)).exclude(Exists(attached)).count()
