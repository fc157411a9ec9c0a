"""People's judgment: aspects with weights, gold passages, cases, votes, reviews, qualification."""

from annotate.models.aspects import Aspect, GoldPassage, Scale
from annotate.models.cases import CaseKind, CaseStatus, EscalationCase, Vote, VoteStatus
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

__all__ = [
    "ApprovalRecord",
    "Aspect",
    "AttemptState",
    "Basis",
    "CaseKind",
    "CaseStatus",
    "EscalationCase",
    "ExamAnswer",
    "ExamAttempt",
    "ExamItem",
    "GoldPassage",
    "Guideline",
    "PointKind",
    "PointStatus",
    "QualificationRule",
    "Recheck",
    "RescoreSample",
    "RescoreTask",
    "Review",
    "ReviewPoint",
    "ReviewStatus",
    "ReviewTurn",
    "Scale",
    "Vote",
    "VoteStatus",
    "WeightScore",
]
