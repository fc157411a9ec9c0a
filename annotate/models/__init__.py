"""People's judgment: aspects with weights, gold passages, cases, votes, reviews, qualification."""

from annotate.models.adjudication import Adjudication, OpenKind, VoterMessage
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
from annotate.models.comparisons import AnswerComparison, AnswerPair, AnswerRating, Preferred
from annotate.models.drafts import Draft
from annotate.models.guidelines import Guideline
from annotate.models.panels import (
    CheckKind,
    PanelStatus,
    ReferenceItem,
    ReferencePanel,
    SpotCheck,
)
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
from annotate.models.reference_answers import (
    AnswerAuthor,
    AnswerReview,
    AnswerVerdict,
    Beginning,
    ReferenceAnswer,
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
    "Adjudication",
    "AnswerAuthor",
    "AnswerComparison",
    "AnswerPair",
    "AnswerRating",
    "AnswerReview",
    "AnswerVerdict",
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
    "Beginning",
    "CaseKind",
    "CaseStatus",
    "ChangeKind",
    "CheckKind",
    "Consent",
    "Draft",
    "EscalationCase",
    "ExamAnswer",
    "ExamAttempt",
    "ExamItem",
    "GoldPassage",
    "Guideline",
    "OpenKind",
    "PanelStatus",
    "PointKind",
    "PointStatus",
    "Preferred",
    "Problem",
    "ProblemTag",
    "QualificationRule",
    "Recheck",
    "ReferenceAnswer",
    "ReferenceItem",
    "ReferencePanel",
    "RescoreSample",
    "RescoreTask",
    "Reveal",
    "Review",
    "ReviewPoint",
    "ReviewStatus",
    "ReviewTurn",
    "Scale",
    "SpotCheck",
    "Vote",
    "VoteSlot",
    "VoteStatus",
    "VoterMessage",
    "VotingPlan",
    "WeightScale",
    "WeightScore",
    "WorkState",
]
