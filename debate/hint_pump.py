"""Driving a hint run: the drive is llm.pump, what is asked is debate.baselines.hints."""

import asyncio
from collections.abc import Sequence

from debate.baselines import JudgeConfig, argue, line_up_judges
from debate.baselines.hints import ROLE
from debate.dream import Pair, Steps
from debate.hearing import Hearing
from debate.kinds import Rule
from debate.models import Hint, HintRun
from debate.pump import PROMPT_CHANGED
from debate.services.hints import hint_prompt, store_hints, waiting_hints
from debate.services.outcomes import Outcome
from llm.endpoints import Endpoint, fence_key
from llm.errors import CannotGoOn
from llm.gateway import Gateways
from llm.pump import Pump

_PAGE = 100


def drive(run: HintRun, endpoint: Endpoint, *, seconds: float | None = None) -> None:
    """Write what waits of a run that this process has claimed, then finish it.

    Raises LostLease, Stopping and CannotGoOn as the pump of debates does.
    """
    asyncio.run(HintPump(run, endpoint, seconds=seconds).run_to_end())


class HintPump(Pump[Hint, Outcome]):
    """One worker's drive of one hint run."""

    words = ("item", "items")

    def __init__(self, run: HintRun, endpoint: Endpoint, *, seconds: float | None) -> None:
        super().__init__(run, endpoint, seconds=seconds)
        self.run, self.rule, self.key = run, rule_of(run), fence_key()

    def read_page(self, after: int) -> Sequence[Hint]:
        """Waiting hints with their pairs."""
        related = ("item__case__query", "item__case__passage")
        rows = waiting_hints(self.run).filter(pk__gt=after).select_related(*related)
        return list(rows.order_by("pk")[:_PAGE])

    async def work(self, item: Hint, gateways: Gateways) -> Outcome:
        """Have both sides argued."""
        limit = self.run.max_tokens
        hearing = Hearing(item, gateways=gateways, max_tokens=limit, subject="hint")
        return await hearing.hold(self.rule, self.key)

    def store(self, results: Sequence[Outcome]) -> None:
        """Reasons of a group, into their items."""
        store_hints(run=self.run, outcomes=results)

    def close(self) -> None:
        """Nothing waits any more."""
        self.run.finish()

    def waiting(self) -> str:
        """Those without an outcome."""
        return f"{waiting_hints(self.run).count():,} items"


def rule_of(run: HintRun) -> Rule:
    """The run's rule, as it was frozen; raises CannotGoOn if its prompt is gone."""
    prompt = hint_prompt()
    if prompt.sha256 != run.prompt_sha256:
        raise CannotGoOn(PROMPT_CHANGED)
    judges = line_up_judges([(run.model, run.endpoint)])
    config = JudgeConfig(judges=judges, prompts={ROLE: prompt})

    def begin(pair: Pair, key: bytes) -> Steps:
        return argue(pair, config, key)

    return Rule(begin, run.model)
