"""Qualification as annotators see it: what is missing, practice, exams.

An exam looks like the vote page and never says which answer was right.
"""

from functools import partial
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotate.exams import services as verbs
from annotate.exams.forms import AnswerForm
from annotate.exams.qualification import rule_of, standings
from annotate.models import AttemptState, ExamAttempt, ExamItem
from annotate.voting.items import titled
from annotate.voting.snapshot import read_snapshot, segments
from corpus.access import Access, enter
from corpus.models import Domain, Role
from kit import htmx
from kit.errors import Refused

TEMPLATE = "annotate/exams/exam.html"


@require_GET
def qualification(request: HttpRequest, slug: str) -> HttpResponse:
    """Every domain of the person with what is still missing, and their attempts."""
    access = enter(request.user, slug, Role.ANNOTATOR)
    context = {
        "access": access,
        "rule": rule_of(access.benchmark),
        "places": places(access),
    }
    return htmx.render(request, "annotate/exams/qualification.html", context)


@require_POST
def exam_start(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Begin an exam or a practice, or go on with the open one."""
    access = enter(request.user, slug, Role.ANNOTATOR)
    domain = get_domain(access, pk)
    practice = request.POST.get("practice") == "1"
    return htmx.attempt(
        request,
        partial(verbs.start_attempt, person=access.user, domain=domain, practice=practice),
        lambda attempt: reverse("exam", args=[slug, attempt.pk]),
        otherwise=reverse("qualification", args=[slug]),
    )


@require_http_methods(["GET", "POST"])
def exam(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The next item of an attempt, or its result."""
    access = enter(request.user, slug, Role.ANNOTATOR)
    attempt = get_attempt(access, pk)
    if request.method == "GET":
        return htmx.render(request, TEMPLATE, _context(access, attempt))
    form = AnswerForm(request.POST)
    try:
        if not form.is_valid():
            raise Refused("Choose 1 relevant or 2 not relevant.")
        verbs.answer_item(attempt=attempt, person=access.user, **form.cleaned_data)
    except Refused as refusal:
        messages.warning(request, refusal.message)
    return htmx.redirect(request, reverse("exam", args=[slug, pk]))


def places(access: Access) -> list[dict[str, Any]]:
    """Each of the person's domains with their qualification and their attempts there."""
    rule = rule_of(access.benchmark)
    domains = list(access.benchmark.domains.filter(pk__in=access.domain_ids, is_ready=True))
    found = standings([access.user.pk], [each.pk for each in domains], rule)
    return [
        {
            "domain": domain,
            "standing": found[access.user.pk, domain.pk],
            "attempts": list(ExamAttempt.objects.of(access.user, domain)),
            "has_practice": ExamItem.objects.usable(domain).filter(is_practice=True).exists(),
        }
        for domain in domains
    ]


def get_domain(access: Access, pk: int) -> Domain:
    """A domain of this benchmark, or 404; 403 for one that is not the person's."""
    found = get_object_or_404(access.benchmark.domains.filter(is_ready=True), pk=pk)
    if found.pk not in access.domain_ids:
        raise PermissionDenied("This domain is not yours.")
    return found


def get_attempt(access: Access, pk: int) -> ExamAttempt:
    """The person's own attempt in this benchmark, or 404."""
    rows = ExamAttempt.objects.select_related("domain__benchmark")
    return get_object_or_404(rows, pk=pk, person=access.user, domain__benchmark=access.benchmark)


def _context(access: Access, attempt: ExamAttempt) -> dict[str, Any]:
    item = attempt.next_item()
    context: dict[str, Any] = {
        "access": access,
        "attempt": attempt,
        "is_over": attempt.status != AttemptState.OPEN,
        "item": item,
    }
    if attempt.is_practice:
        context["last"] = attempt.answers.select_related("item").order_by("-pk").first()
    if item is None:
        return context
    snapshot = read_snapshot(
        {"question": item.question, "answers": item.answers, "positions": item.positions},
        item.passage,
    )
    return context | {
        # No id that could say anything.
        "passage": {"text": item.passage, "pid": "", "is_loaded": True},
        "snapshot": snapshot,
        "segments": segments(item.passage, snapshot.spans),
        **titled(item.question, item.source_query),
    }
