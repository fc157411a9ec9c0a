"""Machines' judgment: runs of debates, each with its turns."""

from debate.models.audits import AuditItem, AuditSample
from debate.models.debates import LABELLED, Debate, DebateStatus, Turn
from debate.models.flags import DebateFlag
from debate.models.runs import DebateRun, RunKind
from debate.models.trials import PromptVersion, Trial, TrialItem, TrialKind

__all__ = [
    "LABELLED",
    "AuditItem",
    "AuditSample",
    "Debate",
    "DebateFlag",
    "DebateRun",
    "DebateStatus",
    "PromptVersion",
    "RunKind",
    "Trial",
    "TrialItem",
    "TrialKind",
    "Turn",
]
