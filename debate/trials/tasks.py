"""The worker's way into trials."""

import logging

from celery import shared_task
from django.db import InterfaceError, OperationalError

from debate.models import Trial
from debate.trials.prompts import PromptGone
from kit.runs import LostLease, RunStatus, Stopping
from llm import endpoints

logger = logging.getLogger(__name__)


@shared_task(name="debate.trial")
def hold_trial(trial_id: int) -> None:
    """Claim the trial and hold its debates; harmless when delivered twice."""
    trials = Trial.objects.select_related("run__benchmark", "prompt")
    trial = trials.filter(pk=trial_id).first()
    if trial is None or not trial.claim():
        return
    try:
        _hold(trial)
    except LostLease:
        logger.info("trial %s was cancelled or taken over", trial.pk)
    except (OperationalError, InterfaceError) as error:
        logger.warning("trial %s waits for the database: %s", trial.pk, error)


def _hold(trial: Trial) -> None:
    from debate.trials.trying import try_all  # the model client is slow to import

    try:
        try_all(trial, endpoints.get(trial.run.endpoint))
    except Stopping:
        trial.release()
    except (endpoints.UnknownEndpoint, PromptGone) as error:
        trial.finish(RunStatus.FAILED, error=str(error))
    except (LostLease, OperationalError, InterfaceError):
        raise
    except Exception:  # the job's outermost frame: logged, and told in the row
        logger.exception("trial %s", trial.pk)
        trial.finish(RunStatus.FAILED, error="The trial stopped on an error of ours; see the log.")
