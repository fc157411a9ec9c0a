"""Driving a cleaning with agents: the drive is llm.pump, what is asked is corpus.marcus."""

import asyncio
from collections.abc import Sequence

from corpus.marcus.agents import work_on
from corpus.models import CleaningGroup, PageState
from corpus.services.cleaning_outcomes import PageOutcome, store_outcomes
from corpus.services.cleaning_pages import Job, read_jobs, settings_of, waiting_in
from corpus.services.cleaning_share import Share
from corpus.services.crosswalk import gold_of
from llm.endpoints import Endpoint, fence_key
from llm.errors import LLMError, read_failure, worst
from llm.gateway import Gateways
from llm.pump import Pump
from llm.requests import Request


def drive(share: Share, endpoint: Endpoint, *, seconds: float | None = None) -> None:
    """Clean the pages of free groups, until none is left or the time is up.

    Raises LostLease, Stopping and CannotGoOn as the pump of debates does.
    """
    asyncio.run(CleaningPump(share, endpoint, seconds=seconds).run_to_end())


class CleaningPump(Pump[Job, PageOutcome]):
    """One worker's drive of its share of a cleaning run."""

    words = ("page", "pages")

    def __init__(self, share: Share, endpoint: Endpoint, *, seconds: float | None) -> None:
        super().__init__(share.run, endpoint, seconds=seconds, held=share)
        self.share, self.run, self.endpoint = share, share.run, endpoint
        self.settings, self.key = settings_of(self.run), fence_key()
        self.gold = gold_of(self.run.source)
        self.group: CleaningGroup | None = None
        self.after = 0

    def read_page(self, after: int) -> Sequence[Job]:
        """Waiting pages with their texts: of the group at hand, then of one more."""
        while True:
            if self.group is not None:
                jobs = read_jobs(
                    self.run, self.settings, self.gold, group=self.group, after=self.after
                )
                if jobs:
                    self.after = jobs[-1].pk
                    return jobs
            self._end_groups()
            self.group = self.share.claim()
            if self.group is None:
                return []
            self.after = self.group.after

    async def work(self, item: Job, gateways: Gateways) -> PageOutcome:
        """Ask the agents about one page."""
        if item.known is not None:
            return PageOutcome(item, None)
        errors: list[LLMError] = []

        async def ask(request: Request, where: str) -> str:
            try:
                reply = await gateways.complete(request, f"clean:{item.pk}:{where}")
            except LLMError as error:
                errors.append(error)
                raise
            return reply.text

        try:
            result = await work_on(
                item.row.page_id,
                item.page,
                self.settings,
                key=self.key,
                ask=ask,
                decided=item.decided,
            )
        except LLMError:
            error = worst(errors)  # the splitter may be another model at another endpoint
            endpoint = gateways.endpoint(error.endpoint or self.endpoint.name)
            model = error.model or self.run.model
            failure = read_failure(errors, endpoint=endpoint, model=model)
            return PageOutcome(item, None, failure)
        return PageOutcome(item, result)

    def store(self, results: Sequence[PageOutcome]) -> None:
        """Chunks and violations of a group; groups without a waiting page are done."""
        store_outcomes(share=self.share, outcomes=results)
        self._end_groups()

    def close(self) -> None:
        """Give back groups with pages that were sent back behind us; the rest is the leader's.

        A person may decide about a page while its group is still under way.
        """
        self._end_groups()
        self.share.let_go()

    def _end_groups(self) -> None:
        for group in list(self.share.held.values()):
            if not waiting_in(self.run, group).exists():
                group.finish()
                self.share.end(group)

    def waiting(self) -> str:
        """Those without an outcome."""
        return f"{self.run.pages.filter(state=PageState.WAITING).count():,} pages"
