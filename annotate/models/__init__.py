"""People's judgment: aspects with weights, gold passages, cases and votes."""

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
from annotate.models.slots import VoteSlot
from annotate.models.voting import ARMS, AttentionCheck, Consent, Reveal, VotingPlan
from annotate.models.work import ActiveSpan, Assignment, WorkState

__all__ = [
    "ARMS",
    "ActiveSpan",
    "Aspect",
    "AspectChange",
    "Assignment",
    "AttentionCheck",
    "Batch",
    "BatchItem",
    "BatchStatus",
    "CaseKind",
    "CaseStatus",
    "ChangeKind",
    "Consent",
    "Draft",
    "EscalationCase",
    "GoldPassage",
    "Guideline",
    "Problem",
    "ProblemTag",
    "Reveal",
    "Scale",
    "Vote",
    "VoteSlot",
    "VoteStatus",
    "VotingPlan",
    "WeightScale",
    "WorkState",
]
