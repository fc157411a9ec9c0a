"""Machine gold that a cleaned corpus version inherits, as it does labels of pairs."""

from collections import Counter

from django.db.models import Q, QuerySet

from annotate.models import SupportLabel
from corpus.judgments.models import NOTHING_LEFT_OUT, PEOPLE, LeftOut
from corpus.models import CorpusVersion, Judgment
from corpus.versions.effective import GivenLabel, inherit_given


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
    waits for the expert, and what people found not relevant there is none.
    """
    found = support_in(version, about=about, without=support)
    rows = SupportLabel.objects.in_benchmark(version.benchmark).filter(about or Q()).order_by()
    query_of = dict(rows.values_list("aspect_id", "aspect__query_id").distinct())
    supports = [pair for pair, each in found.items() if each.label]
    supported = Counter((query_of[aspect], passage) for aspect, passage in supports)
    refused = Judgment.objects.in_benchmark(version.benchmark).standing(labels).order_by()
    refused = refused.filter(source__in=PEOPLE, label__lte=0)
    known = set(machine.filter(about or Q()).order_by().values_list("pk", flat=True))
    out = set(refused.values_list("query_id", "passage_id")) if known else set()
    kept = {
        pair: each.judgment
        for pair, each in found.items()
        if each.judgment in known
        and each.judgment is not None
        and supported[of := (query_of[pair[0]], pair[1])] == 1
        and of not in out
    }
    return dict(sorted(kept.items(), key=lambda row: (row[1], row[0])))
