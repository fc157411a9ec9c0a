"""The pages of a cleaning with agents: read, worked on (the drive is llm.pump, what is asked is
corpus.marcus), compared with those of earlier runs, and stored in groups.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from corpus.cleaning.decisions import open_of, settle_as_before
from corpus.cleaning.models import SHARED
from corpus.cleaning.reading import PageRead, Sites, read_pages, settings_of
from corpus.marcus.agents import Chunk, Result, uncleaned, work_on
from corpus.marcus.checking import Decided, Notes, PieceKey
from corpus.marcus.parts import Aspects, Page
from corpus.models import CleanedPage, CleaningRun, PageState, Passage, Violation
from corpus.versions.effective import aspects_of, gold_of
from kit import audit
from kit.runs.models import RunGroup
from llm.errors import LLMError, worst
from llm.gateway import Gateways
from llm.models import Call
from llm.pump import Pump
from llm.requests import Request

# What names the place of a violation.
_PLACE = ("stage", "part", "window", "number")


@dataclass
class Job:
    """A page with what its agents read, and what became of it.

    `known` is what an earlier run made of the same page. With a `failure` the page is cleaned by
    rules, or waits.
    """

    row: CleanedPage
    page: Page
    decided: Decided
    # Words and lines that say of a line of gold that it is no menu, and that it is one.
    protected: frozenset[str]
    recurring: frozenset[str]
    known: CleanedPage | None = None
    result: Result | None = None
    failure: LLMError | None = None
    replayed: set[int] = field(default_factory=set)


class CleaningPump(Pump[Job, Job]):
    """One worker's drive of its share of a cleaning run."""

    run: CleaningRun
    words = ("page", "pages")

    def prepare(self) -> None:
        """How pages are cleaned, and what of them is gold."""
        self.settings, source = settings_of(self.run), self.run.source
        self.gold, self.aspects = gold_of(source), aspects_of(source)
        self.sites = Sites(source, self.gold)

    def read_group(self, group: RunGroup) -> Sequence[Job]:
        """Waiting pages with their texts."""
        rows = list(group.within(self.run.waiting_items()).select_related("document"))
        decided = _decisions_of(rows)
        jobs: list[Job] = []
        for each in read_pages(rows, self.settings, self.gold, self.aspects, self.sites):
            each.row.digest = _digest(self.run, each, self.aspects)
            known = decided.get(each.row.pk, {})
            jobs.append(Job(each.row, each.page, known, each.protected, each.recurring))
        _find_known(self.run, jobs)
        return jobs

    async def work(self, item: Job, gateways: Gateways) -> Job:
        """Ask the agents about one page."""
        errors: list[LLMError] = []

        async def ask(request: Request, where: str) -> str:
            try:
                reply = await gateways.complete(request, f"clean:{item.row.pk}:{where}")
            except LLMError as error:
                errors.append(error)
                raise
            if reply.replayed:
                item.replayed.add(reply.call_id)
            return reply.text

        if item.known is not None:
            return item
        try:
            item.result = await work_on(
                item.row.page_id,
                item.page,
                self.settings,
                key=self.key,
                ask=ask,
                decided=item.decided,
                protected=item.protected,
                recurring=item.recurring,
            )
        except LLMError:
            item.failure = worst(errors)
        return item

    def store(self, results: Sequence[Job]) -> int:
        """Chunks and violations of a group; a page that was sent back meanwhile goes on waiting."""
        still = _still(results)
        answers = Call.objects.filter(pk__in={pk for job in results for pk in job.replayed})
        shared = set(answers.exclude(account=self.run.account).values_list("pk", flat=True))
        ended = 0
        for job in results:
            if job.row.pk in still:
                still.discard(job.row.pk)
                ended += _store(job, shared)
        return ended


def _find_known(run: CleaningRun, jobs: list[Job]) -> None:
    """Note for each job the page of an earlier run that was the same in every respect."""
    earlier = CleanedPage.objects.filter(
        digest__in=[job.row.digest for job in jobs],
        state=PageState.DONE,
        run__benchmark_id=run.benchmark_id,
    ).exclude(run=run)
    # The same text under another name is another page: new ids begin with the page's.
    found: dict[tuple[str, str], CleanedPage] = {}
    for page in earlier.order_by("pk").prefetch_related("violations"):
        found.setdefault((page.digest, page.page_id), page)
    for job in jobs:
        job.known = found.get((job.row.digest, job.row.page_id))


def _decisions_of(rows: Sequence[CleanedPage]) -> dict[int, dict[PieceKey, tuple[str, str, str]]]:
    """What was decided about places of these pages, and of which words, by page."""
    found: dict[int, dict[PieceKey, tuple[str, str, str]]] = {}
    decided = Violation.objects.filter(page__in=rows).exclude(decision="")
    for each in decided:
        place = (each.stage, each.part, each.window, each.number)
        about = (each.decision, each.source, each.output)
        found.setdefault(each.page_id, {})[place] = about
    return found


