"""Drawing a stratified sample: see kit/stats/sampling.py, which other rooms share."""

from kit.stats.sampling import allot, draw

__all__ = ["allot", "draw"]
