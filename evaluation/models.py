"""Releases, which others cite, search agents, generated answers, experiments and kept scores."""

from evaluation.agents.models import (
    JUDGE_MODES,
    AgentItem,
    AgentRun,
    AgentState,
    AnswerVerdict,
    JudgeRun,
    VerdictState,
)
from evaluation.experiments.models import Experiment
from evaluation.rag.models import (
    HARNESSES,
    AnswerState,
    Grade,
    GradeRun,
    GradeState,
    RagAnswer,
    RagRun,
    RagSource,
    SourceKind,
)
from evaluation.releases.models import Release, ReleasePush, ReleaseState
from evaluation.scores.models import DomainScore, KeptComparison, NoiseCheck, ScoreSheet
from evaluation.support.models import (
    Claim,
    SetKind,
    SupportedAnswer,
    SupportRun,
    SupportSet,
    SupportState,
    SupportVerdict,
)
