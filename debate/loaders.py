"""Fetch and authorise in one step, for what this room holds."""

from django.shortcuts import get_object_or_404
from django.urls import reverse

from corpus.access import Access
from corpus.models import Role
from debate.models import Debate, DebateRun

READERS = (Role.ADMIN, Role.REVIEWER)


def get_run(access: Access, pk: int) -> DebateRun:
    """A run of this benchmark, or 404."""
    runs = DebateRun.objects.select_related(
        "benchmark", "pool__corpus_version", "account", "adopted_by"
    )
    return get_object_or_404(runs, pk=pk, benchmark=access.benchmark)


def get_debate(run: DebateRun, pk: int) -> Debate:
    """A debate of this run with its pair, or 404."""
    rows = run.debates.select_related("query__domain", "passage", "judgment", "case")
    return get_object_or_404(rows, pk=pk)


def run_url(run: DebateRun) -> str:
    """The control room of a run."""
    return reverse("debate-run", args=[run.benchmark.slug, run.pk])
