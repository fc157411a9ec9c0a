"""What the commands of every room share."""

from typing import TypeVar

from django.core.management.base import CommandError
from django.db.models import Model, QuerySet

from corpus.benchmarks.models import Benchmark

_Row = TypeVar("_Row", bound=Model)


def benchmark_named(slug: str) -> Benchmark:
    """The benchmark of that slug. Raises CommandError."""
    found = Benchmark.objects.filter(slug=slug).first()
    if found is None:
        raise CommandError(f"There is no benchmark {slug!r}. Load one with load_benchmark.")
    return found


def numbered(rows: QuerySet[_Row], number: int | None, missing: str) -> _Row:
    """The row of that number, or the first; where there is none, CommandError says `missing`."""
    found = rows.filter(pk=number).first() if number else rows.first()
    if found is None:
        raise CommandError(missing)
    return found
