"""What a cleaning works on, listed and cut into groups that workers take one by one."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Final

from django.db import transaction
from django.db.models import QuerySet

from corpus.cleaning.chunks import PAGES, pages_of, without_page
from corpus.cleaning.reading import page_names
from corpus.cleaning.services import share_budget
from corpus.models import CleanedPage, CleaningPreset, CleaningRun, Crosswalk, Document, Passage
from corpus.versions.services import drop_rows
from kit.runs.models import RunGroup
from kit.runs.sharing import cut, new_group

_ROWS: Final = 1000
# Passages by rules in a group; a small corpus is cut smaller, so that every worker has a part.
_MAX, _MIN, _PARTS = 5000, 500, 64
# Of those that may need calls: a group is written, and paid for again by nobody, as a whole.
_LONG: Final = 50
# Loaded pages that are cut as a whole: some are as long as books.
_PAGES: Final = 5
# Domain, name of the page, its document, and one of its passages.
_Row = tuple[int, str, int | None, int | None]


def plan(run: CleaningRun) -> None:
    """Make the run's groups, anew if a plan was not finished. Raises LostLease."""
    if not run.is_planned:
        share_budget(run)
    if not run.has_agents:
        if not run.is_planned:
            _plan_passages(run)
        return
    if not run.is_planned:
        # Store the run's pages with the keys of their passages; _ROWS rows are in memory at a time.
        run.groups.all().delete()
        drop_rows(CleanedPage, run=run)
        for rows in chain(_passages(run), _documents(run)):
            with transaction.atomic():
                run.beat()
                _add_to_pages(run, rows)
        run.beat(is_planned=True, total=run.pages.count(), done=0)
    cut(run)


def _plan_passages(run: CleaningRun) -> None:
    assert run.version is not None
    drop_rows(Crosswalk, version=run.version)
    drop_rows(Passage, version=run.version)
    passages: QuerySet[Passage] = Passage.objects.filter(version_id__in=run.source.layers)
    groups: list[RunGroup] = []
    if run.preset == CleaningPreset.DCHUNK:
        passages = without_page(run.source)
        groups += _cut(run, pages_of(run.source), _PAGES, behind=PAGES)
    size = _LONG if run.has_calls else min(_MAX, max(_MIN, -(-passages.count() // _PARTS)))
    groups += _cut(run, passages, size)
    total = sum(group.total for group in groups)
    with transaction.atomic():
        run.beat(is_planned=True, total=total, done=0)
        run.groups.all().delete()
        RunGroup.objects.bulk_create(groups, batch_size=_ROWS)


def _cut(run: CleaningRun, rows: QuerySet[Any], size: int, *, behind: int = 0) -> list[RunGroup]:
    """Groups of rows, whose keys count from `behind` on."""
    keys = rows.order_by("pk").values_list("pk", flat=True)
    groups: list[RunGroup] = []
    after = 0
    while part := list(keys.filter(pk__gt=after)[:size]):
        groups.append(new_group(run, behind + after, [behind + key for key in part]))
        after = part[-1]
        run.beat()
    return groups


def _passages(run: CleaningRun) -> Iterator[list[_Row]]:
    found = Passage.objects.filter(version_id__in=run.source.layers).order_by("pk")
    name_of = page_names(run.source)
    columns = ("pk", "domain_id", "pid", "document_id", "document__doc_id", "version_id")
    rows, after = found.with_text().values_list(*columns), 0
    while part := list(rows.filter(pk__gt=after)[:_ROWS]):
        after = part[-1][0]
        yield [
            (domain, name_of(layer, pid, doc_id), document, pk)
            for pk, domain, pid, document, doc_id, layer in part
        ]


def _documents(run: CleaningRun) -> Iterator[list[_Row]]:
    """Pages that were loaded: those without a passage are cleaned, too."""
    found = Document.objects.filter(version_id__in=run.source.layers).order_by("pk")
    rows, after = found.values_list("pk", "domain_id", "doc_id"), 0
    while part := list(rows.filter(pk__gt=after)[:_ROWS]):
        after = part[-1][0]
        yield [(domain, doc_id, pk, None) for pk, domain, doc_id in part]


def _add_to_pages(run: CleaningRun, rows: Sequence[_Row]) -> None:
    """Add passages to their pages: to those that were listed with earlier rows, and to new ones."""
    # With the domains, or the index on all three would not be used.
    listed = run.pages.filter(
        domain_id__in={domain for domain, *_ in rows}, page_id__in={name for _, name, *_ in rows}
    )
    known = {
        (domain, name): members
        for domain, name, members in listed.values_list("domain_id", "page_id", "passages")
    }
    pages: dict[tuple[int, str], CleanedPage] = {}
    for domain, name, document, passage in rows:
        key = (domain, name)
        if key not in pages:
            if passage is None and key in known:
                continue
            pages[key] = CleanedPage(
                run=run,
                domain_id=domain,
                page_id=name,
                document_id=document,
                passages=known.get(key, []),
            )
        if passage is not None:
            pages[key].passages.append(passage)
    CleanedPage.objects.bulk_create(
        pages.values(),
        update_conflicts=True,
        unique_fields=["run", "domain", "page_id"],
        update_fields=["passages"],
    )
