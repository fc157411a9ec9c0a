"""Releases, which others download and cite, experiments, which compare runs, and kept scores."""

from evaluation.experiments.models import Experiment
from evaluation.releases.models import Release, ReleasePush, ReleaseState
from evaluation.scores.models import DomainScore, KeptComparison, NoiseCheck, ScoreSheet
