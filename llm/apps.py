"""The room for models and money."""

from collections.abc import Iterator
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
        from kit.health.metrics import tell  # it reads rows, which are there only now

        checks.register(check_files, "files")
        every(30, "lost calls", _list_lost_calls)
        tell("assay_calls_open", "Calls to models without an answer.", _open_calls)


def _list_lost_calls() -> None:
    from llm.ledger.writing import list_lost_calls  # what it needs is slow to import

    list_lost_calls()


def _open_calls() -> Iterator[tuple[dict[str, str], float]]:
    """By state; the index holds these rows only."""
    from llm.models import Call

    # In so many words: SQLite takes an index of some rows for none but values that it is shown.
    is_open = "status IN ('intent', 'possibly_paid')"
    rows = Call.objects.extra(where=[is_open]).order_by().values_list("status")  # noqa: S610
    for status, count in rows.annotate(Count("pk")):
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
