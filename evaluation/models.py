"""Releases, which others cite, search agents, generated answers, training data, experiments, kept
scores."""

from evaluation.agents.models import (
    JUDGE_MODES,
    AgentItem,
    AgentRun,
    AgentState,
    AnswerVerdict,
    JudgeRun,
    VerdictState,
)
from evaluation.chain.models import Chain, ChainStep, StepState
from evaluation.experiments.models import Experiment
from evaluation.pipelines.models import PipelineRun
from evaluation.rag.models import (
    HARNESSES,
    AnswerState,
    Grade,
    GradeRun,
    GradeState,
    KeptBoard,
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
from evaluation.training.models import (
    DocumentKind,
    DocumentUse,
    ItemState,
    TrainingDocument,
    TrainingItem,
    TrainingRun,
)
from evaluation.transfer.models import MergeConflict, Transfer, TransferKind
