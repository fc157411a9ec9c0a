"""Releases, which others download and cite, experiments, which compare runs, and kept scores."""

from evaluation.models.experiments import Experiment
from evaluation.models.releases import Release, ReleaseState
from evaluation.models.scores import DomainScore, KeptComparison, NoiseCheck, ScoreSheet

__all__ = [
    "DomainScore",
    "Experiment",
    "KeptComparison",
    "NoiseCheck",
    "Release",
    "ReleaseState",
    "ScoreSheet",
]
