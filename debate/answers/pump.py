"""Driving an answer run: the drive is llm.pump, what is asked is debate.answering."""

from collections.abc import Sequence

from debate.answering.asking import ROLE, write
from debate.answers.services import Job, Outcome, read_jobs, settings_of, store_outcomes
from debate.models import AnswerRun
from kit.runs.models import RunGroup
from llm.errors import LLMError, worst
from llm.gateway import Gateways
from llm.pump import Pump
from llm.requests import Request


class AnswerPump(Pump[Job, Outcome]):
    """One worker's drive of its share of an answer run."""

    run: AnswerRun
    words = ("query", "queries")

    def prepare(self) -> None:
        """What every answer is asked for with."""
        self.settings = settings_of(self.run)

    def read_group(self, group: RunGroup) -> Sequence[Job]:
        """Waiting queries with what the model is given."""
        return read_jobs(group.within(self.run.waiting_items()))

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
            return Outcome(item, None, worst(errors))
        return Outcome(item, written)

    def store(self, results: Sequence[Outcome]) -> int:
        """Answers of a group."""
        return store_outcomes(run=self.run, outcomes=results)
