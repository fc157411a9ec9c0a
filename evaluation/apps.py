"""Measures and releases."""

from pathlib import Path
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
        """Whoever sets a cleaning up sees what earlier ones gained; restored releases are found."""
        from corpus.benchmarks.archive import deleting
        from corpus.cleaning.services import tell_gains
        from kit.backup import restored

        tell_gains(_gains)
        deleting.connect(_forget_releases, dispatch_uid="evaluation")
        restored.connect(_move_releases, dispatch_uid="evaluation")


def _gains(benchmark: "Benchmark") -> "list[MeasuredGain]":
    from evaluation.leaderboard.gains import measured_gains  # slow to import, and seldom asked for

    return measured_gains(benchmark)


def _move_releases(before: Path, **_: object) -> None:
    from evaluation.models import Release
    from kit.backup.paths import move_paths

    move_paths(Release, "folder", before)


def _forget_releases(benchmark: "Benchmark", **_: object) -> None:
    from django.conf import settings
    from django.db import transaction

    from evaluation.transfer.services import forget_files
    from kit import storage

    forget_files(benchmark)
    folder = Path(settings.RELEASES) / benchmark.slug
    transaction.on_commit(lambda: storage.drop(folder))
