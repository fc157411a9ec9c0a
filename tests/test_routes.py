"""Every route times every role has its expected answer; a new route without a row fails here.

A row says which method is tried, who is let in, and what they get. Everybody else's answer
follows from the house rule: nobody signed in is sent to sign in (API: 401), strangers get 404,
members without the right get 403.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from annotate.models import (
    AnswerComparison,
    AnswerPair,
    Aspect,
    AspectChange,
    Batch,
    BatchItem,
    EscalationCase,
    ExamAttempt,
    ExamItem,
    GoldPassage,
    ProblemTag,
    ReferenceAnswer,
    ReferenceItem,
    ReferencePanel,
    RescoreSample,
    RescoreTask,
    Review,
    ReviewPoint,
    ReviewStatus,
    Vote,
    VotingPlan,
)
from annotate.services.collecting import collect_text, collect_url
from annotate.services.drafts import keep_draft
from annotate.services.work import claim_query
from corpus.models import (
    Benchmark,
    CleanedPage,
    CleaningRun,
    CorpusVersion,
    ImportRun,
    PoolBuild,
    RunComputation,
    Violation,
)
from corpus.services.people import add_person
from debate.dream.prompting import PROMPTS
from debate.models import AnswerRun, Debate, DebateRun, HintRun, Trial
from debate.services.prompts import write_prompt
from evaluation.models import Experiment, NoiseCheck, Release
from kit.signin import create_link
from tests.factories import (
    make_benchmark,
    make_document,
    make_gold,
    make_member,
    make_passage,
    make_pool,
    make_query,
    make_ranking,
    make_user,
)

MEMBERS = ("annotator", "outsider", "reviewer", "admin")
ROLES = ("nobody", "stranger", *MEMBERS)
EVERYBODY_SIGNED_IN = ("stranger", *MEMBERS)
READERS = ("reviewer", "admin")
ADMIN = ("admin",)
# An annotator of the domain at hand; the outsider annotates another domain.
OWN = ("annotator",)
REVIEWER = ("reviewer",)
# Who has a part in the review at hand: nobody wrote on its query, so annotators answer for it.
PARTS = ("annotator", "reviewer", "admin")
NOT_THEIRS = {"annotator": 403, "admin": 403}
ANNOTATORS = ("annotator", "outsider")
NOT_MINE = ("outsider", "reviewer", "admin")


@dataclass(frozen=True)
class Row:
    """What a route answers: `status` to those let in, unless `special` says otherwise."""

    allowed: tuple[str, ...]
    status: int = 200
    method: str = "get"
    body: dict[str, Any] = field(default_factory=dict)
    special: dict[str, int] = field(default_factory=dict)
    kwargs: dict[str, Any] = field(default_factory=dict)


def get(allowed: tuple[str, ...], status: int = 200, **more: Any) -> Row:
    return Row(allowed, status, "get", **more)


def post(allowed: tuple[str, ...], status: int = 302, **more: Any) -> Row:
    return Row(allowed, status, "post", **more)


PUBLIC = (*ROLES,)
SCREENS: dict[str, Row] = {
    "home": get(EVERYBODY_SIGNED_IN),
    "corpus-home": get(EVERYBODY_SIGNED_IN),
    "annotate-home": get(EVERYBODY_SIGNED_IN),
    "debate-home": get(EVERYBODY_SIGNED_IN),
    "account": get(EVERYBODY_SIGNED_IN),
    "account-token": post(EVERYBODY_SIGNED_IN),
    "sign-in": get(("nobody",), special=dict.fromkeys(EVERYBODY_SIGNED_IN, 302)),
    "sign-in-link": get(PUBLIC),
    "sign-out": post(EVERYBODY_SIGNED_IN),
    "favicon": get(PUBLIC, 302),
    "benchmark-new": get((), special=dict.fromkeys(EVERYBODY_SIGNED_IN, 403)),
    "benchmark": get(MEMBERS),
    "people": get(ADMIN),
    "person": get(ADMIN),
    "person-link": post(ADMIN, 200),
    "person-remove": post(ADMIN),
    "imports": get(ADMIN),
    "import-run": get(ADMIN),
    "import-cancel": post(ADMIN),
    "queries": get(MEMBERS),
    "query": get(MEMBERS),
    "aspect-add": post(OWN),
    "aspect-save": post(OWN, body={"version": 1, "content": "x", "rationale": "", "weight": 3}),
    "aspect-remove": post(OWN),
    "aspect-restore": post(OWN),
    "aspect-move": post(OWN, body={"direction": "up"}),
    "aspect-split": get(OWN),
    "aspect-merge": get(OWN),
    "aspect-history": get(MEMBERS),
    "change-undo": post(OWN),
    "query-scale": get(OWN),
    "weight-scale": post(ADMIN),
    "audit": get(MEMBERS),
    "problem-tag": post(OWN),
    "problem-untag": post(OWN),
    "passage-remake": get(OWN),
    "passage-assign": post(OWN, body={"aspect": "{aspect}"}),
    "passage-discard": post(OWN, body={"reason": "noise"}),
    "passage-undo": post(OWN),
    "query-claim": post(OWN),
    "query-release": post(OWN),
    "query-submit": get(OWN),
    "query-take-back": post(OWN),
    "query-time": post(OWN, 400),
    "query-beside": get(OWN),
    "query-beside-attach": post(OWN, body={"aspect": "{aspect}"}),
    "queue": get(ANNOTATORS),
    "queue-next": post(ANNOTATORS),
    "assignments": get(ADMIN),
    "assignment": get(ADMIN),
    "assignment-take-away": post(ADMIN),
    "progress": get(ADMIN),
    "drafts": get(EVERYBODY_SIGNED_IN),
    "draft-discard": post(OWN, special=dict.fromkeys((*NOT_MINE, "stranger"), 404)),
    "guidelines": get(MEMBERS),
    "collect": get(OWN),
    "collect-url": post(OWN, 422),
    "collect-text": post(OWN, 422),
    "collect-file": post(OWN, 422),
    "fetch-stop": post(OWN),
    "collect-page": get(OWN),
    "segment-add": post(OWN),
    "segment-undo": post(OWN),
    "segment-move": post(OWN),
    "passages": get(MEMBERS),
    "passage": get(MEMBERS),
    "documents": get(MEMBERS),
    "document": get(MEMBERS),
    "judgments": get(MEMBERS),
    "gold-versions": get(MEMBERS),
    "retrieval-runs": get(MEMBERS),
    "retrieval-run": get(MEMBERS),
    "run-computations": get(ADMIN),
    "run-computation": get(ADMIN),
    "run-computation-verb": post(ADMIN, kwargs={"verb": "cancel"}),
    "ranked-list": get(MEMBERS),
    "pools": get(READERS),
    "pool-new": get(ADMIN),
    "pool": get(READERS),
    "pool-build": get(ADMIN),
    "pool-build-cancel": post(ADMIN),
    "versions": get(READERS),
    "version": get(READERS),
    "version-passage": get(READERS),
    # Versions: current, searched, compared.
    "version-take-up": get(ADMIN),
    "version-undo": post(ADMIN),
    "version-search": get(READERS),
    "api-version-current": get(MEMBERS),
    "api-version-take-up": post(ADMIN, 400),
    "api-version-undo": post(ADMIN, 400),
    "api-version-search": get(READERS),
    "leaderboard-versions": get(MEMBERS),
    "leaderboard-versions-csv": get(MEMBERS, 302),
    "leaderboard-versions-query": get(MEMBERS),
    "leaderboard-versions-matched": get(MEMBERS, 302),
    "api-leaderboard-versions": get(MEMBERS, 409),
    "cleaning-new": get(ADMIN),
    "cleaning-forecast": get(ADMIN),
    "cleaning": get(READERS),
    "cleaning-pause": post(ADMIN),
    "cleaning-resume": post(ADMIN),
    "cleaning-cancel": post(ADMIN),
    "cleaning-budget": post(ADMIN),
    "cleaning-pages": get(READERS),
    "cleaning-report": get(READERS),
    "cleaning-table": get(READERS, kwargs={"name": "retention"}),
    # Rows behind a cleaning's numbers; without one of them there is nothing to list.
    "cleaning-rows": get(READERS, 302),
    "cleaning-violations": get(READERS),
    "cleaning-violation-next": get(READERS, 302),
    "cleaning-violation": get(READERS),
    "cleaning-violation-decide": post(READERS),
    "vote": get(MEMBERS, special={"annotator": 302}),
    "vote-case": get(OWN),
    "vote-undo": post(ANNOTATORS),
    "vote-consent": get(ANNOTATORS),
    "vote-batches": post(ANNOTATORS),
    "vote-batch": get(OWN, special={"outsider": 404}),
    "vote-batch-hand-in": post(OWN, special={"outsider": 404}),
    "vote-batch-return": post(OWN, special={"outsider": 404}),
    "vote-item": get(OWN, special={"outsider": 404}),
    "voting": get(ADMIN),
    "voting-arms": get(ADMIN),
    "voting-pay": get(ADMIN),
    "voting-arms-items": get(ADMIN, 404),
    # Reference panels.
    "panels": get(MEMBERS),
    "panel-new": get(ADMIN),
    "panel": get(READERS),
    "panel-open": post(ADMIN),
    "panel-close": post(ADMIN),
    "panel-items": get(READERS),
    "panel-table": get(READERS, kwargs={"name": "labels"}),
    "panel-label": get(ANNOTATORS, 302, special={"outsider": 200}),
    "panel-practice": post(OWN),
    "panel-item": get(ANNOTATORS, special={"outsider": 302}),
    "spot-checks": get(READERS, 302),
    "spot-check": get(READERS),
    "override-log": get(READERS),
    "override-log-csv": get(READERS),
    "panel-hints": get(ADMIN),
    "hint-run-pause": post(ADMIN),
    "hint-run-resume": post(ADMIN),
    "hint-run-cancel": post(ADMIN),
    "hint-run-budget": post(ADMIN),
    "disputes": get(READERS),
    "dispute": get(READERS),
    "debate-runs": get(READERS),
    "debate-run-new": get(ADMIN),
    "debate-run": get(READERS),
    "debate-run-pause": post(ADMIN),
    "debate-run-resume": post(ADMIN),
    "debate-run-cancel": post(ADMIN),
    "debate-run-retry": post(ADMIN),
    "debate-run-spending": get(READERS),
    "debate-run-budget": post(ADMIN),
    "debate-run-adoption": get(READERS),
    "debate-run-unadopt": post(ADMIN),
    "debate-run-keep": post(ADMIN),
    "debate-run-report": get(READERS),
    "debate-run-audit": post(ADMIN),
    "debate-run-canaries": post(ADMIN),
    "prompts": get(ADMIN),
    "prompt-adopt": post(ADMIN),
    "trial": get(ADMIN),
    "trial-cancel": post(ADMIN),
    "debate-run-table": get(READERS, kwargs={"name": "cost"}),
    "debate-run-requeue": post(ADMIN),
    "debate-requeue": post(ADMIN),
    "debates": get(READERS),
    "debates-csv": get(READERS),
    "debate": get(READERS),
    "experiments": get(READERS),
    "experiment": get(READERS),
    "experiment-csv": get(READERS),
    "experiment-delete": post(ADMIN),
    "qualification": get(ANNOTATORS),
    "exam-start": post(OWN),
    "exam": get(OWN, special={"outsider": 404}),
    "qualification-rules": get(ADMIN),
    "exam-bank": get(ADMIN),
    "exam-item": get(ADMIN),
    "exam-item-retire": post(ADMIN),
    "reviews": get(MEMBERS),
    "review-start": post(REVIEWER),
    "review": get(PARTS),
    "review-scores": post(PARTS, 422, special={"reviewer": 422}),
    "review-aspects": post(PARTS, body={"key": "sound", "fine": "1"}, special=NOT_THEIRS),
    "review-weight": post(PARTS, body={"weight": "3"}, special=NOT_THEIRS),
    "review-passage": post(PARTS, body={"keep": "1"}, special=NOT_THEIRS),
    "review-point": post(
        PARTS, body={"do": "agree"}, special={"annotator": 302, "reviewer": 403, "admin": 403}
    ),
    "review-move": post(PARTS, kwargs={"verb": "accept"}, special=NOT_THEIRS),
    "rescoring": get(REVIEWER),
    "rescore-samples": get(ADMIN),
    "agreement": get(READERS),
    "agreement-of": get(READERS, kwargs={"what": "votes"}),
    "agreement-items": get(READERS, kwargs={"what": "votes"}),
    "agreement-table": get(READERS, kwargs={"what": "votes", "name": "coefficients"}),
    "leaderboard": get(MEMBERS),
    "leaderboard-csv": get(MEMBERS, 302),
    "leaderboard-refresh": post(MEMBERS),
    "leaderboard-progress": get(MEMBERS, 302),
    "leaderboard-compare": get(MEMBERS),
    "leaderboard-run": get(MEMBERS),
    "leaderboard-query": get(MEMBERS),
    "noise-checks": get(READERS),
    "noise-check": get(READERS),
    "known-systems": get(MEMBERS),
    "published-tables": get(MEMBERS),
    "published-table": get(MEMBERS, kwargs={"name": "dream-hole10"}),
    "holes": get(MEMBERS),
    "holes-csv": get(MEMBERS, 302),
    "holes-debate": post(ADMIN, 422),
    "releases": get(ADMIN),
    "release": get(ADMIN),
    "release-cancel": post(ADMIN),
    "release-retry": post(ADMIN),
    "release-diff": get(ADMIN),
    "release-changelog": get(ADMIN),
    "release-archive": get(ADMIN),
    "release-file": get(ADMIN),
}
API: dict[str, Row] = {
    "api-schema": get(PUBLIC),
    "api-docs": get(PUBLIC),
    "api-benchmarks": get(EVERYBODY_SIGNED_IN),
    "api-benchmark": get(MEMBERS),
    "api-people": get(ADMIN),
    "api-person": Row(ADMIN, 400, "put"),
    "api-person-link": post(ADMIN, 200),
    "api-queries": get(MEMBERS),
    "api-passages": get(MEMBERS),
    "api-documents": get(MEMBERS),
    "api-document": get(MEMBERS),
    "api-judgments": get(MEMBERS),
    "api-gold-versions": get(MEMBERS),
    "api-retrieval-runs": get(MEMBERS),
    "api-retrieval-run": get(MEMBERS),
    "api-ranked-lists": get(MEMBERS),
    "api-run-computations": get(ADMIN),
    "api-run-computation": get(ADMIN),
    "api-run-computation-cancel": post(ADMIN, 200),
    "api-run-computation-retry": post(ADMIN, 409),
    "api-run-computation-budget": Row(ADMIN, 400, "put"),
    "api-pools": get(READERS),
    "api-pool": get(READERS),
    "api-pool-builds": get(ADMIN),
    "api-pool-build": get(ADMIN),
    "api-pool-build-cancel": post(ADMIN, 200),
    "api-pool-pairs": get(READERS),
    "api-versions": get(READERS),
    "api-version-labels": get(READERS),
    "api-version-passage": get(READERS),
    "api-cleanings": get(READERS),
    "api-cleaning-forecast": get(ADMIN),
    "api-cleaning": get(READERS),
    "api-cleaning-budget": Row(ADMIN, 400, "put"),
    "api-cleaning-report": get(READERS),
    "api-cleaning-rows": get(READERS, 404),
    "api-cleaning-violations": get(READERS),
    "api-cleaning-violation": post(READERS, 400),
    "api-cleaning-verb": post(ADMIN, 409, kwargs={"verb": "pause"}),
    "api-imports": get(ADMIN),
    "api-import-folder": get(ADMIN),
    "api-import": get(ADMIN),
    "api-import-cancel": post(ADMIN, 200),
    "api-aspects": get(MEMBERS),
    "api-gold-passages": get(MEMBERS),
    "api-aspect": Row(OWN, 400, "put"),
    "api-aspect-restore": post(OWN, 204),
    "api-aspect-move": post(OWN, 400),
    "api-aspect-split": post(OWN, 400),
    "api-aspect-merge": post(OWN, 400),
    "api-aspect-history": get(MEMBERS),
    "api-change-undo": post(OWN, 201),
    "api-query-scale": post(OWN, 400),
    "api-query-missing": get(MEMBERS),
    "api-weight-scale": get(MEMBERS),
    "api-audit": get(MEMBERS),
    "api-query-problems": get(MEMBERS),
    "api-query-problem": Row(OWN, 204, "delete"),
    "api-query-remake": get(MEMBERS),
    "api-passage-assign": post(OWN, 400),
    "api-passage-discard": post(OWN, 400),
    "api-passage-undo": post(OWN, 204),
    "api-queue": get(ANNOTATORS),
    "api-queue-next": post(ANNOTATORS, 201, special={"outsider": 409}),
    "api-query-work": get(MEMBERS),
    "api-query-time": get(OWN),
    "api-query-beside": get(OWN),
    "api-assignments": get(ADMIN),
    "api-assignment": Row(ADMIN, 400, "put"),
    "api-progress": get(ADMIN),
    "api-drafts": get(EVERYBODY_SIGNED_IN),
    "api-draft": Row(OWN, 204, "delete", special=dict.fromkeys((*NOT_MINE, "stranger"), 404)),
    "api-guidelines": get(MEMBERS),
    "api-fetches": get(OWN),
    "api-fetch-stop": post(OWN, 200),
    "api-pages": get(OWN),
    "api-page-files": post(OWN, 415),
    "api-page": get(OWN),
    "api-segments": post(OWN, 400),
    "api-cases": get(READERS),
    "api-next-case": get(ANNOTATORS),
    "api-first-judgment": post(OWN, 400),
    "api-leave-case": post(OWN, 204),
    "api-voting-terms": get(ANNOTATORS),
    "api-voting-plan": get(ADMIN),
    "api-voting-arms": get(ADMIN),
    "api-voting-pay": get(ADMIN),
    "api-voting-arms-items": get(ADMIN, 404),
    "api-rejected-batches": get(ADMIN),
    # Reference panels.
    "api-panels": get(MEMBERS),
    "api-panel": get(READERS),
    "api-panel-open": post(ADMIN, 409),
    "api-panel-close": post(ADMIN, 200),
    "api-panel-items": get(READERS),
    "api-panel-next": get(ANNOTATORS),
    "api-panel-practice": post(ANNOTATORS, 400),
    "api-panel-label": post(ANNOTATORS, 400),
    "api-panel-next-check": get(READERS),
    "api-panel-check": post(READERS, 400),
    "api-panel-overrides": get(READERS),
    "api-hint-runs": get(ADMIN),
    "api-hint-run": get(ADMIN),
    "api-hint-run-verb": post(ADMIN, 200, kwargs={"verb": "pause"}),
    "api-hint-run-budget": post(ADMIN, 400),
    "api-batches": get(ANNOTATORS),
    "api-batch": get(OWN, special={"outsider": 404}),
    "api-batch-item": get(OWN, special={"outsider": 404}),
    "api-batch-hand-in": post(OWN, 409, special={"outsider": 404}),
    "api-batch-return": post(OWN, 200, special={"outsider": 404}),
    "api-votes": post(OWN, 400),
    "api-vote": Row(ANNOTATORS, 404, "delete"),
    "api-debate-runs": get(READERS),
    "api-debate-run": get(READERS),
    "api-debate-run-verb": post(ADMIN, 200, kwargs={"verb": "pause"}),
    "api-debate-run-room": get(READERS),
    "api-debate-run-report": get(READERS),
    "api-debate-run-audits": post(ADMIN, 400),
    "api-debate-run-canaries": post(ADMIN, 400),
    "api-prompts": get(ADMIN),
    "api-prompt-adopt": post(ADMIN, 200),
    "api-trial": get(ADMIN),
    "api-trial-cancel": post(ADMIN, 200),
    "api-debate-run-requeue": post(ADMIN, 400),
    "api-debate-run-plan": post(ADMIN, 400),
    "api-debate-run-forecast": get(READERS, 409),
    "api-debate-run-budget": post(ADMIN, 400),
    "api-debate-run-adoption": get(READERS, 409),
    "api-debate-run-unadopt": post(ADMIN, 409),
    "api-debate-run-keep": post(ADMIN, 409),
    "api-debate-requeue": post(ADMIN, 409),
    "api-debates": get(READERS),
    "api-debate": get(READERS),
    "api-experiments": get(READERS),
    "api-experiment": get(READERS),
    "api-qualification": get(ANNOTATORS),
    "api-exam-start": post(OWN, 409),
    "api-exam": get(OWN, special={"outsider": 404}),
    "api-exam-bank": get(ADMIN),
    "api-exam-draw": post(ADMIN, 400),
    "api-exam-item": get(ADMIN),
    "api-qualification-rule": get(ADMIN),
    "api-qualification-people": get(ADMIN),
    "api-approvals": post(ADMIN, 400),
    "api-rechecks": post(ADMIN, 400),
    "api-reviews": get(MEMBERS),
    "api-review-start": post(REVIEWER, 409),
    "api-review": get(PARTS),
    "api-review-scores": post(PARTS, 400),
    "api-review-aspects": post(PARTS, 400),
    "api-review-weight": post(PARTS, 400),
    "api-review-passage": post(PARTS, 400),
    "api-review-point": post(PARTS, 400),
    "api-review-move": post(PARTS, 409, kwargs={"verb": "accept"}, special=NOT_THEIRS),
    "api-rescoring": get(REVIEWER),
    "api-rescoring-scores": post(REVIEWER, 400),
    "api-rescore-samples": get(ADMIN),
    "api-agreement": get(READERS, kwargs={"what": "votes"}),
    "api-agreement-items": get(READERS, kwargs={"what": "votes"}),
    "api-leaderboard": get(MEMBERS, 409),
    "api-leaderboard-compare": get(MEMBERS, 409),
    "api-leaderboard-run": get(MEMBERS, 409),
    "api-noise-checks": get(READERS),
    "api-noise-check": get(READERS),
    "api-known-systems": get(MEMBERS),
    "api-published-tables": get(MEMBERS),
    "api-published-table": get(MEMBERS, kwargs={"name": "dream-hole10"}),
    "api-holes": get(MEMBERS, 409),
    "api-holes-debate": post(ADMIN, 400),
    "api-releases": get(ADMIN),
    "api-release": get(ADMIN),
    "api-release-cancel": post(ADMIN, 409),
    "api-release-retry": post(ADMIN, 409),
    "api-release-diff": get(ADMIN),
    "api-release-archive": get(ADMIN),
    "api-release-file": get(ADMIN),
}
# Adjudication and feedback to voters. Nothing waits in this world, and no vote of it counts yet.
SCREENS |= {
    "adjudication": get(READERS),
    "adjudication-next": get(READERS, 302),
    "adjudication-undo": post(READERS),
    "adjudicate": get(READERS, 404, kwargs={"name": "majority-0"}),
    "feedback": get(ANNOTATORS),
    "feedback-seen": post(ANNOTATORS),
    "feedback-vote": get(ANNOTATORS, 404),
    "feedback-of": get(ADMIN),
}
API |= {
    "api-adjudication": get(READERS),
    "api-decisions": get(READERS),
    "api-decision": Row(READERS, 404, "delete"),
    "api-adjudicate": get(READERS, 404, kwargs={"name": "majority-0"}),
    "api-feedback": get(ANNOTATORS),
    "api-feedback-seen": post(ANNOTATORS, 204),
    "api-feedback-votes": get(ANNOTATORS),
    "api-feedback-vote": get(ANNOTATORS, 404),
    "api-feedback-of": get(ADMIN),
}
# Reference answers. Who may choose one: its annotators, and admins.
CHOOSERS = ("annotator", "admin")
ANSWERS: dict[str, Row] = {
    "answers": get(MEMBERS),
    "answer": get(MEMBERS),
    "answer-check": post(MEMBERS, 200),
    "answer-history": get(MEMBERS),
    "answer-restore": post(OWN),
    "answer-choose": post(CHOOSERS),
    "answer-unchoose": post(CHOOSERS),
    "answer-review": post(REVIEWER),
    "answer-generate": post(CHOOSERS),
    "answer-rate": get(REVIEWER),
    "answer-runs": get(READERS),
    "answer-run-new": get(ADMIN),
    "answer-forecast": get(ADMIN),
    "answer-run": get(ADMIN),
    "answer-run-budget": post(ADMIN),
    "answer-run-choose": post(ADMIN),
    "answer-run-pause": post(ADMIN),
    "answer-run-resume": post(ADMIN),
    "answer-run-cancel": post(ADMIN),
    "comparisons": get(READERS),
    "comparison": get(READERS),
    "comparison-close": post(ADMIN),
    "comparison-ratings": get(READERS),
    "comparison-table": get(READERS, kwargs={"name": "means"}),
    "api-answers": get(MEMBERS),
    "api-answer-check": post(MEMBERS, 400),
    "api-answer-restore": post(OWN, 400),
    "api-answer-choose": post(CHOOSERS, 200),
    "api-answer-unchoose": post(CHOOSERS, 409),
    "api-answer-reviews": get(MEMBERS),
    "api-answer-generate": post(CHOOSERS, 409),
    "api-answer-pair-next": get(REVIEWER),
    "api-answer-pair": get(REVIEWER, 404),
    "api-answer-runs": get(ADMIN),
    "api-answer-forecast": get(ADMIN),
    "api-answer-run": get(ADMIN),
    "api-answer-items": get(ADMIN),
    "api-answer-run-budget": Row(ADMIN, 400, "put"),
    "api-answer-run-choose": post(ADMIN, 200),
    "api-answer-run-verb": post(ADMIN, 200, kwargs={"verb": "pause"}),
    "api-comparisons": get(READERS),
    "api-comparison-close": post(ADMIN, 409),
    "api-comparison-report": get(READERS),
    "api-comparison-ratings": get(READERS),
}
ANSWERS_BY_OTHER_METHODS: list[tuple[str, Row]] = [
    ("answer", post(OWN, 422)),
    ("answer-rate", post(REVIEWER)),
    ("answer-run-new", post(ADMIN, 422)),
    ("comparisons", post(ADMIN, 422)),
    ("api-answers", post(OWN, 400)),
    ("api-answer-reviews", post(REVIEWER, 400)),
    ("api-answer-pair", post(REVIEWER, 404)),
    ("api-answer-runs", post(ADMIN, 409)),
    ("api-comparisons", post(ADMIN, 201)),
]
ROWS = SCREENS | API | ANSWERS
# More than one method on one address: the others have rows here.
OTHER_METHODS: list[tuple[str, Row]] = [
    ("adjudicate", post(READERS, kwargs={"name": "majority-0"})),
    ("api-adjudicate", post(READERS, 404, kwargs={"name": "majority-0"})),
    ("feedback-of", post(ADMIN, 422)),
    ("api-feedback-of", post(ADMIN, 400)),
    ("benchmark-new", post((), special=dict.fromkeys(EVERYBODY_SIGNED_IN, 403))),
    ("people", post(ADMIN, 422)),
    ("person", post(ADMIN, 422)),
    ("imports", post(ADMIN, 422)),
    ("pool-new", post(ADMIN, 422)),
    ("vote-consent", post(ANNOTATORS, 200)),
    ("vote-item", post(OWN, 422, special={"outsider": 404})),
    ("voting", post(ADMIN, 422)),
    ("api-voting-terms", post(ANNOTATORS, 400)),
    ("api-voting-plan", post(ADMIN, 400)),
    ("api-batches", post(ANNOTATORS, 409)),
    ("api-batch-item", post(OWN, 400, special={"outsider": 404})),
    ("run-computations", post(ADMIN, 422)),
    ("api-run-computations", post(ADMIN, 400)),
    ("cleaning-new", post(ADMIN, 422)),
    ("api-cleanings", post(ADMIN, 400)),
    ("vote-case", post(OWN, 422)),
    ("debate-run-new", post(ADMIN, 422)),
    ("debate-run-adoption", post(ADMIN)),
    ("prompts", post(ADMIN, 422)),
    ("releases", post(ADMIN, 422)),
    ("noise-checks", post(READERS, 422)),
    ("api-noise-checks", post(READERS, 400)),
    ("api-leaderboard", post(MEMBERS, 202)),
    ("leaderboard-versions-matched", post(MEMBERS)),
    ("api-leaderboard-versions", post(MEMBERS, 409)),
    ("experiments", post(ADMIN, 422)),
    ("exam", post(OWN, 302, special={"outsider": 404})),
    ("qualification-rules", post(ADMIN, 422)),
    ("exam-bank", post(ADMIN, 422)),
    ("api-exam", post(OWN, 400, special={"outsider": 404})),
    ("api-exam-bank", post(ADMIN, 400)),
    ("api-exam-item", Row(ADMIN, 204, "delete")),
    ("api-qualification-rule", Row(ADMIN, 400, "put")),
    ("rescoring", post(REVIEWER, 302)),
    ("rescore-samples", post(ADMIN, 422)),
    ("api-rescore-samples", post(ADMIN, 201)),
    ("api-experiments", post(ADMIN, 400)),
    ("api-experiment", Row(ADMIN, 204, "delete")),
    ("account", post(EVERYBODY_SIGNED_IN, 422)),
    ("api-benchmarks", post((), special=dict.fromkeys(EVERYBODY_SIGNED_IN, 403))),
    ("api-people", post(ADMIN, 400)),
    ("api-person", Row(ADMIN, 204, "delete")),
    ("api-imports", post(ADMIN, 400)),
    ("api-pools", post(ADMIN, 400)),
    ("api-aspects", post(OWN, 201)),
    ("api-aspect", Row(OWN, 204, "delete")),
    ("query-submit", post(OWN, 422)),
    ("assignments", post(ADMIN, 422)),
    ("assignment", post(ADMIN, 422)),
    ("api-query-work", post(OWN, 400)),
    ("api-query-time", post(OWN, 400)),
    ("api-assignments", post(ADMIN, 400)),
    ("api-assignment", Row(ADMIN, 204, "delete")),
    ("api-drafts", Row(EVERYBODY_SIGNED_IN, 400, "put")),
    ("guidelines", post(ADMIN, 422)),
    ("aspect-split", post(OWN, 422)),
    ("aspect-merge", post(OWN, 200)),
    ("query-scale", post(OWN, 422)),
    ("passage-remake", post(OWN, 422)),
    ("api-weight-scale", Row(ADMIN, 400, "put")),
    ("api-query-problems", post(OWN, 400)),
    ("api-query-remake", post(OWN, 400)),
    ("api-guidelines", post(ADMIN, 400)),
    ("api-fetches", post(OWN, 400)),
    ("api-pages", post(OWN, 400)),
    ("api-debate-runs", post(ADMIN, 400)),
    ("api-debate-run-adoption", post(ADMIN, 409)),
    ("api-prompts", post(ADMIN, 400)),
    ("panel-new", post(ADMIN, 422)),
    ("panel-item", post(ANNOTATORS, 422, special={"outsider": 302})),
    ("spot-check", post(READERS, 422)),
    ("panel-hints", post(ADMIN, 422)),
    ("api-panels", post(ADMIN, 400)),
    ("api-hint-runs", post(ADMIN, 400)),
    ("api-releases", post(ADMIN, 400)),
    *ANSWERS_BY_OTHER_METHODS,
]


def route_names() -> set[str]:
    return {pattern.name or str(pattern.pattern) for pattern in patterns(get_resolver())}


def patterns(resolver: URLResolver) -> Iterator[URLPattern]:
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLResolver):
            yield from patterns(pattern)
        else:
            yield pattern


@pytest.fixture(scope="module")
def made(tmp_path_factory, undone_database: None) -> SimpleNamespace:
    """The world of all cases here: each undoes what its requests did."""
    world = make_everything(tmp_path_factory.mktemp("release"))
    world.sessions = {role: session_of(person) for role, person in world.people.items()}
    return world


@pytest.fixture
def world(db: None, made: SimpleNamespace) -> SimpleNamespace:
    """The same to each test, which may add to it: that is undone."""
    return made


def make_everything(folder: Path) -> SimpleNamespace:
    """One of everything that an address can name, all in the domain biology."""
    benchmark = make_benchmark(domains=("biology", "robotics"))
    people = {
        "stranger": make_user("stranger"),
        "annotator": make_member(benchmark, "annotator", "annotator", domains=("biology",)),
        "outsider": make_member(benchmark, "outsider", "annotator", domains=("robotics",)),
        "reviewer": make_member(benchmark, "reviewer", "reviewer"),
        "admin": make_member(benchmark, "admin", "admin"),
    }
    # Made by the benchmark itself: only such an account gets a new link from its admin.
    member, _ = add_person(benchmark=benchmark, username="spare", roles=["annotator"], actor=None)
    spare = member.user
    query, passage = make_query(benchmark), make_passage(benchmark)
    make_gold(query, passage)
    aspect = Aspect.objects.create(query=query, k=1, position=1, content="One point.")
    empty = Aspect.objects.create(query=query, k=2, position=2, content="Another point.")
    GoldPassage.objects.create(aspect=aspect, query=query, passage=passage)
    case = EscalationCase.objects.create(origin="debate:1", query=query, passage=passage)
    batch = open_batch_of(people["annotator"], benchmark, case)
    pool = make_pool(benchmark, (query, passage))
    run = DebateRun.objects.create(
        benchmark=benchmark, pool=pool, name="run", endpoint="practice", model="m"
    )
    panel = ReferencePanel.objects.create(
        benchmark=benchmark, name="experts", seed=1, practice_items=0, status="open"
    )
    open_case, undecided = (
        EscalationCase.objects.create(
            origin=f"panel:{n}", kind="reference", query=query, status=status,
            passage=make_passage(benchmark, f"panel/{n}"),
        )
        for n, status in enumerate(("open", "expert"))
    )  # fmt: skip
    (folder / "README.md").write_text("card")
    release = Release.objects.create(
        benchmark=benchmark,
        version="0.1.0",
        status="done",
        folder=str(folder),
        files={"README.md": "0"},
    )
    experiment = Experiment.objects.create(benchmark=benchmark, name="e", reference="people")
    experiment.runs.add(run)
    text = (PROMPTS / "debate_turn.txt").read_text() + "Be brief."
    prompt = write_prompt(benchmark=benchmark, text=text, actor=people["admin"])
    queued = ImportRun.objects.create(benchmark=benchmark, format="bright", path="x", label="x")
    ranked = make_ranking(query, passage.pid)
    version = CorpusVersion.objects.current(benchmark)
    cleaning = CleaningRun.objects.create(
        benchmark=benchmark, source=version, version=version, name="c", preset="marcus",
        status="done",
    )  # fmt: skip
    cleaned = CleanedPage.objects.create(run=cleaning, domain=query.domain, page_id="page/a.txt")
    place = {"start": 0, "end": 1, "out_start": 0, "out_end": 1}
    violation = Violation.objects.create(
        page=cleaned, stage="safe_clean", part=0, window=0, number=0, kind="changed", **place
    )
    page = collect_text(query=query, text="A page.", actor=people["annotator"])
    exam_item = ExamItem.objects.create(domain=query.domain, question="q", passage="p", label=1)
    attempt = ExamAttempt.objects.create(
        person=people["annotator"], domain=query.domain, pass_mark=90, status="failed"
    )
    review = Review.objects.create(
        query=query, reviewer=people["reviewer"], status=ReviewStatus.CHECKING
    )
    point = ReviewPoint.objects.create(review=review, kind="aspects", key="sound", status="fine")
    sample = RescoreSample.objects.create(benchmark=benchmark, seed=1, size=1)
    task = RescoreTask.objects.create(sample=sample, query=make_query(benchmark, "2"), place=0)
    Aspect.objects.create(query=task.query, k=1, position=1, content="Of another query.")
    fetch = collect_url(query=query, url="https://page.test", actor=people["annotator"])
    held = claim_query(query=make_query(benchmark, "held"), actor=people["annotator"])
    compared = AnswerComparison.objects.create(
        benchmark=benchmark, seed=1, size=1, created_by=people["admin"], closed_at=timezone.now()
    )
    drafted = {"place": "/b/demo/queries/1/collect/text/", "name": "text"}
    return SimpleNamespace(
        answer=ReferenceAnswer.objects.create(
            query=query, author="person", version=1, text="So.", created_by=people["annotator"]
        ),
        answer_run=AnswerRun.objects.create(
            benchmark=benchmark,
            endpoint="practice",
            model="m",
            config={"prompt": "", "temperature": 0},
        ),
        comparison=compared,
        pair=AnswerPair.objects.create(comparison=compared, query=query, place=0),
        assignment=held,
        draft=keep_draft(person=people["annotator"], text="typed", **drafted),
        document=make_document(benchmark),
        ranked=ranked,
        version=version,
        cleaning=cleaning,
        violation=violation,
        page=page,
        change=AspectChange.objects.create(
            query=query, kind="add", after=[{"pk": empty.pk, "k": 2, "content": "", "scale": ""}]
        ),
        tag=ProblemTag.objects.create(query=query, problem="incomplete_gold"),
        exam_item=exam_item,
        attempt=attempt,
        review=review,
        point=point,
        task=task,
        fetch=fetch,
        people=people,
        token=create_link(user=spare),
        membership=member,
        query=query,
        passage=passage,
        aspect=empty,
        case=case,
        run=run,
        pool=pool,
        pool_build=PoolBuild.objects.create(benchmark=benchmark, runs=[ranked.run_id], depth=10),
        debate=Debate.objects.create(run=run, query=query, passage=passage),
        release=release,
        experiment=experiment,
        panel=panel,
        item=ReferenceItem.objects.create(panel=panel, case=open_case),
        undecided=ReferenceItem.objects.create(panel=panel, case=undecided),
        hint_run=HintRun.objects.create(
            panel=panel, endpoint="practice", model="m", prompt_version=1
        ),
        prompt=prompt,
        trial=Trial.objects.create(run=run, kind="prompt", prompt=prompt, seed=1),
        import_run=queued,
        noise=NoiseCheck.objects.create(
            benchmark=benchmark, metric="nDCG@10", view="base", if_relevant=1, if_not=0
        ),
        computation=RunComputation.objects.create(benchmark=benchmark, name="c", method="bm25"),
        vote=Vote.objects.create(case=case, voter=spare, label=1),
        batch=batch,
    )


def open_batch_of(voter: User, benchmark: Benchmark, case: EscalationCase) -> Batch:
    """A batch of one item, taken under a plan that has gone since."""
    plan = VotingPlan.objects.create(benchmark=benchmark, version=1, batch_size=1)
    batch = Batch.objects.create(plan=plan, voter=voter, size=1, expires_at=timezone.now())
    BatchItem.objects.create(batch=batch, place=1, case=case)
    VotingPlan.objects.create(benchmark=benchmark, version=2)
    return batch


def address(name: str, row: Row, world: SimpleNamespace) -> str:
    """The route's URL, its arguments filled from the world."""
    if name == "favicon":
        return "/favicon.ico"
    keys: list[tuple[str, Any]] = [
        ("answer-run", world.answer_run),
        ("answer-items", world.answer_run),
        ("answer-pair", world.pair),
        ("answer", world.query),
        ("comparison", world.comparison),
        ("panel", world.panel),
        ("spot-check", world.panel),
        ("override-log", world.panel),
        ("hint-runs", world.panel),
        ("hint-run", world.hint_run),
        ("person", world.membership),
        ("import", world.import_run),
        ("assignment", world.assignment),
        ("draft", world.draft),
        ("exam-start", world.query.domain),
        ("exam-item", world.exam_item),
        ("exam", world.attempt),
        ("review-start", world.query),
        ("review", world.review),
        ("rescoring", world.task),
        ("query", world.query),
        ("gold-passages", world.query),
        ("aspects", world.query),
        ("aspect-history", world.query),
        ("change-undo", world.query),
        ("problem-", world.query),
        ("aspect-add", world.query),
        ("collect", world.query),
        ("fetch", world.query),
        ("segment", world.query),
        ("page", world.query),
        ("aspect", world.aspect),
        ("passage-", world.query),
        ("passage", world.passage),
        ("votes", world.case),
        ("vote-case", world.case),
        ("first-judgment", world.case),
        ("leave-case", world.case),
        ("vote-batch", world.batch),
        ("vote-item", world.batch),
        ("batch", world.batch),
        ("vote", world.vote),
        ("dispute", world.case),
        ("feedback-of", world.people["annotator"]),
        ("feedback-vote", world.vote),
        ("decision", world.vote),
        ("debate", world.run),
        ("release", world.release),
        ("leaderboard", world.ranked.run),
        ("noise", world.noise),
        ("experiment", world.experiment),
        ("prompt", world.prompt),
        ("trial", world.trial),
        ("document", world.document),
        ("run-computation", world.computation),
        ("retrieval-run", world.ranked.run),
        ("ranked-list", world.ranked.run),
        ("pool-build", world.pool_build),
        ("pool", world.pool),
        ("version", world.version),
        ("cleaning", world.cleaning),
    ]
    short = name.removeprefix("api-")
    pk = next((thing.pk for prefix, thing in keys if short.startswith(prefix)), None)
    offered = {
        "slug": "demo",
        "pk": pk,
        "answer_pk": world.answer.pk,
        "passage_pk": world.passage.pk,
        "query_pk": world.query.pk,
        "violation_pk": world.violation.pk,
        "page_pk": world.page.pk,
        "change_pk": world.change.pk,
        "tag_pk": world.tag.pk,
        "fetch_pk": world.fetch.pk,
        "debate": world.debate.pk,
        "place": 1,
        "aspect_pk": world.aspect.pk,
        "domain": world.query.domain_id,
        "item": (world.undecided if "check" in name else world.item).pk,
        "point_pk": world.point.pk,
        "token": world.token,
        "path": "README.md",
        "older": world.release.pk,
        **row.kwargs,
    }
    wanted = next(p for p in patterns(get_resolver()) if p.name == name).pattern.converters
    return reverse(name, kwargs={key: offered[key] for key in wanted})


