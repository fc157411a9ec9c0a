"""Indexing a corpus version's passages for search, as long work."""

from django.db import models

from corpus.models.texts import CorpusVersion
from kit.runs import TrackedRun


class PassageIndexRun(TrackedRun):
    """Fills the text index with one version's own layer; `done` counts passages.

    `last_id` is how far it came: a run that was killed goes on behind it.
    """

    task_name = "corpus.index_passages"

    version = models.OneToOneField(
        CorpusVersion, on_delete=models.CASCADE, related_name="index_run"
    )
    last_id = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"text index of version {self.version_id}"
