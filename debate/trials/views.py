"""Screens of prompts, their trials and adoption, and of trials of adversarial passages."""

from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from corpus.access import Access, enter, finder
from corpus.models import Benchmark, Role
from debate.audits.forms import AuditForm
from debate.dream.prompting import PROMPTS
from debate.loaders import get_run
from debate.models import DebateRun, PromptVersion, Trial, TrialKind
from debate.references import reference_called, references
from debate.runs import prompts as verbs
from debate.trials import services as trials
from debate.trials.report import prompt_sheets
from kit import htmx


class PromptForm(forms.Form):
    """Another template, and the pairs it is tried on."""

    text = forms.CharField(
        label="Template",
        max_length=40_000,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 24, "spellcheck": "false", "data-draft": "text"}),
        help_text="It keeps the lines version and role, the sections [system] and [user], and "
        "every placeholder: {agent}, {others}, {query}, {answers}, {chunk}, {history}.",
    )
    run = forms.ModelChoiceField(
        DebateRun.objects.none(),
        label="Pairs of the run",
        help_text="The run whose prompt, model and pairs it is held against.",
    )
    size = forms.IntegerField(label="Pairs", min_value=1, max_value=500, initial=50)
    seed = forms.IntegerField(label="Seed", min_value=0, max_value=2**31 - 1, initial=1)

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        runs = benchmark.debate_runs.filter(done__gt=0)
        self.has_runs = runs.exists()
        self.fields["run"].queryset = runs  # type: ignore[attr-defined]
        self.fields["run"].initial = runs.first()


@require_http_methods(["GET", "POST"])
def prompt_list(request: HttpRequest, slug: str) -> HttpResponse:
    """The versions of the debate prompt, and the form that tries another one."""
    access = enter(request.user, slug, Role.ADMIN)
    version, present = verbs.current_prompt(access.benchmark)
    stored = access.benchmark.prompts.filter(role=verbs.ROLE)
    adopted = stored.filter(version__isnull=False).order_by("-version").first()
    text = adopted.text if adopted else (PROMPTS / "debate_turn.txt").read_text(encoding="utf-8")
    sent = request.POST if request.method == "POST" else None
    form = PromptForm(sent, benchmark=access.benchmark, initial={"text": text})
    if trial := htmx.submit(form, partial(_try, access)):
        return htmx.redirect(request, _url(trial))
    context = {
        "access": access,
        "version": version,
        "present": present,
        "text": text,
        "adopted": stored.filter(version__isnull=False).order_by("-version"),
        "trials": Trial.objects.filter(run__benchmark=access.benchmark, kind=TrialKind.PROMPT)
        .select_related("run", "prompt")
        .order_by("-pk")[:50],
        "has_runs": form.has_runs,
    }
    return htmx.render(request, "debate/trials/prompts.html", context, form=form)


@require_GET
def trial_detail(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """A trial: progress, then the new prompt compared with the present one."""
    access = enter(request.user, slug, Role.ADMIN)
    trial = get_trial(access, pk)
    response = htmx.render(request, "debate/trials/trial.html", _context(request, access, trial))
    if htmx.is_fragment(request, f"progress-{trial.pk}"):
        part = "debate/trials/trial.html"
        response = htmx.render(request, part, _context(request, access, trial), partial="live")
        return htmx.stop_polling(response) if trial.is_over else response
    return response


@require_POST
def trial_cancel(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Stop a trial."""
    access = enter(request.user, slug, Role.ADMIN)
    trial = get_trial(access, pk)
    with htmx.refusal_shown(request):
        trials.cancel_trial(trial=trial, actor=access.user)
    return htmx.redirect(request, _url(trial))


@require_POST
def prompt_adopt(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Make a tried prompt that of all runs from now on."""
    access = enter(request.user, slug, Role.ADMIN)
    prompt = get_object_or_404(PromptVersion, pk=pk, benchmark=access.benchmark)
    with htmx.refusal_shown(request):
        verbs.adopt_prompt(prompt=prompt, actor=access.user)
        messages.success(request, f"New debate runs use version {prompt.version}.")
    return htmx.redirect(request, reverse("prompts", args=[slug]))


@require_POST
def canaries_start(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Send adversarial passages through the agents of a run."""
    access = enter(request.user, slug, Role.ADMIN)
    run = get_run(access, pk)
    form = AuditForm(request.POST)
    with htmx.refusal_shown(request):
        trial = trials.start_adversarial_trial(run=run, actor=access.user, **form.given())
        return htmx.redirect(request, _url(trial))
    return htmx.redirect(request, reverse("debate-run-report", args=[slug, run.pk]))


get_trial = finder(Trial, "prompt", at="run__benchmark")


def _try(access: Access, *, text: str, **given: Any) -> Trial:
    prompt = verbs.write_prompt(benchmark=access.benchmark, text=text, actor=access.user)
    return trials.start_prompt_trial(prompt=prompt, actor=access.user, **given)


def _url(trial: Trial) -> str:
    return reverse("trial", args=[trial.run.benchmark.slug, trial.pk])


def _context(request: HttpRequest, access: Access, trial: Trial) -> dict[str, Any]:
    reference = reference_called(access.benchmark, request.GET.get("reference", ""))
    slug = access.benchmark.slug
    query = f"?reference={reference.key}" if reference else ""
    return {
        "access": access,
        "trial": trial,
        "run": trial,
        "base": trial.run,
        "progress_url": f"{_url(trial)}{query}",
        "cancel_url": reverse("trial-cancel", args=[slug, trial.pk]),
        "cancel_question": "Stop this trial? What is tried so far stays.",
        "references": references(access.benchmark),
        "reference": reference,
        "sheets": prompt_sheets(trial, reference) if trial.kind == TrialKind.PROMPT else [],
        "changed": trial.items.exclude(status="waiting")
        .select_related("debate__query__domain", "debate__passage")
        .defer("debate__passage__text")[:500],
    }
