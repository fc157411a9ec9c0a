"""How every annotator of a benchmark stands before its exams. Reads only."""

from collections.abc import Set
from dataclasses import dataclass

from django.contrib.auth.models import User

from annotate.services.qualification import Standing, rule_of, standings
from corpus.models import Benchmark, Domain, Membership, Role


@dataclass(frozen=True)
class PersonRow:
    """How one annotator stands in one domain."""

    person: User
    domain: Domain
    standing: Standing


def people_rows(benchmark: Benchmark) -> list[PersonRow]:
    """Every annotator in every domain of theirs."""
    rule = rule_of(benchmark)
    domains = {each.pk: each for each in benchmark.domains.filter(is_ready=True)}
    places = Membership.objects.filter(benchmark=benchmark).select_related("user")
    own = places.prefetch_related("domains")
    annotators = [place for place in own if Role.ANNOTATOR in place.roles]
    found = standings([place.user_id for place in annotators], list(domains), rule)
    return [
        PersonRow(place.user, domains[pk], found[place.user_id, pk])
        for place in annotators
        for pk in sorted(_chosen(place, domains.keys()) & domains.keys())
    ]


def _chosen(place: Membership, every: Set[int]) -> Set[int]:
    """As Membership.domain_ids, of domains that were read along: none chosen means all."""
    return {each.pk for each in place.domains.all()} or every


def as_data(row: PersonRow) -> dict[str, object]:
    """The same in plain words and numbers, for the API and scripts."""
    passed, approval, recheck = row.standing.passed, row.standing.approval, row.standing.recheck
    return {
        "person": row.person.username,
        "domain": row.domain.name,
        "qualified": row.standing.qualified,
        "missing": list(row.standing.missing),
        "exam": passed.score if passed else None,
        "approval_rate": float(approval.rate) if approval else None,
        "approved": approval.approved if approval else None,
        "recheck": recheck.reason if recheck else "",
    }
