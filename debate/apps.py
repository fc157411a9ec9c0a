"""Machines' judgment."""

from django.apps import AppConfig


class DebateConfig(AppConfig):
    """Debate runs, debates and turns."""

    name = "debate"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Make the tasks known that do not stand in tasks.py, where Celery looks."""
        from debate import answer_tasks, hint_tasks, trial_tasks  # noqa: F401
