"""Faults of a release that only the database can tell; the records tell the others."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db import models
from django.db.models import Q

from annotate.agreement.opinions import BINARY
from annotate.agreement.slices import measured
from annotate.models import CaseStatus, EscalationCase
from annotate.services.agreement import vote_opinions
from corpus.models import Benchmark, Domain, Judgment
from evaluation.exporters.faults import MOST_PLACES, Fault, Place
from evaluation.services.view import View

Rows = models.QuerySet[Any]


def database_faults(view: View, split: str, domain: Domain) -> list[Fault]:
    """Undecided cases, texts that are missing, labels outside the corpus; empty ones left out."""
    found = [
        _cases(split, domain, "open_cases", CaseStatus.OPEN),
        _cases(split, domain, "expert_cases", CaseStatus.EXPERT),
        _outside(view, split, domain),
        _without_text(view, split, domain),
    ]
    return [each for each in found if each.count]


def _cases(split: str, domain: Domain, check: str, status: str) -> Fault:
    cases = EscalationCase.objects.filter(query__domain=domain, status=status)
    columns = {"query": "query__qid", "passage": "passage__pid", "case_pk": "pk"}
    return _fault(check, split, cases, columns)


def _outside(view: View, split: str, domain: Domain) -> Fault:
    labels = Judgment.objects.filter(query__domain=domain, label__gt=0)
    counted = labels.original() | labels.standing()
    inside = Q(passage__domain=domain, passage__version_id__in=view.layers)
    columns = {"query": "query__qid", "query_pk": "query_id", "passage": "passage__pid"}
    return _fault("outside_corpus", split, counted.exclude(inside), columns)


def _without_text(view: View, split: str, domain: Domain) -> Fault:
    passages = view.passages.filter(domain=domain, text__isnull=True)
    return _fault("passages_without_text", split, passages, {"passage": "pid", "passage_pk": "pk"})


def _fault(check: str, split: str, rows: Rows, columns: dict[str, str]) -> Fault:
    """The fault with its whole count and its first places by order of arrival."""
    first = rows.order_by("pk").values_list(*columns.values())[:MOST_PLACES]
    return Fault(check, rows.count(), tuple(_places(split, tuple(columns), first)))


def _places(split: str, names: tuple[str, ...], rows: Rows) -> Iterator[Place]:
    return ({"split": split, **dict(zip(names, row, strict=True))} for row in rows)


@dataclass(frozen=True)
class VoteKappa:
    """Fleiss' kappa over the votes that stand; None where it is undefined."""

    votes: int
    value: float | None = None
    low: float | None = None
    high: float | None = None


def vote_kappa(benchmark: Benchmark) -> VoteKappa:
    """How far the voters of a benchmark agree."""
    opinions = vote_opinions(benchmark)
    if not opinions:
        return VoteKappa(0)
    found = measured(opinions, BINARY).coefficient("fleiss_kappa")
    if found.interval is None:
        return VoteKappa(len(opinions), found.value)
    return VoteKappa(len(opinions), found.value, found.interval.low, found.interval.high)


def agreement_fault(kappa: VoteKappa, bar: float | None) -> list[Fault]:
    """A fault where votes were given and do not reach the bar; none where no bar was set."""
    if bar is None or not kappa.votes or (kappa.value is not None and kappa.value >= bar):
        return []
    return [Fault("agreement_below_bar", 1, ())]
