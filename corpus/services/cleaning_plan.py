"""What a cleaning works on, listed and cut into groups that workers take one by one."""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from django.db import transaction
from django.db.models import Exists, OuterRef

from corpus.marcus.parts import page_of
from corpus.models import (
    CleanedPage,
    CleaningGroup,
    CleaningRun,
    Crosswalk,
    Document,
    PageState,
    Passage,
)
from corpus.services.loading_sweep import drop_rows
from kit.runs import RunStatus

_ROWS: Final = 1000
# Pages with agents in a group: so few that the last ones of a run are spread over the workers.
PAGES: Final = 20
# Passages by rules in a group; a small corpus is cut smaller, so that every worker has a part.
_MOST, _LEAST, _PARTS = 5000, 500, 64
# Of those that may need calls: a group is written, and paid for again by nobody, as a whole.
_LONG: Final = 50


def plan(run: CleaningRun) -> None:
    """Make the run's groups, anew if a plan was not finished. Raises LostLease."""
    if not run.has_agents:
        if not run.is_planned:
            _plan_passages(run)
        return
    if not run.is_planned:
        _list_pages(run)
    if not run.groups.exists():
        _plan_pages(run)


def reopen(run: CleaningRun) -> bool:
    """Put groups that are done but have waiting pages back; whether there were any.

    People's decisions send pages back after their group was done.
    """
    waiting = CleanedPage.objects.filter(
        run=run, state=PageState.WAITING, pk__gt=OuterRef("after"), pk__lte=OuterRef("up_to")
    )
    done = run.groups.filter(Exists(waiting), status=RunStatus.DONE)
    return bool(done.update(status=RunStatus.QUEUED, lease_until=None))


def _plan_passages(run: CleaningRun) -> None:
    assert run.version is not None
    drop_rows(Crosswalk, version=run.version)
    drop_rows(Passage, version=run.version)
    passages = Passage.objects.filter(version_id__in=run.source.layers)
    total = passages.count()
    size = _LONG if run.has_calls else min(_MOST, max(_LEAST, -(-total // _PARTS)))
    keys = passages.order_by("pk").values_list("pk", flat=True)
    groups: list[CleaningGroup] = []
    after = 0
    while part := list(keys.filter(pk__gt=after)[:size]):
        groups.append(_group(run, after, part))
        after = part[-1]
        run.beat()
    with transaction.atomic():
        run.beat(is_planned=True, total=total, done=0)
        run.groups.all().delete()
        CleaningGroup.objects.bulk_create(groups, batch_size=_ROWS)


def _list_pages(run: CleaningRun) -> None:
    run.groups.all().delete()
    run.pages.all().delete()
    listed = _pages(run)
    total = 0
    while part := list(islice(listed, _ROWS)):
        with transaction.atomic():
            run.beat()
            CleanedPage.objects.bulk_create(part)
        total += len(part)
    run.beat(is_planned=True, total=total, done=0)


def _pages(run: CleaningRun) -> Iterator[CleanedPage]:
    """The pages of the source version, each with the keys of its passages."""
    groups: dict[tuple[int, str], tuple[int | None, list[int]]] = {}
    passages = Passage.objects.filter(version_id__in=run.source.layers, text__isnull=False)
    columns = ("pk", "domain_id", "pid", "document_id", "document__doc_id")
    rows = passages.order_by("pk").values_list(*columns)
    for pk, domain, pid, document, doc_id in rows.iterator(chunk_size=5000):
        key = (domain, doc_id or page_of(pid)[0])
        groups.setdefault(key, (document, []))[1].append(pk)
    pages = Document.objects.filter(version_id__in=run.source.layers).order_by("pk")
    for pk, domain, doc_id in pages.values_list("pk", "domain_id", "doc_id").iterator():
        groups.setdefault((domain, doc_id), (pk, []))
    for (domain, name), (document, members) in groups.items():
        yield CleanedPage(
            run=run, domain_id=domain, page_id=name, document_id=document, passages=members
        )


def _plan_pages(run: CleaningRun) -> None:
    keys = run.pages.order_by("pk").values_list("pk", flat=True)
    groups: list[CleaningGroup] = []
    after = 0
    while part := list(keys.filter(pk__gt=after)[:PAGES]):
        groups.append(_group(run, after, part))
        after = part[-1]
    with transaction.atomic():
        run.beat()
        CleaningGroup.objects.bulk_create(groups, batch_size=_ROWS)


def _group(run: CleaningRun, after: int, keys: list[int]) -> CleaningGroup:
    return CleaningGroup(run=run, after=after, up_to=keys[-1], last_id=after, total=len(keys))
