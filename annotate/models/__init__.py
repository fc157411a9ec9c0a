"""People's judgment: aspects with weights, gold passages, cases, votes, reviews, qualification."""

from annotate.models.aspects import Aspect, GoldPassage, Scale
from annotate.models.batches import Batch, BatchItem, BatchStatus
from annotate.models.cases import CaseKind, CaseStatus, EscalationCase, Vote, VoteStatus
from annotate.models.changes import (
    AspectChange,
    ChangeKind,
    Problem,
    ProblemTag,
    WeightScale,
)
from annotate.models.drafts import Draft
from annotate.models.guidelines import Guideline
from annotate.models.qualification import (
    ApprovalRecord,
    AttemptState,
    Basis,
    ExamAnswer,
    ExamAttempt,
    ExamItem,
    QualificationRule,
    Recheck,
)
from annotate.models.reviews import (
    PointKind,
    PointStatus,
    Review,
    ReviewPoint,
    ReviewStatus,
    ReviewTurn,
)
from annotate.models.scores import RescoreSample, RescoreTask, WeightScore
from annotate.models.slots import VoteSlot
from annotate.models.voting import ARMS, AttentionCheck, Consent, Reveal, VotingPlan
from annotate.models.work import ActiveSpan, Assignment, WorkState

__all__ = [
    "ARMS",
    "ActiveSpan",
    "ApprovalRecord",
    "Aspect",
    "AspectChange",
    "Assignment",
    "AttemptState",
    "AttentionCheck",
    "Basis",
    "Batch",
    "BatchItem",
    "BatchStatus",
    "CaseKind",
    "CaseStatus",
    "ChangeKind",
    "Consent",
    "Draft",
    "EscalationCase",
    "ExamAnswer",
    "ExamAttempt",
    "ExamItem",
    "GoldPassage",
    "Guideline",
    "PointKind",
    "PointStatus",
    "Problem",
    "ProblemTag",
    "QualificationRule",
    "Recheck",
    "RescoreSample",
    "RescoreTask",
    "Reveal",
    "Review",
    "ReviewPoint",
    "ReviewStatus",
    "ReviewTurn",
    "Scale",
    "Vote",
    "VoteSlot",
    "VoteStatus",
    "VotingPlan",
    "WeightScale",
    "WeightScore",
    "WorkState",
]
