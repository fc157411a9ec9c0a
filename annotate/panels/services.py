"""Reference panels: drawing their pairs, freezing the reasons for experts, opening and closing.

Pairs are drawn by chance alone (docs/protocol.md 2.6): disputed ones too, or the set would be
easier than the pool it is drawn from. Their cases are of a kind of their own, which voters are
never asked about, so a pair may be voted on and labelled here at the same time.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from annotate.exams.qualification import require_admin
from annotate.models import (
    CaseKind,
    CaseStatus,
    EscalationCase,
    PanelStatus,
    ReferenceItem,
    ReferencePanel,
    VoteSlot,
)
from annotate.panels.models import MAX_PER_DOMAIN
from corpus.access import Access
from corpus.judgments.services import lock_queries
from corpus.models import Benchmark, Domain, Judgment, Pool, PoolEntry, Query, Source
from kit import audit
from kit.errors import Refused
from kit.stats.sampling import draw

_CHUNK = 500
MAX_SEED = 2**31 - 1
MAX_PRACTICE = 50


def draw_pairs(
    benchmark: Benchmark, *, pool: Pool | None, per_domain: int, seed: int
) -> dict[Domain, tuple[int, list[PoolEntry]]]:
    """Of every domain with pools, by name: how many queries could be drawn, and the drawn pairs.

    The places are hashes of the seed and of the ids that came with the benchmark, so whoever has
    both can check the draw.
    """
    entries = _eligible(benchmark, pool)
    found = {}
    for domain in benchmark.domains.ready():
        pooled = Query.objects.filter(domain=domain, pk__in=entries.values("query"))
        rows = pooled.values_list("pk", "qid", "answers")
        keys = {qid: pk for pk, qid, answers in rows if any(str(a).strip() for a in answers)}
        if keys:
            chosen = draw({0: sorted(keys)}, per_domain, seed)
            found[domain] = len(keys), _one_of_each(entries, [keys[qid] for qid in chosen], seed)
    return found


def _eligible(benchmark: Benchmark, pool: Pool | None) -> QuerySet[PoolEntry]:
    """Pooled pairs with their text that neither an expert nor a panel was asked about."""
    pair = {"query": OuterRef("query_id"), "passage": OuterRef("passage_id")}
    experts = Judgment.objects.standing().filter(source=Source.EXPERT, **pair)
    drawn = EscalationCase.objects.filter(kind=CaseKind.REFERENCE, **pair)
    pools = Pool.objects.filter(benchmark=benchmark)
    if pool is not None:
        pools = pools.filter(pk=pool.pk)
    # What is asked of aspects is no pair to be labelled.
    entries = PoolEntry.objects.filter(pool__in=pools, passage__text__isnull=False, aspect=None)
    return entries.exclude(Exists(experts)).exclude(Exists(drawn))


def _one_of_each(
    entries: QuerySet[PoolEntry], queries: Sequence[int], seed: int
) -> list[PoolEntry]:
    """One pooled passage for each of these queries, in their order."""
    offered: dict[int, dict[tuple[str, str], int]] = defaultdict(dict)
    for start in range(0, len(queries), _CHUNK):
        rows = entries.filter(query__in=queries[start : start + _CHUNK])
        rows = rows.order_by("-pk")  # of two pools the older one is named
        for pk, *key, owner in rows.values_list("pk", "query__qid", "passage__pid", "query_id"):
            offered[owner][key[0], key[1]] = pk
    # By query and passage: one passage of many pools must not be drawn for all of them at once.
    drawn = [offered[pk][draw({0: sorted(offered[pk])}, 1, seed)[0]] for pk in queries]
    related = PoolEntry.objects.select_related("query__domain__benchmark", "passage")
    rows_of = related.defer("passage__text").in_bulk(drawn)
    return [rows_of[pk] for pk in drawn]


def draw_panel(
    *,
    benchmark: Benchmark,
    actor: User | None,
    name: str,
    pool: Pool | None = None,
    seed: int = 1,
    **settings: int,
) -> ReferencePanel:
    """Draw a reference set: one random pooled passage of each of `per_domain` random queries.

    `settings` are fields of the panel; its defaults are DREAM's. The same seed draws the same
    pairs from the same pools. Left out are pairs whose text is not loaded, queries without
    answers, and pairs that an expert or an earlier panel has labelled. Raises Refused, naming the
    field, for numbers out of range, a name that is taken, and where nothing can be drawn;
    PermissionDenied for everybody but admins (`actor` None: the shell).
    """
    if actor is not None:
        require_admin(benchmark, actor)
    panel = ReferencePanel(
        benchmark=benchmark, name=name.strip(), pool=pool, seed=seed, created_by=actor, **settings
    )
    _check(panel)
    drawn = draw_pairs(benchmark, pool=pool, per_domain=panel.per_domain, seed=seed)
    if not drawn:
        raise Refused(
            "No pair is left to draw: build a pool first, whose queries have answers.", field="pool"
        )
    panel.drawn = [
        {"domain": domain.name, "queries": queries, "drawn": len(pairs)}
        for domain, (queries, pairs) in drawn.items()
    ]
    data = {"seed": seed, "pool": pool.pk if pool else None, "drawn": panel.drawn}
    try:
        with transaction.atomic():
            panel.save()
            lock_queries(pair.query_id for _, pairs in drawn.values() for pair in pairs)
            for domain, (_, pairs) in drawn.items():
                _add_items(panel, domain, pairs)
            labels = panel.labels_per_item
            _note(panel, actor, "draw reference panel", labels_per_item=labels, **data)
    except IntegrityError:
        message = "Another panel drew from these pairs at this moment, or has this name. Try again."
        raise Refused(message, field="name") from None
    return panel


def _check(panel: ReferencePanel) -> None:
    """Raise Refused for a new panel that cannot be drawn so."""
    bounds = {
        "per_domain": (1, MAX_PER_DOMAIN),
        "seed": (0, MAX_SEED),
        "labels_per_item": (1, 2),
        "practice_items": (0, MAX_PRACTICE),
        "check_percent": (0, 100),
    }
    for name, (low, high) in bounds.items():
        if not low <= getattr(panel, name) <= high:
            raise Refused(f"Give a number from {low:,} to {high:,}.", field=name)
    if not panel.name:
        raise Refused("Give the panel a name.", field="name")
    if ReferencePanel.objects.filter(benchmark=panel.benchmark, name=panel.name).exists():
        raise Refused("There is a panel of this name.", field="name")
    if panel.pool is not None and panel.pool.benchmark_id != panel.benchmark_id:
        raise Refused("This pool belongs to another benchmark.", field="pool")


def _add_items(panel: ReferencePanel, domain: Domain, pairs: Sequence[PoolEntry]) -> None:
    """The cases with their places, and the items, in the drawn order."""
    cases = EscalationCase.objects.bulk_create(
        EscalationCase(
            origin=f"panel:{panel.pk}:{domain.pk}:{place}",
            kind=CaseKind.REFERENCE,
            query=pair.query,
            passage_id=pair.passage_id,
            snapshot={
                "question": pair.query.text,
                "answers": list(pair.query.answers),
                "practice": False,
                "rounds": 0,
                "positions": [],
            },
        )
        for place, pair in enumerate(pairs)
    )
    places = range(1, panel.labels_per_item + 1)
    VoteSlot.objects.bulk_create(case.new_slot(place) for case in cases for place in places)
    n_checked = round(len(cases) * panel.check_percent / 100)
    n_checked = max(n_checked, 1) if panel.check_percent else 0
    keys = [(pair.query.qid, pair.passage.pid) for pair in pairs]
    checked = set(draw({0: keys}, n_checked, panel.seed + 2))
    ReferenceItem.objects.bulk_create(
        ReferenceItem(panel=panel, case=case, pool_id=pair.pool_id, in_spot_check=key in checked)
        for case, pair, key in zip(cases, pairs, keys, strict=True)
    )


def freeze_reasons(
    *, panel: ReferencePanel, positions: Mapping[int, Sequence[Any]], provenance: dict[str, Any]
) -> set[int]:
    """Put both reasons into the snapshots of items that have none; keys of those that took them.

    `positions` of a snapshot by the item's key; `provenance` says who wrote them. None does once
    the panel is open: what one labeller saw is what all see. Order and names of the two are drawn
    for each reader and item when they are shown (plans.services.as_shown).
    """
    with transaction.atomic():
        preparing = ReferencePanel.objects.filter(pk=panel.pk, status=PanelStatus.PREPARING)
        if not preparing.update(status=PanelStatus.PREPARING):  # the lock that opening waits for
            return set()
        items = ReferenceItem.objects.without_hints().filter(panel=panel, pk__in=positions)
        taking = list(items.select_related("case"))
        for item in taking:
            item.hints = provenance
            practice = bool(provenance.get("practice"))
            item.case.snapshot |= {"positions": list(positions[item.pk]), "practice": practice}
        ReferenceItem.objects.bulk_update(taking, ["hints"])
        EscalationCase.objects.bulk_update([item.case for item in taking], ["snapshot"])
    return {item.pk for item in taking}


def open_panel(*, panel: ReferencePanel, access: Access, without_hints: bool = False) -> None:
    """Let the experts begin. Raises Refused while practice items or, unless `without_hints`, the
    reasons of some items are missing, and for a panel that is open already."""
    _need_admin(panel, access)
    short = missing_practice(panel)
    if short:
        raise Refused(
            f"The bank has fewer than {panel.practice_items} practice items for "
            f"{', '.join(short)}. Add some under Qualification first."
        )
    missing = panel.items.without_hints().count() if panel.shows_hints else 0
    if missing and not without_hints and panel.status == PanelStatus.PREPARING:
        raise Refused(f"{missing} items have no reasons yet. Have them written first.")
    with transaction.atomic():
        _move(panel, [PanelStatus.PREPARING], PanelStatus.OPEN, opened_at=timezone.now())
        _note(panel, access.user, "open reference panel", without_hints=missing)


def close_panel(*, panel: ReferencePanel, access: Access) -> None:
    """End a panel for good: items that nobody labelled are deleted, and counted.

    An item with one label of two waits for a senior, who decides it.
    """
    _need_admin(panel, access)
    with transaction.atomic():
        lock_queries(panel.items.values_list("case__query", flat=True))
        untouched = panel.items.filter(case__status=CaseStatus.OPEN, case__votes_in=0)
        cases = list(untouched.values_list("case", flat=True))
        fields = {"closed_at": timezone.now(), "dropped": len(cases)}
        _move(panel, [PanelStatus.OPEN, PanelStatus.PREPARING], PanelStatus.CLOSED, **fields)
        untouched.delete()
        EscalationCase.objects.filter(pk__in=cases).delete()
        begun = EscalationCase.objects.open().filter(reference_item__panel=panel)
        halves = begun.update(status=CaseStatus.EXPERT)
        _note(panel, access.user, "close reference panel", dropped=len(cases), halves=halves)


def missing_practice(panel: ReferencePanel) -> list[str]:
    """Names of the panel's domains whose bank is too small for its practice."""
    bank = Count("exam_items", filter=Q(exam_items__is_practice=True, exam_items__retired_at=None))
    used = panel.items.values("case__query__domain")
    domains = panel.benchmark.domains.filter(pk__in=used).annotate(bank=bank)
    return [each.name for each in domains if each.bank < panel.practice_items]


def _move(panel: ReferencePanel, sources: list[str], to: str, **fields: Any) -> None:
    rows = ReferencePanel.objects.filter(pk=panel.pk, status__in=sources)
    if not rows.update(status=to, **fields):
        panel.refresh_from_db()
        raise Refused(f"This panel is {panel.get_status_display().lower()} already.")
    panel.refresh_from_db()


def _need_admin(panel: ReferencePanel, access: Access) -> None:
    if not access.is_admin or access.benchmark.pk != panel.benchmark_id:
        raise PermissionDenied("Panels are managed by admins.")


def _note(panel: ReferencePanel, actor: User | None, verb: str, **data: Any) -> None:
    # A scope of its own: lists of a benchmark's events are read by people who label.
    scope = f"{panel.benchmark.slug}#panels"
    audit.record(actor=actor, verb=verb, target=panel, scope=scope, data=data)
