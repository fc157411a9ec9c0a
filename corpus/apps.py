"""Texts and labels."""

from django.apps import AppConfig


class CorpusConfig(AppConfig):
    """Benchmarks, queries, passages, corpus versions, judgments, pools, imports."""

    name = "corpus"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Workers sweep up what uploads left."""
        from kit.runs.periodic import every

        def sweep() -> None:
            from corpus.imports.uploads import sweep_uploads

            sweep_uploads()

        every(3600, "leftovers of uploads", sweep)
