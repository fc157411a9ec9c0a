"""Ranks under noisy labels: asking for a check, and reading the last ones."""

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET, require_http_methods

from corpus.access import enter_unblinded, finder
from corpus.models import Benchmark, CorpusVersion, Role
from corpus.run_pages import RunPages
from corpus.versions.services import chosen, names
from evaluation.leaderboard import noise
from evaluation.leaderboard.audited import LEAST
from evaluation.leaderboard.noise import MAX_DRAWS
from evaluation.leaderboard.services import DEFAULT, WORDS
from evaluation.scores.models import NoiseCheck
from evaluation.scores.services import GoldView
from kit import htmx
from kit.lists.report_tables import Cell, ReportTable, percent, text
from kit.stats.proportions import proportion

READERS = (Role.ADMIN, Role.REVIEWER)


class NoiseForm(forms.Form):
    """How sure the labels are. No rate is filled in: it has to come from an audit."""

    metric = forms.CharField(
        max_length=60, initial=DEFAULT, help_text="Any that score_run takes (docs/metrics.md)."
    )
    view = forms.ChoiceField(
        choices=[(str(view), WORDS[view]) for view in GoldView], initial=str(GoldView.REFINED)
    )
    by_audits = forms.BooleanField(
        label="As often wrong as blind audits found, by source, round and sureness",
        required=False,
        help_text="The shares below are then of labels that no audit covers; empty: all right.",
    )
    if_relevant = forms.FloatField(
        label="Share of relevant labels that are right", min_value=0, max_value=1, required=False
    )
    if_not = forms.FloatField(
        label="Share of irrelevant labels that are wrong", min_value=0, max_value=1, required=False
    )
    draws = forms.IntegerField(min_value=10, max_value=MAX_DRAWS, initial=200)
    version = forms.TypedChoiceField(
        label="Corpus version", required=False, coerce=int, empty_value=None
    )

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.benchmark = benchmark
        known = CorpusVersion.objects.choices(benchmark)
        if len(known) < 2:
            del self.fields["version"]
            return
        choices = [("", "the current one"), *((each.pk, each.name) for each in known)]
        self.fields["version"].choices = choices  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """Both shares, unless audits tell them."""
        given: dict[str, Any] = self.cleaned_data
        for name, right in (("if_relevant", 1.0), ("if_not", 0.0)):
            if given.get(name) is None and name not in self.errors:
                given[name] = right
                if not given.get("by_audits"):
                    self.add_error(name, "Give this share, or take those of audits.")
        return given

    def clean_version(self) -> CorpusVersion | None:
        """The corpus version itself."""
        return chosen(self.benchmark, self.cleaned_data["version"])


@require_http_methods(["GET", "POST"])
def noise_checks(request: HttpRequest, slug: str) -> HttpResponse:
    """Ask for a check, and the list of those before."""
    access = enter_unblinded(request.user, slug, *READERS)
    data = request.POST if request.method == "POST" else None
    form = NoiseForm(data, benchmark=access.benchmark)
    ask = noise.request_check
    if check := htmx.submit(form, ask, benchmark=access.benchmark, actor=access.user):
        return htmx.redirect(request, RUNS.url(check))
    checks = NoiseCheck.objects.filter(benchmark=access.benchmark)[:20]
    known = names(access.benchmark)
    rows = [(check, known.get(check.corpus_version_id, "")) for check in checks]
    context = {"access": access, "checks": rows}
    context["has_versions"] = bool(known)
    return htmx.render(request, "evaluation/leaderboard/noise_checks.html", context, form=form)


@require_GET
def noise_check(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One check: its progress, then the ranks with the intervals that the noise gives."""
    access = enter_unblinded(request.user, slug, *READERS)
    check = get_check(access, pk)
    context = RUNS.context(access, check) | {
        "version_name": names(access.benchmark).get(check.corpus_version_id, ""),
        "rates": rates_table(check),
        "rows": sorted(check.result, key=lambda row: (row["rank"], row["name"])),
    }
    return RUNS.show(request, "evaluation/leaderboard/noise_check.html", context)


def rates_table(check: NoiseCheck) -> ReportTable:
    """What audits found, for the labels that they cover."""
    rows = tuple(
        (
            text(row["source"]),
            text("relevant" if row["is_relevant"] else "not relevant"),
            text(str(row["round"] or "all")),
            text(row["sureness"] or "all"),
            percent(proportion(row["wrong"], row["n"], exact=True)),
            Cell(row["n"]),
        )
        for row in check.rates
    )
    notes = (
        f"{check.covered:,} of {check.labels:,} labels have a rate of an audit: the finest group "
        f"with {LEAST} audited labels. In each draw the rate itself is drawn from what the audit "
        "leaves open (Jeffreys).",
    )
    header = ("source", "label", "round", "sureness", "wrong", "audited")
    return ReportTable("rates", "How often labels are wrong", header, rows, notes)


get_check = finder(NoiseCheck)


RUNS = RunPages(NoiseCheck, get=get_check, verbs={}, readers=READERS)
