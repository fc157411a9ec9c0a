"""Driving a debate run: the rules are generators (debate.kinds), the drive itself is llm.pump."""

import asyncio
from collections.abc import Sequence

from debate.hearing import Hearing
from debate.kinds import Rule, rule_of
from debate.models import Debate, DebateRun
from debate.services.closing import close_run
from debate.services.outcomes import Outcome, store_outcomes
from debate.services.prompts import PromptGone
from llm.endpoints import Endpoint, fence_key
from llm.errors import CannotGoOn
from llm.gateway import Gateways
from llm.pump import GROUP_SECONDS
from llm.pump import Pump as CallPump

# Debates read at a time: large enough to cost little, small enough that a kill repeats little.
_PAGE = 200
_GROUP_SECONDS = GROUP_SECONDS
PROMPT_CHANGED = "The prompt changed since this run was made; start a new run."


def drive(run: DebateRun, endpoint: Endpoint, *, seconds: float | None = None) -> None:
    """Hold every waiting debate of a run that this process has claimed, then finish it.

    After `seconds` no more debates are begun, and what is left is released for the next claim.
    Where the budget is used up or an endpoint answers nobody, the run is paused with a reason.
    Raises LostLease if the run was paused, cancelled or taken over meanwhile, Stopping if this
    process is to end, CannotGoOn if the endpoint or the prompt is at fault.
    """
    asyncio.run(Pump(run, endpoint, seconds=seconds).run_to_end())


class Pump(CallPump[Debate, Outcome]):
    """One worker's drive of one debate run."""

    words = ("pair", "pairs")

    def __init__(self, run: DebateRun, endpoint: Endpoint, *, seconds: float | None) -> None:
        super().__init__(run, endpoint, seconds=seconds, group_seconds=_GROUP_SECONDS)
        self.run, self.rule, self.key = run, prepare(run), fence_key()

    def read_page(self, after: int) -> Sequence[Debate]:
        """Waiting debates with what their rule reads."""
        waiting = Debate.objects.waiting().filter(run_id=self.run.pk, pk__gt=after)
        return list(waiting.select_related("query", "passage").order_by("pk")[:_PAGE])

    async def work(self, item: Debate, gateways: Gateways) -> Outcome:
        """Put the pair through the rule to its verdict."""
        hearing = Hearing(
            item,
            gateways=gateways,
            max_tokens=self.run.max_tokens,
            instead=self.run.config.get("instead"),
        )
        return await hearing.hold(self.rule, self.key)

    def store(self, results: Sequence[Outcome]) -> None:
        """Labels, cases and turns of a group."""
        store_outcomes(run=self.run, outcomes=results)

    def close(self) -> None:
        """Make of the outcomes what the kind of run makes of them."""
        close_run(self.run)

    def waiting(self) -> str:
        """Those without an outcome."""
        return f"{self.run.debates.waiting().count():,} pairs"


def prepare(run: DebateRun) -> Rule:
    """What the run does with a pair, as it was frozen; raises CannotGoOn if that is gone."""
    try:
        return rule_of(run)
    except PromptGone:
        raise CannotGoOn(PROMPT_CHANGED) from None
