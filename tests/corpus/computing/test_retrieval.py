"""Ranking here: the numbers of the formulas, ties, and the library that reads our index."""

import math
from collections import Counter

import bm25s
import numpy as np
import pytest

from corpus.retrieval import vectors
from corpus.retrieval.analysis import NoWords, Terms, count, split
from corpus.retrieval.postings import BM25, TFIDF, Postings
from corpus.retrieval.toplist import best, best_of, fuse, order_of, plain, scaled
from corpus.retrieval.vectors import LSA, search

TEXTS = [
    "The gardener's mulch keeps the soil moist.",
    "Mulch, mulch and more mulch!",
    "Shade trees cool a garden in summer.",
    "Nothing to do with it.",
]


def bm25_by_hand(query: str, texts: list[str], k1: float, b: float) -> list[float]:
    terms = Terms()
    documents = [terms.of(text).tolist() for text in texts]
    mean = sum(map(len, documents)) / len(documents)
    found = []
    for document in documents:
        score = 0.0
        for term in terms.of(query).tolist():
            n = sum(term in each for each in documents)
            tf = Counter(document)[term]
            idf = math.log(1 + (len(documents) - n + 0.5) / (n + 0.5))
            score += idf * tf / (tf + k1 * (1 - b + b * len(document) / mean))
        found.append(score)
    return found


def test_words_as_lucene_reads_them() -> None:
    terms = Terms()
    numbers = terms.of("The gardeners' and the gardener\u2019s GARDENS")
    assert [list(terms.number_of)[i] for i in numbers] == ["garden", "garden", "garden"]
    assert split("it's Ärger in 2026") == ["it", "ärger", "in", "2026"]


def test_bm25_is_the_formula_with_the_toy_values(tmp_path) -> None:
    BM25(tmp_path).index(TEXTS)
    index = Postings.load(tmp_path)
    for query in ("mulch", "mulch mulch shade", "garden soil"):
        assert index.scores(query).tolist() == pytest.approx(
            bm25_by_hand(query, TEXTS, 0.9, 0.4), abs=1e-6
        )
    # idf ln(1 + 2.5 / 2.5), tf 3, a length of 4, which is the mean: ln 2 x 3 / 3.9.
    assert index.scores("mulch")[1] == pytest.approx(0.533190, abs=1e-6)


def test_the_library_reads_and_agrees_with_the_index(tmp_path) -> None:
    ours = tmp_path / "ours"
    BM25(ours).index(TEXTS)
    theirs = bm25s.BM25(k1=0.9, b=0.4, method="lucene")
    terms = Terms()
    tokens = [terms.of(text).tolist() for text in TEXTS]
    theirs.index((tokens, terms.number_of), show_progress=False)
    loaded = bm25s.BM25.load(str(ours))
    for query in ("mulch soil", "shade in the garden garden"):
        numbers = Terms(terms.number_of, frozen=True).of(query)
        want = theirs.get_scores_from_ids(numbers)
        assert loaded.get_scores_from_ids(numbers) == pytest.approx(want, abs=1e-6)
        assert Postings.load(ours).scores(query) == pytest.approx(want, abs=1e-6)


def test_tfidf_is_scikit_learns(tmp_path) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    TFIDF(tmp_path).index(TEXTS)
    names = Terms()
    vectorizer = TfidfVectorizer(analyzer=lambda t: names.of(t).tolist(), sublinear_tf=True)
    matrix = vectorizer.fit_transform(TEXTS)
    query = "mulch mulch garden soil"
    want = (vectorizer.transform([query]) @ matrix.T).toarray()[0]
    assert Postings.load(tmp_path).scores(query) == pytest.approx(want, abs=1e-6)


def test_what_holds_no_term_is_not_ranked(tmp_path) -> None:
    BM25(tmp_path).index(TEXTS)
    found, scores = Postings.load(tmp_path).search("mulch", 10, order_of("abcd"))
    assert found.tolist() == [1, 0]
    assert scores[0] > scores[1] > 0
    assert len(Postings.load(tmp_path).search("of the and", 10, order_of("abcd"))[0]) == 0


@pytest.mark.parametrize("texts", [[], [""], ["", "the of"]])
def test_a_corpus_without_words_says_so(texts) -> None:
    with pytest.raises(NoWords):
        count(texts)


@pytest.mark.parametrize("texts", [["word"], ["one two"] * 3, ["", "one"]])
def test_odd_corpora(tmp_path, texts) -> None:
    for kind in (BM25, TFIDF, LSA):
        folder = tmp_path / kind.title
        folder.mkdir()
        kind(folder).index(texts)
        found = list(kind(folder).search(["word one", ""], 5, np.arange(len(texts))))
    assert [len(each[0]) for each in found] == [len(texts)] * 2