def expected(name: str, row: Row, role: str) -> int:
    if role in row.special:
        return row.special[role]
    if role in row.allowed:
        return row.status
    if role == "nobody":
        return 401 if name.startswith("api-") else 302
    return 404 if role == "stranger" else 403


def session_of(user: User) -> str:
    """The cookie of a signed-in person."""
    client = Client()
    client.force_login(user)
    return client.cookies[settings.SESSION_COOKIE_NAME].value


def answer(session: str | None, method: str, url: str, body: dict[str, Any]) -> int:
    """The status, with everything that the request did undone."""
    client = Client(raise_request_exception=False)
    if session:
        client.cookies[settings.SESSION_COOKIE_NAME] = session
    with transaction.atomic():
        sent = {"content_type": "application/json"} if url.startswith("/api/") else {}
        status = getattr(client, method)(url, body, **sent).status_code
        transaction.set_rollback(True)
    return status


def all_rows() -> list[tuple[str, Row]]:
    return [*ROWS.items(), *OTHER_METHODS]


def test_every_route_has_a_row() -> None:
    assert route_names() - {"favicon.ico"} == ROWS.keys() - {"favicon"}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "row"), all_rows(), ids=lambda value: getattr(value, "method", value)
)
def test_route_answers_each_role(name: str, row: Row, world: SimpleNamespace) -> None:
    url = address(name, row, world)
    body = {
        key: str(world.aspect.pk) if value == "{aspect}" else value
        for key, value in row.body.items()
    }
    got = {role: answer(world.sessions.get(role), row.method, url, body) for role in ROLES}
    assert got == {role: expected(name, row, role) for role in ROLES}


@pytest.mark.django_db
@pytest.mark.parametrize("role", EVERYBODY_SIGNED_IN)
def test_another_benchmarks_objects_do_not_exist_in_mine(role: str, world: SimpleNamespace) -> None:
    """A member of one benchmark cannot reach another's rows by their numbers."""
    other = make_benchmark("other")
    for name in MEMBERS:
        make_member(other, name, "admin", "annotator", "reviewer")
    reached = [
        "query",
        "assignment",
        "passage",
        "dispute",
        "debate-run",
        "release",
        "import-run",
        "person",
    ]
    for name in [*reached, "assignment", "document", "retrieval-run", "ranked-list", "pool"]:
        url = address(name, ROWS[name], world).replace("/b/demo/", "/b/other/")
        assert answer(world.sessions[role], "get", url, {}) == 404, name
