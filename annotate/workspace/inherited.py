"""Gold passages of aspects that a cleaned corpus version inherits, and those that it loses."""

from collections import defaultdict
from collections.abc import Collection

from django.db.models import Exists, Q, QuerySet

from annotate.models import Aspect, GoldPassage
from annotate.workspace.models import SAME_PAIR
from corpus.models import CorpusVersion, Judgment, Source
from corpus.versions.crosswalk import targets


def gold_in(
    version: CorpusVersion, *, about: Q | None = None, removed: bool = False
) -> tuple[dict[int, list[int]], list[tuple[int, int]]]:
    """Standing gold passages by aspect, read through the version's crosswalks; and (aspect,
    passage) of those that no passage of the version inherits.

    What experts collected from the web is in no version that was loaded; it stays as it is. What
    asks for a new aspect, because its own was split or merged, supports none until it has one.
    `about` narrows the gold passages; with `removed` those of removed aspects count too.
    """
    rows = GoldPassage.objects.standing().filter(
        about or Q(),
        query__domain__benchmark=version.benchmark_id,
    )
    if not removed:
        rows = rows.filter(aspect__removed_at=None)
    pairs = list(
        rows.order_by("pk").values_list("aspect_id", "passage_id", "passage__version__state")
    )
    inheriting = targets(version, {passage for _, passage, _ in pairs})
    found: dict[int, list[int]] = defaultdict(list)
    lost: list[tuple[int, int]] = []
    for aspect, passage, state in pairs:
        there = [passage] if state == "growing" else inheriting[passage]
        found[aspect] += [each for each in there if each not in found[aspect]]
        if not there:
            lost.append((aspect, passage))
    return dict(found), lost


def listed_under(about: Q) -> dict[int, set[int]]:
    """Passages by aspect that the current imported gold lists under the subtopic that it is, as
    far as no expert decided on them: also those of several subtopics, which nobody assigned."""
    aspects = Aspect.objects.present().filter(about).exclude(subtopic="")
    columns = ("pk", "query", "subtopic")
    names = {(query, name): pk for pk, query, name in aspects.values_list(*columns)}
    found: dict[int, set[int]] = defaultdict(set)
    if not names:
        return found
    decided = Judgment.objects.standing().filter(source=Source.EXPERT, **SAME_PAIR)
    rows = Judgment.objects.original().filter(about, subtopics__isnull=False)
    rows = rows.exclude(Exists(decided)).order_by()
    for query, passage, of in rows.values_list("query_id", "passage_id", "subtopics").iterator():
        for name, label in (of or {}).items():
            if label > 0 and (query, name) in names:
                found[names[query, name]].add(passage)
    return found


def aspects_in(version: CorpusVersion) -> dict[int, set[tuple[int, int]]]:
    """(query, aspect) by passage of the version: what cleanings must not put into one passage.

    Gold of an aspect that was split or merged is kept apart, too, until it has a new one.
    """
    aspects = Aspect.objects.filter(query__domain__benchmark=version.benchmark_id)
    query_of = dict(aspects.values_list("pk", "query_id"))
    found: dict[int, set[tuple[int, int]]] = defaultdict(set)
    for aspect, passages in gold_in(version, removed=True)[0].items():
        for passage in passages:
            found[passage].add((query_of[aspect], aspect))
    return dict(found)


def aspect_texts(queries: Collection[int]) -> QuerySet[Aspect, tuple[int, str]]:
    """(query, text) of the standing aspects of these queries."""
    aspects = Aspect.objects.filter(query__in=queries, removed_at=None)
    return aspects.order_by("pk").values_list("query_id", "content")
