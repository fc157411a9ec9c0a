"""Faults of a release that only the database can tell; the records tell the others.

What a derived corpus version could not take over, as faults of its release."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db import models
from django.db.models import Q

from annotate.agreement.ratings import BINARY
from annotate.agreement.slices import measured
from annotate.models import Aspect, CaseStatus, EscalationCase
from annotate.voting.agreement import vote_opinions
from corpus.models import Benchmark, CorpusVersion, Domain, Judgment, Query
from corpus.models.texts import CLEANED
from evaluation.content import carried_view
from evaluation.content.view import View
from evaluation.exporters.faults import MOST_PLACES, Fault, Place
from evaluation.exporters.names import aspect_id


def carried_faults(view: View, split: str, domain: Domain) -> list[Fault]:
    """Relevant labels and gold passages without a place, other labels without one, labels given
    there that weigh less than carried ones, texts made by the practice model."""
    found = carried_view.of_domain(view, domain)
    qids = dict(Query.objects.filter(domain=domain).values_list("pk", "qid"))
    pairs: dict[str, list[tuple[int, int]]] = {"uncarried_gold": [], "uncarried_labels": []}
    for lost in found.lost:
        is_gold = lost.held.label > 0 or (lost.held.base or 0) > 0
        check = "uncarried_gold" if is_gold else "uncarried_labels"
        pairs[check] += [(lost.held.query, pk) for pk in lost.held.given_for]
    pairs["outweighed_labels"] = [
        (held.query, held.passage) for held in found.held if held.outweighed
    ]
    return [
        *(_carried_faults_fault(check, split, places, qids) for check, places in pairs.items()),
        _lost_support(split, found.lost_gold),
        _practice(view, split),
    ]


def _carried_faults_fault(
    check: str, split: str, pairs: list[tuple[int, int]], qids: dict[int, str]
) -> Fault:
    names = carried_view.known(None, {passage for _, passage in pairs[:MOST_PLACES]})
    places = [
        {
            "split": split,
            "query": qids[query],
            "query_pk": query,
            "passage": names[passage][0],
            "passage_pk": passage,
        }
        for query, passage in pairs[:MOST_PLACES]
    ]
    return Fault(check, len(pairs), tuple(places))


def _lost_support(split: str, lost: list[tuple[int, int]]) -> Fault:
    names = carried_view.known(None, {passage for _, passage in lost[:MOST_PLACES]})
    aspects = Aspect.objects.select_related("query").in_bulk([pk for pk, _ in lost[:MOST_PLACES]])
    places: Iterable[Place] = (
        {
            "split": split,
            "aspect": aspect_id(split, aspects[aspect].query.qid, aspects[aspect].k),
            "passage": names[passage][0],
            "passage_pk": passage,
        }
        for aspect, passage in lost[:MOST_PLACES]
    )
    return Fault("uncarried_support", len(lost), tuple(places))


def _practice(view: View, split: str) -> Fault:
    at, made = view.corpus, False
    while at is not None and at.is_derived:
        made = made or bool(at.recipe.get("practice"))
        at = at.parent
    return Fault("practice_texts", int(made), ({"split": split},) if made else ())


def told_as_carried(view: View, faults: Iterable[Fault]) -> list[Fault]:
    """Of a derived version: a chunk may hold what two passages say, each for its own aspect."""
    if not view.is_derived:
        return list(faults)
    return [
        Fault("carried_two_aspects", each.count, each.rows) if each.check == "two_aspects" else each
        for each in faults
    ]


Rows = models.QuerySet[Any]
_PAIR = {"query": "query__qid", "query_pk": "query_id", "passage": "passage__pid"}


def database_faults(view: View, split: str, domain: Domain) -> list[Fault]:
    """Undecided cases, texts that are missing, labels outside the corpus; empty ones left out."""
    found = [
        _cases(split, domain, "open_cases", CaseStatus.OPEN),
        _cases(split, domain, "expert_cases", CaseStatus.EXPERT),
        _outside(view, split, domain),
        _elsewhere(view, split, domain),
        *(carried_faults(view, split, domain) if view.is_derived else ()),
        _without_text(view, split, domain),
    ]
    return [each for each in found if each.count]


def _cases(split: str, domain: Domain, check: str, status: str) -> Fault:
    # Items of a reference panel are a measure beside the labels: unfinished ones hold up nothing.
    cases = EscalationCase.objects.of_voters().filter(query__domain=domain, status=status)
    columns = {"query": "query__qid", "passage": "passage__pid", "case_pk": "pk"}
    return _fault(check, split, cases, columns)


def _outside(view: View, split: str, domain: Domain) -> Fault:
    labels = Judgment.objects.filter(query__domain=domain, label__gt=0)
    counted = labels.original() | labels.standing()
    inside = Q(passage__domain=domain, passage__version_id__in=view.lineage)
    rows = counted.exclude(inside).exclude(_derived(view))
    return _fault("outside_corpus", split, rows, _PAIR)


def _elsewhere(view: View, split: str, domain: Domain) -> Fault:
    """Labels given in a derived version that this one was not made of: they stand there."""
    labels = Judgment.objects.filter(query__domain=domain).standing().filter(_derived(view))
    rows = labels.exclude(passage__version_id__in=view.lineage)
    return _fault("given_elsewhere", split, rows, _PAIR)


def _without_text(view: View, split: str, domain: Domain) -> Fault:
    passages = view.passages.filter(domain=domain, text__isnull=True)
    return _fault("passages_without_text", split, passages, {"passage": "pid", "passage_pk": "pk"})


def _derived(view: View) -> Q:
    """Labels of passages that cleanings made. By key: a version without a kind is no answer to a
    question about it, and so would be left out of its opposite as well."""
    made = CorpusVersion.objects.filter(benchmark=view.benchmark, recipe__kind=CLEANED)
    return Q(passage__version_id__in=list(made.values_list("pk", flat=True)))


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
