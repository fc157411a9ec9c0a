"""Score sheets: every run under every gold, computed in the background and kept."""

from typing import Any

from django.contrib.auth.models import User
from django.db import models, transaction

from corpus.models import Benchmark, CorpusVersion, Query, RetrievalRun
from evaluation.background import failures_in_row
from evaluation.content.view import frozen
from evaluation.metrics.faults import MetricFault
from evaluation.metrics.names import read_metric, read_metrics
from evaluation.metrics.profiles import PROFILES, STRICT
from evaluation.scores.matched import SAME
from evaluation.scores.models import DomainScore, ScoreSheet
from evaluation.scores.reading import METRICS, last_event, score_runs
from kit.errors import Refused
from kit.runs.heartbeat import Heartbeat
from kit.runs.models import RunStatus, begin

# What every sheet holds.
NAMES: tuple[str, ...] = tuple(each.name for each in read_metrics(METRICS))
# A sheet holds at most so many metrics beyond these.
MAX_ASKED = 40
BROKEN = "The scores could not be computed because of a fault in the program; see the log."


def sheets_of(
    benchmark: Benchmark,
    version: CorpusVersion | None,
    matched_with: CorpusVersion | None = None,
    profile: str = STRICT.name,
) -> models.QuerySet[ScoreSheet]:
    """Every sheet of a corpus version under a profile, by default the current one: of its whole
    corpus, or over what it shares with the version `matched_with`."""
    found = version or CorpusVersion.objects.current(benchmark)
    return ScoreSheet.objects.filter(
        benchmark=benchmark,
        corpus_version=found.key if found else None,
        matched_with=matched_with,
        profile=profile,
    )


def latest(
    benchmark: Benchmark,
    version: CorpusVersion | None = None,
    matched_with: CorpusVersion | None = None,
    profile: str = STRICT.name,
) -> ScoreSheet | None:
    """The newest sheet that is whole."""
    rows = sheets_of(benchmark, version, matched_with, profile).filter(status=RunStatus.DONE)
    return rows.order_by("-pk").first()


def under_way(
    benchmark: Benchmark,
    version: CorpusVersion | None = None,
    matched_with: CorpusVersion | None = None,
    profile: str = STRICT.name,
) -> ScoreSheet | None:
    """The sheet that is being computed or waits for a worker."""
    live = (RunStatus.QUEUED, RunStatus.RUNNING)
    return sheets_of(benchmark, version, matched_with, profile).filter(status__in=live).first()


def failed(
    benchmark: Benchmark,
    version: CorpusVersion | None = None,
    matched_with: CorpusVersion | None = None,
    profile: str = STRICT.name,
) -> ScoreSheet | None:
    """The newest sheet, if it failed: asked again of itself, it would only fail again."""
    newest = sheets_of(benchmark, version, matched_with, profile).order_by("-pk").first()
    return newest if newest is not None and newest.status == RunStatus.FAILED else None


def is_current(sheet: ScoreSheet) -> bool:
    """Whether no label, aspect or run has changed since the sheet was read."""
    runs = RetrievalRun.objects.filter(
        benchmark=sheet.benchmark_id, corpus_version=sheet.corpus_version_id
    ).order_by("pk")
    known = list(runs.values_list("pk", flat=True))
    return sheet.run_ids == known and sheet.event_id == last_event(sheet.benchmark)


def lacks(sheet: ScoreSheet, metric: str) -> bool:
    """Whether this metric, by the name that `metric_name` gives, was not scored on a sheet."""
    return metric not in NAMES and metric not in sheet.metrics


def metric_name(metric: str) -> str:
    """The metric as sheets name it, any that `score_run` takes; raises Refused."""
    try:
        return read_metric(metric).name
    except MetricFault as fault:
        raise Refused(str(fault), field="metric") from None


def known_profile(profile: str) -> str:
    """The name of a profile; raises Refused."""
    if profile not in PROFILES:
        raise Refused(f"There is no profile {profile!r}: {', '.join(PROFILES)}.", field="profile")
    return profile


def request_sheet(
    *,
    benchmark: Benchmark,
    version: CorpusVersion | None = None,
    matched_with: CorpusVersion | None = None,
    profile: str = STRICT.name,
    metric: str = "",
    actor: User | None,
    claimed: bool = False,
) -> ScoreSheet:
    """Have the scores of a corpus version (by default the current one) computed, unless they are
    being computed; raises Refused without runs of it, and for a metric or profile that is none.
    With `matched_with` they are scored over what both versions share. A sheet holds `metric` and
    what was asked for before it.

    Scores are derived: asking for them leaves no event. `claimed` keeps it for this process.
    """
    name, profile = metric and metric_name(metric), known_profile(profile)
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
        found = None if claimed else under_way(benchmark, version, matched_with, profile)
        if found is None or (name and lacks(found, name)):
            before = found or latest(benchmark, version, matched_with, profile)
            found = ScoreSheet.objects.create(
                benchmark=benchmark,
                corpus_version_id=key,
                matched_with=matched_with,
                profile=profile,
                metrics=_asked(name, before),
                # Until its first look at the lists: so it is weighed before it begins.
                total=Query.objects.in_benchmark(benchmark).count(),
                created_by=actor,
            )
        begin(found, claimed=claimed)
    return found


def _asked(name: str, before: ScoreSheet | None) -> list[str]:
    """What a sheet holds beyond the metrics of all, the newest first; the oldest are forgotten."""
    asked = [name, *(before.metrics if before else ())]
    return list(dict.fromkeys(each for each in asked if each and each not in NAMES))[:MAX_ASKED]


def carry_out(sheet: ScoreSheet) -> None:
    """Compute a claimed sheet and keep the scores, or the reason for none."""
    with failures_in_row(sheet, broken=BROKEN):
        with Heartbeat(sheet) as heartbeat, frozen():
            scores, fields = score_runs(sheet, heartbeat)
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
            profile=sheet.profile,
            pk__lt=sheet.pk,
        )
        older.filter(status__in=(RunStatus.DONE, RunStatus.FAILED)).delete()
