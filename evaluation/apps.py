"""Measures and releases."""

from django.apps import AppConfig


class EvaluationConfig(AppConfig):
    """Releases and, later, reports."""

    name = "evaluation"
    default_auto_field = "django.db.models.BigAutoField"
