"""The room for models and money."""

from collections.abc import Callable, Collection, Iterator
from typing import Any

from django.apps import AppConfig
from django.core import checks
from django.db.models import Count

from kit.runs.periodic import every
from llm import endpoints, prices


class LlmConfig(AppConfig):
    """Django's handle on this room."""

    name = "llm"
    label = "llm"
    verbose_name = "language models"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Have the files of settings looked at with everything else, lost calls listed, and open
        calls counted for /-/metrics."""
        from kit.backup import loaded
        from kit.health.metrics import tell  # it reads rows, which are there only now

        checks.register(check_files, "files")
        every(30, "lost calls", _list_lost_calls)
        loaded.connect(_stop_paying, dispatch_uid="llm.stop_paying")
        tell("assay_calls_open", "Calls to models without an answer.", _open_calls)


def _list_lost_calls() -> None:
    from llm.ledger.writing import list_lost_calls  # what it needs is slow to import

    list_lost_calls()


def _stop_paying(columns_of: Callable[[str], Collection[str]], **_: Any) -> int:
    """Pause what would pay in a restored installation, perhaps beside the one it was taken from.

    So do those that start others with a budget. Those without a pause of their own have failed, and
    can be tried again. How many they were.
    """
    from kit.runs.models import RunStatus
    from kit.runs.polling import run_models
    from llm.ledger.accounts import AskingRun

    words = "This installation was restored from a backup. Resume the run if it is to go on here."
    count = 0
    for kind in run_models():
        if not hasattr(kind, "asked") and not hasattr(kind, "budget_usd"):
            continue
        columns = columns_of(kind._meta.db_table)
        can_pause = issubclass(kind, AskingRun) or not hasattr(kind, "asked")
        to = RunStatus.PAUSED if can_pause else RunStatus.FAILED
        told = {"status": to, "error": words, "pause_reason": words, "lease_until": None}
        # Of an earlier version some may not be there yet.
        known = {name: value for name, value in told.items() if name in columns}
        going = (RunStatus.QUEUED, RunStatus.RUNNING)
        if "status" in known:
            count += kind.objects.filter(status__in=going).update(**known)
    return count


def _open_calls() -> Iterator[tuple[dict[str, str], float]]:
    from llm.models import Call

    rows = Call.objects.unanswered().order_by().values_list("status")
    for status, count in rows.annotate(n=Count("*")):  # of rows: the index has no more
        yield {"status": status}, count


def check_files(**_: Any) -> list[checks.CheckMessage]:
    """ASSAY_ENDPOINTS, roles and ASSAY_PRICES, where they are set, can be read and make sense.

    Told at the start rather than in the middle of a run.
    """
    found: list[checks.CheckMessage] = []
    kinds = ("Endpoints", endpoints.roles, "llm.E001"), ("ASSAY_PRICES", prices.table, "llm.E002")
    for words, read, code in kinds:
        try:
            read()
        except endpoints.SettingsError as error:
            found.append(checks.Error(f"{words}: {error}", id=code))
    return found
