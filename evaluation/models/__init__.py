"""Releases, which others download and cite, and experiments, which compare runs."""

from evaluation.models.experiments import Experiment
from evaluation.models.releases import Release, ReleaseState

__all__ = ["Experiment", "Release", "ReleaseState"]
