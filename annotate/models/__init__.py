"""People's judgment: aspects with weights, gold passages, cases and votes."""

from annotate.models.aspects import Aspect, GoldPassage, Scale
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
from annotate.models.work import ActiveSpan, Assignment, WorkState

__all__ = [
    "ActiveSpan",
    "Aspect",
    "AspectChange",
    "Assignment",
    "CaseKind",
    "CaseStatus",
    "ChangeKind",
    "Draft",
    "EscalationCase",
    "GoldPassage",
    "Guideline",
    "Problem",
    "ProblemTag",
    "Scale",
    "Vote",
    "VoteStatus",
    "WeightScale",
    "WorkState",
]
