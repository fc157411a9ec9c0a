"""What a cleaning works on, listed and cut into groups that workers take one by one."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from django.db import transaction

from corpus.imports.sweep import drop_rows
from corpus.marcus.parts import page_of
from corpus.models import CleanedPage, CleaningRun, Crosswalk, Document, Passage
from kit.runs.models import RunGroup
from kit.runs.sharing import cut, new_group

_ROWS: Final = 1000
# Passages by rules in a group; a small corpus is cut smaller, so that every worker has a part.
_MOST, _LEAST, _PARTS = 5000, 500, 64
# Of those that may need calls: a group is written, and paid for again by nobody, as a whole.
_LONG: Final = 50
# Domain, name of the page, its document, and one of its passages.
_Row = tuple[int, str, int | None, int | None]


def plan(run: CleaningRun) -> None:
    """Make the run's groups, anew if a plan was not finished. Raises LostLease."""
    if not run.has_agents:
        if not run.is_planned:
            _plan_passages(run)
        return
    if not run.is_planned:
        _list_pages(run)
    cut(run)


def _plan_passages(run: CleaningRun) -> None:
    assert run.version is not None
    drop_rows(Crosswalk, version=run.version)
    drop_rows(Passage, version=run.version)
    passages = Passage.objects.filter(version_id__in=run.source.layers)
    total = passages.count()
    size = _LONG if run.has_calls else min(_MOST, max(_LEAST, -(-total // _PARTS)))
    keys = passages.order_by("pk").values_list("pk", flat=True)
    groups: list[RunGroup] = []
    after = 0
    while part := list(keys.filter(pk__gt=after)[:size]):
        groups.append(new_group(run, after, part))
        after = part[-1]
        run.beat()
    with transaction.atomic():
        run.beat(is_planned=True, total=total, done=0)
        run.groups.all().delete()
        RunGroup.objects.bulk_create(groups, batch_size=_ROWS)


def _list_pages(run: CleaningRun) -> None:
    """Store the run's pages, each with the keys of its passages; _ROWS rows are held at a time."""
    run.groups.all().delete()
    drop_rows(CleanedPage, run=run)
    for rows in chain(_passages(run), _documents(run)):
        with transaction.atomic():
            run.beat()
            _add_to_pages(run, rows)
    run.beat(is_planned=True, total=run.pages.count(), done=0)


def _passages(run: CleaningRun) -> Iterator[list[_Row]]:
    found = Passage.objects.filter(version_id__in=run.source.layers).order_by("pk")
    columns = ("pk", "domain_id", "pid", "document_id", "document__doc_id")
    rows, after = found.with_text().values_list(*columns), 0
    while part := list(rows.filter(pk__gt=after)[:_ROWS]):
        after = part[-1][0]
        yield [
            (domain, doc_id or page_of(pid)[0], document, pk)
            for pk, domain, pid, document, doc_id in part
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
