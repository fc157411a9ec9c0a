"""Weights scored blind for a sample: the reviewer's queue, and drawing samples."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib import messages
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from annotate.models import Aspect, RescoreSample, RescoreTask, Scale
from annotate.review import rescoring as verbs
from annotate.review.forms import BlindForm, SampleForm
from annotate.review.rescoring import unscored
from annotate.worked import progress
from annotate.workspace.models import RUBRIC, SCALE_TOP
from annotate.workspace.views.queries import reading
from corpus.access import Access, enter
from corpus.models import Role
from kit import htmx
from kit.errors import Refused
from kit.lists.tables import Column, Table
from kit.numbers import number


def blind_context(aspects: Sequence[Aspect], sent: Mapping[str, Any]) -> dict[str, Any]:
    """Context of annotate/review/blind.html: the aspects' words alone, and what was chosen."""
    scale = aspects[0].scale if aspects else Scale.LIKERT5
    fields = [
        {
            "aspect": each,
            "name": name,
            "points": SCALE_TOP[each.scale],
            "value": number(str(sent.get(name, ""))),
        }
        for each in aspects
        for name in (f"weight-{each.pk}",)
    ]
    return {"fields": fields, "rubric": sorted(RUBRIC[scale].items(), reverse=True)}


TEMPLATE, PART = "annotate/review/rescoring.html", "answer"
SAMPLES = Table(
    columns=(
        Column("sample", "Sample", order=("pk",)),
        Column("seed", "Seed", numeric=True),
        Column("queries", "Queries", numeric=True),
        Column("done", "Scored", numeric=True),
        Column("at", "Drawn", order=("created_at",)),
    ),
    order=("-pk",),
)


@require_http_methods(["GET", "POST"])
def rescoring(request: HttpRequest, slug: str) -> HttpResponse:
    """The next query to score; its weights once given, the one after it."""
    access = enter(request.user, slug, Role.REVIEWER)
    if request.method == "GET":
        return htmx.render(request, TEMPLATE, _context(access, {}), partial=PART)
    key = number(request.POST.get("task", "")) or 0
    task = verbs.waiting_tasks(access).filter(pk=key).first()
    if task is None:
        messages.info(request, "This query does not wait for you any more.")
        return _answer(request, access)
    form = BlindForm(request.POST, aspects=unscored(task.query, access.user))
    if not form.is_valid():
        context = _context(access, request.POST, task) | {"errors": form.messages}
        return htmx.invalid(request, TEMPLATE, context, partial=PART)
    try:
        verbs.score_task(task=task, actor=access.user, weights=form.weights)
    except Refused as refusal:
        messages.warning(request, refusal.message)
    return _answer(request, access)


@require_http_methods(["GET", "POST"])
def rescore_samples(request: HttpRequest, slug: str) -> HttpResponse:
    """Samples drawn so far, and drawing another."""
    access = enter(request.user, slug, Role.ADMIN)
    form = SampleForm(request.POST if request.method == "POST" else None)
    if drawn := htmx.submit(form, verbs.draw_sample, benchmark=access.benchmark, actor=access.user):
        messages.success(request, f"{drawn.tasks.count()} queries were drawn.")
        return htmx.redirect(request, reverse("rescore-samples", args=[slug]))
    table = SAMPLES.read(sample_rows(access), request.GET)
    context = {"access": access, "form": form, "table": table}
    return htmx.render(
        request, "annotate/review/rescore_samples.html", context, partial="results", form=form
    )


def sample_rows(access: Access) -> Any:
    """Samples with how far they are."""
    rows = RescoreSample.objects.filter(benchmark=access.benchmark)
    done = Count("tasks", filter=Q(tasks__done_at__isnull=False))
    return rows.annotate(drawn=Count("tasks"), done=done)


def _context(access: Access, sent: Any, task: RescoreTask | None = None) -> dict[str, Any]:
    found = task or verbs.next_task(access)
    context: dict[str, Any] = {"access": access, "task": found}
    if found is None:
        return context
    aspects = unscored(found.query, access.user)
    own = RescoreTask.objects.filter(scorer=access.user, done_at__isnull=False)
    here = own.filter(query__domain__benchmark=access.benchmark)
    far = progress(here.count(), verbs.waiting_tasks(access).count(), own, "done_at")
    context |= {"query": found.query, "progress": far, **reading(found.query)}
    return context | blind_context(aspects, sent)


def _answer(request: HttpRequest, access: Access) -> HttpResponse:
    if not htmx.is_fragment(request):
        return htmx.redirect(request, reverse("rescoring", args=[access.benchmark.slug]))
    return htmx.render(request, TEMPLATE, _context(access, {}), partial=PART)
