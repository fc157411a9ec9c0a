"""The pages of a cleaning with agents: read, compared with earlier runs, stored."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final

from django.db import transaction
from django.db.models import QuerySet

from corpus.marcus.agents import Chunk, Result, uncleaned
from corpus.marcus.asking import prompt
from corpus.marcus.findings import Finding, Place
from corpus.marcus.parts import Page, Source, take_apart
from corpus.marcus.settings import AGENTS, Settings
from corpus.models import (
    CleanedPage,
    CleaningGroup,
    CleaningRun,
    PageState,
    Passage,
    Violation,
)
from corpus.services.cleaning_share import Share
from kit.failpoints import reach
from llm.failures import CannotGoOn, Failure

PAGE: Final = 50


@dataclass(frozen=True)
class Job:
    """A page with what its agents read; `known` is what an earlier run made of the same page.

    `group` is the one that this worker took it with.
    """

    row: CleanedPage
    group: CleaningGroup
    page: Page
    digest: str
    decided: dict[Place, str]
    known: CleanedPage | None = None

    @property
    def pk(self) -> int:
        """The row's key."""
        return self.row.pk


@dataclass(frozen=True)
class PageOutcome:
    """What became of a job; with a `failure` the page is cleaned by rules, or waits."""

    job: Job
    result: Result | None
    failure: Failure | None = None
    heard: bool = False


def settings_of(run: CleaningRun) -> Settings:
    """The agents as they were frozen. Raises CannotGoOn where a prompt changed since."""
    prompts = {role: prompt(role) for role in AGENTS[run.preset]}
    if {role: each.sha256 for role, each in prompts.items()} != run.config["prompts"]:
        raise CannotGoOn("A prompt changed since this run was made; start a new run.")
    config = run.config
    return Settings(
        preset=run.preset,
        policy=run.policy,
        endpoint=run.endpoint,
        model=run.model,
        temperature=config["temperature"],
        site=config["site"],
        window=int(config["window"]),
        fixed=int(config["fixed"]),
        single_span=bool(config["single_span"]),
        prompts=prompts,
    )


def read_jobs(
    run: CleaningRun,
    settings: Settings,
    gold: dict[int, list[int]],
    *,
    group: CleaningGroup,
    after: int,
) -> list[Job]:
    """The next waiting pages of the group with their texts."""
    waiting = waiting_in(run, group).filter(pk__gt=after).order_by("pk")
    rows = list(waiting.select_related("document")[:PAGE])
    wanted = [pk for row in rows for pk in row.passages]
    texts = Passage.objects.in_bulk(wanted)
    decided = _decisions(rows)
    jobs = []
    for row in rows:
        members = [texts[pk] for pk in row.passages if pk in texts]
        sources = [Source(p.pk, p.pid, p.text or "", p.start, p.end) for p in members]
        own = {p.pk: gold[p.pk] for p in members if p.pk in gold}
        page_text = row.document.text if row.document else ""
        page = take_apart(sources, own, page_text=page_text, single_span=settings.single_span)
        digest = _digest(run, page_text, sources, own)
        jobs.append(Job(row, group, page, digest, decided.get(row.pk, {})))
    return _with_known(run, jobs)


def waiting_in(run: CleaningRun, group: CleaningGroup) -> QuerySet[CleanedPage]:
    """The group's pages that are not through."""
    return run.pages.filter(state=PageState.WAITING, pk__gt=group.after, pk__lte=group.up_to)


def store_outcomes(*, share: Share, outcomes: Sequence[PageOutcome]) -> None:
    """Write a group of outcomes in one transaction. Raises LostLease, and writes nothing then."""
    with transaction.atomic():
        share.hold_groups({each.job.group for each in outcomes})
        waiting = CleanedPage.objects.filter(
            pk__in=[each.job.pk for each in outcomes], state=PageState.WAITING
        )
        still = set(waiting.values_list("pk", flat=True))
        ended = 0
        for outcome in outcomes:
            if outcome.job.pk in still:
                still.discard(outcome.job.pk)
                ended += _store(outcome)
        share.count(ended)
        reach("before-outcomes-commit")
    reach("after-outcomes-commit")


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
    there = {_place(each) for each in row.violations.all()}
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


def _with_known(run: CleaningRun, jobs: list[Job]) -> list[Job]:
    """Each job with the page of an earlier run that was the same in every respect."""
    earlier = CleanedPage.objects.filter(
        digest__in=[job.digest for job in jobs],
        state=PageState.DONE,
        run__benchmark_id=run.benchmark_id,
    ).exclude(run=run)
    found: dict[str, CleanedPage] = {}
    for page in earlier.order_by("pk").prefetch_related("violations"):
        found.setdefault(page.digest, page)
    return [replace(job, known=found.get(job.digest)) for job in jobs]


def _decisions(rows: Sequence[CleanedPage]) -> dict[int, dict[Place, str]]:
    found: dict[int, dict[Place, str]] = {}
    decided = Violation.objects.filter(page__in=rows).exclude(decision="")
    for each in decided:
        found.setdefault(each.page_id, {})[_place(each)] = each.decision
    return found


def _place(each: Violation) -> Place:
    return each.stage, each.part, each.window, each.number


def _digest(
    run: CleaningRun, page_text: str, sources: Sequence[Source], gold: dict[int, list[int]]
) -> str:
    said = [
        run.preset,
        run.policy,
        run.endpoint,
        run.model,
        sorted(run.config.items()),
        page_text,
        [[s.pid, s.text, s.start, s.end, bool(gold.get(s.key))] for s in sources],
    ]
    return sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
