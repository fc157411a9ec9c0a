"""Machines' judgment."""

from django.apps import AppConfig


class DebateConfig(AppConfig):
    """Debate runs, debates and turns."""

    name = "debate"
    default_auto_field = "django.db.models.BigAutoField"
