"""People's judgment: aspects with weights, gold passages, cases, votes, reviews, qualification."""

from annotate.adjudication.models import Adjudication, OpenKind, VoterMessage
from annotate.answers.models import (
    AnswerAuthor,
    AnswerComparison,
    AnswerPair,
    AnswerRating,
    AnswerReview,
    AnswerVerdict,
    Preferred,
    ReferenceAnswer,
    StartedFrom,
)
from annotate.assignments.models import ActiveSpan, Assignment, WorkState
from annotate.batches.models import Batch, BatchItem, BatchStatus
from annotate.digest.models import Digest
from annotate.drafts.models import Draft
from annotate.exams.models import (
    ApprovalRecord,
    AttemptState,
    Basis,
    ExamAnswer,
    ExamAttempt,
    ExamItem,
    QualificationRule,
    Recheck,
)
from annotate.grading.models import (
    AnswerGrade,
    GradedAnswer,
    GradingSample,
    SentenceGrade,
    SentenceItem,
)
from annotate.guidelines.models import Guideline
from annotate.panels.models import CheckKind, PanelStatus, ReferenceItem, ReferencePanel, SpotCheck
from annotate.plans.models import CONDITIONS, AttentionCheck, Condition, Consent, VotingPlan
from annotate.review.models import (
    PointKind,
    PointStatus,
    RescoreSample,
    RescoreTask,
    Review,
    ReviewPoint,
    ReviewStatus,
    ReviewTurn,
    WeightScore,
)
from annotate.support.models import SupportLabel
from annotate.voting.models import CaseKind, CaseStatus, EscalationCase, Vote, VoteSlot, VoteStatus
from annotate.workspace.models import (
    Aspect,
    AspectChange,
    ChangeKind,
    GoldPassage,
    Problem,
    ProblemTag,
    Scale,
    WeightScale,
)
