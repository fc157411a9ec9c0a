"""What is hidden from voters, and the record of who read it.

Here stands all that counts: answers that hold a single label, vote, score or key which a voter must
not know before their own, not figures over many. Reads by admins and reviewers are recorded; who is
neither is refused most of it, and shown less on the rest. `tests/corpus/test_hidden.py` asks of
every route that is for admins and reviewers whether it belongs here.
"""

from collections.abc import Callable
from typing import Final

from django.core.cache import cache
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone

from corpus.access import Access
from kit.audit import record_once

READ: Final = "read hidden material"
# Material, and the routes that show it; those of the rooms to the left by name.
HIDDEN: Final[dict[str, tuple[str, ...]]] = {
    "exam keys": ("exam-bank", "exam-item", "api-exam-bank", "api-exam-item"),
    "cases and why they were put": ("disputes", "dispute", "api-cases"),
    "votes and ratings": (
        *("adjudication", "adjudicate", "api-adjudication", "api-adjudicate", "api-decisions"),
        *("agreement-items", "api-agreement-items", "voting-arms-items", "api-voting-arms-items"),
        *("feedback-of", "api-feedback-of", "api-rejected-batches"),
        *("comparison-ratings", "api-comparison-ratings"),
        *("judge-sample", "api-judge-sample-grades", "case-rehearings", "api-debate-run-reasons"),
    ),
    "labels of a panel": (
        *("panel-items", "api-panel-items", "spot-check", "api-panel-next-check"),
        *("override-log", "override-log-csv", "api-panel-overrides"),
    ),
    "blind scores": (
        *("review", "api-review", "rescore-samples", "api-rescore-samples"),
        *("api-aspects", "aspect-history", "api-aspect-history"),
    ),
    "debates": ("debates", "debates-csv", "debate", "api-debates", "api-debate"),
    "trials of prompts": ("trial", "api-trial"),
    "calls to models": ("call", "api-call"),
    "labels": (
        *("judgments", "api-judgments", "passage", "query", "api-version-labels"),
        *("ranked-list", "api-ranked-lists", "leaderboard-query"),
        *("ranked-list-beside", "api-ranked-list-beside"),
        *("leaderboard-versions-query", "leaderboard-versions-matched"),
        *("candidates", "candidate", "api-candidates", "api-candidate", "api-machine-gold"),
        *("release-file", "release-archive", "release-diff"),
        *("transfer-file", "transfers", "transfer", "api-transfer-file", "api-transfer"),
        *("api-transfers", "api-merge-conflicts"),
        *("judges-file", "api-judges-file"),
        *("api-release-file", "api-release-archive", "api-release-diff"),
    ),
    "traces of agents": ("agent-trace", "api-agent-trace", "judge-run", "api-judge-verdicts"),
    "generated answers and their grades": (
        *("rag-answer", "api-rag-answer", "api-rag-run-answers", "rag-cell", "api-rag-cell"),
        *("grade-run", "api-grade-run-grades", "support-set", "support-run", "support-export"),
        *("api-support-claims", "api-support-answers", "api-support-verdicts"),
    ),
    "scores of rerankers": ("api-rerank-items",),
    "training data": (
        *("training-run", "training-export", "api-training-documents", "api-training-export"),
    ),
    "the record": ("record", "record-file", "api-events", "api-events-file"),
}
# Of these the record says which: the first number of the address.
_BY_NUMBER: Final = frozenset({"labels of a panel", "debates", "trials of prompts"})
_MATERIAL: Final = {route: name for name, routes in HIDDEN.items() for route in routes}
_DAY: Final = 24 * 60 * 60


def recorded_reads(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Middleware: who was shown hidden material, before it is sent; once a person, material and
    day. What cannot be recorded is not shown."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        access: Access | None = getattr(request, "entered", None)
        match = request.resolver_match
        is_shown = request.method == "GET" and response.status_code == 200
        if access is None or match is None or not is_shown:
            return response
        if not (access.is_admin or access.is_reviewer):
            return response
        if material := _MATERIAL.get(match.url_name or ""):
            numbers = [value for name, value in match.kwargs.items() if name != "slug"]
            of = str(numbers[0]) if material in _BY_NUMBER and numbers else ""
            _record(access, material, of)
        return response

    return middleware


def _record(access: Access, material: str, of: str) -> None:
    day, slug = timezone.now().date(), access.benchmark.slug
    known = f"read:{access.user.pk}:{slug}:{material}:{of}:{day}".replace(" ", "-")
    if not cache.add(known, True, _DAY):  # this process has written it
        return
    data = {"material": material, **({"of": of} if of else {})}
    try:
        record_once(
            actor=access.user, verb=READ, target=access.benchmark, scope=slug, data=data, day=day
        )
    except Exception:
        cache.delete(known)
        raise
