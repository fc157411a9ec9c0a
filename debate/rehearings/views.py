"""Screens of debating disputes again with people's reasons: all of a run, or one vote of a case."""

from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from annotate.loaders import get_case
from corpus.access import enter
from corpus.models import Role
from debate.loaders import enter_run
from debate.rehearings.services import case_history, rehear
from kit import htmx
from kit.errors import Refused
from llm.ledger.accounts import budget_field


class RehearForm(forms.Form):
    """What debating again may spend."""

    budget_usd = budget_field()


@require_GET
def case_rehearings(request: HttpRequest, slug: str, case: UUID) -> HttpResponse:
    """A part of the case's page: whose reason agents have heard, and whose they may hear next."""
    access = enter(request.user, slug, Role.ADMIN)
    found = get_case(access, case)
    context = {"access": access, "case": found, "rehear_form": RehearForm()}
    context |= case_history(found)
    return htmx.render(request, "debate/rehearings/case.html", context)


@require_POST
def rehearing_start(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Debate the run's disputes again with what people said, or with the `votes` that are named;
    leads to that run."""
    access, run = enter_run(request.user, slug, pk, Role.ADMIN)
    form = RehearForm(request.POST)
    with htmx.refusal_shown(request):
        if not form.is_valid():
            raise Refused(" ".join(map(str, form.errors["budget_usd"])), field="budget_usd")
        votes = request.POST.getlist("votes")
        made = rehear(run=run, votes=votes, actor=access.user, **form.cleaned_data)
        return htmx.redirect(request, reverse("debate-run", args=[slug, made.pk]))
    return htmx.redirect(request, reverse("debate-run-report", args=[slug, run.pk]))
