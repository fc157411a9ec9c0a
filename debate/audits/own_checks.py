"""What a debate run checks of itself, as configured: blind audits among decoys, and canaries.

An audited pair was agreed on, so people judge it from the passage alone. If every case without
its debate were such a pair, voters would know what they judge; so some disputes are shown
without theirs as well. They are real disputes, and count as any other.
"""

from collections.abc import Sequence
from contextlib import suppress

from django.db import transaction
from django.utils.crypto import salted_hmac

from debate.audits.services import draw_sample
from debate.models import Debate, DebateRun, DebateStatus, RunKind, TrialKind
from debate.runs.kinds import config_of
from debate.trials.services import start_canaries
from kit.errors import Refused


def choose_decoys(run: DebateRun, debates: Sequence[Debate]) -> None:
    """Mark which of these disputes are shown from the passage alone, in memory.

    About every second one until the run has as many as it wants; which, only the server's key
    tells. For a caller that stores the debates in the same transaction.
    """
    wanted = config_of(run).decoys if run.kind == RunKind.DEBATE else 0
    if not wanted:
        return
    # Whoever else ends debates of this run waits for its row: they must count these, too.
    DebateRun.objects.select_for_update().get(pk=run.pk)
    left = wanted - run.debates.filter(is_decoy=True).count()
    for debate in debates:
        disputed = debate.status == DebateStatus.ESCALATED
        if left > 0 and disputed and _coin(run, debate):
            debate.is_decoy = True
            left -= 1


def check_itself(run: DebateRun) -> None:
    """Draw the audit and start the canaries that the run asks for, once.

    For a caller that ends the run in the same transaction. Where no pair is left to draw, there
    is nothing to check.
    """
    if run.kind != RunKind.DEBATE:
        return
    config, seed = config_of(run), run.pk
    if config.audit and not run.audits.filter(created_by=None).exists():
        with suppress(Refused), transaction.atomic():
            draw_sample(run=run, size=config.audit, seed=seed, actor=None)
    canaries = run.trials.filter(kind=TrialKind.CANARY, created_by=None)
    if config.canaries and not canaries.exists():
        with suppress(Refused), transaction.atomic():
            start_canaries(run=run, size=config.canaries, seed=seed, actor=None)


def _coin(run: DebateRun, debate: Debate) -> bool:
    digest = salted_hmac("debate.decoys", f"{run.pk}:{debate.pk}", algorithm="sha256").digest()
    return bool(digest[0] & 1)
