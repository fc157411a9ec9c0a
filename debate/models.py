"""Machines' judgment: runs of debates, each with its turns."""

from debate.answers.models import AnswerItem, AnswerItemState, AnswerRun
from debate.audits.models import AuditItem, AuditSample
from debate.hints.models import Hint, HintRun, HintStatus
from debate.rehearings.models import Rehearing
from debate.runs.models import LABELLED, Debate, DebateFlag, DebateRun, DebateStatus, RunKind, Turn
from debate.trials.models import PromptVersion, Trial, TrialItem, TrialKind
