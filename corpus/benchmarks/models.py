"""A benchmark, its domains, and who may do what in it."""

from typing import Any, Self

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db import models


class Role(models.TextChoices):
    """What a person does in one benchmark; a person may have several roles."""

    ANNOTATOR = "annotator"
    REVIEWER = "reviewer"
    ADMIN = "admin"


class BenchmarkQuerySet(models.QuerySet["Benchmark"]):
    """Vocabulary for reading benchmarks."""

    def for_user(self, user: User | AnonymousUser) -> Self:
        """Benchmarks the person is a member of, archived ones too."""
        return self.filter(memberships__user_id=user.pk)

    def live(self) -> Self:
        """Those in which people and machines work: not archived."""
        return self.filter(archived_at=None)


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
    # Since when it can be read only (corpus/benchmarks/archive.py); null: it is worked on.
    archived_at = models.DateTimeField(null=True)

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


class Layer(models.TextChoices):
    """What a licence is of: a part of a domain that may come from somebody else than the rest."""

    QUERIES = "queries", "Queries"
    ANSWERS = "answers", "Answers and reference answers"
    PASSAGES = "passages", "Passages and pages"
    ASPECTS = "aspects", "Aspects and weights"
    LABELS = "labels", "Labels"


class Licence(models.Model):
    """The licence of one layer of a domain, who is to be named, and its whole text.

    A layer without one is of the benchmark's own licence.
    """

    domain = models.ForeignKey(Domain, on_delete=models.CASCADE, related_name="licences")
    layer = models.CharField(max_length=8, choices=Layer.choices)
    name = models.CharField(max_length=120)
    url = models.CharField(max_length=2000, blank=True, default="")
    attribution = models.TextField(blank=True, default="")
    text = models.TextField(blank=True, default="")

    class Meta:
        ordering = ["domain__name", "pk"]
        constraints = [models.UniqueConstraint(fields=["domain", "layer"], name="licence_once")]

    def __str__(self) -> str:
        return f"{self.layer} of {self.domain}: {self.name}"

    @property
    def is_link(self) -> bool:
        """Whether its address is one of the web."""
        return self.url.lower().startswith(("https://", "http://"))


class _Keys(models.Subquery):
    """The column `key` of a subquery's rows as one list; None or empty where it has no row."""

    template = "(SELECT %(array)s(found.key) FROM (%(subquery)s) found)"
    output_field = models.JSONField()

    def as_sql(self, compiler: Any, connection: Any, *given: Any, **more: Any) -> Any:
        array = "jsonb_agg" if connection.vendor == "postgresql" else "json_group_array"
        return super().as_sql(compiler, connection, *given, array=array, **more)


class MembershipQuerySet(models.QuerySet["Membership"]):
    """Vocabulary for reading memberships."""

    def live(self) -> Self:
        """Places in benchmarks that are not archived: what waits for people is in these."""
        return self.filter(benchmark__archived_at=None)

    def with_domains(self) -> Self:
        """Read along what `Membership.domain_ids` asks for."""
        chosen = Membership.domains.through.objects.filter(membership=models.OuterRef("pk"))
        ready = Domain.objects.ready().filter(benchmark=models.OuterRef("benchmark")).order_by()
        return self.annotate(
            chosen_domains=_Keys(chosen.values(key=models.F("domain"))),
            ready_domains=_Keys(ready.values(key=models.F("pk"))),
        )


class Membership(models.Model):
    """A person's roles and domains inside one benchmark. No domain chosen means every domain."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships"
    )
    benchmark = models.ForeignKey(Benchmark, on_delete=models.CASCADE, related_name="memberships")
    roles = models.JSONField(default=list)
    domains: Any = models.ManyToManyField(Domain, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = MembershipQuerySet.as_manager()

    class Meta:
        ordering = ["user__username"]
        constraints = [
            models.UniqueConstraint(fields=["user", "benchmark"], name="member_once"),
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.benchmark}"

    def domain_ids(self) -> set[int]:
        """Ids of the domains the person works in, every domain of the benchmark if unrestricted."""
        read = self
        if not hasattr(self, "chosen_domains"):
            read = Membership.objects.with_domains().get(pk=self.pk)
        return set(read.chosen_domains or read.ready_domains or ())  # type: ignore[attr-defined]


class Invitation(models.Model):
    """A place in a benchmark that somebody with an account of their own was offered."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="invitations"
    )
    benchmark = models.ForeignKey(Benchmark, on_delete=models.CASCADE, related_name="invitations")
    roles = models.JSONField(default=list)
    domains: Any = models.ManyToManyField(Domain, blank=True)
    invited_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["created_at"]
        constraints = [
            models.UniqueConstraint(fields=["user", "benchmark"], name="invited_once"),
        ]

    def __str__(self) -> str:
        return f"invitation of {self.user} to {self.benchmark}"
