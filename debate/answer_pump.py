"""Driving an answer run: the drive is llm.pump, what is asked is debate.answering."""

import asyncio
from collections.abc import Sequence

from debate.answering.asking import ROLE, write
from debate.models import AnswerItemState, AnswerRun
from debate.services.answer_outcomes import Job, Outcome, read_jobs, store_outcomes
from debate.services.answer_runs import settings_of
from llm.endpoints import Endpoint, fence_key
from llm.errors import LLMError, read_failure
from llm.gateway import Gateways
from llm.pump import Pump
from llm.requests import Request


def drive(run: AnswerRun, endpoint: Endpoint, *, seconds: float | None = None) -> None:
    """Write the answers that wait. Raises LostLease, Stopping and CannotGoOn."""
    asyncio.run(AnswerPump(run, endpoint, seconds=seconds).run_to_end())


class AnswerPump(Pump[Job, Outcome]):
    """One worker's drive of one answer run."""

    words = ("query", "queries")

    def __init__(self, run: AnswerRun, endpoint: Endpoint, *, seconds: float | None) -> None:
        super().__init__(run, endpoint, seconds=seconds)
        self.run, self.endpoint = run, endpoint
        self.settings, self.key = settings_of(run), fence_key()

    def read_page(self, after: int) -> Sequence[Job]:
        """Waiting queries with what the model is given."""
        return read_jobs(self.run, after=after)

    async def work(self, item: Job, gateways: Gateways) -> Outcome:
        """Ask for one answer, and once more where the first cannot be taken."""
        if item.task is None:
            return Outcome(item, None)
        errors: list[LLMError] = []

        async def ask(request: Request) -> tuple[str, int]:
            try:
                reply = await gateways.complete(request, f"{ROLE}:{item.row.query_id}")
            except LLMError as error:
                errors.append(error)
                raise
            return reply.text, reply.call_id

        try:
            written = await write(item.task, self.settings, key=self.key, ask=ask)
        except LLMError:
            failure = read_failure(errors, endpoint=self.endpoint, model=self.run.model)
            return Outcome(item, None, failure)
        return Outcome(item, written)

    def store(self, results: Sequence[Outcome]) -> None:
        """Answers of a group."""
        store_outcomes(run=self.run, outcomes=results)

    def close(self) -> None:
        """Nothing waits any more."""
        self.run.finish()

    def waiting(self) -> str:
        """Those without an outcome."""
        return f"{self.run.items.filter(state=AnswerItemState.WAITING).count():,} queries"
