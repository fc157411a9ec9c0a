"""Measures and releases."""

from typing import TYPE_CHECKING

from django.apps import AppConfig

if TYPE_CHECKING:
    from corpus.marcus.figures import MeasuredGain
    from corpus.models import Benchmark


class EvaluationConfig(AppConfig):
    """Releases and, later, reports."""

    name = "evaluation"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Whoever sets a cleaning up sees what earlier ones gained."""
        from corpus.cleaning.services import tell_gains

        tell_gains(_gains)


def _gains(benchmark: "Benchmark") -> "list[MeasuredGain]":
    from evaluation.leaderboard.gains import measured_gains  # slow to import, and seldom asked for

    return measured_gains(benchmark)
