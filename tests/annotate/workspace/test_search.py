"""Search beside the work: BM25 by hand, its marks, verdicts, and attaching what was found."""

import math
import random
from collections import Counter

import pytest
from django.core.cache import cache

from annotate.assignments.services import claim_query
from annotate.models import GoldPassage
from annotate.workspace.aspects import add_aspect
from annotate.workspace.gold import assign_passage, discard_passage
from corpus.models import CorpusVersion, Passage
from corpus.texts import search as ranked_search
from corpus.texts.finding import excerpt
from corpus.texts.index import words_of
from corpus.texts.search import K1, B, best_passages, search_words
from tests.annotate.world import hx, signed_in
from tests.factories import index_texts
from tests.markup import one_line

WORDS = "moth lamp light wing back turn moon dust night glass"


@pytest.fixture(autouse=True)
def _nothing_remembered():
    cache.clear()


@pytest.fixture
def corpus(world):
    """Two hundred short passages of ten words, and some of another domain."""
    chance = random.Random(5)
    texts = [
        " ".join(chance.choices(WORDS.split(), weights=range(1, 11), k=chance.randint(3, 40)))
        for _ in range(200)
    ]
    given = [("biology", f"p/{n}.txt", text) for n, text in enumerate(texts)]
    given += [("weather", f"w/{n}.txt", "moth moth moth lamp") for n in range(5)]
    domains = {name: domain_of(world, name) for name in ("biology", "weather")}
    version = CorpusVersion.objects.current(world.benchmark)
    Passage.objects.bulk_create(
        Passage(version=version, domain=domains[name], pid=pid, text=text)
        for name, pid, text in given
    )
    index_texts(world.benchmark)
    return world


def domain_of(world, name="biology"):
    return world.benchmark.domains.get(name=name)


def search(world, text, **more):
    version = CorpusVersion.objects.current(world.benchmark)
    return best_passages(text, version=version, domain=domain_of(world), **more)


def by_hand(world, text):
    """BM25 of every passage of the domain, written out."""
    passages = [
        p
        for p in CorpusVersion.objects.current(world.benchmark).passages.all()
        if p.domain.name == "biology"
    ]
    bags = {p.pk: words_of(f"{p.title} {p.text}") for p in passages}
    mean = ranked_search._mean_length(
        CorpusVersion.objects.current(world.benchmark), domain_of(world)
    )
    scores: Counter[int] = Counter()
    for word in search_words(text):
        holding = sum(word in bag for bag in bags.values())
        if not holding:
            continue
        idf = math.log(1 + (len(bags) - holding + 0.5) / (holding + 0.5))
        for pk, bag in bags.items():
            n = bag.count(word)
            scores[pk] += idf * n * (K1 + 1) / (n + K1 * (1 - B + B * len(bag) / mean))
    return scores


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["moth lamp", "the moon and the moth, turn", "dust", "wing back moth lamp light"]
)
def test_ranking_is_exactly_bm25(corpus, text: str, monkeypatch) -> None:
    truth = by_hand(corpus, text)
    best = sorted(truth, key=lambda pk: (-truth[pk], pk))[:10]
    for batch in (3, 100):
        monkeypatch.setattr(ranked_search, "_BATCH", batch)
        found = search(corpus, text, most=10)
        assert [hit.score for hit in found] == pytest.approx([truth[pk] for pk in best])
        assert {hit.passage.domain.name for hit in found} == {"biology"}


def test_words_of_the_grammar_are_left_out_unless_there_is_nothing_else() -> None:
    assert search_words("Why do the moths turn to the light?") == ["moths", "turn", "light"]
    assert search_words("to be or not to be") == ["to", "be", "or", "not"]
    assert search_words(" ?! ") == []


def test_nothing_and_hostile_words_find_nothing(corpus) -> None:
    for text in ("", "unheard", '"moth" OR *', "moth')--", "scope : v1", "\ud83d\ude00"):
        assert isinstance(search(corpus, text), list)
    assert search(corpus, "unheard of zebras") == []


def test_excerpt_shows_where_the_words_stand_densest() -> None:
    text = "x " * 400 + "Moths turn their backs to light. " + "y " * 400
    pieces = excerpt(text, frozenset({"moths", "light"}))
    assert [piece for piece, is_mark in pieces if is_mark] == ["Moths", "light"]
    assert pieces[0] == ("… ", False)
    assert pieces[-1][0].endswith(" …")
    assert "".join(piece for piece, _ in pieces).strip("… ") in text
    assert excerpt("", frozenset({"a"})) == []


def url(world, more=""):
    return world.url(f"queries/{world.query.pk}/beside/{more}")


@pytest.fixture
def aspect(world):
    return add_aspect(query=world.query, actor=world.voters[0], content="Rolled their backs.")


def test_results_say_what_was_decided_already(world, aspect) -> None:
    index_texts(world.benchmark)
    client = signed_in(world.voters[0])
    pair = {"query": world.query, "passage": world.passage, "actor": world.voters[0]}
    page = one_line(client.get(url(world, f"?aspect={aspect.pk}"), **hx()))
    assert "<mark>rolled</mark>" in page.lower()
    assert f"Attach to a{aspect.k}" in page
    assign_passage(**pair, aspect=aspect)
    page = one_line(client.get(url(world, f"?aspect={aspect.pk}"), **hx()))
    assert f"Attach to a{aspect.k}" not in page
    assert f'<span class="tag good">a{aspect.k}</span>' in page
    discard_passage(**pair, reason="noise")
    page = one_line(client.get(url(world, f"?aspect={aspect.pk}&words=bulb"), **hx()))
    assert "discarded: noise" in page


def test_attaching_answers_with_passages_and_results(world, aspect) -> None:
    index_texts(world.benchmark)
    client = signed_in(world.voters[0])
    answer = one_line(
        client.post(
            url(world, f"{world.passage.pk}/attach/"), {"aspect": aspect.pk, "words": ""}, **hx()
        )
    )
    assert GoldPassage.objects.standing().get().passage == world.passage
    assert 'id="passages"' in answer
    assert 'id="beside"' in answer
    assert "supports a1" in answer


def test_without_scripts_and_with_an_aspect_that_is_gone(world, aspect) -> None:
    client = signed_in(world.voters[0])
    assert client.get(url(world, f"?aspect={aspect.pk}")).status_code == 200
    gone = client.post(url(world, f"{world.passage.pk}/attach/"), {"aspect": "999"})
    assert gone.status_code == 302
    assert not GoldPassage.objects.exists()


def test_who_does_not_hold_the_query_may_look_but_not_attach(world, aspect) -> None:
    claim_query(query=world.query, actor=world.voters[0])
    other = signed_in(world.voters[1])
    assert other.get(url(world, f"?aspect={aspect.pk}")).status_code == 200
    body = {"aspect": aspect.pk}
    assert other.post(url(world, f"{world.passage.pk}/attach/"), body).status_code == 403


def test_api_finds_with_scores(world, aspect) -> None:
    index_texts(world.benchmark)
    client = signed_in(world.voters[0])
    (found,) = client.get(f"/api{url(world)}?text=backs of moths").json()
    assert found["passage_id"] == world.passage.pid
    assert found["words"] == ["backs", "moths"]
    assert found["score"] > 0
