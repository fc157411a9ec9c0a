"""The pages of a cleaning with agents: read, and compared with those of earlier runs."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from django.db.models import QuerySet

from corpus.marcus.asking import prompt
from corpus.marcus.findings import Place
from corpus.marcus.parts import Page, Source, take_apart
from corpus.marcus.settings import AGENTS, Settings
from corpus.models import CleanedPage, CleaningRun, PageState, Passage, Violation
from llm.errors import CannotGoOn


@dataclass(frozen=True)
class Job:
    """A page with what its agents read; `known` is what an earlier run made of the same page."""

    row: CleanedPage
    page: Page
    digest: str
    decided: dict[Place, str]
    known: CleanedPage | None = None

    @property
    def pk(self) -> int:
        """The row's key."""
        return self.row.pk


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
        reasoning_effort=config.get("reasoning_effort", ""),
        site=config["site"],
        window=int(config["window"]),
        fixed=int(config["fixed"]),
        single_span=bool(config["single_span"]),
        prompts=prompts,
        splitter=run.asked[-1],
    )


def read_jobs(
    run: CleaningRun,
    settings: Settings,
    gold: dict[int, list[int]],
    pages: QuerySet[CleanedPage],
) -> list[Job]:
    """These pages with their texts."""
    rows = list(pages.select_related("document"))
    wanted = [pk for row in rows for pk in row.passages]
    texts = Passage.objects.in_bulk(wanted)
    decided = decisions_of(rows)
    jobs = []
    for row in rows:
        members = [texts[pk] for pk in row.passages if pk in texts]
        sources = [Source(p.pk, p.pid, p.text or "", p.start, p.end) for p in members]
        own = {p.pk: gold[p.pk] for p in members if p.pk in gold}
        page_text = row.document.text if row.document else ""
        page = take_apart(sources, own, page_text=page_text, single_span=settings.single_span)
        digest = _digest(run, page_text, sources, own)
        jobs.append(Job(row, page, digest, decided.get(row.pk, {})))
    return _with_known(run, jobs)


def _with_known(run: CleaningRun, jobs: list[Job]) -> list[Job]:
    """Each job with the page of an earlier run that was the same in every respect."""
    earlier = CleanedPage.objects.filter(
        digest__in=[job.digest for job in jobs],
        state=PageState.DONE,
        run__benchmark_id=run.benchmark_id,
    ).exclude(run=run)
    # The same text under another name is another page: new ids begin with the page's.
    found: dict[tuple[str, str], CleanedPage] = {}
    for page in earlier.order_by("pk").prefetch_related("violations"):
        found.setdefault((page.digest, page.page_id), page)
    return [replace(job, known=found.get((job.digest, job.row.page_id))) for job in jobs]


def decisions_of(rows: Sequence[CleanedPage]) -> dict[int, dict[Place, str]]:
    """What was decided about places of these pages, by page."""
    found: dict[int, dict[Place, str]] = {}
    decided = Violation.objects.filter(page__in=rows).exclude(decision="")
    for each in decided:
        found.setdefault(each.page_id, {})[place_of(each)] = each.decision
    return found


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


def place_of(each: Violation) -> Place:
    """The place that a finding names."""
    return each.stage, each.part, each.window, each.number
