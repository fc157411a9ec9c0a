"""Queries turned into SQL once say what the queryset itself would say, whatever is asked."""

from collections.abc import Collection
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from corpus.models import Benchmark, Domain, Query
from kit.database.prepared import Prepared
from kit.models import Event
from tests.at_once import at_once
from tests.factories import make_benchmark, make_query


def _queries(domains: Collection[int], word: str) -> QuerySet[Query]:
    others = Query.objects.filter(domain=OuterRef("domain")).exclude(pk=OuterRef("pk"))
    found = Query.objects.filter(domain__id__in=domains, text__contains=word)
    return found.annotate(has_company=Exists(others)).select_related("domain").order_by("pk")


@pytest.fixture
def benchmark(db) -> Benchmark:
    benchmark = make_benchmark("garden", domains=("biology", "weather", "law"))
    for number, domain in enumerate(("biology", "biology", "weather", "law")):
        make_query(benchmark, str(number), domain, text=f"Why {number} in {domain}?")
    return benchmark


def as_told(rows: Collection[Query]) -> list[tuple[int, str, str, bool]]:
    return [(each.pk, each.text, each.domain.name, each.has_company) for each in rows]  # type: ignore[attr-defined]


@pytest.mark.parametrize("count", [0, 1, 2, 3])
@pytest.mark.parametrize("word", ["Why", "law", "%", "nothing"])
def test_rows_are_those_of_the_queryset(benchmark, count, word) -> None:
    prepared = Prepared(_queries)
    domains = list(Domain.objects.order_by("name").values_list("pk", flat=True)[:count])
    assert as_told(prepared.rows(domains=domains, word=word)) == as_told(_queries(domains, word))


def test_each_asking_has_its_own_values(benchmark) -> None:
    prepared = Prepared(lambda pk: Query.objects.filter(pk=pk))
    for query in Query.objects.all():
        assert prepared.first(pk=query.pk) == query
    assert prepared.first(pk=0) is None


def test_beside_rows_need_no_query_and_what_was_deferred_is_read_later(benchmark) -> None:
    prepared = Prepared(
        lambda slug: (
            Query.objects.filter(domain__benchmark__slug=slug)
            .select_related("domain__benchmark")
            .defer("text")
            .order_by("-pk")
        )
    )
    with CaptureQueriesContext(connection) as asked:
        found = prepared.rows(slug="garden")
        assert {each.domain.benchmark for each in found} == {benchmark}
    assert len(asked) == 1
    assert [each.text for each in found] == list(
        Query.objects.order_by("-pk").values_list("text", flat=True)
    )


def test_times_are_compared_as_times(db) -> None:
    event = Event.objects.create(verb="look", scope="garden")
    prepared = Prepared(lambda at: Event.objects.filter(at__lte=at))
    assert prepared.first(at=event.at) == event
    assert prepared.first(at=timezone.now() - timedelta(days=1)) is None


def test_queryset_is_built_once_for_a_shape(benchmark) -> None:
    built = []

    def build(domains: Collection[int], word: str) -> QuerySet[Query]:
        built.append(len(domains))
        return _queries(domains, word)

    prepared = Prepared(build)
    for domains in ([1], [2], [1, 2], [2, 3], [3]):
        prepared.rows(domains=domains, word="Why")
    assert built == [1, 2]


def test_value_of_another_kind_is_no_value(benchmark) -> None:
    with pytest.raises(TypeError, match="None"):
        Prepared(lambda pk: Query.objects.filter(pk=pk)).rows(pk=None)


@pytest.mark.django_db(transaction=True)
def test_threads_ask_each_on_their_connection(benchmark) -> None:
    prepared = Prepared(_queries)
    domain = Domain.objects.get(name="law").pk
    mine = at_once(
        lambda: as_told(prepared.rows(domains=[domain], word="Why")),
        lambda: as_told(prepared.rows(domains=[domain], word="law")),
    )
    assert mine == as_told(_queries([domain], "law"))
