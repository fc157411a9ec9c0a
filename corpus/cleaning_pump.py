"""Driving a cleaning with agents: the drive is llm.pump, what is asked is corpus.marcus."""

import asyncio
from collections.abc import Sequence

from corpus.marcus.agents import work_on
from corpus.models import CleaningRun, PageState
from corpus.services.cleaning_budget import budget_words, open_account
from corpus.services.cleaning_pages import (
    Job,
    PageOutcome,
    plan,
    read_jobs,
    settings_of,
    store_outcomes,
)
from corpus.services.cleaning_publish import publish, write_pages
from corpus.services.crosswalk import gold_of
from llm.endpoints import Endpoint
from llm.errors import LLMError
from llm.failures import read_failure
from llm.fencing import fence_key
from llm.gateways import Gateways
from llm.models import Account
from llm.pump import Pump
from llm.requests import Request

HELD = (
    "{count} pages wait for a person: decide about their violations, and the run goes on by itself."
)


def drive(run: CleaningRun, endpoint: Endpoint, *, seconds: float | None = None) -> None:
    """List the pages, clean those that wait, and publish the version.

    Raises LostLease, Stopping and CannotGoOn as the pump of debates does.
    """
    plan(run)
    asyncio.run(CleaningPump(run, endpoint, seconds=seconds).run_to_end())


class CleaningPump(Pump[Job, PageOutcome]):
    """One worker's drive of one cleaning run."""

    words = ("page", "pages")

    def __init__(self, run: CleaningRun, endpoint: Endpoint, *, seconds: float | None) -> None:
        super().__init__(run, endpoint, seconds=seconds)
        self.run, self.endpoint = run, endpoint
        self.settings, self.key = settings_of(run), fence_key()
        self.gold = gold_of(run.source)

    def open_account(self) -> Account:
        """The run's."""
        return open_account(self.run)

    def read_page(self, after: int) -> Sequence[Job]:
        """Waiting pages with their texts."""
        return read_jobs(self.run, self.settings, self.gold, after=after)

    async def work(self, item: Job, gateways: Gateways) -> PageOutcome:
        """Ask the agents about one page."""
        if item.known is not None:
            return PageOutcome(item, None)
        errors: list[LLMError] = []
        heard = False

        async def ask(request: Request, where: str) -> str:
            nonlocal heard
            try:
                reply = await gateways.complete(request, f"clean:{item.pk}:{where}")
            except LLMError as error:
                errors.append(error)
                raise
            heard = heard or not reply.replayed
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
            failure = read_failure(errors, endpoint=self.endpoint, model=self.run.model)
            return PageOutcome(item, None, failure, heard)
        return PageOutcome(item, result, heard=heard)

    def store(self, results: Sequence[PageOutcome]) -> None:
        """Chunks and violations of a group."""
        store_outcomes(run=self.run, outcomes=results)

    def close(self) -> None:
        """Publish the version, or wait for people."""
        held = self.run.pages.filter(state=PageState.HELD).count()
        if held:
            words = HELD.format(count=held)
            self.run.pause(pause_reason=words)
            return
        publish(self.run, write_pages(self.run))

    def budget_words(self) -> str:
        """Why the run paused."""
        waiting = self.run.pages.filter(state=PageState.WAITING).count()
        return budget_words(self.run, waiting=waiting)
