"""Texts and labels."""

from django.apps import AppConfig


class CorpusConfig(AppConfig):
    """Benchmarks, queries, passages, corpus versions, judgments, pools, imports."""

    name = "corpus"
    default_auto_field = "django.db.models.BigAutoField"
