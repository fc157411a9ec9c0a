"""The tasks of this room: the worker's way into each kind of run.

Each leads a run for a turn, or helps who leads it; harmless when delivered twice.
"""

from contextlib import suppress

from django.db import transaction

from debate.answers.services import AnswerPump
from debate.audits.services import draw_sample
from debate.hints.services import HintPump
from debate.lara.services import close_lara
from debate.models import AnswerRun, DebateRun, HintRun, RunKind, Trial, TrialKind
from debate.runs.kinds import config_of
from debate.runs.pump import Pump
from debate.trials.services import TrialPump, start_adversarial_trial
from kit.errors import Refused
from kit.runs.driving import Drive


def close_run(run: DebateRun) -> None:
    """Finish a run that this process has claimed; raises LostLease if it is no longer ours.

    A run that died while it was closed is closed again by whoever claims it next, to the same
    end. One that waits for people is given back instead.
    """
    if run.kind == RunKind.LARA:
        close_lara(run)
        return
    with transaction.atomic():
        _check_itself(run)
        run.finish()


def _check_itself(run: DebateRun) -> None:
    """Draw the audit and start the adversarial trial that a debate run asks for, once.

    In the transaction that ends the run. Where no pair is left to draw, nothing happens.
    """
    if run.kind != RunKind.DEBATE:
        return
    config, seed = config_of(run), run.pk
    if config.audit and not run.audits.filter(created_by=None).exists():
        with suppress(Refused), transaction.atomic():
            draw_sample(run=run, size=config.audit, seed=seed, actor=None)
    trials = run.trials.filter(kind=TrialKind.ADVERSARIAL, created_by=None)
    if config.canaries and not trials.exists():
        with suppress(Refused), transaction.atomic():
            start_adversarial_trial(run=run, size=config.canaries, seed=seed, actor=None)


DEBATES = Drive(DebateRun, work=Pump.take_groups, close=close_run)
TRIALS = Drive(Trial, work=TrialPump.take_groups, related=("run__benchmark", "prompt"))
HINTS = Drive(HintRun, work=HintPump.take_groups, related=("panel__benchmark",))
ANSWERS = Drive(AnswerRun, work=AnswerPump.take_groups)
run_debates, run_trial = DEBATES.task(), TRIALS.task()
write_hints, write_answers = HINTS.task(), ANSWERS.task()
