"""Having the reasons of a reference panel written: starting, stopping, storing.

docs/protocol.md 2.6. Only readable reasons of both calls of an item are kept, and frozen into the
item at once; the ledger has the raw answers. What was unreadable is written anew by a run with
another model.
"""

from collections.abc import Collection, Sequence
from decimal import Decimal
from functools import cache
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import F

from annotate.models import PanelStatus, ReferencePanel
from annotate.panels.services import freeze_reasons
from corpus.access import Access
from debate import dream
from debate.baselines.hints import ROLE, argue, load_hint_prompt
from debate.baselines.judges import JudgeConfig, line_up_judges
from debate.dream.prompting import PROMPTS
from debate.escalation import quote_row
from debate.models import Hint, HintRun, HintStatus
from debate.runs.models import MAX_TOKENS
from debate.runs.outcomes import Outcome
from debate.runs.pump import PROMPT_CHANGED, PairCalls
from kit import audit
from kit.database.bulk import update_rows
from kit.errors import Refused
from kit.runs.models import OVER, RunGroup, begin
from kit.runs.moves import resume_run
from llm.endpoints import Endpoint, in_role
from llm.gateway import Gateways
from llm.ledger.accounts import set_budget
from llm.profiles import likely_thoughts
from llm.prompts import PromptTemplate
from llm.pump import Pump

NOT_PREPARING = "This panel is open or closed; what its labellers see does not change any more."
_STATUSES: Final = {
    "argued": HintStatus.WRITTEN,
    "unreadable": HintStatus.UNREADABLE,
    "refused": HintStatus.FAILED,
    "skipped_no_answer": HintStatus.FAILED,
    "failed": HintStatus.FAILED,
}


@cache
def hint_prompt() -> PromptTemplate:
    """The prompt of the reasons."""
    return load_hint_prompt(PROMPTS / "hint.txt")


def start_hints(
    *,
    panel: ReferencePanel,
    endpoint: Endpoint,
    actor: User | None,
    access: Access | None,
    model: str = "",
    budget_usd: Decimal | None = None,
    claimed: bool = False,
) -> HintRun:
    """Have a reason for and one against written for every item without them, and wake a worker.

    `claimed` keeps the run for the calling process; `access` None is the shell's. Raises Refused
    where no item waits or another run writes, and for a budget that cannot be kept.
    """
    _need_admin(panel, access)
    if panel.status != PanelStatus.PREPARING:
        raise Refused(NOT_PREPARING)
    if not panel.shows_hints:
        raise Refused("This panel shows no reasons.")
    prompt = hint_prompt()
    with transaction.atomic():
        # The row lock: two presses begin one run.
        ReferencePanel.objects.filter(pk=panel.pk).update(status=F("status"))
        if panel.hint_runs.exclude(status__in=OVER).exists():
            raise Refused("A run is writing them already. Wait for it, or cancel it.")
        items = list(panel.items.without_hints().values_list("pk", flat=True))
        if not items:
            raise Refused("Every item has its reasons.")
        run = HintRun.objects.create(
            panel=panel,
            endpoint=endpoint.name,
            model=model.strip() or in_role(endpoint, "agents").default_model,
            practice=endpoint.is_practice,
            prompt_version=prompt.version,
            prompt_sha256=prompt.sha256,
            max_tokens=MAX_TOKENS + likely_thoughts(model.strip() or endpoint.default_model, ""),
            calls_in_flight=settings.ASSAY_CALLS_IN_FLIGHT,
            created_by=actor,
            total=len(items),
        )
        Hint.objects.bulk_create(Hint(run=run, item_id=pk) for pk in items)
        data = {"panel": panel.pk, "items": len(items), "model": run.model}
        verb = "start hint run"
        audit.record(actor=actor, verb=verb, target=run, scope=run.scope, data=data)
        if budget_usd is not None:
            set_budget(run, budget_usd, actor=actor, scope=run.scope)
        begin(run, claimed=claimed)
    return run


