"""Weights scored blind for a sample: the reviewer's queue, and drawing samples.

What every page on which weights are scored blind shows: the aspects' words, nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from annotate.loaders import number
from annotate.models import Aspect, RescoreSample, RescoreTask, Scale
from annotate.review import rescoring as verbs
from annotate.review.forms import BlindForm
from annotate.review.rescoring import unscored
from annotate.workspace.models import RUBRIC, SCALE_TOP
from annotate.workspace.views.queries import reading
from corpus.access import Access, enter
from corpus.models import Role
from kit import htmx
from kit.errors import Refused
from kit.tables import Column, Table


@dataclass(frozen=True)
class BlindField:
    """One aspect with the choice of a weight; `value` is what was chosen before an error."""

    aspect: Aspect
    name: str
    points: int
    value: int | None


def blind_context(aspects: Sequence[Aspect], sent: Mapping[str, Any]) -> dict[str, Any]:
    """Context of annotate/review_blind.html."""
    scale = aspects[0].scale if aspects else Scale.LIKERT5
    fields = [
        BlindField(each, name, SCALE_TOP[each.scale], number(str(sent.get(name, ""))))
        for each in aspects
        for name in (f"weight-{each.pk}",)
    ]
    return {"fields": fields, "rubric": sorted(RUBRIC[scale].items(), reverse=True)}


TEMPLATE, PART = "annotate/rescoring.html", "answer"
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


class SampleForm(forms.Form):
    """How many queries, and the seed that draws them again."""

    size = forms.IntegerField(
        label="Queries",
        min_value=1,
        max_value=verbs.MOST,
        initial=verbs.SIZE,
        help_text="Drawn by domain, in proportion to its queries with aspects.",
    )
    seed = forms.IntegerField(
        label="Seed", min_value=0, max_value=2**31 - 1, initial=verbs.SEED,
        help_text="The same seed draws the same queries from the same benchmark.",
    )  # fmt: skip


@require_http_methods(["GET", "POST"])
def rescoring(request: HttpRequest, slug: str) -> HttpResponse:
    """The next query to score; its weights once given, the one after it."""
    access = enter(request.user, slug, Role.REVIEWER)
    if request.method == "GET":
        return htmx.render(request, TEMPLATE, _context(access, {}), partial=PART)
    task = _task(access, request.POST.get("task", ""))
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
    if request.method == "POST" and form.is_valid():
        try:
            drawn = verbs.draw_sample(
                benchmark=access.benchmark, actor=access.user, **form.cleaned_data
            )
        except Refused as refusal:
            form.add_error(refusal.field or None, refusal.message)
        else:
            messages.success(request, f"{drawn.tasks.count()} queries were drawn.")
            return htmx.redirect(request, reverse("rescore-samples", args=[slug]))
    rows = sample_rows(access)
    context = {
        "access": access,
        "tab": "reviews",
        "form": form,
        "table": SAMPLES.read(rows, request.GET),
    }
    show = htmx.invalid if form.is_bound else htmx.render
    return show(request, "annotate/rescore_samples.html", context, partial="results")


def sample_rows(access: Access) -> Any:
    """Samples with how far they are."""
    rows = RescoreSample.objects.filter(benchmark=access.benchmark)
    done = Count("tasks", filter=Q(tasks__done_at__isnull=False))
    return rows.annotate(drawn=Count("tasks"), done=done)


def _context(access: Access, sent: Any, task: RescoreTask | None = None) -> dict[str, Any]:
    found = task or verbs.next_task(access)
    context: dict[str, Any] = {"access": access, "tab": "reviews", "task": found}
    if found is None:
        return context
    aspects = unscored(found.query, access.user)
    waiting = verbs.waiting_tasks(access).count()
    context |= {"query": found.query, "waiting": waiting, **reading(found.query)}
    return context | blind_context(aspects, sent)


def _task(access: Access, key: str) -> RescoreTask | None:
    known = key.isascii() and key.isdigit() and len(key) < 19
    return verbs.waiting_tasks(access).filter(pk=int(key)).first() if known else None


def _answer(request: HttpRequest, access: Access) -> HttpResponse:
    if not htmx.is_fragment(request):
        return htmx.redirect(request, reverse("rescoring", args=[access.benchmark.slug]))
    return htmx.render(request, TEMPLATE, _context(access, {}), partial=PART)
