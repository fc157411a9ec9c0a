"""What the lists of this room share: choices of drop-downs, filters, the version looked at."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db.models import QuerySet

from corpus.models import Benchmark, CorpusVersion, Document, Domain, Passage, RetrievalRun
from kit.errors import Refused
from kit.lists.tables import Choices
from kit.numbers import is_number

T = TypeVar("T", Passage, Document)


@dataclass(frozen=True)
class Place:
    """The corpus version and, where one is chosen, the domain that a list is about."""

    version: CorpusVersion | None
    domain: Domain | None

    def holds(self, rows: QuerySet[T]) -> QuerySet[T]:
        """Those of passages or pages that are here.

        By the domain's key, not its name: only then an index gives them in order.
        """
        rows = rows.filter(version_id__in=self.version.layers if self.version else [])
        return rows.filter(domain=self.domain) if self.domain else rows


def place_of(benchmark: Benchmark, params: Mapping[str, str]) -> Place:
    """As `version` and `domain` say; by default the version people work on, and every domain."""
    asked, name = params.get("version", ""), params.get("domain", "").replace("\x00", "")
    ready = CorpusVersion.objects.ready().filter(benchmark=benchmark)
    chosen = ready.filter(pk=int(asked)).first() if is_key(asked) else None
    domains = Domain.objects.ready().filter(benchmark=benchmark)
    return Place(
        version=chosen or CorpusVersion.objects.current(benchmark),
        domain=domains.filter(name=name).first() if name else None,
    )


def is_key(text: str) -> bool:
    """Whether a parameter can be the key of a row."""
    return is_number(text)


def unused_name(name: str, taken: Iterable[str]) -> str:
    """The name, with a number if it is taken."""
    used = set(taken)
    if name not in used:
        return name
    number = 2
    while f"{name} {number}" in used:
        number += 1
    return f"{name} {number}"


def put_runs(benchmark: Benchmark, given: dict[str, Any], *names: str) -> None:
    """Put retrieval runs in the place of their numbers; None stays. Raises Refused, naming the
    field."""
    for name in names:
        if given[name] is not None:
            rows = RetrievalRun.objects.filter(benchmark=benchmark, pk=given[name])
            given[name] = rows.first()
            if given[name] is None:
                raise Refused("There is no such retrieval run.", field=name)


def domain_choices(benchmark: Benchmark) -> list[tuple[str, str]]:
    """Values and labels of a drop-down of the benchmark's domains."""
    names = Domain.objects.ready().filter(benchmark=benchmark).values_list("name", flat=True)
    return [(name, name) for name in names]


def place_choices(benchmark: Benchmark) -> dict[str, Choices]:
    """The drop-downs of a list that is about a place."""
    # Corpus versions, the newest first; there is nothing to choose where there is only one.
    versions = CorpusVersion.objects.ready().filter(benchmark=benchmark).order_by("-pk")
    found = [(str(pk), name) for pk, name in versions.values_list("pk", "name")]
    return {"domain": domain_choices(benchmark), "version": (found if len(found) > 1 else [])}


def made_for_choices(benchmark: Benchmark) -> list[tuple[str, str]]:
    """The versions that runs and pools can be of; empty where there is but one."""
    found = [(str(each.pk), each.name) for each in CorpusVersion.objects.choices(benchmark)]
    return found if len(found) > 1 else []


def made_for(rows: QuerySet[Any], value: str) -> QuerySet[Any]:
    """Runs or pools of the version with this key."""
    version = CorpusVersion.objects.filter(pk=int(value) if is_key(value) else 0).first()
    return rows.filter(corpus_version=version.key) if version else rows.none()


def as_it_is(rows: QuerySet[Any], value: str) -> QuerySet[Any]:
    """For a drop-down whose choice decides which rows there are to begin with."""
    return rows
