"""Driving a debate run: the rules are generators (debate.kinds), the drive itself is llm.pump."""

from collections.abc import Sequence

from debate.hearing import Hearing
from debate.kinds import rule_of
from debate.models import Debate, DebateRun
from debate.services.outcomes import Outcome, store_outcomes
from debate.services.prompts import PromptGone
from kit.runs import RunGroup
from kit.sharing import Share
from llm.endpoints import Endpoint, fence_key
from llm.errors import CannotGoOn
from llm.gateway import Gateways
from llm.pump import GROUP_SECONDS
from llm.pump import Pump as CallPump

_GROUP_SECONDS = GROUP_SECONDS
PROMPT_CHANGED = "The prompt changed since this run was made; start a new run."


class Pump(CallPump[Debate, Outcome]):
    """One worker's drive of its share of a debate run."""

    words = ("pair", "pairs")

    def __init__(
        self, share: Share[DebateRun], endpoint: Endpoint, *, seconds: float | None
    ) -> None:
        super().__init__(share, endpoint, seconds=seconds, group_seconds=_GROUP_SECONDS)
        self.run, self.key = share.run, fence_key()
        try:
            self.rule = rule_of(share.run)
        except PromptGone:
            raise CannotGoOn(PROMPT_CHANGED) from None

    def read_group(self, group: RunGroup) -> Sequence[Debate]:
        """Waiting debates with what their rule reads."""
        waiting = group.within(self.run.waiting_items())
        return list(waiting.select_related("query", "passage"))

    async def work(self, item: Debate, gateways: Gateways) -> Outcome:
        """Put the pair through the rule to its verdict."""
        hearing = Hearing(
            item,
            gateways=gateways,
            max_tokens=self.run.max_tokens,
            instead=self.run.config.get("instead"),
        )
        return await hearing.hold(self.rule, self.key)

    def store(self, results: Sequence[Outcome]) -> int:
        """Labels, cases and turns of a group."""
        return store_outcomes(run=self.run, outcomes=results)
