"""Labels and aspects of a derived corpus version: inherited, or given right there."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.db.models import Q

from annotate.workspace.inherited import gold_in
from corpus.judgments.models import Source
from corpus.models import Domain, Judgment, Passage
from corpus.versions.effective import EffectiveLabel, LostLabel, effective_labels
from evaluation.content.view import View
from evaluation.exporters.records import Label

_CHUNK = 500


@dataclass(frozen=True)
class InheritedDomain:
    """The labels of one domain, by (query, passage) in the order of their keys."""

    labels: list[EffectiveLabel]
    lost: list[LostLabel]
    # (id, whether its text is loaded) of every passage with a label.
    passages: dict[int, tuple[str, bool]]
    # Passage ids by aspect, and (aspect, passage) that support nothing here.
    supporting: dict[int, list[str]]
    lost_gold: list[tuple[int, int]]
    # Labels of subtopics in the imported gold, by (query, passage) as they were judged.
    subtopics: dict[tuple[int, int], dict[str, int]]


def of_domain(view: View, domain: Domain, narrowed: Q | None = None) -> InheritedDomain:
    """The labels of a domain; the whole of them is kept until another one is read."""
    if narrowed is None or not narrowed:
        if domain.pk not in view.kept:
            view.kept.clear()
            view.kept[domain.pk] = _read(view, domain, Q())
        found: InheritedDomain = view.kept[domain.pk]
        return found
    return _read(view, domain, narrowed)


def labels(view: View, domain: Domain, narrowed: Q) -> list[tuple[int, Label]]:
    """(query, label) of every pair."""
    found = of_domain(view, domain, narrowed)
    return [
        (each.query, _label(each, *found.passages[each.passage], found.subtopics))
        for each in found.labels
    ]


def outweighed(view: View, domain: Domain) -> set[int]:
    """Labels given right there that a weightier inherited one outweighs."""
    return {
        each.outweighed.judgment
        for each in of_domain(view, domain).labels
        if each.outweighed and each.outweighed.judgment is not None
    }


def _read(view: View, domain: Domain, narrowed: Q) -> InheritedDomain:
    assert view.corpus is not None
    about = Q(narrowed, query__domain=domain)
    found = effective_labels(
        view.corpus, about=about, shown_only=view.shown_only, without=view.left_out.labels
    )
    passages = known(domain, {passage for _, passage in found.pairs})
    gold, lost = gold_in(view.corpus, about=about & ~Q(pk__in=view.left_out.gold))
    names = known(domain, {pk for pks in gold.values() for pk in pks})
    imported = Judgment.objects.original().filter(about, subtopics__isnull=False).order_by()
    columns = ("query_id", "passage_id", "subtopics")
    subtopics = {(query, pk): of for query, pk, of in imported.values_list(*columns)}
    by_aspect: dict[int, list[str]] = defaultdict(list)
    for aspect, pks in gold.items():
        by_aspect[aspect] += [names[pk][0] for pk in pks if pk in names]
    return InheritedDomain(
        labels=[each for each in found.labels if each.passage in passages],
        lost=found.lost,
        passages=passages,
        supporting=by_aspect,
        lost_gold=lost,
        subtopics=subtopics,
    )


def known(domain: Domain | None, keys: Collection[int]) -> dict[int, tuple[str, bool]]:
    """(id, whether its text is loaded) by key, of the domain's passages or of all."""
    inside = Q(domain=domain) if domain else Q()
    ordered, found = sorted(keys), {}
    for start in range(0, len(ordered), _CHUNK):
        rows = Passage.objects.filter(inside, pk__in=ordered[start : start + _CHUNK]).order_by()
        loaded = rows.annotate(loaded=Q(text__isnull=False)).values_list("pk", "pid", "loaded")
        found.update({pk: (pid, has_text) for pk, pid, has_text in loaded})
    return found


def _label(
    effective: EffectiveLabel,
    pid: str,
    loaded: bool,
    subtopics: Mapping[tuple[int, int], Mapping[str, int]],
) -> Label:
    """Of each subtopic the highest label of the passages that it inherits from."""
    given = effective.given
    highest: dict[str, int] = {}
    for judged in effective.given_for if subtopics else ():
        for name, value in subtopics.get((effective.query, judged), {}).items():
            highest[name] = max(highest.get(name, value), value)
    return Label(
        passage=pid,
        passage_pk=effective.passage,
        base=effective.base,
        given=given.label if given else None,
        source=given.source if given else str(Source.ORIGINAL.value),
        practice=bool(given and given.practice),
        loaded=loaded,
        subtopics=highest or None,
    )
