"""DREAM's baselines (docs/protocol.md 2.2, 2.8, 2.9), pure like debate.dream.

Each rule over one pair is a generator of `debate.dream.asking.Steps`: it yields questions, is
sent the answers and returns a Verdict. LARA needs all pairs at once: `relevance` measures each,
`lara` then picks among them.
"""

from .graded import graded
from .hints import argue
from .judges import Judge, JudgeConfig, line_up_judges
from .relevance import human_only, measure
from .support import keep_or_discard, single_judge
from .votes import vote

__all__ = [
    "Judge",
    "JudgeConfig",
    "argue",
    "graded",
    "human_only",
    "keep_or_discard",
    "line_up_judges",
    "measure",
    "single_judge",
    "vote",
]
