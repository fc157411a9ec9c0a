"""Votes as ratings, for reports of agreement (docs/protocol.md 2.4). Reads only."""

from collections.abc import Collection, Sequence

from annotate.agreement.ratings import Rating
from annotate.models import CaseStatus, Vote
from corpus.models import Benchmark, Source


def vote_opinions(benchmark: Benchmark, *, without: Collection[int] = ()) -> Sequence[Rating]:
    """One rating per standing vote with a label on a closed case; the item is the case.

    Only cases that their votes have closed count: who may still vote on a case learns nothing
    about it from here. A case that an expert's verdict closed opens again once the verdict is
    undone, so its votes stay out too; labels of panels are no votes. `without` are keys of votes
    that do not count.
    """
    rows = (
        Vote.objects.standing()
        .filter(
            case__query__domain__benchmark=benchmark,
            case__status=CaseStatus.CLOSED,
            case__judgment__source=Source.HUMAN,
            label__isnull=False,
        )
        .exclude(pk__in=without)
    )
    fields = ("case_id", "voter_id", "label", "case__query__domain__name", "created_at")
    return [
        Rating(
            item=case,
            rater=voter,
            label=label,
            person=voter,
            domain=domain,
            month=f"{created:%Y-%m}",
            guideline=str(guideline),
        )
        for case, voter, label, domain, created, guideline in rows.order_by("pk")
        .values_list(*fields, "guideline")
        .iterator()
    ]
