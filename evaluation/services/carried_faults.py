"""What a derived corpus version could not take over, as faults of its release."""

from collections.abc import Iterable

from annotate.models import Aspect
from corpus.models import Domain, Query
from evaluation.exporters.faults import MOST_PLACES, Fault, Place
from evaluation.exporters.names import aspect_id
from evaluation.services import carried_view
from evaluation.services.view import View


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
        *(_fault(check, split, places, qids) for check, places in pairs.items()),
        _lost_support(split, found.lost_gold),
        _practice(view, split),
    ]


def _fault(check: str, split: str, pairs: list[tuple[int, int]], qids: dict[int, str]) -> Fault:
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
