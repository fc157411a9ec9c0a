"""The room for models and money."""

from django.apps import AppConfig
from django.core import checks


class LlmConfig(AppConfig):
    """Django's handle on this room."""

    name = "llm"
    label = "llm"
    verbose_name = "language models"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Have the files of settings looked at with everything else."""
        from llm.checks import check_files

        checks.register(check_files, "files")
