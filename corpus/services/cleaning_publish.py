"""The end of a cleaning: its passages written, counted, and shown in one UPDATE."""

import json
from collections.abc import Iterable
from hashlib import sha256
from typing import Any, Final

from django.db import transaction

from corpus.models import CleanedPage, CleaningRun, CorpusVersion, Crosswalk, PageState, Passage
from corpus.models.texts import VersionState
from corpus.services.indexing import request_index
from corpus.services.loading_sweep import drop_rows
from kit import audit
from kit.bulk import analyze

_PAGES: Final = 100
_COUNTED: Final = 5000


def publish(run: CleaningRun, figures: dict[str, Any]) -> None:
    """Make the version ready and end the run, in one transaction. Raises LostLease."""
    assert run.version is not None
    totals = _count(run)
    with transaction.atomic():
        CorpusVersion.objects.filter(pk=run.version.pk, state=VersionState.LOADING).update(
            state=VersionState.READY, passage_counts=totals.pop("by domain")
        )
        run.finish(figures=figures | totals, error="", pause_reason="")
        audit.record(
            actor=run.created_by,
            verb="made corpus version by cleaning",
            target=run.version,
            scope=run.benchmark.slug,
            data={"run": run.pk, "passages": totals["passages"], "digest": totals["digest"]},
        )
        request_index(run.version)
    analyze(Passage, Crosswalk)


def write_pages(run: CleaningRun) -> dict[str, Any]:
    """Write the chunks of every cleaned page into the version; what is there already goes first.

    Returns counts. Raises LostLease.
    """
    assert run.version is not None
    drop_rows(Crosswalk, version=run.version)
    drop_rows(Passage, version=run.version)
    figures: dict[str, Any] = {"flags": {}, "counts": {}}
    after = 0
    pages = run.pages.filter(state__in=(PageState.DONE, PageState.FAILED)).order_by("pk")
    while rows := list(pages.filter(pk__gt=after)[:_PAGES]):
        with transaction.atomic():
            run.beat()
            _write(run, rows)
        for page in rows:
            for flag in page.flags:
                figures["flags"][flag] = figures["flags"].get(flag, 0) + 1
            for name, count in page.counts.items():
                figures["counts"][name] = figures["counts"].get(name, 0) + count
        after = rows[-1].pk
    _carry_without_text(run)
    return figures


def _write(run: CleaningRun, pages: list[CleanedPage]) -> None:
    assert run.version_id is not None
    old = Passage.objects.filter(pk__in=[pk for page in pages for pk in page.passages])
    columns = ("pk", "domain_id", "pid", "title", "source_url")
    known = {(row[1], row[2]): row for row in old.order_by("-pk").values_list(*columns)}
    made: list[Passage] = []
    links: list[tuple[int, list[Any]]] = []
    for page in pages:
        for chunk in page.result.get("chunks", []):
            held = [known.get((page.domain_id, row[0])) for row in chunk["holds"]]
            first = next((row for row in held if row), None)
            extra: dict[str, Any] = {"page": page.page_id, "gold": chunk["gold"]}
            if chunk["tables"]:
                extra["tables"] = chunk["tables"]
            made.append(
                Passage(
                    version_id=run.version_id,
                    domain_id=page.domain_id,
                    pid=chunk["pid"][:500],
                    title=first[3] if first else "",
                    source_url=first[4] if first else "",
                    text=chunk["text"],
                    extra=extra,
                )
            )
            links += [
                (len(made) - 1, [row[0], *hold[1:]])
                for row, hold in zip(held, chunk["holds"], strict=True)
                if row
            ]
    Passage.objects.bulk_create(made)
    Crosswalk.objects.bulk_create(
        Crosswalk(
            version_id=run.version_id,
            old_id=row[0],
            new=made[number],
            tokens=row[1],
            of=row[2],
            carries=row[3],
        )
        for number, row in links
    )


def _carry_without_text(run: CleaningRun) -> None:
    """Ids whose text was never loaded stay, with their labels."""
    assert run.version_id is not None
    empty = Passage.objects.filter(version_id__in=run.source.layers, text=None)
    after = 0
    while rows := list(empty.filter(pk__gt=after).order_by("pk")[:_COUNTED]):
        with transaction.atomic():
            run.beat()
            made = Passage.objects.bulk_create(
                Passage(
                    version_id=run.version_id,
                    domain_id=row.domain_id,
                    pid=row.pid,
                    title=row.title,
                    source_url=row.source_url,
                    text=None,
                    extra=row.extra,
                )
                for row in rows
            )
            Crosswalk.objects.bulk_create(
                Crosswalk(version_id=run.version_id, old=old, new=new)
                for old, new in zip(rows, made, strict=True)
            )
        after = rows[-1].pk


def _count(run: CleaningRun) -> dict[str, Any]:
    """Passages by domain, and the version's digest."""
    by_domain: dict[str, int] = {}
    names = dict(run.benchmark.domains.values_list("pk", "name"))

    def rows() -> Iterable[tuple[str, str, str | None]]:
        own = Passage.objects.filter(version_id=run.version_id).order_by("pk")
        after = 0
        while part := list(
            own.filter(pk__gt=after).values_list("pk", "domain_id", "pid", "text")[:_COUNTED]
        ):
            run.beat()
            for _, domain, pid, text in part:
                by_domain[str(domain)] = by_domain.get(str(domain), 0) + 1
                yield names[domain], pid, text
            after = part[-1][0]

    digest = digest_of(rows())
    return {"digest": digest, "passages": sum(by_domain.values()), "by domain": by_domain}


def digest_of(rows: Iterable[tuple[str, str, str | None]]) -> str:
    """A version's digest from (domain, id, text): the same whatever order they come in."""
    total = 0
    for row in rows:
        packed = json.dumps(row, ensure_ascii=True).encode()
        total = (total + int.from_bytes(sha256(packed).digest())) % (1 << 256)
    return f"{total:064x}"