def _digest(run: CleaningRun, read: PageRead, aspects: Aspects) -> str:
    supported = [[s.pid, sorted(aspects[s.key])] for s in read.sources if s.key in aspects]
    content = [
        run.preset,
        run.policy,
        run.endpoint,
        run.model,
        sorted(run.config.items()),
        read.text,
        [[s.pid, s.text, s.start, s.end, bool(read.gold.get(s.key))] for s in read.sources],
        *([supported] if supported else []),
        # Results of old do not say which chunks hold text of the page that no passage covers.
        *(["beside"] if read.text else []),
        *([sorted(read.recurring)] if read.recurring else []),
        *([{"aspects": sorted(read.of_aspects)}] if read.of_aspects else []),
    ]
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _still(jobs: Sequence[Job]) -> set[int]:
    """The pages that wait, and whose decisions are those that were read with them."""
    pages = CleanedPage.objects.filter(pk__in=[job.row.pk for job in jobs], state=PageState.WAITING)
    rows = list(pages.select_for_update().order_by("pk").only("pk"))
    decided = _decisions_of(rows)
    read = {job.row.pk: job.decided for job in jobs}
    return {row.pk for row in rows if decided.get(row.pk, {}) == read[row.pk]}


def _store(job: Job, shared: Collection[int]) -> bool:
    """Fill the page's row; whether it is through. `shared` answers were paid for by other runs."""
    row = job.row
    row.is_gold = any(part.is_gold for part in job.page.parts)
    if job.failure:
        row.state, row.error = PageState.FAILED, job.failure.words
        row.result = {"chunks": _rows(uncleaned(row.page_id, job.page), job.page)}
        row.flags = ["not cleaned by agents"]
    elif job.known:
        _take_over(row, job.known)
    elif job.result is not None:
        chunks, notes = job.result
        row.state = PageState.HELD if notes.is_held else PageState.DONE
        if taken := job.replayed & set(shared):
            notes.count(SHARED, len(taken))
        row.flags, row.counts = notes.flags, dict(sorted(notes.counts.items()))
        if job.page.unplaced:
            row.flags = [*row.flags, "passage not found in its page"]
        if job.page.repeated:
            row.flags = [*row.flags, "id repeated, first kept"]
        pairs = {f"{stage}:{part}:{window}" for stage, part, window, _ in notes.findings}
        row.result = {
            "chunks": _rows(chunks, job.page),
            "pairs": {name: list(notes.pairs[name]) for name in sorted(pairs)},
            "recalls": notes.recalls,
        }
        # What is new; what was decided before of the same words stays as it was decided.
        there = _there(row, notes)
        new = [
            Violation(page=row, **dict(zip(_PLACE, place, strict=True)), **fields)
            for place, fields in notes.findings.items()
            if place not in there
        ]
        if notes.is_held:
            settle_as_before(row, new)
        Violation.objects.bulk_create(new)
        if notes.is_held and not open_of(row).exists():
            row.state = PageState.WAITING  # for a worker, to go on with what others decided
    row.save()
    return row.state not in (PageState.HELD, PageState.WAITING)


def _there(row: CleanedPage, notes: Notes) -> set[PieceKey]:
    """The places that the page has listed; those where other words stand now are listed anew."""
    listed: dict[PieceKey, Violation] = {
        (each.stage, each.part, each.window, each.number): each for each in row.violations.all()
    }
    other = [
        place
        for place, found in notes.findings.items()
        if place in listed
        and (listed[place].source, listed[place].output) != (found["source"], found["output"])
    ]
    gone = [listed.pop(place) for place in other]
    for each in gone:
        if each.decision:  # a person's, of words that do not stand there any more
            said = {"decision": each.decision, "place": str(each.pk)}
            slug = row.run.benchmark.slug
            audit.record(None, "drop cleaning decision", row, slug, said)
    Violation.objects.filter(pk__in=[each.pk for each in gone]).delete()
    return set(listed)


def _rows(chunks: Sequence[Chunk], page: Page) -> list[dict[str, Any]]:
    keys = {span.key for part in page.parts for span in part.spans}
    names = dict(Passage.objects.filter(pk__in=keys).values_list("pk", "pid"))
    return [
        {
            "pid": each.pid,
            "text": each.text,
            "gold": each.is_gold,
            "holds": [[names[one.key], one.tokens, one.of, one.carries] for one in each.holds],
            "tables": each.tables,
            **({"beside": True} if each.is_beside else {}),
        }
        for each in chunks
    ]


def _take_over(row: CleanedPage, known: CleanedPage) -> None:
    row.state, row.reused = PageState.DONE, True
    row.result, row.flags, row.counts = known.result, known.flags, known.counts
    copied = []
    for each in known.violations.all():
        each.pk, each.id, each.page = None, None, row
        each._state.adding = True
        copied.append(each)
    Violation.objects.bulk_create(copied)
