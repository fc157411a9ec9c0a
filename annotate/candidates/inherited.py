"""Machine gold that a cleaned corpus version inherits, as it does labels of pairs."""

from collections import Counter
from collections.abc import Collection

from django.db.models import Q, QuerySet

from annotate.models import SupportLabel
from corpus.access import Access
from corpus.judgments.models import NOTHING_LEFT_OUT, PEOPLE, LeftOut
from corpus.judgments.shown import shown_labels
from corpus.models import CorpusVersion, Judgment
from corpus.versions.effective import GivenLabel, effective_labels, inherit_given


def support_in(
    version: CorpusVersion, *, about: Q | None = None, without: LeftOut = NOTHING_LEFT_OUT
) -> dict[tuple[int, int], GivenLabel]:
    """Labels of support by (aspect, passage of the version), each with the key of its row: given
    there, or inherited through its cleanings (corpus/versions/effective.py).

    What experts collected from the web is in no version that was loaded; it stays as it is.
    `about` narrows the labels, `without` names some that do not count.
    """
    rows = SupportLabel.objects.in_benchmark(version.benchmark).standing(without)
    columns = ("aspect_id", "passage_id", "label", "source", "practice", "pk")
    told = rows.filter(about or Q()).values_list(*columns, "passage__version__state")
    given: dict[tuple[int, int], GivenLabel] = {}
    collected: dict[tuple[int, int], GivenLabel] = {}
    for aspect, passage, *label, state in told.iterator(chunk_size=2_000):
        of = collected if state == "growing" else given
        of[aspect, passage] = GivenLabel(*label)
    return inherit_given(version, given) | collected


def refused_in(
    version: CorpusVersion | None,
    queries: Collection[int],
    *,
    labels: LeftOut = NOTHING_LEFT_OUT,
    shown_to: Access | None = None,
) -> set[tuple[int, int]]:
    """Pairs (query, passage) that people found not relevant: given so, or as a cleaned version
    inherits it, by the rule by which scores have their labels.

    `labels` names some that do not count, `shown_to` leaves out what this person may not see.
    """
    given = Judgment.objects.standing(labels).filter(query__in=queries, source__in=PEOPLE)
    rows = shown_labels(given, shown_to) if shown_to else given
    found = set(rows.filter(label__lte=0).order_by().values_list("query_id", "passage_id"))
    if version is None or not version.is_derived:
        return found
    about = Q(query__in=queries)
    inherited = effective_labels(version, about=about, shown_to=shown_to, without=labels)
    return found | {
        pair
        for pair, each in inherited.pairs.items()
        if each.given and each.given.label <= 0 and each.given.source in PEOPLE
    }


def machine_gold_in(
    version: CorpusVersion,
    machine: QuerySet[SupportLabel],
    *,
    about: Q | None = None,
    support: LeftOut = NOTHING_LEFT_OUT,
    labels: LeftOut = NOTHING_LEFT_OUT,
) -> dict[tuple[int, int], int]:
    """Labels of support by (aspect, passage of the version), in the order in which they were given.

    `machine` are those that are machine gold where they were given. Its rules hold in the version,
    too: a passage that supports several aspects of a query there, since it was made of several,
    waits for the expert, and what people found not relevant there, or where it comes from, is none.
    """
    found = support_in(version, about=about, without=support)
    rows = SupportLabel.objects.in_benchmark(version.benchmark).filter(about or Q()).order_by()
    query_of = dict(rows.values_list("aspect_id", "aspect__query_id").distinct())
    supports = [(*pair, each.practice) for pair, each in found.items() if each.label]
    supported = Counter((query_of[aspect], *rest) for aspect, *rest in supports)
    known = set(machine.filter(about or Q()).order_by().values_list("pk", flat=True))
    out = refused_in(version, set(query_of.values()), labels=labels) if known else set()
    kept = {
        pair: each.judgment
        for pair, each in found.items()
        if each.judgment in known
        and each.judgment is not None
        and supported[*(of := (query_of[pair[0]], pair[1])), each.practice] == 1
        and of not in out
    }
    return dict(sorted(kept.items(), key=lambda row: (row[1], row[0])))
