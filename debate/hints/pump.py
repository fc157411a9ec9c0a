"""Driving a hint run: the drive is llm.pump, what is asked is debate.baselines.hints."""

from collections.abc import Sequence

from debate.baselines import JudgeConfig, argue, line_up_judges
from debate.baselines.hints import ROLE
from debate.dream import Pair, Steps
from debate.hints.services import hint_prompt, store_hints
from debate.models import Hint, HintRun
from debate.runs.kinds import Rule
from debate.runs.outcomes import Outcome
from debate.runs.pump import PROMPT_CHANGED, Hearing
from kit.runs.models import RunGroup
from llm.errors import CannotGoOn
from llm.gateway import Gateways
from llm.pump import Pump


class HintPump(Pump[Hint, Outcome]):
    """One worker's drive of its share of a hint run."""

    run: HintRun
    words = ("item", "items")

    def prepare(self) -> None:
        """The rule that the run was made with."""
        self.rule = rule_of(self.run)

    def read_group(self, group: RunGroup) -> Sequence[Hint]:
        """Waiting hints with their pairs."""
        related = ("item__case__query", "item__case__passage")
        return list(group.within(self.run.waiting_items()).select_related(*related))

    async def work(self, item: Hint, gateways: Gateways) -> Outcome:
        """Have both sides argued."""
        limit = self.run.max_tokens
        hearing = Hearing(item, gateways=gateways, max_tokens=limit, subject="hint")
        return await hearing.hold(self.rule, self.key)

    def store(self, results: Sequence[Outcome]) -> int:
        """Reasons of a group, into their items."""
        return store_hints(run=self.run, outcomes=results)


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
