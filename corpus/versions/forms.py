"""The corpus version as a field of forms, and in the labels of retrieval runs."""

from typing import Any

from django import forms

from corpus.models import Benchmark, CorpusVersion, RetrievalRun

FIELD = "version"


def version_field(benchmark: Benchmark, **kwargs: Any) -> dict[str, forms.Field]:
    """The choice of a version by its number, the current one first chosen; none without a choice.

    Its value is for `corpus.versions.services.chosen`.
    """
    choices = CorpusVersion.objects.choices(benchmark)
    if len(choices) < 2:
        return {}
    current = CorpusVersion.objects.current(benchmark)
    named = [(str(each.pk), _words(each, current)) for each in choices]
    initial = str(current.pk) if current else None
    kwargs = {"label": "Corpus version", "required": False, "initial": initial, **kwargs}
    return {FIELD: forms.ChoiceField(choices=named, **kwargs)}


class RunsField(forms.ModelMultipleChoiceField):
    """Retrieval runs, each with the corpus version that it ranks."""

    def label_from_instance(self, obj: Any) -> str:
        """Its name."""
        return run_words(obj)


class RunField(forms.ModelChoiceField):
    """One of them."""

    def label_from_instance(self, obj: Any) -> str:
        """Its name."""
        return run_words(obj)


def runs_of(benchmark: Benchmark) -> Any:
    """The benchmark's runs as those fields offer them: of one version after the other."""
    rows = RetrievalRun.objects.filter(benchmark=benchmark).select_related("corpus_version")
    return rows.order_by("corpus_version", "name")


def run_words(run: RetrievalRun) -> str:
    """A run's name, with its corpus version unless that is the loaded one."""
    return f"{run.name} ({run.corpus_version.name})" if run.corpus_version else run.name


def _words(version: CorpusVersion, current: CorpusVersion | None) -> str:
    return f"{version.name} (current)" if version == current else version.name
