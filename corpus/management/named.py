"""What the commands of every room share."""

from django.core.management.base import CommandError

from corpus.benchmarks.models import Benchmark


def benchmark_named(slug: str) -> Benchmark:
    """The benchmark of that slug. Raises CommandError."""
    found = Benchmark.objects.filter(slug=slug).first()
    if found is None:
        raise CommandError(f"There is no benchmark {slug!r}. Load one with load_benchmark.")
    return found
