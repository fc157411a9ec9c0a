"""Aspects keep their gold when the corpus is cleaned."""

import pytest

from annotate.models import Aspect, GoldPassage
from annotate.workspace.inherited import gold_in
from corpus.models import Passage
from llm import endpoints
from tests.corpus.cleaning.rooms import clean, make_corpus
from tests.factories import make_benchmark, make_document, make_gold, make_passage, make_query

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
    found, lost = gold_in(run.version)
    new = Passage.objects.get(version=run.version, pid=ferns.pid)
    assert found == {aspect.pk: [new.pk]}
    assert lost == [(aspect.pk, menu.pk)]
    assert gold_in(run.source)[0] == {aspect.pk: [ferns.pk, menu.pk]}


@pytest.mark.slow
@pytest.mark.parametrize("is_loaded", [False, True], ids=["passages alone", "page loaded"])
@pytest.mark.parametrize(
    "options", [{}, {"preset": "marcus_s"}, {"options": {"single_span": True}}]
)
def test_no_cleaning_puts_two_aspects_into_one_passage(options, is_loaded) -> None:
    texts = [
        "Moths fly at night. They roll their backs to the light around a lamp.",
        "A lamp holds them because the sky is no longer the brightest thing they see.",
        "Bats hear their wings and take them out of the air before they reach it.",
        "Birds find what is left of them below the lamp in the first light of the morning.",
    ]
    benchmark = make_benchmark()
    query = make_query(benchmark, "1")
    page = make_document(benchmark, "moths/page.txt", text="\n".join(texts)) if is_loaded else None
    gold = [
        make_passage(benchmark, f"moths/page_{n}.txt", text=text, document=page)
        for n, text in enumerate(texts)
    ]
    make_gold(query, *gold)
    one, two, three = (
        Aspect.objects.create(query=query, k=k, position=k, content=f"Aspect {k}.")
        for k in (1, 2, 3)
    )
    for aspect, passage in zip((one, one, two, three), gold, strict=True):
        GoldPassage.objects.create(aspect=aspect, query=query, passage=passage)
    with endpoints.practice_if_unconfigured() as practice:
        run = clean(benchmark, practice, **options)
    found, lost = gold_in(run.version)
    assert not lost
    assert sorted(found) == [one.pk, two.pk, three.pk]
    new = [passage for passages in found.values() for passage in passages]
    assert len(new) == len(set(new)) == 3  # the neighbours of the first aspect are one passage
    merged = Passage.objects.get(pk=found[one.pk][0])
    assert all(text in (merged.text or "") for text in texts[:2])
