"""Holes: how many each system finds, how the find grows, and debating what is not judged yet."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from corpus.access import Access, enter
from corpus.models import CorpusVersion, RetrievalRun, Role
from corpus.pools.services import MAX_DEPTH
from evaluation.holes import pages as hole_pages
from evaluation.holes.debates import debate_holes
from evaluation.leaderboard.views import sheet_context, version_of
from evaluation.scores import sheets
from evaluation.scores.services import enter_scored
from kit import htmx
from kit.errors import Refused
from kit.lists.csvfile import table_response
from llm import endpoints
from llm.endpoints import endpoint_choices
from llm.ledger.accounts import budget_field


class HoleDebateForm(forms.Form):
    """Which runs, how deep, and who debates."""

    runs = forms.ModelMultipleChoiceField(
        RetrievalRun.objects.none(),
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one retrieval run."},
    )
    depth = forms.IntegerField(min_value=1, max_value=MAX_DEPTH, initial=10)
    endpoint = forms.ChoiceField()
    budget_usd = budget_field()

    def __init__(
        self, *args: Any, access: Access, version: CorpusVersion | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        runs = RetrievalRun.objects.filter(benchmark=access.benchmark)
        if not self.is_bound:
            runs = runs.filter(corpus_version=version.key if version else None)
        self.fields["runs"].queryset = runs  # type: ignore[attr-defined]
        self.fields["runs"].initial = list(runs.values_list("pk", flat=True))
        self.fields["endpoint"].choices = endpoint_choices("agents")  # type: ignore[attr-defined]


@require_GET
def holes(request: HttpRequest, slug: str) -> HttpResponse:
    """Hole@10 by system and domain, growth curves, the estimate of what is unseen."""
    access = enter_scored(request.user, slug)
    version = version_of(request, access)
    form = HoleDebateForm(access=access, version=version) if access.is_admin else None
    return htmx.render(request, "evaluation/holes/holes.html", _context(request, access, form))


@require_GET
def holes_csv(request: HttpRequest, slug: str) -> HttpResponseBase:
    """The curves as a file."""
    access = enter_scored(request.user, slug)
    sheet = sheets.latest(access.benchmark, version_of(request, access))
    if sheet is None:
        messages.warning(request, "Nothing was scored yet.")
        return htmx.redirect(request, reverse("holes", args=[slug]))
    table = hole_pages.all_growth(sheet)
    return table_response(f"{slug}-holes.csv", table)


@require_POST
def holes_debate(request: HttpRequest, slug: str) -> HttpResponse:
    """Pool the chosen runs and debate the pool."""
    access = enter(request.user, slug, Role.ADMIN)
    form = HoleDebateForm(request.POST, access=access)
    if form.is_valid():
        given = form.cleaned_data
        try:
            run = debate_holes(
                benchmark=access.benchmark,
                runs=list(given["runs"]),
                depth=given["depth"],
                endpoint=endpoints.get(given["endpoint"]),
                budget_usd=given["budget_usd"],
                actor=access.user,
            )
        except Refused as refusal:
            field = refusal.field if refusal.field in form.fields else None
            form.add_error(field, refusal.message)
        else:
            return htmx.redirect(request, reverse("debate-run", args=[slug, run.pk]))
    return htmx.invalid(request, "evaluation/holes/holes.html", _context(request, access, form))


def _context(request: HttpRequest, access: Access, form: HoleDebateForm | None) -> dict[str, Any]:
    context = sheet_context(access, version_of(request, access))
    sheet = context["sheet"]
    board = hole_pages.holes_leaderboard(sheet) if sheet else None
    return context | {
        "board": board,
        "chart": hole_pages.heat_of(access.benchmark.slug, board) if board else None,
        "domains": hole_pages.domains_of(sheet) if sheet else [],
        "form": form,
        "back": "holes",
    }
