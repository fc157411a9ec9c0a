"""Votes as ratings, for reports of agreement (docs/protocol.md 2.4). Reads only."""

from collections.abc import Collection, Sequence

from django.db.models import Count, Exists, OuterRef, QuerySet

from annotate.agreement.ratings import Rating
from annotate.exams.models import AttemptState
from annotate.models import CaseStatus, Consent, ExamAttempt, Vote
from corpus.models import Benchmark, Source


def counted_votes(benchmark: Benchmark, *, without: Collection[int] = ()) -> QuerySet[Vote]:
    """Standing votes with a label on closed cases.

    Only cases that their votes have closed count: who may still vote on a case learns nothing
    about it from here. A case that an expert's verdict closed opens again once the verdict is
    undone, so its votes stay out too; labels of panels are no votes. `without` are keys of votes
    that do not count.
    """
    return (
        Vote.objects.standing()
        .filter(
            case__query__domain__benchmark=benchmark,
            case__status=CaseStatus.CLOSED,
            case__judgment__source=Source.HUMAN,
            label__isnull=False,
        )
        .exclude(pk__in=without)
    )


def checked_votes(benchmark: Benchmark, *, without: Collection[int] = ()) -> dict[str, int]:
    """Of the votes that count how many were given under each check, whatever is on today: after a
    passed `exam` of the domain, in `batches`, after `consent`; and `all`."""
    voter, given = OuterRef("voter"), OuterRef("created_at")
    exams = ExamAttempt.objects.filter(
        person=voter,
        domain=OuterRef("case__query__domain"),
        is_practice=False,
        status=AttemptState.PASSED,
        ended_at__lte=given,
    )
    agreed = Consent.objects.filter(person=voter, plan__benchmark=benchmark, created_at__lte=given)
    return counted_votes(benchmark, without=without).aggregate(
        all=Count("pk"),
        exam=Count("pk", filter=Exists(exams)),
        batches=Count("batch"),
        consent=Count("pk", filter=Exists(agreed)),
    )


def vote_opinions(benchmark: Benchmark, *, without: Collection[int] = ()) -> Sequence[Rating]:
    """One rating per vote that counts (`counted_votes`); the item is the case."""
    rows = counted_votes(benchmark, without=without)
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
