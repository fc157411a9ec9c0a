"""Driving a cleaning with agents: the drive is llm.pump, what is asked is corpus.marcus."""

from collections.abc import Sequence

from corpus.cleaning.outcomes import PageOutcome, store_outcomes
from corpus.cleaning.pages import Job, read_jobs, settings_of
from corpus.marcus.agents import work_on
from corpus.models import CleaningRun
from corpus.versions.crosswalk import gold_of
from kit.runs import RunGroup
from kit.sharing import Share
from llm.endpoints import Endpoint, fence_key
from llm.errors import LLMError, read_failure, worst
from llm.gateway import Gateways
from llm.pump import Pump
from llm.requests import Request


class CleaningPump(Pump[Job, PageOutcome]):
    """One worker's drive of its share of a cleaning run."""

    words = ("page", "pages")

    def __init__(
        self, share: Share[CleaningRun], endpoint: Endpoint, *, seconds: float | None
    ) -> None:
        super().__init__(share, endpoint, seconds=seconds)
        self.run, self.endpoint = share.run, endpoint
        self.settings, self.key = settings_of(share.run), fence_key()
        self.gold = gold_of(share.run.source)

    def read_group(self, group: RunGroup) -> Sequence[Job]:
        """Waiting pages with their texts."""
        pages = group.within(self.run.waiting_items())
        return read_jobs(self.run, self.settings, self.gold, pages)

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

    def store(self, results: Sequence[PageOutcome]) -> int:
        """Chunks and violations of a group; a page that was sent back meanwhile goes on waiting."""
        return store_outcomes(results)
