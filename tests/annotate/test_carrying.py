"""Aspects keep their gold when the corpus is cleaned."""

import pytest

from annotate.models import Aspect, GoldPassage
from annotate.workspace.carrying import gold_in
from corpus.models import Passage
from tests.corpus.cleaning import clean, make_corpus

pytestmark = pytest.mark.django_db(transaction=True)


def test_gold_passages_of_aspects_are_read_through_the_crosswalk() -> None:
    benchmark = make_corpus()
    ferns = Passage.objects.get(pid="garden/ferns_0.txt")
    menu = Passage.objects.get(pid="menu/page_0.txt")
    query = ferns.judgments.get().query
    aspect = Aspect.objects.create(query=query, k=1, position=1, content="Ferns have spores.")
    GoldPassage.objects.create(aspect=aspect, query=query, passage=ferns)
    GoldPassage.objects.create(aspect=aspect, query=query, passage=menu)
    run = clean(benchmark, preset="diver_rules")
    found = gold_in(run.version)
    new = Passage.objects.get(version=run.version, pid=ferns.pid)
    assert found.by_aspect == {aspect.pk: [new.pk]}
    assert found.lost == [(aspect.pk, menu.pk)]
    assert gold_in(run.source).by_aspect == {aspect.pk: [ferns.pk, menu.pk]}
