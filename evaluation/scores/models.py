"""Scores of a benchmark's retrieval runs, kept so that pages need not compute them."""

from typing import Any

from django.db import models

from corpus.models import Benchmark, CorpusVersion, Domain, RetrievalRun
from evaluation.metrics.profiles import STRICT
from kit.runs.models import TrackedRun


class ScoreSheet(TrackedRun):
    """All runs of a corpus version scored as of one moment: made anew when labels change.

    `event_id` is the last event that could change a score when the benchmark was read, `run_ids`
    the runs that were scored. `boards`: {domains, views: {view: {metric: [row]}}, practice,
    oracles}, `practice` whether labels of the practice model count, `oracles`: [{run, depth,
    domains}] with the first metric of each domain, by the base gold, if the first so many were
    sorted by it; `holes` by domain (evaluation/scores/reading.py).

    `profile` is the one of evaluation/metrics/profiles.py that it is scored under, `metrics` names
    what was asked for beyond the metrics of every sheet.

    With `matched_with` the lists were scored over the passages that this version shares with that
    one (evaluation/scores/matched.py): there is a `pool` then, and neither boards nor holes.
    """

    task_name = "evaluation.score_benchmark"
    page_route = "leaderboard"
    page_key = ""

    benchmark = models.ForeignKey(Benchmark, on_delete=models.CASCADE, related_name="score_sheets")
    # The derived corpus version that it is of; null: the loaded texts.
    corpus_version = models.ForeignKey(
        CorpusVersion, null=True, on_delete=models.CASCADE, related_name="+"
    )
    matched_with = models.ForeignKey(
        CorpusVersion, null=True, on_delete=models.CASCADE, related_name="+"
    )
    profile = models.CharField(max_length=20, default=STRICT.name, db_default=STRICT.name)
    metrics = models.JSONField(default=list, db_default=[])
    event_id = models.BigIntegerField(default=0)
    run_ids = models.JSONField(default=list)
    boards = models.JSONField(default=dict)
    holes = models.JSONField(default=dict)
    pool = models.JSONField(default=dict)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"scores {self.pk}"


class DomainScore(models.Model):
    """One run in one domain under one gold: per metric a value for each query, or why not.

    `values` is {metric: [value or null]} in the order of `qids`; rows of a sheet that a newer one
    replaced are deleted with it.
    """

    sheet = models.ForeignKey(ScoreSheet, on_delete=models.CASCADE, related_name="scores")
    run = models.ForeignKey(RetrievalRun, on_delete=models.CASCADE, related_name="scores")
    domain = models.ForeignKey(Domain, on_delete=models.CASCADE, related_name="+")
    view = models.CharField(max_length=8)
    qids = models.JSONField(default=list)
    values: Any = models.JSONField(default=dict)
    counts = models.JSONField(default=dict)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["sheet", "run", "domain", "view"], name="domain_score_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.run_id} in {self.domain_id}, {self.view}"


class KeptComparison(models.Model):
    """What was drawn and tested of two systems on one sheet, which it goes with.

    `figures`: {difference, tests} (evaluation/leaderboard/services.py).
    """

    sheet = models.ForeignKey(ScoreSheet, on_delete=models.CASCADE, related_name="comparisons")
    first = models.ForeignKey(RetrievalRun, on_delete=models.CASCADE, related_name="+")
    second = models.ForeignKey(RetrievalRun, on_delete=models.CASCADE, related_name="+")
    metric = models.CharField(max_length=60)
    view = models.CharField(max_length=8)
    figures: Any = models.JSONField(default=dict)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["sheet", "first", "second", "metric", "view"], name="comparison_kept_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.first_id} beside {self.second_id}, {self.metric}, {self.view}"


class NoiseCheck(TrackedRun):
    """How ranks move when each label is wrong with a given chance (docs/protocol.md X08).

    `if_relevant`: the chance that a label above 0 is right; `if_not`: that one of 0 is wrong; of
    labels that `rates` do not cover, if it has any: [{source, is_relevant, round, sureness, n,
    wrong}] of blind audits. `result`: [{run, rank, low, high, first}] for each run of the sheet;
    `covered` of all `labels` have a rate.
    """

    task_name = "evaluation.check_noise"
    page_route = "noise-check"

    benchmark = models.ForeignKey(Benchmark, on_delete=models.CASCADE, related_name="noise_checks")
    # The derived corpus version that it is of; null: the loaded texts.
    corpus_version = models.ForeignKey(
        CorpusVersion, null=True, on_delete=models.CASCADE, related_name="+"
    )
    metric = models.CharField(max_length=60)
    view = models.CharField(max_length=8)
    if_relevant = models.FloatField()
    if_not = models.FloatField()
    rates = models.JSONField(default=list, db_default=[])
    labels = models.PositiveIntegerField(default=0, db_default=0)
    covered = models.PositiveIntegerField(default=0, db_default=0)
    seed = models.PositiveIntegerField(default=1)
    draws = models.PositiveSmallIntegerField(default=200)
    result = models.JSONField(default=list)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"noise check {self.pk}"
