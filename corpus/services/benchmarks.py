"""Making benchmarks."""

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from corpus.models import Benchmark, Membership, Role
from kit import audit
from kit.errors import Refused


def create_benchmark(
    *, name: str, slug: str, actor: User | None, description: str = "", licence: str = ""
) -> Benchmark:
    """Make an empty benchmark; its maker becomes its admin. Raises Refused if the slug is taken."""
    try:
        with transaction.atomic():
            benchmark = Benchmark.objects.create(
                name=name, slug=slug, description=description, licence=licence
            )
            if actor is not None:
                Membership.objects.create(user=actor, benchmark=benchmark, roles=[Role.ADMIN])
            audit.record(actor=actor, verb="create benchmark", target=benchmark, scope=slug)
            return benchmark
    except IntegrityError:
        raise Refused(f"There is a benchmark {slug!r} already.", field="slug") from None
