"""A benchmark, its domains, and who may do what in it."""

from typing import Any, Self

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db import models

from kit.database.prepared import Prepared


class Role(models.TextChoices):
    """What a person does in one benchmark; a person may have several roles."""

    ANNOTATOR = "annotator"
    REVIEWER = "reviewer"
    ADMIN = "admin"


class BenchmarkQuerySet(models.QuerySet["Benchmark"]):
    """Vocabulary for reading benchmarks."""

    def for_user(self, user: User | AnonymousUser) -> Self:
        """Benchmarks the person is a member of."""
        return self.filter(memberships__user_id=user.pk)


class Benchmark(models.Model):
    """A named collection of queries, passages and labels that people work on together."""

    slug = models.SlugField(max_length=60, unique=True)
    name = models.CharField(max_length=120)
    description = models.TextField(blank=True, default="")
    licence = models.CharField(max_length=120, blank=True, default="")
    # The derived corpus version that pools, runs and releases are of unless they name another;
    # null: the texts as they were loaded (corpus/versions/services.py).
    taken_up = models.ForeignKey(
        "corpus.CorpusVersion", null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = BenchmarkQuerySet.as_manager()

    class Meta:
        ordering = ["name", "pk"]

    def __str__(self) -> str:
        return self.name


class DomainQuerySet(models.QuerySet["Domain"]):
    """Vocabulary for reading domains."""

    def ready(self) -> Self:
        """Domains whose first import is over."""
        return self.filter(is_ready=True)


class Domain(models.Model):
    """One task or split of a benchmark (biology, robotics); query ids are unique inside it."""

    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="domains")
    name = models.CharField(max_length=80)
    # False while the import that brings the domain is still loading.
    is_ready = models.BooleanField(default=False)

    objects = DomainQuerySet.as_manager()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["benchmark", "name"], name="domain_once"),
        ]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A person's roles and domains inside one benchmark. No domain chosen means every domain."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships"
    )
    benchmark = models.ForeignKey(Benchmark, on_delete=models.CASCADE, related_name="memberships")
    roles = models.JSONField(default=list)
    domains: Any = models.ManyToManyField(Domain, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["user__username"]
        constraints = [
            models.UniqueConstraint(fields=["user", "benchmark"], name="member_once"),
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.benchmark}"

    def domain_ids(self) -> set[int]:
        """Ids of the domains the person works in, every domain of the benchmark if unrestricted."""
        found = _DOMAINS.rows(membership=self.pk, benchmark=self.benchmark_id)
        mine = {each.pk for each in found if each.is_chosen}  # type: ignore[attr-defined]
        return mine or {each.pk for each in found if each.is_ready}


def _domains(membership: int, benchmark: int) -> models.QuerySet[Domain]:
    chosen = Membership.objects.filter(pk=membership, domains=models.OuterRef("pk"))
    return Domain.objects.filter(benchmark=benchmark).annotate(is_chosen=models.Exists(chosen))


_DOMAINS = Prepared(_domains)  # in one query: it is asked with every vote
