"""Labels and aspects of a derived corpus version: carried by cleanings, or given right there."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Q

from annotate.workspace.carrying import gold_in
from corpus.judgments.models import Source
from corpus.models import Domain, Passage
from corpus.versions.holding import Held, Lost, holding
from evaluation.content.view import View
from evaluation.exporters.records import Label

_CHUNK = 500


@dataclass(frozen=True)
class CarriedDomain:
    """What holds in one domain, by (query, passage) in the order of their keys."""

    held: list[Held]
    lost: list[Lost]
    # (id, whether its text is loaded) of every passage that is held.
    passages: dict[int, tuple[str, bool]]
    # Passage ids by aspect, and (aspect, passage) that support nothing here.
    supporting: dict[int, list[str]]
    lost_gold: list[tuple[int, int]]


def of_domain(view: View, domain: Domain, wanted: Q | None = None) -> CarriedDomain:
    """What is carried to a domain; the whole of it is kept until another one is read."""
    if wanted is None or not wanted:
        if domain.pk not in view.kept:
            view.kept.clear()
            view.kept[domain.pk] = _read(view, domain, Q())
        found: CarriedDomain = view.kept[domain.pk]
        return found
    return _read(view, domain, wanted)


def labels(view: View, domain: Domain, wanted: Q) -> list[tuple[int, Label]]:
    """(query, label) of every pair."""
    found = of_domain(view, domain, wanted)
    return [(held.query, _label(held, *found.passages[held.passage])) for held in found.held]


def outweighed(view: View, domain: Domain) -> set[int]:
    """Labels given right there beside which a weightier one was carried."""
    return {
        each.outweighed.judgment
        for each in of_domain(view, domain).held
        if each.outweighed and each.outweighed.judgment is not None
    }


def _read(view: View, domain: Domain, wanted: Q) -> CarriedDomain:
    assert view.corpus is not None
    about = Q(wanted, query__domain=domain)
    found = holding(view.corpus, about=about, shown_only=view.shown_only)
    passages = known(domain, {passage for _, passage in found.pairs})
    gold = gold_in(view.corpus, about=Q(wanted, query__domain=domain))
    reached = known(domain, {pk for pks in gold.by_aspect.values() for pk in pks})
    by_aspect: dict[int, list[str]] = defaultdict(list)
    for aspect, pks in gold.by_aspect.items():
        by_aspect[aspect] += [reached[pk][0] for pk in pks if pk in reached]
    return CarriedDomain(
        held=[held for pair, held in sorted(found.pairs.items()) if pair[1] in passages],
        lost=found.lost,
        passages=passages,
        supporting=by_aspect,
        lost_gold=gold.lost,
    )


def known(domain: Domain | None, keys: Collection[int]) -> dict[int, tuple[str, bool]]:
    """(id, whether its text is loaded) by key, of the domain's passages or of all."""
    inside = Q(domain=domain) if domain else Q()
    wanted, found = sorted(keys), {}
    for start in range(0, len(wanted), _CHUNK):
        rows = Passage.objects.filter(inside, pk__in=wanted[start : start + _CHUNK]).order_by()
        loaded = rows.annotate(loaded=Q(text__isnull=False)).values_list("pk", "pid", "loaded")
        found.update({pk: (pid, has_text) for pk, pid, has_text in loaded})
    return found


def _label(held: Held, pid: str, loaded: bool) -> Label:
    word = held.given
    return Label(
        passage=pid,
        passage_pk=held.passage,
        base=held.base,
        given=word.label if word else None,
        source=word.source if word else str(Source.ORIGINAL.value),
        practice=bool(word and word.practice),
        loaded=loaded,
    )
