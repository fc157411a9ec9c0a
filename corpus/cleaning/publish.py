"""The end of a cleaning: agents' chunks written, and the version shown in one UPDATE."""

from typing import Any, Final

from django.db import transaction

from corpus.cleaning.chunks import BY_WORDS
from corpus.cleaning.rules import MADE, READ, Row, Tally, domain_names, summed, write
from corpus.models import CleanedPage, CleaningRun, CorpusVersion, Crosswalk, PageState, Passage
from corpus.texts.indexing import request_index
from corpus.texts.models import VersionState
from corpus.versions.crosswalk import BESIDE
from kit import audit
from kit.database.bulk import analyze
from kit.runs.models import wake

HELD: Final = "{pages} for a person: decide about the violations, and the run goes on by itself."
_PAGES: Final = 100
_ROWS: Final = 1000
# How far the ids without text were copied, while they are.
_COPIED: Final = "carried up to"


def close(run: CleaningRun) -> None:
    """Publish the version, or wait for people. Raises LostLease."""
    if not run.has_agents:
        parts = run.groups.order_by("pk").values_list("figures", flat=True)
        publish(run, summed(parts.iterator()))
        return
    held = run.pages.filter(state=PageState.HELD).count()
    if held:
        pages = "1 page waits" if held == 1 else f"{held:,} pages wait"
        run.pause(pause_reason=HELD.format(pages=pages))
        return
    publish(run, write_pages(run))


def publish(run: CleaningRun, figures: dict[str, Any]) -> None:
    """Make the version ready and end the run, in one transaction. Raises LostLease.

    `figures` are those of a Tally.
    """
    assert run.version is not None
    made = figures.pop(MADE, {})
    figures["passages"] = sum(made.values())
    recipe = run.version.recipe | ({"embedder": "words"} if BY_WORDS in figures else {})
    with transaction.atomic():
        CorpusVersion.objects.filter(pk=run.version.pk, state=VersionState.LOADING).update(
            state=VersionState.READY, passage_counts=made, recipe=recipe
        )
        run.finish(figures=figures, error="", pause_reason="")
        audit.record(
            run.created_by,
            "made corpus version by cleaning",
            run.version,
            run.benchmark.slug,
            {"run": run.pk, "passages": figures["passages"], "digest": figures["digest"]},
        )
        request_index(run.version)
        for following in run.followers.all():
            wake(following)
    analyze(Passage, Crosswalk)


def write_pages(run: CleaningRun) -> dict[str, Any]:
    """Write the chunks of every cleaned page into the version, behind those that are there.

    Returns the figures of a Tally with `flags` and `counts`. Raises LostLease.
    """
    figures: dict[str, Any] = {"flags": {}, "counts": {}} | run.figures
    tally = Tally(figures, domain_names(run))
    pages = run.pages.filter(state__in=(PageState.DONE, PageState.FAILED)).order_by("pk")
    while rows := list(pages.filter(pk__gt=run.last_id)[:_PAGES]):
        for page in rows:
            for flag in page.flags:
                figures["flags"][flag] = figures["flags"].get(flag, 0) + 1
            for name, count in page.counts.items():
                figures["counts"][name] = figures["counts"].get(name, 0) + count
        with transaction.atomic():
            _write(run, rows, tally)
            run.beat(last_id=rows[-1].pk, figures=tally.figures)
    _copy_without_text(run, tally)
    return {name: value for name, value in tally.figures.items() if name != _COPIED}


def _write(run: CleaningRun, pages: list[CleanedPage], tally: Tally) -> None:
    assert run.version_id is not None
    old = Passage.objects.filter(pk__in=[pk for page in pages for pk in page.passages])
    columns = ("pk", "domain_id", "pid", "title", "source_url", "fetched_on")
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
            if chunk.get("beside"):
                extra[BESIDE] = True
            made.append(
                Passage(
                    version_id=run.version_id,
                    domain_id=page.domain_id,
                    pid=chunk["pid"][:500],
                    title=first[3] if first else "",
                    source_url=first[4] if first else "",
                    fetched_on=first[5] if first else None,
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
    tally.add((each.domain_id, each.pid, each.text) for each in made)
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


def _copy_without_text(run: CleaningRun, tally: Tally) -> None:
    """Ids whose text was never loaded stay, with their labels."""
    assert run.version_id is not None
    empty = Passage.objects.filter(version_id__in=run.source.layers, text=None)
    after = run.figures.get(_COPIED, 0)
    while rows := [
        Row(*each) for each in empty.filter(pk__gt=after).order_by("pk").values_list(*READ)[:_ROWS]
    ]:
        after = rows[-1].pk
        with transaction.atomic():
            write(run, rows, tally)
            run.beat(figures=tally.figures | {_COPIED: after})
