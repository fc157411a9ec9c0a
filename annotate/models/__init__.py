"""People's judgment: aspects with weights, gold passages, cases and votes."""

from annotate.models.aspects import Aspect, GoldPassage, Scale
from annotate.models.batches import Batch, BatchItem, BatchStatus
from annotate.models.cases import CaseKind, CaseStatus, EscalationCase, Vote, VoteStatus
from annotate.models.guidelines import Guideline
from annotate.models.slots import VoteSlot
from annotate.models.voting import ARMS, AttentionCheck, Consent, Reveal, VotingPlan

__all__ = [
    "ARMS",
    "Aspect",
    "AttentionCheck",
    "Batch",
    "BatchItem",
    "BatchStatus",
    "CaseKind",
    "CaseStatus",
    "Consent",
    "EscalationCase",
    "GoldPassage",
    "Guideline",
    "Reveal",
    "Scale",
    "Vote",
    "VoteSlot",
    "VoteStatus",
    "VotingPlan",
]
