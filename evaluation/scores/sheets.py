"""Score sheets: every run under every gold, computed in the background and kept."""

from typing import Any

from django.contrib.auth.models import User
from django.db import models, transaction

from corpus.models import Benchmark, CorpusVersion, RetrievalRun
from evaluation.background import failures_in_row
from evaluation.content.frozen import frozen
from evaluation.models import DomainScore, ScoreSheet
from evaluation.scores.matched import SAME
from evaluation.scores.reading import last_event, score_runs
from kit.errors import Refused
from kit.runs.models import RunStatus, wake
from kit.runs.pulse import Pulse

BROKEN = "The scores could not be computed because of a fault in the program; see the log."


def sheets_of(
    benchmark: Benchmark,
    version: CorpusVersion | None,
    matched_with: CorpusVersion | None = None,
) -> models.QuerySet[ScoreSheet]:
    """Every sheet of a corpus version, by default the current one: of its whole corpus, or over
    what it shares with the version `matched_with`."""
    found = version or CorpusVersion.objects.current(benchmark)
    return ScoreSheet.objects.filter(
        benchmark=benchmark,
        corpus_version=found.key if found else None,
        matched_with=matched_with,
    )


def latest(
    benchmark: Benchmark,
    version: CorpusVersion | None = None,
    matched_with: CorpusVersion | None = None,
) -> ScoreSheet | None:
    """The newest sheet that is whole."""
    rows = sheets_of(benchmark, version, matched_with).filter(status=RunStatus.DONE)
    return rows.order_by("-pk").first()


def under_way(
    benchmark: Benchmark,
    version: CorpusVersion | None = None,
    matched_with: CorpusVersion | None = None,
) -> ScoreSheet | None:
    """The sheet that is being computed or waits for a worker."""
    live = (RunStatus.QUEUED, RunStatus.RUNNING)
    return sheets_of(benchmark, version, matched_with).filter(status__in=live).first()


def failed(
    benchmark: Benchmark,
    version: CorpusVersion | None = None,
    matched_with: CorpusVersion | None = None,
) -> ScoreSheet | None:
    """The newest sheet, if it failed: asked again of itself, it would only fail again."""
    newest = sheets_of(benchmark, version, matched_with).order_by("-pk").first()
    return newest if newest is not None and newest.status == RunStatus.FAILED else None


def is_current(sheet: ScoreSheet) -> bool:
    """Whether no label, aspect or run has changed since the sheet was read."""
    runs = RetrievalRun.objects.filter(
        benchmark=sheet.benchmark_id, corpus_version=sheet.corpus_version_id
    ).order_by("pk")
    known = list(runs.values_list("pk", flat=True))
    return sheet.run_ids == known and sheet.event_id == last_event(sheet.benchmark)


def request_sheet(
    *,
    benchmark: Benchmark,
    version: CorpusVersion | None = None,
    matched_with: CorpusVersion | None = None,
    actor: User | None,
    claimed: bool = False,
) -> ScoreSheet:
    """Have the scores of a corpus version (by default the current one) computed, unless they are
    being computed; raises Refused without runs of it. With `matched_with` they are scored over
    what both versions share.

    Scores are derived: asking for them leaves no event. `claimed` keeps it for this process.
    """
    version = version or CorpusVersion.objects.current(benchmark)
    key = version.key if version else None
    if matched_with is not None and matched_with == version:
        raise Refused(SAME, field="version")
    if not RetrievalRun.objects.filter(benchmark=benchmark, corpus_version=key).exists():
        of = f" of “{version.name}”" if version and version.is_derived else ""
        raise Refused(f"There is no retrieval run{of} to score. Import one or compute one.")
    with transaction.atomic():
        # One at a time, also where two ask at once.
        Benchmark.objects.select_for_update().get(pk=benchmark.pk)
        found = None if claimed else under_way(benchmark, version, matched_with)
        if found is None:
            found = ScoreSheet.objects.create(
                benchmark=benchmark,
                corpus_version_id=key,
                matched_with=matched_with,
                created_by=actor,
            )
        if claimed:
            found.claim()
        else:
            wake(found)
    return found


def carry_out(sheet: ScoreSheet) -> None:
    """Compute a claimed sheet and keep the scores, or the reason for none."""
    with failures_in_row(sheet, broken=BROKEN):
        with Pulse(sheet) as pulse, frozen():
            scores, fields = score_runs(sheet, pulse)
        _keep(sheet, scores, fields)


def _keep(sheet: ScoreSheet, scores: list[DomainScore], fields: dict[str, Any]) -> None:
    """Everything at once, and what older sheets held is gone."""
    with transaction.atomic():
        DomainScore.objects.bulk_create(scores, batch_size=20)
        sheet.finish(**fields)
        older = ScoreSheet.objects.filter(
            benchmark=sheet.benchmark,
            corpus_version=sheet.corpus_version_id,
            matched_with=sheet.matched_with_id,
            pk__lt=sheet.pk,
        )
        older.filter(status__in=(RunStatus.DONE, RunStatus.FAILED)).delete()
