"""What a benchmark holds by domain: passages counted once and kept, the rest counted now."""

import pytest
from django.contrib.auth.models import User

from corpus.access import Access, enter
from corpus.benchmarks.overview import count_passages, domain_counts
from corpus.models import CorpusVersion, Domain
from tests.factories import (
    index_texts,
    make_benchmark,
    make_member,
    make_passage,
    make_version,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def benchmark():
    """A version with 2 + 1 passages, one without text, and a layer on it with 1 + 1."""
    made = make_benchmark(domains=("biology", "robotics"))
    make_passage(made, "a", "biology")
    make_passage(made, "b", "biology", text=None)
    make_passage(made, "c", "robotics")
    first = CorpusVersion.objects.current(made)
    second = make_version(made, "more")
    CorpusVersion.objects.filter(pk=second.pk).update(layers=[first.pk, second.pk])
    make_passage(made, "d", "biology")
    make_passage(made, "e", "robotics")
    return made


def reading(benchmark) -> Access:
    """As somebody reads it who does not vote."""
    known = User.objects.filter(username="reader").first()
    return enter(known or make_member(benchmark, "reader", "reviewer"), benchmark.slug)


def passages(benchmark) -> dict[str, tuple[int, int]]:
    rows = domain_counts(reading(benchmark))
    return {row["name"]: (row["passages"], row["without_text"]) for row in rows}


def test_counts_are_the_same_before_and_after_they_are_kept(benchmark) -> None:
    expected = {"biology": (3, 1), "robotics": (2, 0)}
    assert passages(benchmark) == expected
    first, second = CorpusVersion.objects.order_by("pk")
    assert count_passages(first) == 2  # three passages, one of them without text
    assert passages(benchmark) == expected
    assert count_passages(second) == 2
    assert passages(benchmark) == expected
    first.refresh_from_db()
    names = {str(pk): name for pk, name in Domain.objects.values_list("pk", "name")}
    kept = {names[pk]: count for pk, count in first.passage_counts.items()}
    assert kept == {"biology": 2, "robotics": 1}


def test_indexing_keeps_the_counts_of_every_layer(benchmark) -> None:
    assert set(CorpusVersion.objects.values_list("passage_counts", flat=True)) == {None}
    index_texts(benchmark)
    kept = CorpusVersion.objects.order_by("pk").values_list("passage_counts", flat=True)
    assert [sum(counts.values()) for counts in kept] == [3, 2]


def test_filled_texts_are_no_longer_without_text(benchmark) -> None:
    index_texts(benchmark)
    CorpusVersion.objects.order_by("pk")[0].passages.filter(pid="b").update(text="Here now.")
    assert passages(benchmark)["biology"] == (3, 0)


def test_benchmark_without_a_corpus_holds_nothing() -> None:
    empty = make_benchmark("empty", domains=("biology",))
    CorpusVersion.objects.filter(benchmark=empty).update(state="loading")
    assert passages(empty) == {"biology": (0, 0)}
