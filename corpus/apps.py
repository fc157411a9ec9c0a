"""Texts and labels."""

from typing import Any

from django.apps import AppConfig


class CorpusConfig(AppConfig):
    """Benchmarks, queries, passages, corpus versions, judgments, pools, imports."""

    name = "corpus"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Workers sweep up what uploads left; groups of the identity provider become roles."""
        from kit.account import came_through_provider
        from kit.runs.periodic import every

        def sweep() -> None:
            from corpus.imports.uploads import sweep_uploads

            sweep_uploads()

        def place(user: Any, groups: Any, **_: object) -> None:
            from corpus.benchmarks.groups import place_by_groups

            place_by_groups(user, groups)

        came_through_provider.connect(place, weak=False, dispatch_uid="corpus.place_by_groups")
        every(3600, "leftovers of uploads", sweep)