def test_lsa_brings_words_of_one_context_together(tmp_path) -> None:
    texts = ["car engine", "automobile engine", "car automobile wheel", "banana apple", "apple pie"]
    lsa = LSA(tmp_path, dimensions=2)
    lsa.index(texts)
    [(found, _)] = lsa.search(["automobile"], 5, order_of("abcde"))
    assert set(found[:3].tolist()) == {0, 1, 2}


@pytest.mark.parametrize(("at_once", "width"), [(1, 1), (21, 2), (400, 3), (16_000_000, 1024)])
@pytest.mark.parametrize("k", [1, 7, 60, 200])
def test_dense_search_in_parts_is_that_of_the_whole(monkeypatch, at_once, width, k) -> None:
    """Cosines of whole numbers tie often, within parts and across them."""
    monkeypatch.setattr(vectors, "_AT_ONCE", at_once)
    monkeypatch.setattr(vectors, "QUERIES", width)
    chance = np.random.default_rng(7)
    documents = vectors.unit(chance.integers(0, 2, (120, 4)).astype(np.float32))
    queries = chance.integers(0, 3, (5, 4)).astype(np.float32)
    order = chance.permutation(120)
    found = search(documents, queries, k, order)
    for row, (numbers, scores) in enumerate(found):
        every = documents @ vectors.unit(queries)[row]
        ranked = sorted(every.tolist(), reverse=True)[:k]
        assert scores.tolist() == pytest.approx(ranked, abs=1e-6)
        assert len(numbers) == len(set(numbers.tolist())) == min(k, 120)
    assert search(documents, queries[:0], k, order) == []


def test_equal_vectors_stand_in_the_order_of_ids_and_what_is_no_number_nowhere(
    monkeypatch,
) -> None:
    monkeypatch.setattr(vectors, "_AT_ONCE", 1000)
    documents = np.ones((5_000, 1), np.float32)
    documents[7] = np.nan
    order, one = np.arange(5_000)[::-1], np.ones((1, 1), np.float32)
    ((found, _),) = search(documents, one, 3, order)
    assert found.tolist() == [4_999, 4_998, 4_997]
    ((found, _),) = search(documents[:9], one, 8, order)
    assert found.tolist() == [8, 6, 5, 4, 3, 2, 1, 0]


def test_ties_are_broken_by_id_at_the_cut_too() -> None:
    scores = np.array([1, 2, 1, 1, 3], np.float32)
    found, values = best(scores, 3, order_of(["d", "x", "b", "c", "a"]))
    assert (found.tolist(), values.tolist()) == ([4, 1, 2], [3, 2, 1])
    assert best(scores, 9, order_of("dxbca"))[0].tolist() == [4, 1, 2, 3, 0]


@pytest.mark.parametrize("above", [None, 0.0, 2.0])
def test_the_best_of_many_are_those_of_a_whole_sort(above) -> None:
    draw = np.random.default_rng(1)
    scores = np.where(draw.random(5000) < 0.2, draw.integers(0, 40, 5000) / 8, 0).astype(np.float32)
    order = draw.permutation(5000)
    whole = np.lexsort((order, -scores)).tolist()
    for k in (1, 10, 300, 900):
        found, values = best(scores, k, order, above=above)
        wanted = [n for n in whole if above is None or scores[n] > above][:k]
        assert found.tolist() == wanted
        assert values.tolist() == scores[wanted].tolist()


def test_scores_are_written_with_few_digits() -> None:
    assert plain(np.array([0.1, 12.34, 1e-7], np.float32)) == [0.1, 12.34, 1e-07]


def test_hybrid_of_the_protocol() -> None:
    dense, bm25 = {"a": 0.9, "b": 0.7, "c": 0.5}, {"a": 2.0, "b": 10.0, "d": 6.0}
    fused = dict(fuse([dense, bm25], [0.5, 0.5], 10))
    assert fused == pytest.approx({"b": 0.75, "a": 0.5, "d": 0.25, "c": 0.0})
    assert list(fused) == ["b", "a", "d", "c"]
    assert scaled({"a": 3.0, "b": 3.0}) == {"a": 0.0, "b": 0.0}


def test_a_document_has_the_score_of_its_best_chunk() -> None:
    """Chunks of .3 and .7 make .7; equal documents stand in the order of their ids."""
    owner = np.array([0, 1, 0, 2, 1])  # of the documents c, b, a
    scores = np.array([0.3, 0.2, 0.7, 0.7, 0.1], np.float32)
    found = best(scores, 5, order_of(["c#c1", "b#c1", "c#c2", "a", "b#c2"]))
    documents, values = best_of(found, 3, owner, order_of(["c", "b", "a"]))
    assert documents.tolist() == [2, 0, 1]
    assert plain(values) == [0.7, 0.7, 0.2]
    assert best_of(found, 1, owner, order_of(["c", "b", "a"]))[0].tolist() == [2]
