"""What waits for a third person, as one list: the oldest first. Reads only.

A person sees what they may settle: admins of every domain, reviewers of theirs; never what they
had a part in. Who may still vote is not shown cases that are open.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, Max, OuterRef, Q, QuerySet

from annotate.adjudication.conflicts import conflicting_verdicts, conflicting_weights, final_scores
from annotate.adjudication.third_persons import parts_in_pair, parts_in_weight, without_my_part
from annotate.models import (
    Aspect,
    CaseKind,
    CaseStatus,
    EscalationCase,
    GoldPassage,
    OpenKind,
    PointStatus,
    Review,
    ReviewPoint,
    ReviewStatus,
)
from corpus.access import Access
from corpus.models import Domain, Passage, Query


@dataclass(frozen=True, order=True)
class OpenItem:
    """One thing that was left open. `key` is that of the review or the aspect, of a case its
    public id; of verdicts it is "query-passage"."""

    since: datetime
    kind: str
    key: str
    query_id: int
    domain_id: int

    @property
    def name(self) -> str:
        """How links name it."""
        return f"{self.kind}-{self.key}"


def open_items(access: Access, *, kind: str = "", domain: str = "") -> list[OpenItem]:
    """What this person may settle, the oldest first; of one kind and domain, where given."""
    if not (access.is_admin or access.is_reviewer):
        return []
    kinds = [kind] if kind in READERS else list(READERS)
    domains = Domain.objects.ready().filter(benchmark=access.benchmark, name=domain)
    only = domains.values_list("pk", flat=True).first() if domain else None
    found = (item for name in kinds for item in READERS[name](access))
    return sorted(item for item in found if only in (None, item.domain_id))


def listed(
    access: Access, params: Mapping[str, str]
) -> tuple[list[OpenItem], list[tuple[str, str, int]]]:
    """What `kind` and `domain` in `params` choose, and (kind, its name, how many) of every kind."""
    everything = open_items(access, domain=params.get("domain", ""))
    kind = params.get("kind", "")
    rows = [item for item in everything if kind not in OpenKind.values or item.kind == kind]
    of_kind = Counter(item.kind for item in everything)
    return rows, [(value, str(label), of_kind[value]) for value, label in OpenKind.choices]


def quick_count(access: Access) -> int:
    """How much waits, for the home page: cases and reviews, which are counted at once."""
    if not (access.is_admin or access.is_reviewer):
        return 0
    return _cases(access).count() + _reviews_in(access).count()


def find_item(access: Access, name: str) -> OpenItem | None:
    """The item that a link names, if it waits for this person."""
    kind, _, key = name.partition("-")
    rows = open_items(access, kind=kind) if kind in READERS else []
    return next((item for item in rows if item.key == key), None)


def _cases(access: Access) -> QuerySet[EscalationCase]:
    """Cases without a majority, and unreadable ones that nobody decided."""
    waiting = Q(status=CaseStatus.EXPERT)
    if access.is_admin or not access.is_annotator:
        waiting |= Q(status=CaseStatus.OPEN, kind=CaseKind.UNREADABLE)
    # What a panel's experts left open waits for its seniors, among the panel's checks.
    rows = EscalationCase.objects.of_voters().filter(waiting)
    rows = rows.filter(query__domain__in=_domains(access))
    return rows.filter(without_my_part(access.user))


def _domains(access: Access) -> set[int]:
    if access.is_admin:
        ready = Domain.objects.ready().filter(benchmark=access.benchmark)
        return set(ready.values_list("pk", flat=True))
    return set(access.domain_ids)


def _cases_of(kind: OpenKind, status: CaseStatus) -> Callable[[Access], Iterator[OpenItem]]:
    def read(access: Access) -> Iterator[OpenItem]:
        rows = _cases(access).filter(status=status)
        fields = ("closed_at", "created_at", "public_id", "query_id", "query__domain_id")
        for closed, created, public_id, query, domain in rows.values_list(*fields):
            yield OpenItem(closed or created, kind.value, str(public_id), query, domain)

    return read


def _verdicts(access: Access) -> Iterator[OpenItem]:
    found = conflicting_verdicts(access.benchmark)
    queries = Query.objects.filter(pk__in={query for query, _ in found})
    domain_of = dict(queries.filter(domain__in=_domains(access)).values_list("pk", "domain"))
    for (query, passage), since in found.items():
        if query in domain_of and access.user.pk not in parts_in_pair(query, passage):
            key = f"{query}-{passage}"
            yield OpenItem(since, OpenKind.VERDICTS.value, key, query, domain_of[query])


def _weights(access: Access) -> Iterator[OpenItem]:
    if not access.is_admin:
        return
    rows = conflicting_weights(access.benchmark).select_related("query__domain").order_by("pk")
    last = final_scores().filter(aspect__in=rows).order_by()
    since = dict(last.values_list("aspect").annotate(at=Max("created_at")))
    for aspect in rows:
        if access.user.pk not in parts_in_weight(aspect):
            at, key = since[aspect.pk], str(aspect.pk)
            domain = aspect.query.domain_id
            yield OpenItem(at, OpenKind.WEIGHTS.value, key, aspect.query_id, domain)


def _reviews_in(access: Access) -> QuerySet[Review]:
    """Reviews with points that author and reviewer see differently, for who has no part."""
    objected = ReviewPoint.objects.filter(review=OuterRef("pk"), status=PointStatus.OBJECTED)
    at = Q(status=ReviewStatus.CHECKING) | Q(status=ReviewStatus.THIRD, third=access.user)
    if access.is_admin:
        at |= Q(status=ReviewStatus.THIRD)
    mine = {"query": OuterRef("query"), "created_by": access.user}
    return (
        Review.objects.filter(at, Exists(objected), query__domain__in=_domains(access))
        .exclude(reviewer=access.user)
        .exclude(author=access.user)
        .exclude(Exists(Aspect.objects.filter(**mine)))
        .exclude(Exists(GoldPassage.objects.filter(**mine)))
    )


def _reviews(access: Access) -> Iterator[OpenItem]:
    rows = _reviews_in(access).annotate(since=Max("turns__created_at"))
    fields = ("since", "created_at", "pk", "query_id", "query__domain_id")
    for since, created, pk, query, domain in rows.values_list(*fields):
        yield OpenItem(since or created, OpenKind.REVIEWS.value, str(pk), query, domain)


READERS: dict[str, Callable[[Access], Iterator[OpenItem]]] = {
    OpenKind.MAJORITY: _cases_of(OpenKind.MAJORITY, CaseStatus.EXPERT),
    OpenKind.UNREADABLE: _cases_of(OpenKind.UNREADABLE, CaseStatus.OPEN),
    OpenKind.VERDICTS: _verdicts,
    OpenKind.WEIGHTS: _weights,
    OpenKind.REVIEWS: _reviews,
}


def as_rows(items: Sequence[OpenItem]) -> list[dict[str, Any]]:
    """One page of the list: `item`, its `query`, and in words what it is `about`."""
    queries = Query.objects.select_related("domain").in_bulk({item.query_id for item in items})
    of_cases = (OpenKind.MAJORITY, OpenKind.UNREADABLE)
    cases = EscalationCase.objects.filter(public_id__in=_keys(items, *of_cases))
    passage_by_case = {str(each.public_id): each.passage_id for each in cases}
    aspects = Aspect.objects.in_bulk([int(key) for key in _keys(items, OpenKind.WEIGHTS)])
    passage_of = {
        item.name: int(item.key.split("-")[1]) for item in items if item.kind == OpenKind.VERDICTS
    }
    for item in items:
        if item.kind in of_cases:
            passage_of[item.name] = passage_by_case[item.key]
    pids = dict(Passage.objects.filter(pk__in=passage_of.values()).values_list("pk", "pid"))

    def about(item: OpenItem) -> str:
        if item.kind == OpenKind.WEIGHTS:
            aspect = aspects[int(item.key)]
            return f"a{aspect.k}: {aspect.content[:80]}"
        if item.kind == OpenKind.REVIEWS:
            return "points that author and reviewer see differently"
        return pids[passage_of[item.name]]

    return [
        {
            "item": item,
            "kind_label": OpenKind(item.kind).label,
            "query": queries[item.query_id],
            "about": about(item),
        }
        for item in items
    ]


def _keys(items: Sequence[OpenItem], *kinds: OpenKind) -> list[str]:
    return [item.key for item in items if item.kind in kinds]
