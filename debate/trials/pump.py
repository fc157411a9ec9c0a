"""Holding the debates of a trial: the rules, the drive and the gateways of a run, none of its
outcomes."""

from collections.abc import Sequence
from dataclasses import replace

from debate import dream
from debate.models import DebateRun, Trial, TrialItem
from debate.runs.kinds import Rule, debate_config
from debate.runs.outcomes import Outcome
from debate.runs.pump import Hearing
from debate.trials.canaries import BAITS
from debate.trials.prompts import PromptGone, template_of
from kit.runs.models import RunGroup
from llm.errors import CannotGoOn
from llm.gateway import Gateways
from llm.pump import Pump


class TrialPump(Pump[TrialItem, Outcome]):
    """One worker's drive of its share of a trial."""

    run: Trial
    words = ("pair", "pairs")

    def prepare(self) -> None:
        """How its run debates, with the prompt that is tried."""
        try:
            config = debate_config(self.run.run)
        except PromptGone as gone:
            raise CannotGoOn(str(gone)) from None
        prompt = self.run.prompt
        self.config = replace(config, prompt=template_of(prompt)) if prompt else config

    def payer(self) -> DebateRun:
        """A trial spends its run's money."""
        return self.run.run

    def read_group(self, group: RunGroup) -> Sequence[TrialItem]:
        """Waiting pairs with what is read of them."""
        waiting = group.within(self.run.waiting_items())
        return list(waiting.select_related("debate__query", "debate__passage"))

    async def work(self, item: TrialItem, gateways: Gateways) -> Outcome:
        """Debate the pair, with its bait; a call that failed ends this pair and not the trial."""

        def begin(pair: dream.Pair, key: bytes) -> dream.Steps:
            bait = BAITS.get(item.bait)
            passage = bait(pair.query, pair.passage) if bait else pair.passage
            return dream.debate(replace(pair, passage=passage), self.config, key)

        run = self.run.run
        hearing = Hearing(item, gateways=gateways, max_tokens=run.max_tokens, subject="trial")
        outcome = await hearing.hold(Rule(begin, run.model), self.key)
        return replace(outcome, failure=None)

    def store(self, results: Sequence[Outcome]) -> int:
        """How pairs ended, each once; a failed call without the endpoint's own words."""
        stored = 0
        for each in results:
            verdict = each.verdict
            waiting = self.run.waiting_items().filter(pk=each.debate_id)
            stored += waiting.update(
                status=verdict.status,
                label=verdict.label,
                round=verdict.round,
                error="A call failed." if verdict.status == "failed" else verdict.detail,
                calls=[[*turn, call] for turn, call in each.calls.items()],
            )
        return stored
