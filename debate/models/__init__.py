"""Machines' judgment: runs of debates, each with its turns."""

from debate.models.answers import AnswerItem, AnswerItemState, AnswerRun
from debate.models.audits import AuditItem, AuditSample
from debate.models.debates import LABELLED, Debate, DebateStatus, Turn
from debate.models.flags import DebateFlag
from debate.models.hints import Hint, HintRun, HintStatus
from debate.models.runs import DebateRun, RunKind
from debate.models.trials import PromptVersion, Trial, TrialItem, TrialKind

__all__ = [
    "LABELLED",
    "AnswerItem",
    "AnswerItemState",
    "AnswerRun",
    "AuditItem",
    "AuditSample",
    "Debate",
    "DebateFlag",
    "DebateRun",
    "DebateStatus",
    "Hint",
    "HintRun",
    "HintStatus",
    "PromptVersion",
    "RunKind",
    "Trial",
    "TrialItem",
    "TrialKind",
    "Turn",
]
