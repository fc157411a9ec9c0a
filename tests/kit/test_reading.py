"""Streaming rows by key: the same rows as an ordinary query's, whatever lies around them."""

import pytest

from corpus.benchmarks.services import create_benchmark
from corpus.models import CorpusVersion, Domain, Passage
from kit.database.reading import in_key_order

pytestmark = pytest.mark.django_db


@pytest.fixture
def domains() -> list[Domain]:
    """Two domains whose passages were loaded in turn, one of three without a text."""
    benchmark = create_benchmark(name="Light", slug="light", actor=None)
    version = CorpusVersion.objects.create(benchmark=benchmark, name="v")
    found = [Domain.objects.create(benchmark=benchmark, name=name) for name in "de"]
    for n, pid in enumerate("fbdacegh"):
        text = None if n % 3 == 2 else f"text {pid}"
        Passage.objects.create(version=version, domain=found[n % 2], pid=pid, text=text)
    return found


def test_rows_come_by_key_from_their_part_alone(domains, django_assert_max_num_queries) -> None:
    part = Passage.objects.filter(domain=domains[0])
    with django_assert_max_num_queries(2):
        rows = list(in_key_order(part.with_text().order_by("pid"), "pid", "text", part=part))
    assert rows == [("f", "text f"), ("c", "text c"), ("g", "text g")]


def test_an_empty_part_has_no_rows(domains) -> None:
    nothing = Passage.objects.filter(pid="none")
    assert list(in_key_order(nothing, "pid", part=nothing)) == []
