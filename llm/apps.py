"""The room for models and money."""

from typing import Any

from django.apps import AppConfig
from django.core import checks

from llm import endpoints, prices


class LlmConfig(AppConfig):
    """Django's handle on this room."""

    name = "llm"
    label = "llm"
    verbose_name = "language models"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Have the files of settings looked at with everything else."""
        checks.register(check_files, "files")


def check_files(**_: Any) -> list[checks.CheckMessage]:
    """ASSAY_ENDPOINTS, roles and ASSAY_PRICES, where they are set, can be read and make sense.

    Told at the start rather than in the middle of a run.
    """
    found: list[checks.CheckMessage] = []
    try:
        endpoints.roles()
    except endpoints.EndpointError as error:
        found.append(checks.Error(f"Endpoints: {error}", id="llm.E001"))
    try:
        prices.table()
    except prices.PriceError as error:
        found.append(checks.Error(f"ASSAY_PRICES: {error}", id="llm.E002"))
    return found
