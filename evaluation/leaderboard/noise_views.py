"""Ranks under noisy labels: asking for a check, and reading the last ones."""

from typing import Any

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from corpus.access import Access, enter
from corpus.models import Benchmark, CorpusVersion, Role
from corpus.versions.services import chosen, names
from evaluation.leaderboard import noise
from evaluation.leaderboard.noise import MOST_DRAWS
from evaluation.leaderboard.services import DEFAULT, NAMES, WORDS
from evaluation.models import NoiseCheck
from evaluation.scores.services import GoldView
from kit import htmx
from kit.errors import Refused

READERS = (Role.ADMIN, Role.REVIEWER)


class NoiseForm(forms.Form):
    """How sure the labels are. No rate is filled in: it has to come from an audit."""

    metric = forms.ChoiceField(choices=[(name, name) for name in NAMES], initial=DEFAULT)
    view = forms.ChoiceField(
        choices=[(str(view), WORDS[view]) for view in GoldView], initial=str(GoldView.REFINED)
    )
    if_relevant = forms.FloatField(
        label="Share of relevant labels that are right", min_value=0, max_value=1
    )
    if_not = forms.FloatField(
        label="Share of irrelevant labels that are wrong", min_value=0, max_value=1
    )
    draws = forms.IntegerField(min_value=10, max_value=MOST_DRAWS, initial=200)
    version = forms.TypedChoiceField(
        label="Corpus version", required=False, coerce=int, empty_value=None
    )

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        known = CorpusVersion.objects.choices(benchmark)
        if len(known) < 2:
            del self.fields["version"]
            return
        choices = [("", "the current one"), *((each.pk, each.name) for each in known)]
        self.fields["version"].choices = choices  # type: ignore[attr-defined]


@require_http_methods(["GET", "POST"])
def noise_checks(request: HttpRequest, slug: str) -> HttpResponse:
    """Ask for a check, and the list of those before."""
    access = enter(request.user, slug, *READERS)
    data = request.POST if request.method == "POST" else None
    form = NoiseForm(data, benchmark=access.benchmark)
    if request.method == "POST" and form.is_valid():
        given = dict(form.cleaned_data)
        try:
            given["version"] = chosen(access.benchmark, given.get("version"))
            check = noise.request_check(benchmark=access.benchmark, actor=access.user, **given)
        except Refused as refusal:
            field = refusal.field if refusal.field in form.fields else None
            form.add_error(field, refusal.message)
        else:
            return htmx.redirect(request, reverse("noise-check", args=[slug, check.pk]))
    checks = NoiseCheck.objects.filter(benchmark=access.benchmark)[:20]
    known = names(access.benchmark)
    rows = [(check, known.get(check.corpus_version_id, "")) for check in checks]
    context = {"access": access, "tab": "leaderboard", "form": form, "checks": rows}
    context["has_versions"] = bool(known)
    show = htmx.invalid if form.is_bound else htmx.render
    return show(request, "evaluation/noise_checks.html", context)


@require_GET
def noise_check(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One check: its progress, then the ranks with the intervals that the noise gives."""
    access = enter(request.user, slug, *READERS)
    check = get_check(access, pk)
    here = reverse("noise-check", args=[slug, pk])
    context: dict[str, Any] = {"access": access, "tab": "leaderboard"}
    context |= {"run": check, "progress_url": here}
    context["version_name"] = names(access.benchmark).get(check.corpus_version_id, "")
    context["rows"] = sorted(check.result, key=lambda row: (row["rank"], row["name"]))
    if not htmx.is_fragment(request):
        return htmx.render(request, "evaluation/noise_check.html", context)
    if check.is_over:
        return htmx.stop_polling(htmx.redirect(request, here))
    return htmx.render(request, "kit/progress.html", context)


def get_check(access: Access, pk: int) -> NoiseCheck:
    """A check of this benchmark, or 404."""
    found = NoiseCheck.objects.filter(benchmark=access.benchmark, pk=pk).first()
    if found is None:
        raise Http404("No such check.")
    return found