def resume_hints(*, run: HintRun, actor: User | None) -> None:
    """Go on where a paused or failed run stopped; paid answers are not paid again."""
    if run.panel.status != PanelStatus.PREPARING:
        raise Refused(NOT_PREPARING)
    resume_run(run=run, actor=actor)


def store_hints(*, run: HintRun, outcomes: Sequence[Outcome]) -> int:
    """Write a group of outcomes and freeze what is readable into the items.

    In the caller's transaction; returns how many are the first of theirs.
    """
    by_hint = {outcome.debate_id: outcome for outcome in outcomes}
    hints = list(run.hints.filter(status=HintStatus.WAITING, pk__in=by_hint))
    written = {
        hint.item_id: positions_of(by_hint[hint.pk].verdict)
        for hint in hints
        if hint.item_id and by_hint[hint.pk].verdict.status == "argued"
    }
    frozen = freeze_reasons(panel=run.panel, positions=written, provenance=provenance_of(run))
    for hint in hints:
        _end(hint, by_hint[hint.pk], frozen)
    update_rows(hints, ["status", "error", "calls"])
    return len(hints)


def positions_of(verdict: dream.Verdict) -> list[dict[str, Any]]:
    """Both reasons as positions of a snapshot (annotate.voting.snapshot), of no round."""
    return [
        {
            "agent": name,
            "stance": turn.stance,
            "round": 0,
            "response": turn.response or "",
            "reason": turn.reason,
            "references": [quote_row(quote) for quote in turn.references],
            "earlier": [],
        }
        for name, turn in zip("AB", verdict.turns, strict=True)
    ]


def provenance_of(run: HintRun) -> dict[str, Any]:
    """Who wrote the reasons, and by which prompt."""
    return {
        "model": run.model,
        "endpoint": run.endpoint,
        "practice": run.practice,
        "prompt_version": run.prompt_version,
        "prompt_sha256": run.prompt_sha256,
        "run": run.pk,
    }


def _end(hint: Hint, outcome: Outcome, frozen: Collection[int]) -> None:
    hint.status = _STATUSES[outcome.verdict.status]
    if hint.status == HintStatus.WRITTEN and hint.item_id not in frozen:
        hint.status = HintStatus.LATE
    hint.error = outcome.verdict.detail
    hint.calls = [[side, call] for (_, side), call in outcome.calls.items()]


def _need_admin(panel: ReferencePanel, access: Access | None) -> None:
    if access is None:
        return
    if not access.is_admin or access.benchmark.pk != panel.benchmark_id:
        raise PermissionDenied("Panels are managed by admins.")


class HintPump(Pump[Hint, Outcome]):
    """One worker's drive of its share of a hint run."""

    run: HintRun
    words = ("item", "items")

    def prepare(self) -> None:
        """The prompt that the run was made with, and its model."""
        prompt = hint_prompt()
        if prompt.sha256 != self.run.prompt_sha256:
            raise Refused(PROMPT_CHANGED)
        judges = line_up_judges([(self.run.model, self.run.endpoint)])
        self.config = JudgeConfig(judges=judges, prompts={ROLE: prompt})

    def read_group(self, group: RunGroup) -> Sequence[Hint]:
        """Waiting hints with their pairs."""
        related = ("item__case__query", "item__case__passage")
        return list(group.within(self.run.waiting_items()).select_related(*related))

    async def work(self, item: Hint, gateways: Gateways) -> Outcome:
        """Have both sides argued."""
        limit = self.run.max_tokens
        calls = PairCalls(item, gateways=gateways, max_tokens=limit, subject="hint")
        return await calls.verdict(lambda pair, key: argue(pair, self.config, key), self.key)

    def store(self, results: Sequence[Outcome]) -> int:
        """Reasons of a group, into their items."""
        return store_hints(run=self.run, outcomes=results)
