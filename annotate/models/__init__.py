"""People's judgment: aspects with weights, gold passages, cases and votes."""

from annotate.models.aspects import Aspect, GoldPassage, Scale
from annotate.models.cases import CaseKind, CaseStatus, EscalationCase, Vote, VoteStatus
from annotate.models.drafts import Draft
from annotate.models.guidelines import Guideline
from annotate.models.work import ActiveSpan, Assignment, WorkState

__all__ = [
    "ActiveSpan",
    "Aspect",
    "Assignment",
    "CaseKind",
    "CaseStatus",
    "Draft",
    "EscalationCase",
    "GoldPassage",
    "Guideline",
    "Scale",
    "Vote",
    "VoteStatus",
    "WorkState",
]
