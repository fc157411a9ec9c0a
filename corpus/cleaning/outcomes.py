"""What agents made of a cleaning's pages, written in groups."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from corpus.cleaning.pages import Job, decisions_of, place_of
from corpus.marcus.agents import Chunk, Result, uncleaned
from corpus.marcus.findings import Finding
from corpus.marcus.parts import Page
from corpus.models import CleanedPage, PageState, Passage, Violation
from llm.errors import Failure


@dataclass(frozen=True)
class PageOutcome:
    """What became of a job; with a `failure` the page is cleaned by rules, or waits."""

    job: Job
    result: Result | None
    failure: Failure | None = None


def store_outcomes(outcomes: Sequence[PageOutcome]) -> int:
    """Write a group of outcomes, in the caller's transaction; how many pages are through."""
    still = _still(outcomes)
    ended = 0
    for outcome in outcomes:
        if outcome.job.pk in still:
            still.discard(outcome.job.pk)
            ended += _store(outcome)
    return ended


def _still(outcomes: Sequence[PageOutcome]) -> set[int]:
    """The pages that wait, and whose decisions are those that were read with them."""
    pages = CleanedPage.objects.filter(
        pk__in=[each.job.pk for each in outcomes], state=PageState.WAITING
    )
    rows = list(pages.select_for_update().order_by("pk").only("pk"))
    decided = decisions_of(rows)
    read = {each.job.pk: each.job.decided for each in outcomes}
    return {row.pk for row in rows if decided.get(row.pk, {}) == read[row.pk]}


def _store(outcome: PageOutcome) -> bool:
    """Fill the page's row; whether it is through."""
    job, row = outcome.job, outcome.job.row
    row.digest = job.digest
    row.is_gold = any(part.is_gold for part in job.page.parts)
    if outcome.failure:
        row.state, row.error = PageState.FAILED, outcome.failure.words
        row.result = {"chunks": _rows(uncleaned(row.page_id, job.page), job)}
        row.flags = ["not cleaned by agents"]
    elif job.known:
        _take_over(row, job.known)
    elif outcome.result is not None:
        notes = outcome.result.notes
        row.state = PageState.HELD if outcome.result.is_held else PageState.DONE
        row.flags, row.counts = notes.flags, dict(sorted(notes.counts.items()))
        if job.page.unplaced:
            row.flags = [*row.flags, "passage not found in its page"]
        if job.page.repeated:
            row.flags = [*row.flags, "id repeated, first kept"]
        pairs = {f"{f.place[0]}:{f.place[1]}:{f.place[2]}" for f in notes.findings}
        row.result = {
            "chunks": _rows(outcome.result.chunks, job),
            "pairs": {name: list(notes.pairs[name]) for name in sorted(pairs)},
            "recalls": notes.recalls,
        }
        _list(row, notes.findings)
    row.save()
    return row.state != PageState.HELD


def _rows(chunks: Sequence[Chunk], job: Job) -> list[dict[str, Any]]:
    names = _names(job.page, job.row)
    return [
        {
            "pid": each.pid,
            "text": each.text,
            "gold": each.is_gold,
            "holds": [
                [names[c.overlap.key], c.overlap.tokens, c.overlap.of, c.carries]
                for c in each.holds
            ],
            "tables": list(each.tables),
        }
        for each in chunks
    ]


def _names(page: Page, row: CleanedPage) -> dict[int, str]:
    keys = {stretch.key for part in page.parts for stretch in part.stretches}
    return dict(Passage.objects.filter(pk__in=keys).values_list("pk", "pid"))


def _list(row: CleanedPage, findings: Sequence[Finding]) -> None:
    """Add what is new; what was decided before stays as it was decided."""
    there = {place_of(each) for each in row.violations.all()}
    Violation.objects.bulk_create(
        Violation(
            page=row,
            stage=each.place[0],
            part=each.place[1],
            window=each.place[2],
            number=each.place[3],
            kind=each.kind,
            is_violation=each.is_violation,
            start=each.start,
            end=each.end,
            out_start=each.out_start,
            out_end=each.out_end,
            source=each.source,
            output=each.output,
            decision=each.decision,
        )
        for each in findings
        if each.place not in there
    )


def _take_over(row: CleanedPage, known: CleanedPage) -> None:
    row.state, row.reused = PageState.DONE, True
    row.result, row.flags, row.counts = known.result, known.flags, known.counts
    copied = []
    for each in known.violations.all():
        each.pk, each.id, each.page = None, None, row
        each._state.adding = True
        copied.append(each)
    Violation.objects.bulk_create(copied)
