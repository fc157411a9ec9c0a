"""Gold passages and citations that a cleaned corpus version inherits, and those that it loses."""

from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import Q

from annotate.answers.citing import brackets, numbers_gold
from annotate.answers.evidence import answers_in
from annotate.models import Aspect, GoldPassage
from corpus.imports.context import chunks
from corpus.models import CorpusVersion, Passage, Query
from corpus.versions.crosswalk import targets


@dataclass
class CarriedGold:
    """Passages of the version by aspect; `lost` are gold passages that none of them holds."""

    by_aspect: dict[int, list[int]]
    lost: list[tuple[int, int]]


def gold_in(version: CorpusVersion, *, about: Q | None = None) -> CarriedGold:
    """Standing gold passages of every aspect, read through the version's crosswalks.

    What experts collected from the web is in no version that was loaded; it stays as it is. What
    asks for a new aspect, because its own was split or merged, supports none until it has one.
    `about` narrows the gold passages.
    """
    rows = GoldPassage.objects.standing().filter(
        about or Q(),
        query__domain__benchmark=version.benchmark_id,
        aspect__removed_at=None,
    )
    pairs = list(
        rows.order_by("pk").values_list("aspect_id", "passage_id", "passage__version__state")
    )
    reached = targets(version, {passage for _, passage, _ in pairs})
    found: dict[int, list[int]] = defaultdict(list)
    lost: list[tuple[int, int]] = []
    for aspect, passage, state in pairs:
        there = [passage] if state == "growing" else reached[passage]
        found[aspect] += [each for each in there if each not in found[aspect]]
        if not there:
            lost.append((aspect, passage))
    return CarriedGold(dict(found), lost)


NO_PASSAGE = "no passage of this version takes it over"
COUNTS_NOTHING = (
    "counts the gold of aspects, of which the query has not so many: it stays as it was written"
)


class LostCitation(NamedTuple):
    """Words in brackets of a published answer that cite no passage of the version, and why."""

    query: Query
    cited: str
    why: str


class LostSupport(NamedTuple):
    """A gold passage of an aspect that no passage of the version inherits."""

    aspect: Aspect
    passage: Passage


def lost_work(version: CorpusVersion) -> tuple[list[LostCitation], list[LostSupport]]:
    """Citations and gold passages that the version does not inherit; none in loaded texts."""
    return (_citations(version), _support(version)) if version.is_derived else ([], [])


def _citations(version: CorpusVersion) -> list[LostCitation]:
    found: dict[int, list[tuple[str, str]]] = {}
    for domain in version.benchmark.domains.ready():
        for pk, answer in answers_in(version, domain).items():
            # Carried ones became ids: what still counts gold counted none.
            numbers = [each for each in brackets(answer.text) if numbers_gold(each)]
            rows = [(each, NO_PASSAGE) for each in answer.uncarried]
            rows += [(each, COUNTS_NOTHING) for each in numbers if each not in answer.uncarried]
            if rows:
                found[pk] = rows
    keys = sorted(found)
    queries = {
        query.pk: query
        for part in chunks(keys)
        for query in Query.objects.select_related("domain").filter(pk__in=part)
    }
    return [LostCitation(queries[pk], *row) for pk in keys for row in found[pk]]


def _support(version: CorpusVersion) -> list[LostSupport]:
    found: list[LostSupport] = []
    for part in chunks(gold_in(version).lost):
        related = Aspect.objects.select_related("query__domain")
        aspects = related.in_bulk([aspect for aspect, _ in part])
        passages = Passage.objects.defer("text").in_bulk([passage for _, passage in part])
        found += [LostSupport(aspects[aspect], passages[pk]) for aspect, pk in part]
    return found
